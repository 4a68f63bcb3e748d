r"""Formulas in sentences without a relation: computed, or known by their text.

``$1 + 3 \cdot 4$`` positions: the sentence says what it counts, and no relation can be executed. In
``inline_NN_name.py`` such a formula may be computed, ``RESULT`` being what it must be worth::

    EXPRESSIONS = {r"4 N^2 d": lambda rng: {"N": 5, "d": 3, RESULT: counted_operations(5, 3)}}

All others stand in ``tests/equations/expressions.json``, page by page, as a person has read them: a
changed one is named until somebody has compared it with its sentence.

    python -m bookcheck.equations.expressions           what is new, and what is gone
    python -m bookcheck.equations.expressions --read    write the file: I have read them
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bookcheck.equations.inline import InlineFile, load_inline
from bookcheck.equations.scan import inline_expressions
from bookcheck.latex import LatexError, check
from bookcheck.paths import CHECKS

RESULT = r"\operatorname{result}"
DRAWS = 3
READ = CHECKS / "expressions.json"

Texts = Mapping[str, Sequence[str]]


def computed_of(file: InlineFile | None) -> Mapping[str, Any]:
    """The formulas of a page whose value is compared."""
    return getattr(file.module, "EXPRESSIONS", {}) if file else {}


def read_texts(path: Path = READ) -> dict[str, list[str]]:
    """The formulas of each page that a person has read."""
    known: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return known


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


def problems(printed: Texts, files: Mapping[str, InlineFile], read: Texts) -> Iterator[str]:
    """Formulas that are wrong, that nobody has read, or that no sentence has."""
    for page in sorted({*printed, *read}):
        file = files.get(page)
        computed, texts, known = computed_of(file), printed.get(page, []), read.get(page, [])
        options = getattr(file.module, "OPTIONS", {}) if file else {}
        for text in texts:
            if text in computed:
                wrong = value_problem(text, computed[text], options)
                if wrong:
                    yield f"{page}: {wrong}"
            elif text not in known:
                yield f"{page}: ${text}$ is new: compute it, or read it with its sentence"
        for text in [*computed, *known]:
            if text not in texts or (text in computed and text in known):
                yield f"{page}: ${text}$ stands in no sentence, or is computed: take it out"


def main(arguments: Sequence[str] | None = None, path: Path = READ) -> int:
    """Name the formulas that nobody has read, or note all as read."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--read", action="store_true", help="I have read them: write the file")
    options = parser.parse_args(arguments)
    printed, files = inline_expressions(), load_inline()
    if options.read:
        unread = {
            page: [text for text in texts if text not in computed_of(files.get(page))]
            for page, texts in printed.items()
        }
        lines = json.dumps(unread, indent=1, ensure_ascii=False)
        path.write_text(f"{lines}\n", encoding="utf-8")
    found = list(problems(printed, files, read_texts(path)))
    print("\n".join(found) or "all formulas in sentences are computed, executed or read")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
