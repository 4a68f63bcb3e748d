"""Run chapters again and store their outputs: `python -m bookcheck.notebooks.execute [PAGE ...]`.

Outputs that are the same within the tolerance keep their stored digits, so a run on another machine
changes nothing that did not change. Files whose cells fail are left as they were.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from bookcheck.notebooks.files import chapter_notebooks, page_name, read, stored_form
from bookcheck.notebooks.outputs import difference
from bookcheck.notebooks.rules import tolerance


def execute(path: Path) -> bool:
    """Execute one notebook in place; True when its file changed."""
    before = read(path)
    after = read(path)
    for cell in after.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        after,
        timeout=600,
        kernel_name="python3",
        coalesce_streams=True,
        extra_arguments=["--log-level=CRITICAL"],
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    _keep_equal_outputs(before, after)
    text = stored_form(after)
    changed = path.read_text(encoding="utf-8") != text
    if changed:
        path.write_text(text, encoding="utf-8")
    return changed


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


def chosen_pages(names: list[str]) -> list[Path]:
    """The notebooks of the given names, numbers or paths; all of them where none is given."""
    known = {page_name(path): path for path in chapter_notebooks()}
    chosen = [] if names else list(known.values())
    for name in names:
        wanted = name.removesuffix(".ipynb")
        found = [path for page, path in known.items() if wanted in (page, page[:2])]
        found = found or [Path(name)] * Path(name).is_file()
        if not found:
            raise SystemExit(f"there is no chapter {name!r}; the chapters are: {', '.join(known)}")
        chosen += found
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Execute the named chapters, or all, with a line of progress for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "page", nargs="*", help="01, 01-attention, deeper/01-edge-cases or a path; else all"
    )
    chosen = chosen_pages(parser.parse_args(arguments).page)
    failed = 0
    for number, path in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {path.name} ...", end=" ", flush=True)
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
