"""Run readers' notebooks with nothing but what `attention-to-rope[pages]` installs.

`python -m bookcheck.export.run_notebooks` runs them two at a time, each in a process in which all
other packages, and bookcheck itself, cannot be imported.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bookcheck.notebooks.reach import refused_modules
from bookcheck.paths import SOURCES
from bookcheck.site.reader import book_of, reader_texts, write

# Standard input names the packages that must not be imported.
PROGRAM = """
import contextlib, io, json, linecache, sys
sources, notebook = sys.argv[1:]
sys.path.insert(0, sources)
from bookcheck.notebooks.reach import refuse
refuse(set(sys.stdin.read().split()))
names = {"__name__": "__main__"}
cells = json.load(open(notebook, encoding="utf-8"))["cells"]
code = [cell for cell in cells if cell["cell_type"] == "code"]
for number, cell in enumerate(code, start=1):
    source, place = "".join(cell["source"]), f"cell [{number}]"
    # So that a cell can show the source of its own functions, as in a notebook.
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, place, "exec"), names)
"""


def run_notebook(notebook: Path, refused: set[str]) -> str:
    """Run one notebook in a process of its own; return its traceback, or an empty text."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, SOURCES, notebook],
        input=" ".join(sorted(refused)),
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=notebook.parent,
    )
    return done.stderr.strip() if done.returncode else ""


def main(arguments: list[str] | None = None) -> None:
    """Run all pages, or those named, with a line for each; end with 1 if one fails."""
    parser = argparse.ArgumentParser(description="Run the reader's notebooks.")
    parser.add_argument("page", nargs="*", help="01-attention, deeper/01-edge-cases, …; else all")
    pages = parser.parse_args(arguments).page
    texts = reader_texts(book_of())
    chosen = [f"{page}.ipynb" for page in pages] or list(texts)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as workers:
        write(Path(folder), texts)
        run = partial(run_notebook, refused=refused_modules())
        results = list(workers.map(run, [Path(folder, name) for name in chosen]))
    for name, problem in zip(chosen, results, strict=True):
        print(f"{name}: {problem or 'ran'}")
    sys.exit(any(results))


if __name__ == "__main__":
    main()
