"""What the extension makes of a book that uses everything."""

import pickle
import re

import pytest
from sphinx_proof.nodes import proof_node

from booksite.lighten import codes_of, without_unused
from booksite.theme import css_font

ADDRESS = "https://github.com/example/book"


@pytest.fixture(scope="module")
def page(good_site):
    return (good_site / "chapters" / "one.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def deeper(good_site):
    return (good_site / "chapters" / "deeper" / "one.html").read_text(encoding="utf-8")


def test_formulas_are_rendered_and_numbered_on_through_the_depth(page, deeper):
    assert page.count('class="katex-html"') == 3
    assert '<span class="eqno">(1.1)' in page
    assert 'href="#equation-first">(1.1)</a>' in page
    assert 'href="../one.html#equation-first">(1.1)</a>' in deeper
    assert '<span class="eqno">(1.3)' in deeper


def test_a_page_loads_only_what_it_has_something_for(good_site):
    index, chapter = (
        (good_site / name).read_text(encoding="utf-8")
        for name in ("index.html", "chapters/one.html")
    )
    for name in ("enlarge.js", "proof.css", "exercise.css", "pygments.css"):
        assert f"_static/{name}" not in index
        assert f"_static/{name}" in chapter
    assert "_static/sort.js" not in chapter


def test_style_sheets_and_faces_keep_what_pages_show(good_site):
    static = good_site / "_static"
    theme = (static / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert len(theme) < 150_000
    assert ".bd-article" in theme
    assert ".card-img-overlay{" not in theme
    faces = {path.name for path in (static / "fonts").glob("*.woff2")}
    style = (static / "fonts" / "fonts.css").read_text(encoding="utf-8")
    assert faces == set(re.findall(r"url\(([^)]+)\)", style))
    assert "inter-latin-400-normal.woff2" in faces
    assert not [name for name in faces if "cyrillic" in name]
    # No face of texts has some of the raised digits and not the others.
    for rule in re.findall(r"@font-face\s*\{[^}]*\}", style):
        if "unicode-range" in rule:
            codes = {code for one in codes_of(rule) for code in one}
            assert not codes & set(map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def test_of_a_style_sheet_stays_what_a_page_or_a_script_may_name():
    style = (
        "/* a.b */.on,.off:hover{x:1}@media print{.on:not(.off){x:2}.off{x:3}}p{x:4}.tip-top{x:5}"
    )
    kept = without_unused(style, {"on", "tip-"})
    assert kept == ".on{x:1}@media print{.on:not(.off){x:2}}p{x:4}.tip-top{x:5}"


def test_faces_are_named_as_style_sheets_name_them():
    assert css_font("KaTeX_Math-BoldItalic") == "italic bold 1em 'KaTeX_Math'"
    assert css_font("source-serif-4-latin-400-italic") == "italic 400 1em 'Source Serif 4'"


def test_a_page_names_the_faces_of_its_beginning_and_all_of_them(page):
    early = re.search(r'data-faces="([^"]*)"', page)[1].split()
    faces = re.search(r'data-all-faces="([^"]*)"', page)[1].split(", ")
    assert {"inter-latin-400-normal", "KaTeX_Math-Italic"} <= set(early)
    assert {css_font(name) for name in early} < set(faces)
    assert "normal 400 1em 'DejaVu Sans'" in faces, "figures have a face of their own"


def test_the_theme_does_not_measure_every_box_on_load(good_site):
    script = good_site / "_static" / "scripts" / "pydata-sphinx-theme.js"
    assert '("load",' not in script.read_text(encoding="utf-8")


def test_figures_are_inlined_with_ids_of_their_own(page):
    assert page.count('<div class="figure-box" tabindex="0"><svg class="book-figure"') == 2
    assert "Fig. 1.1" in page
    assert 'href="#figure-2-s0"' in page
    assert 'clip-path="url(#figure-2-s0)"' in page
    assert len(set(re.findall(r'id="(figure-[^"]+)"', page))) == 2


def test_tables_have_true_signs_and_indices_words_at_the_left_and_paths_that_break(page):
    assert '<td>−2</td><td class="word">√<i>d</i><sub>k</sub> a/<wbr>b</td>' in page


def test_proof_and_solution_fold_without_javascript(page):
    folds = re.findall(r"<details class=\"[^\"]*admonition\".*?</details>", page, re.DOTALL)
    titles = [re.search(r"<summary[^>]*>(.*?)</summary>", fold, re.DOTALL)[1] for fold in folds]
    assert [title.split()[0] for title in titles] == ["Proof", "Solution"]
    assert "cell_output" in folds[1], "the solution's code belongs to the fold"


def test_the_box_has_the_answer_its_minutes_and_its_needs(page, deeper):
    box = re.search(r'<div class="answer admonition.*?</div>', page, re.DOTALL)[0]
    assert "There are two." in box
    assert "Main line: 2 minutes. To “You can stop here”: 0 minutes. Needs" in box
    assert re.search(r'Needs <a class="reference[^>]*>.*?chapter 1.*?</a>\.', box, re.DOTALL)
    assert "Reading time:" in deeper
    assert "To “You can stop here”" not in deeper


def test_values_show_their_printed_part(page):
    assert '<span class="value">0.50</span>' in page
    assert '<span class="value">7</span>' in page
    assert "1 / 2" not in page


@pytest.mark.parametrize(
    "link",
    [
        f'href="{ADDRESS}"',
        f'href="{ADDRESS}/edit/main/chapters/one.ipynb"',
        f'href="{ADDRESS}/issues/new?',
        'href="https://mybinder.org/v2/gh/example/book/notebooks?urlpath=lab/tree/01-one.ipynb"',
        'href="https://colab.research.google.com/github/example/book/blob/notebooks/01-one.ipynb"',
        f"git clone {ADDRESS}\ncd book\nmake lab",
        f"pip install &#34;from-attention-to-rope @ git+{ADDRESS}&#34;",
        '<meta property="og:image" content="https://example.org/book/_static/card.png" />',
        '<link rel="canonical" href="https://example.org/book/chapters/one.html" />',
    ],
)
def test_two_addresses_drive_all_links(page, link):
    assert link in page


@pytest.mark.slow
def test_without_addresses_there_is_only_the_download(build, write_book, tmp_path):
    done = build(write_book(tmp_path, {"one": []}))
    assert done.returncode == 0, done.stderr[-4000:]
    page = (tmp_path / "_build" / "html" / "chapters" / "one.html").read_text(encoding="utf-8")
    assert '<a href="../notebooks/01-one.ipynb" download>' in page
    for word in ("Binder", "Colab", "git clone", "canonical", "og:image", "github.com"):
        assert word not in page


def test_the_templates_of_the_book_are_used(page):
    # The search field's name is its text, and the sidebar is a landmark.
    assert 'search-button-field search-button__button pst-js-only" title="Search">' in page
    assert '<div role="region" aria-label="Book">' in page
    assert 'data-theme="light"' in page
    assert "fontawesome.js" not in page
    assert '<meta property="og:title" content="1. Chapter &amp; more" />' in page


def test_sphinx_still_numbers_pages_of_depth(good_site):
    # The environment is stored before booksite.contents takes the numbers away.
    env = pickle.loads((good_site / "../.doctrees/environment.pickle").read_bytes())
    assert env.toc_secnumbers["chapters/deeper/one"][""], "booksite.contents: no number to drop"


def test_sphinx_proof_still_begins_the_first_sentence_with_a_title(good_site):
    page = pickle.loads((good_site / "../.doctrees/chapters/one.doctree").read_bytes())
    proofs = [node.astext() for node in page.findall(proof_node)]
    assert any(text.startswith("Proof. ") for text in proofs), "booksite.folding: no title to cut"
