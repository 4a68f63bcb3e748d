"""Code that a reader sees: short and narrow, and in a chapter one listing that runs alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

from bookcheck.notebooks.files import read
from bookcheck.prose.reading_time import HIDDEN_TAGS, main_line_cells

LINES, LISTING_LINES, COLUMNS = 15, 60, 76


def visible_code(path: Path) -> Iterator[str]:
    """The cells whose code is seen without a click, exercises apart."""
    for cell in main_line_cells(read(path).cells):
        if cell.cell_type == "code" and not HIDDEN_TAGS & set(cell.metadata.get("tags", [])):
            yield cell.source


def stands_alone(source: str) -> bool:
    """Whether a cell is a listing: it imports NumPy or PyTorch, and nothing of the book."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    packages = {name.partition(".")[0] for name in names}
    return bool(packages & {"numpy", "torch"}) and not packages & {"attention_to_rope", "bookkit"}


def code_problems(path: Path, *, listing: bool = True) -> list[str]:
    """Visible cells that are too long or too wide, and a page that lacks the `listing` it needs."""
    problems, listings = [], 0
    for source in visible_code(path):
        lines = [line for line in source.splitlines() if line.strip()]
        alone = stands_alone(source)
        listings += alone
        most = LISTING_LINES if alone else LINES
        if len(lines) > most:
            problems.append(f"{len(lines)} lines, at most {most}: fold a part of {lines[0]!r} …")
        problems += [
            f"{len(line)} columns, at most {COLUMNS}: break the line {line.strip()!r}"
            for line in lines
            if len(line) > COLUMNS
        ]
    # The file of the complete model is one to copy, too.
    listings += "attention_to_rope/model.py" in path.read_text(encoding="utf-8")
    if listing and not listings:
        problems.append("has no listing that runs with NumPy or PyTorch alone; show one")
    return [f"{path.name}: {problem}" for problem in problems]
