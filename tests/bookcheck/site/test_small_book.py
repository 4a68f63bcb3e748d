"""What the extension makes of a notebook that uses everything."""

import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx_exercise.nodes import exercise_node, solution_node

from bookcheck.site.folding import put_into_exercises
from bookcheck.site.launch_box import running_box

ADDRESS = "https://github.com/example/book"


@pytest.fixture(scope="module")
def page(good_site):
    return (good_site / "chapters" / "one.html").read_text(encoding="utf-8")


def test_formulas_are_rendered_and_numbered(page):
    assert page.count('class="katex-html"') == 2
    assert '<span class="eqno">(1.1)' in page
    assert 'href="#equation-first">(1.1)</a>' in page


def test_fonts_come_from_the_site(good_site, page):
    assert 'href="../_static/fonts/fonts.css' in page
    style = (good_site / "_static" / "fonts" / "fonts.css").read_text(encoding="utf-8")
    fonts = set(re.findall(r"url\(([^)]+)\)", style))
    assert fonts
    assert all((good_site / "_static" / "fonts" / font).is_file() for font in fonts)


def test_figures_are_inlined_with_ids_of_their_own(page):
    assert page.count('<div class="figure-box" tabindex="0"><svg class="book-figure"') == 2
    assert "Fig. 1.1" in page
    assert 'id="figure-1-s0"' in page
    assert 'href="#figure-2-s0"' in page
    assert 'clip-path="url(#figure-2-s0)"' in page


def test_no_id_is_there_twice(page):
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert sorted(ids) == sorted(set(ids))


def test_proof_and_solution_fold_without_javascript(page):
    folds = re.findall(r"<details class=\"[^\"]*admonition\".*?</details>", page, re.DOTALL)
    assert [re.search(r"<summary[^>]*>(.*?)</summary>", fold)[1] for fold in folds] == [
        "Proof",
        "Solution",
    ]
    assert "cell_output" in folds[1], "the solution's code belongs to the fold"


def test_a_solution_stands_in_the_box_of_its_exercise(page):
    box = page.partition('id="sum"')[2]
    assert "Exercise 1.1" in box
    assert box.index("Add.") < box.index("<details") < box.index("Added.")


def test_a_solution_stays_where_it_does_not_follow_its_own_exercise():
    def book(*children):
        document = new_document("a page")
        document += children
        put_into_exercises(document)
        return document

    def exercise(label):
        return exercise_node("", nodes.title("", "Exercise"), label=label)

    def solution():
        title = nodes.title("", "Solution to Exercise 1.1")
        return solution_node("", title, target_label="sum")

    assert len(book(exercise("sum"), solution())) == 1
    assert len(book(exercise("other"), solution())) == 2
    assert len(book(exercise("sum"), nodes.paragraph(), solution())) == 3
    assert len(book(solution())) == 1


def test_one_address_drives_all_buttons(page):
    for link in (
        f'href="{ADDRESS}"',
        f'href="{ADDRESS}/edit/main/chapters/one.ipynb"',
        f'href="{ADDRESS}/issues/new?',
        'href="https://mybinder.org/v2/gh/example/book/notebooks?urlpath=lab/tree/one.ipynb"',
        'href="https://colab.research.google.com/github/example/book/blob/notebooks/one.ipynb"',
    ):
        assert link in page


def test_the_box_tells_how_to_run_the_chapter(page):
    box = re.search(r'<details class="admonition running">.*?</details>', page, re.DOTALL)[0]
    assert '<a href="../notebooks/one.ipynb" download>' in box
    assert f"git clone {ADDRESS}\ncd book\nmake lab" in box
    install = f"pip install &quot;attention-to-rope[pages] @ git+{ADDRESS}&quot;"
    assert f'<pre tabindex="0">{install}' in box
    assert "mybinder.org" in box
    assert "colab.research.google.com" in box


def test_without_an_address_nothing_points_nowhere():
    box = running_box("one.ipynb", "one.ipynb", "")
    assert "Download" in box
    assert "make lab" in box
    assert "Binder" not in box
    assert "Colab" not in box
    assert "git clone" not in box


def test_the_templates_of_the_book_are_used(page):
    # The search field's name is its text, and the sidebar is a landmark.
    assert 'search-button-field search-button__button pst-js-only" title="Search">' in page
    assert '<div role="region" aria-label="Book">' in page
    assert 'data-theme="light"' in page
    assert "fontawesome.js" not in page
