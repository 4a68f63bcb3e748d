"""The texts of a page that a reader reads: Markdown, captions, and alt texts of figures."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Cell(NamedTuple):
    """A cell of a page; a page without code is one cell."""

    kind: str
    source: str
    caption: str = ""


def cells_of(path: Path) -> list[Cell]:
    """The cells of a page."""
    if path.suffix == ".md":
        return [Cell("markdown", path.read_text(encoding="utf-8"))]
    return [
        Cell(
            cell["cell_type"],
            "".join(cell["source"]),
            cell.get("metadata", {}).get("mystnb", {}).get("figure", {}).get("caption", ""),
        )
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]


def page_text(path: Path) -> str:
    """The prose of a page: a notebook's Markdown cells, or the whole file."""
    return "\n\n".join(cell.source for cell in cells_of(path) if cell.kind == "markdown")


def alt_texts(code: str) -> Iterator[str]:
    """The typed words of the alt texts in a code cell; "…" stands for what an f-string computes."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.keyword) and node.arg == "alt":
            yield " … ".join(typed_strings(node.value))


def typed_strings(node: ast.AST) -> Iterator[str]:
    """The strings below a node, without what an f-string computes and how it is formatted."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.FormattedValue):
        for child in ast.iter_child_nodes(node):
            yield from typed_strings(child)
