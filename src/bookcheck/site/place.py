"""Where a piece of the book stands, in words a writer can follow."""

from pathlib import Path

from docutils import nodes

# MyST-NB numbers the lines of a notebook as 10000 * cell + line.
LINES_PER_CELL = 10_000


def place_of(node: nodes.Node, source_root: str | Path) -> str:
    """Return "chapters/x.ipynb, cell 3, line 8" for a node of a document."""
    found: nodes.Node | None = node
    while found is not None and (found.line is None or found.source is None):
        found = found.parent
    if found is None or found.source is None:
        source = getattr(node.document, "attributes", {}).get("source", "unknown source")
        line = None
    else:
        source, line = found.source, found.line
    return describe_place(str(source), line, source_root)


def describe_place(source: str, line: int | None, source_root: str | Path) -> str:
    """Return the file, relative to the book, with the cell and line where they are known."""
    path = Path(source)
    root = Path(source_root)
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    if line is None:
        return name
    if path.suffix == ".ipynb" and line >= LINES_PER_CELL:
        cell, line_in_cell = divmod(line, LINES_PER_CELL)
        return f"{name}, cell {cell}, line {line_in_cell}"
    return f"{name}, line {line}"
