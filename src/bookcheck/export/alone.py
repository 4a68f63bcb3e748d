"""Run a notebook's code with some packages out of reach: `python -I alone.py SOURCES NOTEBOOK`.

The names of the packages that must not be imported come in on standard input. This file is run by
its path and imports nothing of the book, so that the notebook's imports are the only ones.
"""

import contextlib
import io
import json
import linecache
import sys
import traceback
from pathlib import Path
from typing import Any


class Without:
    """A finder of modules that does not find the refused packages, as where they are missing."""

    def __init__(self, finder: Any, refused: set[str]) -> None:
        self.finder = finder
        self.refused = refused

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the finder finds, and nothing for a refused package."""
        if name.partition(".")[0] in self.refused:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def run(notebook: Path) -> str:
    """Run the code cells in order; return what went wrong, or an empty text."""
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        source, place = "".join(cell["source"]), f"{notebook.name}, cell {number}"
        # So that a cell can show the source of its own functions, as in a notebook.
        linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, place, "exec"), names)
        except Exception:
            return f"{place}:\n{traceback.format_exc(limit=-3)}"
    return ""


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    refused = set(sys.stdin.read().split())
    sys.meta_path[:] = [Without(finder, refused) for finder in sys.meta_path]
    problem = run(Path(sys.argv[2]))
    print(problem, file=sys.stderr)
    sys.exit(bool(problem))
