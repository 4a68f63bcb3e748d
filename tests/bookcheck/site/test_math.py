"""KaTeX at build time."""

import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.util.parallel import ParallelTasks

from bookcheck.site import math as maths
from bookcheck.site.math import (
    Katex,
    UnreadableFormulaError,
    keep_with_punctuation,
    stays_whole,
    with_punctuation,
)
from bookcheck.site.source_place import describe_place


def test_a_formula_becomes_html_and_mathml(katex):
    html = katex.render(r"\frac{QK^\top}{\sqrt{d_k}}", display=True)
    assert 'class="katex-display"' in html
    assert "<math" in html


def test_the_process_serves_again_after_a_bad_formula(katex):
    with pytest.raises(UnreadableFormulaError, match="KaTeX parse error"):
        katex.render(r"\frac{a", display=False)
    assert "katex" in katex.render("a", display=False)


@pytest.fixture
def new_katex(katex, tmp_path):
    """Make renderers that share one file of formulas, as the builds of a book do."""
    made = []

    def new():
        made.append(Katex(katex.package, tmp_path / "formulas.sqlite"))
        return made[-1]

    yield new
    for one in made:
        one.close()


def test_a_kept_formula_is_not_rendered_again(new_katex):
    first, second = new_katex(), new_katex()
    html = first.render("a_1", display=False)
    assert second.render("a_1", display=False) == html
    assert second.process is None
    assert second.render("a_1", display=True) != html
    assert second.process is not None


def test_what_another_renderer_made_is_not_shown(new_katex, monkeypatch):
    new_katex().render("a", display=False)
    monkeypatch.setattr(maths, "digest_of", lambda _files, *_words: "another version")
    later = new_katex()
    later.render("a", display=False)
    assert later.process is not None


def test_a_bad_formula_is_refused_at_every_build(new_katex):
    for _ in range(2):
        with pytest.raises(UnreadableFormulaError):
            new_katex().render(r"\frac{a", display=False)


def test_each_worker_has_its_own_process(new_katex):
    """Two workers that asked one process would read the answers of each other."""
    katex = new_katex()
    katex.render("a", display=False)

    def work(letters):
        return [katex.render(f"{letter}_{n}", display=False) for letter in letters for n in "12"]

    found = {}
    workers = ParallelTasks(2)
    for letters in ("bcdef", "ghijk"):
        workers.add_task(work, letters, found.__setitem__)
    workers.join()
    for letters, answers in found.items():
        asked = [letter for letter in letters for _ in "12"]
        assert all(f">{letter}</mi>" in html for letter, html in zip(asked, answers, strict=True))
    assert sorted(found) == ["bcdef", "ghijk"]
    assert "katex" in katex.render("z", display=False), "the first process still answers"


@pytest.mark.parametrize("tex", [r"\mathbbm{1}", r"\label{a}", r"\nosuchcommand", "a_b_c", "ж"])
def test_what_katex_would_show_wrongly_is_refused(katex, tex):
    with pytest.raises(UnreadableFormulaError):
        katex.render(tex, display=True)


def test_rows_that_number_themselves_are_refused(katex):
    with pytest.raises(UnreadableFormulaError, match=r"write align\*"):
        katex.render(r"\begin{align} a &= b \end{align}", display=True)
    assert katex.render(r"\begin{align*} a &= b \end{align*}", display=True)


def test_places_are_named_as_a_writer_counts():
    assert (
        describe_place("/b/chapters/a.ipynb", 120009, "/b") == "chapters/a.ipynb, cell 12, line 8"
    )
    assert describe_place("/b/index.md", 7, "/b") == "index.md, line 7"
    assert describe_place("/elsewhere/x.md", None, "/b") == "x.md"


def sentence(*parts):
    document = new_document("page")
    document += nodes.paragraph("", "", *parts)
    keep_with_punctuation(document)
    (paragraph,) = document.children
    return paragraph


def test_a_comma_stays_with_its_formula():
    paragraph = sentence(nodes.Text("Take ("), nodes.math("", "x_m"), nodes.Text("), and go."))
    assert [child.astext() for child in paragraph] == ["Take ", "(x_m),", " and go."]
    assert paragraph[1]["classes"] == ["whole"]
    assert isinstance(paragraph[1][1], nodes.math)


@pytest.mark.parametrize(
    "parts",
    [
        [nodes.Text("a "), nodes.math("", "x"), nodes.Text(" b")],
        [nodes.math("", "x")],
        [nodes.math("", "x"), nodes.strong("", ", b")],
    ],
)
def test_other_formulas_are_left_alone(parts):
    before = [child.astext() for child in parts]
    paragraph = sentence(*parts)
    assert [child.astext() for child in paragraph] == before
    assert not list(paragraph.findall(nodes.inline))


@pytest.mark.parametrize("tex", ["x", r"-\eta", r"\sqrt{d_k + 1}", r"p^\top p", r"\infty"])
def test_short_formulas_stay_whole(tex):
    assert stays_whole(tex)


@pytest.mark.parametrize("tex", ["a = b", "m - n", r"a \le b", "f(" + "x, " * 10 + "x)"])
def test_long_formulas_may_be_divided(tex):
    assert not stays_whole(tex)


def test_a_long_formula_takes_the_marks_that_touch_it(katex):
    formula = nodes.math("", "a = b + c")
    paragraph = sentence(nodes.Text("see ("), formula, nodes.Text("), then"))
    assert [child.astext() for child in paragraph] == ["see ", "a = b + c", " then"]
    html = with_punctuation(
        katex.render("a = b + c", display=False), formula["opening"], formula["closing"]
    )
    first, *_, last = html.split('<span class="base">')[1:]
    assert '<span class="touching">(</span>' in first
    assert last.endswith('<span class="touching">),</span></span></span></span>')
    # And so does the copy that is read aloud.
    assert html.index("<mtext>(</mtext>") < html.index("<mi>a</mi>")
    assert html.index("<mi>c</mi>") < html.index("<mtext>),</mtext>")


def test_a_display_may_break_between_formulas_and_before_relations(katex):
    html = katex.render(r"a = b + c, \qquad d = e", display=True)
    assert html.count('<span class="statement">') == 2
    sides = re.findall(r'<span class="side">.*?(?=<span class="side">|$)', html)
    assert [re.sub(r"<[^>]*>", "", side) for side in sides] == ["a", "=b+c,", "d", "=e"]
    assert "side" not in katex.render("a + b", display=True)
    assert "side" not in katex.render("a = b", display=False)


def test_a_formula_beside_a_matrix_has_its_own_height(katex):
    """Else a phone, which sets it below the matrix, leaves room for a second one."""
    html = katex.render(r"M = \begin{pmatrix} a \\ b \\ c \end{pmatrix}, \qquad x", display=True)
    struts = re.findall(r'class="strut" style="height:([\d.]+)em', html)
    assert [float(height) > 3 for height in struts] == [False, True, False]


def test_letters_of_an_index_need_one_element(katex):
    html = katex.render("x_m", display=False)
    assert '<span class="mord mathnormal mtight sizing reset-size6 size3">m</span>' in html
    assert "<span></span>" not in html
