"""The library as its source files say it: read with `ast`, never imported, so it needs no PyTorch.

It gives the reference its names, signatures and docstrings, and chapters the sources they show.
"""

import ast
import functools
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bookcheck.paths import SOURCES

PACKAGE = "attention_to_rope"
# Not for readers: checks of arguments, and the tests' own slow copies of the formulas.
HIDDEN_MODULES = ("checks", "reference", "rope_checks")

Definition = ast.FunctionDef | ast.ClassDef


class Entry(NamedTuple):
    """A public function or class; by its full name it is imported and linked to."""

    module: str
    name: str
    full_name: str
    node: Definition


class Library:
    """The modules of a package, by the names that follow the package's own."""

    def __init__(self, folder: Path) -> None:
        files = {
            ".".join(path.relative_to(folder).with_suffix("").parts): path
            for path in sorted(folder.rglob("*.py"))
        }
        package = files.pop("__init__").read_text(encoding="utf-8")
        self.texts = {
            name: path.read_text(encoding="utf-8")
            for name, path in files.items()
            if path.stem != "__init__"
        }
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}
        self.package = ast.parse(package)
        # Where each exported name is defined.
        self.exported = {
            alias.name: (node.module or "").removeprefix(f"{folder.name}.")
            for node in self.package.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def descriptions(self) -> dict[str, str]:
        """What each module is for: from the package's own list, or the module's first line."""
        lines = (ast.get_docstring(self.package) or "").splitlines()[2:]
        listed = {name: about for name, about in (line.split(None, 1) for line in lines if line)}
        others = [name for name in self.trees if name not in listed]
        found = {}
        for name in (*listed, *others):
            if name in self.trees and name not in HIDDEN_MODULES:
                about = listed.get(name) or (ast.get_docstring(self.trees[name]) or name)
                first = about.splitlines()[0].rstrip(".")
                found[name] = f"{first[0].upper()}{first[1:]}."
        return found

    def definitions(self, module: str) -> dict[str, Definition]:
        """The functions and classes of a module; of an overloaded one its last form."""
        body = self.trees[module].body
        return {n.name: n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}

    def entries(self) -> Iterator[Entry]:
        """What the package exports, module by module; of other modules all that is public."""
        for module in self.descriptions():
            known = self.definitions(module)
            public = sorted(n for n in known if not n.startswith("_") and n != "main")
            exported = [name for name in public if self.exported.get(name) == module]
            prefix = PACKAGE if exported else f"{PACKAGE}.{module}"
            for name in exported or public:
                yield Entry(module, name, f"{prefix}.{name}", known[name])

    def find(self, dotted: str) -> tuple[str, str] | None:
        """Module and name of what a dotted name stands for, such as attention_to_rope.rotate."""
        place, _, name = dotted.removeprefix(f"{PACKAGE}.").rpartition(".")
        module = place or self.exported.get(name, "")
        known = module in self.trees and name in self.definitions(module)
        return (module, name) if known else None

    def source(self, module: str, name: str) -> str:
        """The lines of a function or class, decorators included."""
        node = self.definitions(module)[name]
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        return "\n".join(self.texts[module].splitlines()[first - 1 : node.end_lineno])

    def header(self, module: str, node: Definition) -> str:
        """How to call it, as its file writes it up to the docstring; of a class also the fields."""
        lines = self.texts[module].splitlines()
        shown: list[ast.stmt] = [node]
        if isinstance(node, ast.ClassDef):
            start = [
                n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"
            ]
            shown += start or [n for n in node.body if isinstance(n, ast.AnnAssign)]
        text = ""
        for one in shown:
            body = one.body if isinstance(one, Definition) else []
            end = body[0].lineno - 1 if body else one.end_lineno
            text += "\n".join([*lines[one.lineno - 1 : max(one.lineno, end or 0)], ""])
        return textwrap.dedent(text).rstrip()

    def methods(self, node: Definition) -> Iterator[ast.FunctionDef]:
        """The public methods of a class that say what they do."""
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                yield from [one] if ast.get_docstring(one) else []


@functools.cache
def library() -> Library:
    """The library of this book."""
    return Library(SOURCES / PACKAGE)
