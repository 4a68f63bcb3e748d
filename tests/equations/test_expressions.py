"""Formulas in sentences without a relation: those that are computed are worth what they should."""

from bookcheck.equations.expressions import problems
from bookcheck.equations.inline import load_inline
from bookcheck.equations.scan import inline_expressions


def test_computed_formulas_are_worth_what_they_should_be():
    found = list(problems(inline_expressions(), load_inline()))
    assert not found, "\n".join(found)
