"""Run chapters again and store their outputs: `python -m bookcheck.notebooks.execute [PAGE ...]`.

Outputs that are the same within the tolerance keep their stored digits, so a run on another machine
changes nothing that did not change. Files whose cells fail are left as they were.
"""

import argparse
import sys
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
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    _keep_equal_outputs(before, after)
    text = stored_form(after)
    changed = path.read_text(encoding="utf-8") != text
    if changed:
        path.write_text(text, encoding="utf-8")
    return changed


def _keep_equal_outputs(before: Any, after: Any) -> None:
    executed = [cell for cell in before.cells if cell.get("execution_count") is not None]
    stored = {cell.source.rstrip(): cell.outputs for cell in executed}
    for cell in after.cells:
        old = stored.get(cell.source.rstrip())
        if old is not None and difference(old, cell.outputs, tolerance(cell)) is None:
            cell.outputs = old


def chosen_pages(names: list[str]) -> list[Path]:
    """The notebooks of the given names or paths; all of them where none is given."""
    known = {page_name(path): path for path in chapter_notebooks()}
    paths = [known.get(name, Path(name)) for name in names] or list(known.values())
    for path in paths:
        if not path.is_file():
            raise SystemExit(f"there is no chapter {path}; the chapters are: {', '.join(known)}")
    return paths


def main(arguments: list[str] | None = None) -> int:
    """Execute the named chapters, or all, with a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="*", help="01-attention, or a path; else all")
    failed = False
    for path in chosen_pages(parser.parse_args(arguments).page):
        try:
            said = "outputs stored" if execute(path) else "unchanged"
        except CellExecutionError as error:
            failed = True
            said = f"failed; the file is left as it was\n{error}"
        print(f"{path.name}: {said}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
