"""Run the reader's notebooks from top to bottom with nothing but what the library asks for.

`python -m bookcheck.export.reader_runs [PAGE ...]` runs them two at a time. All packages that
`attention-to-rope[pages]` does not bring along are out of reach, and so is bookcheck itself.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bookcheck.notebooks.reach import refused_modules
from bookcheck.paths import SOURCES
from bookcheck.site.reader import book_of, reader_texts, write

ALONE = Path(__file__).with_name("alone.py")


def run_alone(notebook: Path, refused: set[str]) -> str:
    """Run one notebook in a process of its own; return what went wrong, or an empty text."""
    done = subprocess.run(
        [sys.executable, "-I", ALONE, SOURCES, notebook],
        input=" ".join(sorted(refused)),
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=notebook.parent,
    )
    return done.stderr.strip() if done.returncode else ""


def main(arguments: list[str] | None = None) -> int:
    """Run all pages, or those named, with a line for each."""
    parser = argparse.ArgumentParser(description="Run the reader's notebooks.")
    parser.add_argument("page", nargs="*", help="01-attention, deeper/01-edge-cases, …; else all")
    pages = parser.parse_args(arguments).page
    texts = reader_texts(book_of())
    chosen = [f"{page}.ipynb" for page in pages] or list(texts)
    refused = refused_modules()
    failed = 0

    def timed(path: Path) -> tuple[str, float]:
        started = time.perf_counter()
        return run_alone(path, refused), time.perf_counter() - started

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as workers:
        write(Path(folder), texts)
        results = workers.map(timed, [Path(folder, name) for name in chosen])
        for name, (problem, seconds) in zip(chosen, results, strict=True):
            print(f"{seconds:6.1f} s  {name}{': FAILED' if problem else ''}", flush=True)
            if problem:
                failed += 1
                print(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
