"""Where a chapter first uses a function of the library, its source is one click away.

The block folds below the visible cell that uses it, so that what a reader copies can run. What is
longer than a screen is not repeated on the page: the reference leads to it.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from bookcheck.site.library import PACKAGE, library

LONGEST = 60  # lines; about a screen
HIDDEN = {"tag_hide-input", "tag_hide-cell", "tag_remove-input", "tag_remove-cell"}


class Use(NamedTuple):
    """A name as a cell writes it, and where the library defines it."""

    name: str
    place: tuple[str, str]


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What a cell imports from the library: the name it gets, and its dotted name."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == PACKAGE and (alias.asname or alias.name == PACKAGE):
                    yield alias.asname or alias.name, alias.name


def uses_of(cells: list[str]) -> list[list[Use]]:
    """The names of the library that each cell uses, in the order of their first use there."""
    known: dict[str, str] = {}
    found: list[list[Use]] = []
    for source in cells:
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a line of IPython
            found.append([])
            continue
        known.update(imported_names(tree))
        uses: dict[Use, None] = {}
        for _, _, first, rest in sorted(read_names(tree)):
            place = library().find(f"{known[first]}.{rest}".strip(".")) if first in known else None
            if place:
                uses[Use(rest or first, place)] = None
        found.append(list(uses))
    return found


def read_names(tree: ast.Module) -> Iterator[tuple[int, int, str, str]]:
    """The names of a cell, and what it reads of them: ("softmax", "") or ("book", "softmax")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.col_offset, node.id, ""
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.lineno, node.col_offset, node.value.id, node.attr


def sources_to_show(uses: list[list[Use]], visible: list[bool]) -> list[list[tuple[str, str]]]:
    """For each cell name and source of what is used there, visibly, for the first time."""
    shown: set[tuple[str, str]] = set()
    result: list[list[tuple[str, str]]] = []
    for here, seen in zip(uses, visible, strict=True):
        fresh = [use for use in here if seen and use.place not in shown]
        shown |= {use.place for use in fresh}
        texts = [(use.name, library().source(*use.place)) for use in fresh]
        result.append([(name, t) for name, t in texts if len(t.splitlines()) <= LONGEST])
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
        uses = uses_of([source for _, _, source, _ in blocks])
        found = sources_to_show(uses, [visible for *_, visible in blocks])
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
