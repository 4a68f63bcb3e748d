"""Where a chapter first uses a function of the library, its source is one click away.

The block folds below the visible cell that uses it, so that what a reader copies can run. What is
longer than a screen is not repeated on the page: the reference leads to it.
"""

import ast
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from bookcheck.site.library import library

LONGEST = 60  # lines; about a screen
HIDDEN = {"tag_hide-input", "tag_hide-cell", "tag_remove-input", "tag_remove-cell"}


def sources_to_show(cells: list[tuple[str, bool]]) -> list[list[tuple[str, str]]]:
    """For each cell, code and whether it is seen: name and source of what it is first to use."""
    known: dict[str, tuple[str, str]] = {}
    shown: set[tuple[str, str]] = set()
    result: list[list[tuple[str, str]]] = []
    for code, visible in cells:
        result.append([])
        try:
            tree = list(ast.walk(ast.parse(code)))
        except SyntaxError:  # a line of IPython
            continue
        for node in tree:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if place := library().find(f"{node.module}.{alias.name}"):
                        known[alias.asname or alias.name] = place
        names = [node for node in tree if isinstance(node, ast.Name) and node.id in known]
        for name in sorted(names, key=lambda node: (node.lineno, node.col_offset)):
            place = known[name.id]
            if visible and place not in shown:
                shown.add(place)
                text = library().source(*place)
                if len(text.splitlines()) <= LONGEST:
                    result[-1].append((name.id, text))
    return result


class ShowLibrarySource(SphinxTransform):
    """Put the folded sources below the cells of a notebook."""

    default_priority = 700

    def apply(self, **_: Any) -> None:
        """Read all cells in order, then add what each introduces."""
        places, cells = [], []
        for cell in self.document.findall(nodes.container):
            for part in cell.children if "cell" in cell["classes"] else ():
                if isinstance(part, nodes.container) and "cell_input" in part["classes"]:
                    code = next(iter(part.findall(nodes.literal_block))).astext()
                    places.append((cell, part))
                    cells.append((code, not HIDDEN & set(cell["classes"])))
        for (cell, part), sources in zip(places, sources_to_show(cells), strict=True):
            for name, text in reversed(sources):
                cell.insert(cell.index(part) + 1, fold(f"Source of <code>{name}</code>", text))


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
