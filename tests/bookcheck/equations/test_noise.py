"""No verdict depends on the last bit: checks run again with noise on every inexact result.

The noise changes each intermediate value by up to one unit in the last place, with another
generator than the comparison's own. `NOISE_SEEDS=8` tries eight generators instead of one.
"""

import os
import random

import pytest

from bookcheck.equations.checks import inputs_of, load_checks
from bookcheck.equations.inline import cases_of, load_inline
from bookcheck.equations.scan import collect, inline_relations
from texcheck import LatexError, check
from texcheck.formulas import Silent, matrix_symbols
from texcheck.misprints import misprints

SEEDS = range(1000, 1000 + int(os.environ.get("NOISE_SEEDS", "1")))
CHECKS = {item.label: item for item in load_checks() if item.reason is None}
PAGES = load_inline()


@pytest.fixture(scope="module")
def printed():
    return {equation.label: equation.text for equation in collect() if equation.label}


def verdict(text, inputs, options):
    """What a check says to a text: "holds", "refuted", or "refused"."""
    try:
        found = [one.holds for values in inputs for one in check(text, values, **options)]
    except LatexError:
        return "refused"
    return "holds" if all(found) else "refuted"


@pytest.mark.parametrize("label", CHECKS)
def test_displays(label, printed):
    item, text = CHECKS[label], printed[label]
    inputs = [next(values for values in inputs_of(item) if not isinstance(values, Silent))]
    tried = misprints(text, matrix_symbols(inputs[0]))
    misprint = random.Random(label).choice(tried).text if tried else text
    said = verdict(misprint, inputs, item.options)
    for seed in SEEDS:
        noisy = {**item.options, "noise": seed}
        assert verdict(text, inputs, noisy) == "holds"
        assert verdict(misprint, inputs, noisy) == said, misprint


@pytest.mark.parametrize("page", PAGES)
def test_sentences(page):
    file = PAGES[page]
    options = getattr(file.module, "OPTIONS", {})
    for formula in inline_relations()[page]:
        if formula.text not in file.definitions:
            inputs = [next(cases_of(formula, file))]
            for seed in SEEDS:
                noisy = {**options, "noise": seed}
                assert verdict(formula.text, inputs, noisy) == "holds", formula.text
