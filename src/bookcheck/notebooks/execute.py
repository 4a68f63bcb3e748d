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
from nbclient.util import run_sync

from bookcheck.notebooks.files import cell_places, chapter_notebooks, page_name, read, stored_form
from bookcheck.notebooks.kernel_values import computed_of, request, with_new_values
from bookcheck.notebooks.outputs import difference, join_pieces
from bookcheck.notebooks.rules import tolerance
from bookcheck.notebooks.sockets import own_sockets
from bookcheck.notebooks.values import values_of_cell
from bookcheck.paths import ROOT


def client_of(notebook: Any, folder: Path) -> Any:
    """A client that runs the cells of a notebook in a kernel of its own, in this folder."""
    return NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        config=own_sockets(),
        extra_arguments=["--log-level=CRITICAL"],
        resources={"metadata": {"path": str(folder)}},
    )


def execute(path: Path, *, renew_values: bool = False) -> bool:
    """Execute one notebook in place; True when its file changed.

    With `renew_values` the printed parts of its {value} roles become what is computed.
    """
    before = read(path)
    # One read more, not a copy: the client changes what it is given.
    after = read(path)
    for cell in after.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = client_of(after, path.parent)
    with client.setup_kernel():
        places = cell_places(cell.cell_type for cell in after.cells)
        for number, (cell, place) in enumerate(zip(after.cells, places, strict=True)):
            client.execute_cell(cell, number)
            if renew_values and values_of_cell(cell):
                renew(cell, client, f"{path.name}, {place}")
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


def renew(cell: Any, client: Any, place: str) -> None:
    """Let the values of a cell print what the kernel computes; say what each is."""
    values = values_of_cell(cell)

    async def ask() -> Any:
        return await client.kc.execute(**request(values), reply=True, timeout=600)

    computed = computed_of(run_sync(ask)(), values)
    for value, result in zip(values, computed, strict=True):
        print(f"{place}: {value.printed} = {value.expression} gives {result!r}")
    if cell.cell_type == "markdown":
        cell.source = with_new_values(cell.source, values, computed)
    else:
        figure = cell.metadata["mystnb"]["figure"]
        figure["caption"] = with_new_values(figure["caption"], values, computed)


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
    if not names:
        return chapter_notebooks()
    chosen = []
    known_pages = {page_name(path): path for path in chapter_notebooks()}
    for name in names:
        wanted = name.removesuffix(".ipynb")
        found = [path for page, path in known_pages.items() if wanted in (page, page[:2])]
        found = found or [Path(name)] * Path(name).is_file()
        if not found:
            known = ", ".join(known_pages)
            raise SystemExit(f"there is no chapter {name!r}; the chapters are: {known}")
        chosen += found
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Execute the named chapters, or all, with a line of progress for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "notebook", nargs="*", help="a page: 01, 01-attention, deeper/01-edge-cases or its path"
    )
    parser.add_argument(
        "--values", action="store_true", help="print the {value}s, and write them into the text"
    )
    options = parser.parse_args(arguments)
    chosen = chosen_pages(options.notebook)
    failed = 0
    for number, path in enumerate(chosen, start=1):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        print(f"[{number}/{len(chosen)}] {name} ...", end=" ", flush=True)
        started = time.perf_counter()
        try:
            changed = execute(path, renew_values=options.values)
        except CellExecutionError as error:
            failed += 1
            print(f"failed; the file is left as it was\n{error}", flush=True)
            continue
        seconds = time.perf_counter() - started
        print(f"{seconds:.1f} s, {'outputs stored' if changed else 'unchanged'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
