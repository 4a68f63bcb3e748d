"""Listings that run in the page: Python in the reader's browser, loaded when they click "Run".

A build has them only where the variable BOOK_RUNNABLE is set (`make book RUNNABLE=yes`), because
Python and NumPy for the browser, from npm, add 16 MB to the site. A listing is offered if it needs
NumPy and nothing else: no other package, and no name from a cell that is not offered. The scripts
are in _static/runnable. From a file or without JavaScript, readers see a note instead of buttons.
"""

import ast
import builtins
import os
import re
import shutil
import symtable
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform

from bookformat.paths import NODE_ROOM
from booksite.node.packages import ensure_packages

VARIABLE = "BOOK_RUNNABLE"
# Both below _static: the book's own scripts, and what others made, which the zip file leaves out.
SCRIPTS = "runnable"
FORMS = "forms"  # what scripts of several pages share
PYTHON = "python"
ROOM = NODE_ROOM / "pyodide"
FILES = {
    "pyodide.js": "pyodide/pyodide.js",
    "pyodide.asm.js": "pyodide/pyodide.asm.js",
    "pyodide.asm.wasm": "pyodide/pyodide.asm.wasm",
    "pyodide-lock.json": "pyodide/pyodide-lock.json",
    "python_stdlib.zip": "pyodide/python_stdlib.zip",
    "numpy.tar.gz": "@emscripten-forge/numpy/pkg/numpy-2.1.1-py311hc8e14bb_0.tar.gz",
}
IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
NOTE = (
    "On the book's website, with JavaScript on, you can run this listing and change it. Here, see "
    "“Run this chapter” at the top of the page."
)


class Closed(ast.NodeTransformer):
    """Put comprehensions in functions: from Python 3.12 on, a symbol table else has their names."""

    def visit(self, node: ast.AST) -> ast.AST:
        """A function in the place of a comprehension; what is inside it comes first."""
        self.generic_visit(node)
        if not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
            return node
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Lambda(nothing, node)


def table_of(source: str) -> symtable.SymbolTable:
    """The names of a cell; those of a comprehension are its own."""
    return symtable.symtable(ast.unparse(Closed().visit(ast.parse(source))), "cell", "exec")


def names_read(table: symtable.SymbolTable) -> Iterator[str]:
    """The global names that code reads, in its functions too."""
    for symbol in table.get_symbols():
        if symbol.is_global() and symbol.is_referenced():
            yield symbol.get_name()
    for inner in table.get_children():
        yield from names_read(inner)


def choose(cells: Iterable[tuple[str, bool]]) -> list[bool]:
    """Say which cells of a page run with NumPy alone; a cell is its code and whether it is shown.

    The first of them imports NumPy. A name that any other cell binds is not known afterwards.
    """
    chosen: list[bool] = []
    known: set[str] = set()
    for source, shown in cells:
        table = table_of(source)
        modules = set(IMPORT.findall(source))
        bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        found = known | bound | set(dir(builtins))
        needs_only_numpy = modules <= {"numpy"} and bool(modules or known)
        runs = shown and needs_only_numpy and found.issuperset(names_read(table))
        known = known | bound if runs else known - bound
        chosen.append(runs)
    return chosen


def script_tags(up: str, *names: str) -> str:
    """What loads scripts, from a page whose site begins at `up`."""
    tag = '<script defer src="{}_static/{}.js"></script>'
    paths = [f"{FORMS}/{FORMS}", *(f"{SCRIPTS}/{name}" for name in names)]
    return "".join(tag.format(up, path) for path in paths)


class MarkListings(SphinxPostTransform):
    """Mark the listings that are offered, and put the note below the first of them."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_others: Any) -> None:
        """Look at all cells of a page, in order."""
        sources = [
            source
            for source in self.document.findall(nodes.container)
            if source.get("nb_element") == "cell_code_source"
        ]
        cells = [source.parent for source in sources]
        chosen = choose(
            (source.astext(), "hide_mode" not in cell)
            for source, cell in zip(sources, cells, strict=True)
        )
        listings = [cell for cell, runs in zip(cells, chosen, strict=True) if runs]
        for cell in listings:
            cell["classes"].append(SCRIPTS)
        for cell in listings[:1]:
            # The scripts are no part of what the browser's `fetch` counts.
            fetched = [path for path in FILES.values() if not path.endswith(".js")]
            size = sum((ROOM / "node_modules" / path).stat().st_size for path in fetched)
            up = "../" * self.env.docname.count("/")
            note = f'<p class="run-note small d-print-none" data-bytes="{size}">{_(NOTE)}</p>'
            cell += nodes.raw("", note + script_tags(up, "editor", "page"), format="html")


def copy_python(app: Sphinx, error: Exception | None) -> None:
    """Put Python and NumPy into the site, or take out what an earlier build left there."""
    static = Path(app.outdir) / "_static"
    if os.environ.get(VARIABLE) and error is None and app.builder.format == "html":
        (static / PYTHON).mkdir(exist_ok=True)
        for name, path in FILES.items():
            shutil.copyfile(ROOM / "node_modules" / path, static / PYTHON / name)
    else:
        for name in (PYTHON, SCRIPTS):
            shutil.rmtree(static / name, ignore_errors=True)


def setup(app: Sphinx) -> None:
    """Connect all of it, where the build is to have it."""
    if os.environ.get(VARIABLE):
        ensure_packages(ROOM)
        app.add_post_transform(MarkListings)
    app.connect("build-finished", copy_python)
