"""How an experiment writes its rows: each with when, where and by which command it was made."""

import json
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import torch

from bookkit.records import RESULTS, Row


def origin(command: str, device: str = "cpu") -> Row:
    """What every recorded row says about where it comes from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU {platform.machine()}"
    return {
        "device": name,
        "threads": torch.get_num_threads(),
        "torch": str(torch.__version__),  # a string of a class of its own
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


def main(name: str, rows: Iterable[Row]) -> None:
    """The command of a small experiment: write its rows to results/NAME.jsonl."""
    write(RESULTS / f"{name}.jsonl", rows, origin(f"python -m laboratory.{name}"))
