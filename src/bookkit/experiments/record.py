"""Recorded experiments: rows of JSON that say when, where and by which command they were made.

A page reads rows with `recorded("speed/cpu.jsonl", group="rope")` and trains or times nothing.
"""

import json
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


def origin(command: str, device: str = "cpu") -> Row:
    """What every recorded row says about where it comes from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU {platform.machine()}"
    return {
        "device": name,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "command": command,
    }


def write(path: Path, rows: Iterable[Row], about: Row, *, append: bool = False) -> None:
    """Write the rows, each with its origin, as they come: a run that breaks off keeps its rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if append else "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(about | row, ensure_ascii=False) + "\n")
            file.flush()
    _lines.cache_clear()


@cache
def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def recorded(name: str | Path, **wanted: Any) -> list[Row]:
    """The rows of a record with these values, in their order; `name` is relative to results/."""
    rows = _lines(RESULTS / name)
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if not found:
        raise ValueError(f"no row of {name} has {wanted}; the file has {len(rows)} rows")
    return found


def main(name: str, rows: Iterable[Row]) -> None:
    """The command of a small experiment: write its rows to results/NAME.jsonl."""
    write(RESULTS / f"{name}.jsonl", rows, origin(f"python -m bookkit.experiments.{name}"))
