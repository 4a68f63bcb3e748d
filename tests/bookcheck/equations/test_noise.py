"""No verdict depends on the last bit: checks run again with noise on every inexact result.

The noise changes each intermediate value by up to one unit in the last place, with another
generator than the comparison's own. `NOISE_SEEDS=8` tries eight generators instead of one.
"""

import os
import random

import pytest

from bookcheck.equations.checks import load_all, printed
from bookcheck.equations.sentences import Page
from bookformat.formulas import inline_formulas
from texcheck import Excluded, LatexError, Silent, check
from texcheck.misprints import misprints
from texcheck.named import with_names
from texcheck.trial import kinds_of, transposable

pytestmark = pytest.mark.slow

SEEDS = range(1000, 1000 + int(os.environ.get("NOISE_SEEDS", "1")))
ITEMS = load_all()
CHECKS = {i.name: i for i in ITEMS if not isinstance(i, Page)}
PAGES = {i.name: i for i in ITEMS if isinstance(i, Page)}


def verdict(text, values, options):
    """What a check says to a text: "holds", "refuted", or "refused"."""
    # Whether the draws of a formula could refute it is asked of all of them together, elsewhere.
    one_draw = dict.fromkeys([*values, "=", "approx"], "one draw of several")
    try:
        found = [relation.holds for relation in check(text, values, fixed=one_draw, **options)]
    except LatexError:
        return "refused"
    return "holds" if all(found) else "refuted"


@pytest.mark.parametrize("label", CHECKS)
def test_displays(label):
    item, text = CHECKS[label], printed()[label].text
    values = next(one for one in item.inputs() if not isinstance(one, (Excluded, Silent)))
    tried = misprints(text, transposable([values]), kinds_of([values]))
    misprint = random.Random(label).choice(tried).text if tried else text
    said = verdict(misprint, values, item.options)
    for seed in SEEDS:
        noisy = {**item.options, "noise": seed}
        assert verdict(text, values, noisy) == "holds"
        assert verdict(misprint, values, noisy) == said, misprint


@pytest.mark.parametrize("page", PAGES)
def test_sentences(page):
    stated = PAGES[page].stated(inline_formulas()[page])
    for formula, item in PAGES[page].checks(stated):
        text = with_names(formula.text, item.names)
        for seed in SEEDS:
            noisy = {**item.options, "noise": seed}
            assert verdict(text, item.inputs()[0], noisy) == "holds", text
