"""Run a notebook's code with some packages out of reach: `python -I alone.py SOURCES NOTEBOOK`.

The names of the packages that must not be imported come in on standard input. This file is run by
its path, so that nothing is imported yet but what takes the packages away.
"""

import contextlib
import io
import json
import linecache
import sys
import traceback
from pathlib import Path


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
    from bookcheck.notebooks.reach import refuse

    refuse(set(sys.stdin.read().split()))
    problem = run(Path(sys.argv[2]))
    print(problem, file=sys.stderr)
    sys.exit(bool(problem))
