"""The formulas that docstrings print, by the function that they describe."""

import ast
from collections.abc import Iterator
from pathlib import Path

from bookcheck.equations.scan import NAME, formulas_in


def docstring_formulas(package: Path) -> dict[str, list[str]]:
    """ "rope.rotate" and the formulas between its dollar signs, for all modules of a package."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).with_suffix("").as_posix().replace("/", ".")
        for name, docstring in described(ast.parse(path.read_text(encoding="utf-8"))):
            formulas = list(dict.fromkeys(formulas_in(docstring)))
            if stated := [text for text in formulas if not NAME.fullmatch(text)]:
                found[f"{module}.{name}"] = stated
    return found


def described(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The functions and classes of a module, methods included, with their docstrings."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield f"{prefix}{node.name}", ast.get_docstring(node) or ""
            yield from described(node, f"{prefix}{node.name}.")
