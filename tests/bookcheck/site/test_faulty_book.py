"""A fault in a chapter turns the build red and names its place."""

import pytest


@pytest.fixture(scope="module")
def bad_formula(build, write_book, markdown, tmp_path_factory):
    cells = [
        markdown("# Chapter"),
        markdown("Good: $a$.\n\nBad: $\\frac{a}{$ and\n\n$$\n\\eqref{x}\n$$ (bad)"),
    ]
    folder = write_book(tmp_path_factory.mktemp("bad-formula"), cells)
    return build(folder)  # the plain command, without -W


def test_a_bad_formula_stops_the_plain_build(bad_formula):
    assert bad_formula.returncode != 0


def test_every_bad_formula_is_named_with_file_and_cell(bad_formula):
    place = "chapters/one.ipynb, text above cell [1], line 3"
    assert f"{place}: KaTeX parse error" in bad_formula.stderr
    assert "in: \\frac{a}{" in bad_formula.stderr
    assert "in: \\eqref{x}" in bad_formula.stderr


@pytest.mark.parametrize(
    "complaint",
    [
        "equation not found: no-such-equation",
        "cell [1], line 1: the SVG has no aria-label",
        "cell [2], line 1: the SVG holds a <style>",
        "no-theorem",
        "nobody",
        "no-term",
        "no-page",
        "no-heading",
        "no-target",
    ],
)
def test_broken_references_and_nameless_figures_fail_the_gate(faulty_build, complaint):
    assert faulty_build.status != 0
    assert complaint in faulty_build.words
