"""KaTeX at build time."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from bookcheck.site.maths import (
    UnreadableFormulaError,
    keep_with_punctuation,
    stays_whole,
)
from bookcheck.site.place import describe_place


def test_a_formula_becomes_html_and_mathml(katex):
    html = katex.render(r"\frac{QK^\top}{\sqrt{d_k}}", display=True)
    assert 'class="katex-display"' in html
    assert "<math" in html


def test_the_process_serves_again_after_a_bad_formula(katex):
    with pytest.raises(UnreadableFormulaError, match="KaTeX parse error"):
        katex.render(r"\frac{a", display=False)
    assert "katex" in katex.render("a", display=False)


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
        [nodes.math("", "a = b + c"), nodes.Text(".")],
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
