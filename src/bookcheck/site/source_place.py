"""Name the place of a node for an author: the file, the cell as Jupyter shows it, the line."""

from pathlib import Path

from docutils import nodes

from bookcheck.notebooks.files import cells_of

# MyST-NB counts the lines of a notebook as 10000 * cell + line + 1.
LINES_PER_CELL = 10_000


def place_of(node: nodes.Node, source_root: str | Path) -> str:
    """Return "chapters/x.ipynb, text below cell [3], line 8" for a node of a document."""
    source = str(node.document["source"]) if node.document is not None else "unknown source"
    found: nodes.Node | None = node
    while found is not None and not found.line:
        found = found.parent
    return describe_place(source, None if found is None else found.line, source_root)


def describe_place(source: str, line: int | None, source_root: str | Path) -> str:
    """Return the file, relative to the book, with the cell and line where they are known."""
    path = Path(source)
    root = Path(source_root)
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    if not line:
        return name
    if path.suffix == ".ipynb" and line >= LINES_PER_CELL:
        cell, line_in_cell = divmod(line, LINES_PER_CELL)
        return f"{name}, {cells_of(path)[cell - 1].place}, line {max(line_in_cell - 1, 1)}"
    return f"{name}, line {line}"
