r"""Formulas in sentences without a relation whose value is compared.

``$1 + 3 \cdot 4$`` positions: the sentence says what it counts, and no relation can be executed. In
``inline_NN_name.py`` such a formula may be computed, ``RESULT`` being what it must be worth::

    EXPRESSIONS = {r"4 N^2 d": lambda rng: {"N": 5, "d": 3, RESULT: counted_operations(5, 3)}}

Whether the formula stands in the right sentence is not checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bookcheck.equations.inline import InlineFile
from texcheck import LatexError, check

RESULT = r"\operatorname{result}"
DRAWS = 3

Texts = Mapping[str, Sequence[str]]


def computed_of(file: InlineFile | None) -> Mapping[str, Any]:
    """The formulas of a page whose value is compared."""
    return getattr(file.module, "EXPRESSIONS", {}) if file else {}


def value_problem(text: str, values: Any, options: Mapping[str, Any]) -> str | None:
    """Why a formula is not worth what it should be; None where it is."""
    for draw in range(DRAWS):
        rng = np.random.default_rng([zlib.crc32(text.encode()), draw])
        try:
            (relation,) = check(f"{RESULT} = {text}", values(rng), **options)
        except LatexError as error:
            return f"${text}$ cannot be executed: {error}"
        if not relation.holds:
            return f"${text}$ is not what it should be: {relation}"
    return None


def problems(printed: Texts, files: Mapping[str, InlineFile]) -> Iterator[str]:
    """Formulas that are not worth what they should be, and those that no sentence has."""
    for page, file in sorted(files.items()):
        options = getattr(file.module, "OPTIONS", {})
        for text, values in computed_of(file).items():
            wrong = value_problem(text, values, options)
            if wrong:
                yield f"{page}: {wrong}"
            if text not in printed.get(page, []):
                yield f"{page}: ${text}$ stands in no sentence: take it out of EXPRESSIONS"
