"""Run chapters again and store what they give: `python -m bookcheck.notebooks.execute [FILE ...]`.

Outputs that are the same within the tolerance keep their stored form, so a run on another machine
changes nothing that did not change. Files whose cells fail are left as they were.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from bookcheck.notebooks.files import chapter_notebooks, read, stored_form
from bookcheck.notebooks.outputs import difference, join_pieces
from bookcheck.notebooks.rules import tolerance
from bookcheck.paths import ROOT


def execute(path: Path) -> bool:
    """Execute one notebook in place; True when its file changed."""
    before = read(path)
    # One read more, not a copy: the client changes what it is given.
    after = read(path)
    for cell in after.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        after,
        timeout=600,
        kernel_name="python3",
        extra_arguments=["--log-level=CRITICAL"],
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    for cell in after.cells:
        if cell.cell_type == "code":
            cell.outputs = join_pieces(cell.outputs)
    _keep_equal_outputs(before, after)
    text = stored_form(after)
    if path.read_text(encoding="utf-8") == text:
        return False
    written = path.with_suffix(".ipynb.new")
    written.write_text(text, encoding="utf-8")
    os.replace(written, path)
    return True


def _keep_equal_outputs(before: Any, after: Any) -> None:
    stored = {
        cell.source.rstrip(): cell
        for cell in before.cells
        if cell.cell_type == "code" and cell.execution_count is not None
    }
    for cell in after.cells:
        old = stored.get(cell.source.rstrip())
        if cell.cell_type != "code" or old is None:
            continue
        if difference(old.outputs, cell.outputs, tolerance(cell)) is None:
            cell.outputs = old.outputs


def _chosen(names: list[str]) -> list[Path]:
    if not names:
        return chapter_notebooks()
    chosen = []
    for name in names:
        found = [p for p in chapter_notebooks() if name in (p.name, p.stem, p.stem[:2], str(p))]
        found = found or [Path(name)] * Path(name).is_file()
        if not found:
            known = ", ".join(path.stem for path in chapter_notebooks())
            raise SystemExit(f"there is no chapter {name!r}; the chapters are: {known}")
        chosen += found
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Execute the named chapters, or all, with a line of progress for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", nargs="*", help="a chapter: 01, 01-attention or its path")
    chosen = _chosen(parser.parse_args(arguments).notebook)
    failed = 0
    for number, path in enumerate(chosen, start=1):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        print(f"[{number}/{len(chosen)}] {name} ...", end=" ", flush=True)
        started = time.perf_counter()
        try:
            changed = execute(path)
        except CellExecutionError as error:
            failed += 1
            print(f"failed; the file is left as it was\n{error}", flush=True)
            continue
        seconds = time.perf_counter() - started
        print(f"{seconds:.1f} s, {'outputs stored' if changed else 'unchanged'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
