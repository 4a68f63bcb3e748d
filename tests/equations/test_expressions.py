"""Formulas in sentences without a relation: each is computed, or was read as it stands."""

from bookcheck.equations.expressions import problems, read_texts
from bookcheck.equations.inline import load_inline
from bookcheck.equations.scan import inline_expressions


def test_formulas_without_a_relation_are_computed_or_read():
    found = list(problems(inline_expressions(), load_inline(), read_texts()))
    assert not found, "\n".join(found)
