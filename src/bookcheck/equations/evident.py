r"""Relations that are true of themselves, and what binds their numbers to the values of a page.

``3 \cdot 80 = 240`` is true, and so is ``2 \cdot 120 = 240``: that the sentence has three blocks of
80 parameters, the relation does not say. So is ``4 \cdot 64 g = 256 g``, for every g, and in
``P = 64 + 16`` the side of numbers alone could be ``60 + 20``. An expression of the page's values
for each number says what it is (``numbers`` of `sentences`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bookformat.formulas import BELOW, RELATION
from texcheck import evaluate
from texcheck.anything import of_anything
from texcheck.trial import Trial

NUMBER = re.compile(r"(?:\d{1,3}(?:\{,\}\d{3})+|\d+)(?:\.\d+)?")
# What has digits and no numbers: indices, words.
INDEX = re.compile(rf"_(?:\w|\\[A-Za-z]+)|{BELOW.pattern}|\\text\{{[^{{}}]*\}}")
LETTER = re.compile(r"(?<![\\A-Za-z])[A-Za-z]|\\(?!(?:cdot|times|frac|sqrt|left|right)\b)[A-Za-z]")
REPEATED = re.compile(r"\d\s*(?:\+|-|\\cdot\b|\\times\b)\s*[\d(\\]")
# Numbers that any identity may have: a square, a half, a difference to 1.
SMALL = {0, 1, 2}
UNBOUND = (
    "nothing computes its numbers, because they are true of themselves: say what each is by the "
    'values of the page, numbers={"words …": "3, d_k, P"}, an expression for each number in their '
    'order; or bind the first side to a value, names={"words …": "P"}; or say why nothing has this '
    'value, identity={"words …": "why"}'
)


def numbers_of(text: str) -> list[str]:
    """The numbers of a formula in their order, without those of indices."""
    return NUMBER.findall(INDEX.sub(" ", text))


def value_of(number: str) -> float:
    """A printed number."""
    return float(number.replace("{,}", ""))


def is_evident(trial: Trial, text: str) -> bool:
    """Whether nothing computes the numbers of a relation that holds."""
    if adds_numbers(text):
        return True
    names = {*trial.printed.values()}
    named = any(side.strip() in names for side in RELATION.split(text))
    return not named and says_numbers(text) and any(of_anything(trial, text))


def says_numbers(text: str) -> bool:
    """Whether a formula has numbers that could be others; any, where it has no letter."""
    numbers = {value_of(one) for one in numbers_of(text)}
    return bool(numbers - SMALL) or not LETTER.search(INDEX.sub(" ", text))


def adds_numbers(text: str) -> bool:
    """Whether one side counts numbers alone together: 64 + 16, which is also 60 + 20."""
    sides = RELATION.split(INDEX.sub(" ", text))
    return any(REPEATED.search(side) and not LETTER.search(side) for side in sides)


def misread(
    text: str, said: Sequence[str], inputs: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> str:
    """Which number of a formula is not what is said of it; else empty."""
    printed = numbers_of(text)
    if len(said) != len(printed):
        return f"numbers= says what {len(said)} numbers are, and it prints {', '.join(printed)}"
    if all(NUMBER.fullmatch(one) for one in said):
        return "numbers= repeats the numbers: write an expression of the page's values for one"
    for number, one in zip(printed, said, strict=True):
        for values in inputs:
            value = float(evaluate(one, values, **options))
            if not math.isclose(value, value_of(number), rel_tol=1e-9):
                is_it = "" if NUMBER.fullmatch(one) else f", which is {value:.10g}"
                return f"prints {number}, where numbers= has {one}{is_it}"
    return ""
