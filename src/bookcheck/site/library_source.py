"""Where a chapter first uses a function of the library, its source is one click away.

The block folds below the visible cell that uses it, so that what a reader copies can run. What is
longer than a screen is not repeated on the page: the reference has it.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PACKAGE = "attention_to_rope"
LONGEST = 60  # lines; about a screen
HIDDEN = {"tag_hide-input", "tag_hide-cell", "tag_remove-input", "tag_remove-cell"}


def imported_names(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The names that a cell imports from the library, each with what it stands for."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != PACKAGE:
            continue
        module = importlib.import_module(node.module or PACKAGE)
        for alias in node.names:
            yield alias.asname or alias.name, getattr(module, alias.name, None)


def used_names(tree: ast.Module) -> list[str]:
    """The names that a cell reads, in the order of their first use."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(node.id for node in found))


def source_of(thing: Any) -> str | None:
    """The source of a function or class of the library, None where it is too long to show."""
    if not (inspect.isfunction(thing) or inspect.isclass(thing)):
        return None
    text = inspect.getsource(inspect.unwrap(thing))
    return text.rstrip() if len(text.splitlines()) <= LONGEST else None


def sources_to_show(cells: list[tuple[str, bool]]) -> list[list[tuple[str, str]]]:
    """For each cell (source, visible): name and source of what is used there for the first time."""
    known: dict[str, Any] = {}
    shown: set[str] = set()
    result: list[list[tuple[str, str]]] = []
    for source, visible in cells:
        here: list[tuple[str, str]] = []
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a line of IPython
            result.append(here)
            continue
        known.update(imported_names(tree))
        for name in used_names(tree) if visible else []:
            text = source_of(known.get(name))
            if text is not None and name not in shown:
                shown.add(name)
                here.append((name, text))
        result.append(here)
    return result


class ShowLibrarySource(SphinxTransform):
    """Put the folded sources below the cells of a notebook."""

    default_priority = 700

    def apply(self, **_: Any) -> None:
        """Read all cells in order, then add what each introduces."""
        blocks = []
        for cell in self.document.findall(nodes.container):
            if "cell" not in cell["classes"]:
                continue
            inputs = [c for c in cell.findall(nodes.container) if "cell_input" in c["classes"]]
            if inputs:
                source = next(iter(inputs[0].findall(nodes.literal_block))).astext()
                blocks.append((cell, inputs[0], source, not HIDDEN & set(cell["classes"])))
        found = sources_to_show([(source, visible) for _, _, source, visible in blocks])
        for (cell, shown_input, _source, _visible), sources in zip(blocks, found, strict=True):
            for name, text in reversed(sources):
                title = f"Source of <code>{name}</code>"
                cell.insert(cell.index(shown_input) + 1, fold(title, text))


def fold(title: str, text: str) -> nodes.container:
    """A closed block of Python under a title, which is HTML."""
    start = f'<details class="library-source"><summary>{title}</summary>'
    code = nodes.literal_block(text, text, language="python")
    return nodes.container(
        "",
        nodes.raw("", start, format="html"),
        code,
        nodes.raw("", "</details>", format="html"),
        classes=["library-source-box"],
    )


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(ShowLibrarySource)
