"""Recorded experiments: rows of JSON that say when, where and by which command they were made.

A page reads rows with `recorded("speed/cpu.jsonl", group="rope")` and trains or times nothing. The
programs that write them are the laboratory, which readers need not install.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


def recorded(name: str | Path, **wanted: Any) -> list[Row]:
    """The rows of a record with these values, in their order; `name` is relative to results/."""
    path = RESULTS / name
    rows = _lines(path, path.stat().st_mtime_ns)
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if not found:
        commands = sorted({row["command"] for row in rows if "command" in row})
        raise ValueError(
            f"no row of {name} has {wanted}. Ask for other values, or record such rows; "
            f"the {len(rows)} rows that it has were written by: {'; '.join(commands)}"
        )
    return found


@cache
def _lines(path: Path, _changed: int) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
