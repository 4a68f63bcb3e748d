"""Name the place of a node for an author: the file, the cell as Jupyter shows it, the line."""

from pathlib import Path

from docutils import nodes

from bookformat.notebooks import cells_of

# MyST-NB counts the lines of a notebook as 10000 * cell + line + 1.
LINES_PER_CELL = 10_000


def place_of(node: nodes.Node, source_root: str | Path) -> str:
    """Return "chapters/x.ipynb, text below cell [3], line 8" for a node of a document."""
    assert node.document is not None
    path = Path(node.document["source"])
    while not node.line and node.parent is not None:
        node = node.parent
    line = node.line
    name = path.relative_to(source_root).as_posix()
    if path.suffix == ".ipynb" and line:
        cell, line_in_cell = divmod(line, LINES_PER_CELL)
        return f"{name}, {cells_of(path)[cell - 1].place}, line {max(line_in_cell - 1, 1)}"
    return f"{name}, line {line}" if line else name
