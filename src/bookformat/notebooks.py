"""Where the chapters are, and the one form in which a notebook is stored."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from bookformat.contents import book_pages, page_name
from bookformat.paths import CHAPTERS

# Metadata that says something about the page; all else is left by editors and is dropped.
_KEPT_METADATA = ("tags", "mystnb", "bookcheck")
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def chapter_notebooks(folder: Path = CHAPTERS) -> list[Path]:
    """All chapters and deeper pages that are notebooks, in the book's order."""
    return [path for path in book_pages(folder) if path.suffix == ".ipynb"]


def repeat_command(path: Path) -> str:
    """The command that runs a notebook again and stores its outputs."""
    name = page_name(path) if path.is_relative_to(CHAPTERS) else path
    return f"make notebooks NB={name}"


class Cell(NamedTuple):
    """A cell of a page, and how messages name it; a page without code is one cell.

    ``head``: what its metadata say to the reader: whether it is folded, and its figure's label.
    """

    kind: str
    source: str
    place: str
    caption: str = ""
    head: str = ""


def cell_places(kinds: Iterable[str]) -> list[str]:
    """Name cells as Jupyter shows them: "cell [3]", and "text below cell [3]"."""
    places = []
    count = 0
    for kind in kinds:
        count += kind == "code"
        text = f"text below cell [{count}]" if count else "text above cell [1]"
        places.append(f"cell [{count}]" if kind == "code" else text)
    return places


def cells_of(path: Path) -> list[Cell]:
    """The cells of a notebook, or the one text of a Markdown page."""
    if path.suffix == ".md":
        return [Cell("markdown", path.read_text(encoding="utf-8"), "")]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = []
    for cell, place in zip(cells, cell_places(cell["cell_type"] for cell in cells), strict=True):
        metadata = cell.get("metadata", {})
        figure = metadata.get("mystnb", {}).get("figure", {})
        head = " ".join(["{code-cell}", *metadata.get("tags", ()), figure.get("name", "")]).rstrip()
        source = "".join(cell["source"])
        found.append(Cell(cell["cell_type"], source, place, figure.get("caption", ""), head))
    return found


def page_text(path: Path) -> str:
    """The prose of a page: a notebook's Markdown cells, or the whole file."""
    return "\n\n".join(cell.source for cell in cells_of(path) if cell.kind == "markdown")


def read(path: Path) -> Any:
    """Read a notebook, or say which file is broken; nbformat gives every cell an id of its own."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:
        raise ValueError(
            f"{path} is not a readable notebook: {error}; take the last good version from git"
        ) from error


def stored_form(notebook: Any) -> str:
    """The text of a notebook file: sorted, without traces of the machine or the editor."""
    notebook = nbformat.from_dict(notebook)  # a copy
    notebook.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat_minor = 5
    count = 0
    for cell in notebook.cells:
        code = cell.cell_type == "code"
        cell.source = cell.source.rstrip() if code else cell.source.strip("\n")
        cell.metadata = _metadata(cell)
        if code and cell.execution_count is not None:
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    return f"{nbformat.writes(notebook)}\n"


def _metadata(cell: Any) -> dict[str, Any]:
    """What a cell's metadata keep; code that the site folds is folded by other programs too."""
    kept = {k: cell.metadata[k] for k in _KEPT_METADATA if cell.metadata.get(k)}
    if cell.cell_type == "code" and FOLDED & set(kept.get("tags", ())):
        kept["jupyter"] = {"source_hidden": True}  # JupyterLab, VS Code
        kept["cellView"] = "form"  # Colab
    return kept
