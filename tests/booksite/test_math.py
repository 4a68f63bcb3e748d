"""KaTeX at build time."""

import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from booksite.math import FormulaError, render


def test_no_line_ends_inside_the_brackets_of_a_formula_in_a_sentence():
    html = render("a + f(g(x + y)) = b", display=False)
    parts = re.sub(r"<math.*?</math>", "", html).split('<span class="whole">')
    assert [part.count('class="base"') for part in parts] == [1, 3]
    for tex in ("a + f(g(x + y)) = b", "(a + b", "a + b) + c"):
        html = render(tex, display=False)
        assert html.count("<span") == html.count("</span")


def test_a_display_breaks_between_its_formulas_then_after_relations_then_after_other_signs():
    html = render(r"a = b + f(c = d), \qquad e \ne \frac{1}{2}", display=True)
    words = re.sub("<math.*?</math>", "", html).replace('<span class="whole">', "(")
    assert html.count("<span") == html.count("</span")
    assert ":2em" not in words, "the distance is in the style sheet"
    starts = re.findall(r"(\(*)<span class=.base", words)
    assert starts == ["((", "(", "(", "", "((", "("], "a =, b +, f(c =, d), e ≠, 1/2"


@pytest.mark.parametrize("tex", [r"\mathbbm{1}", r"\label{a}", r"\nosuchcommand", "a_b_c", "ж"])
def test_what_katex_would_show_wrongly_is_refused(tex):
    with pytest.raises(FormulaError):
        render(tex, display=True)


def test_rows_that_number_themselves_are_refused():
    with pytest.raises(FormulaError, match=r"write align\*"):
        render(r"\begin{align} a &= b \end{align}", display=True)
    assert render(r"\begin{align*} a &= b \end{align*}", display=True)


def test_a_bad_formula_stops_a_build_and_is_named(tmp_path):
    (tmp_path / "index.md").write_text("# Page\n\nBad: $\\frac{a}{$\n", encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "booksite.math"],
        "html_math_renderer": "prerendered",
        "myst_enable_extensions": ["dollarmath"],
    }
    folders = (tmp_path, None, tmp_path / "html", tmp_path / "doctrees")
    with docutils_namespace():
        app = Sphinx(*folders, "html", settings, status=None)
        with pytest.raises(FormulaError, match=r"(?s)index\.md, line 3: KaTeX .* in: .frac\{a"):
            app.build()
