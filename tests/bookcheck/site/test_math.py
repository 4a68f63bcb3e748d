"""KaTeX at build time."""

import re

import pytest
from nbformat.v4 import new_markdown_cell

from bookcheck.site.math import FormulaError, render


def test_no_line_ends_inside_the_brackets_of_a_formula_in_a_sentence():
    html = render("a + f(g(x + y)) = b", display=False)
    parts = re.sub(r"<math.*?</math>", "", html).split('<span class="whole">')
    assert [part.count('class="base"') for part in parts] == [1, 3]
    for tex in ("a + f(g(x + y)) = b", "(a + b", "a + b) + c"):
        html = render(tex, display=False)
        assert html.count("<span") == html.count("</span")


@pytest.mark.parametrize("tex", [r"\mathbbm{1}", r"\label{a}", r"\nosuchcommand", "a_b_c", "ж"])
def test_what_katex_would_show_wrongly_is_refused(tex):
    with pytest.raises(FormulaError):
        render(tex, display=True)


def test_rows_that_number_themselves_are_refused():
    with pytest.raises(FormulaError, match=r"write align\*"):
        render(r"\begin{align} a &= b \end{align}", display=True)
    assert render(r"\begin{align*} a &= b \end{align*}", display=True)


def test_a_bad_formula_stops_the_plain_build_and_is_named(build, write_book, tmp_path):
    cells = [new_markdown_cell("# Chapter"), new_markdown_cell("Good: $a$.\n\nBad: $\\frac{a}{$")]
    done = build(write_book(tmp_path, {"one": cells}))  # the plain command, without -W
    assert done.returncode != 0
    place = "chapters/one.ipynb, text above cell [1], line 3"
    assert f"{place}: KaTeX parse error" in done.stderr
    assert "in: \\frac{a}{" in done.stderr
