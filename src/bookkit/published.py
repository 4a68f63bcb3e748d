"""Numbers that others have published and a page repeats: each once, in `published.jsonl`.

One line is one table, file or sentence of a source: `name`, `source` (a key of the bibliography, or
an address), `place` in the source, `what` the numbers are, `opened` (what was read when the line
was written, as owner/repository:path@commit or in words; where the source itself was not, it says
so) and `numbers`, each under a name of its own. Sizes of whole models that a page computes with
are in `models.jsonl` (`bookkit.models`).

    >>> reported("GQA, T5-XXL", "all heads")
    47.2
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_published() -> dict[str, dict[str, Any]]:
    """All lines by their names, in the order of the file."""
    text = (files("bookkit") / "published.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    return {line["name"]: line for line in lines}


def reported(name: str, number: str) -> float:
    """One published number: the name of its line, then its own."""
    numbers: dict[str, float] = read_published()[name]["numbers"]
    if number not in numbers:
        raise KeyError(f"{name!r} has no number {number!r}; it has {', '.join(numbers)}")
    return numbers[number]
