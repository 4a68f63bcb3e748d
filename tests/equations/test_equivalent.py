"""Misprints that are said to be true as well: they hold on values that no check has drawn."""

import pytest

from bookcheck.equations.checks import inputs_of, load_checks
from bookcheck.equations.mutate import read_reasons
from bookcheck.equations.scan import collect
from texcheck.formulas import Fate, Trial, matrix_symbols
from texcheck.misprints import misprints

pytestmark = pytest.mark.long

FRESH = 1000  # the checks draw 0, 1, 2, …
REASONS = read_reasons()


@pytest.fixture(scope="module")
def checks():
    return {check.label: check for check in load_checks()}


@pytest.fixture(scope="module")
def printed():
    return {equation.label: equation.text for equation in collect() if equation.label}


@pytest.mark.parametrize("label", sorted(REASONS))
def test_true_on_fresh_values(label, checks, printed):
    check = checks[label]
    inputs = list(inputs_of(check, first=FRESH))
    trial = Trial(inputs, check.options, check.loose)
    assert trial.fate(printed[label])[0] is Fate.SURVIVED, "the page's own text, on fresh values"
    texts = {one.change: one.text for one in misprints(printed[label], matrix_symbols(inputs[0]))}
    for change in REASONS[label]:
        fate, said = trial.fate(texts[change])
        assert fate is Fate.SURVIVED, f"{label}: {change} is not true for all values: {said}"
