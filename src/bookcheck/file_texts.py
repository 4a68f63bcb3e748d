"""The lines of a Python file that say something to a reader: messages, helps, names of trials.

Of a page, and of code that a page shows, every line is listed (`bookcheck.numbers`). Of a program
that no page shows, only the statements count that have a text of more than a word: most single
words are keys there. What stands beside a text says as much as its words, the argument that a name
names, the order of names. So a statement has all of its lines, and with it come the heads of what
it stands in: the condition, the loop, the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# A text of this form may be a name: a key, an option, a colour.
NAME = re.compile(r"[a-z_\d.#=<>^/-]*|\W*|.")
# What stands between texts.
NO_WORDS = re.compile(r"[\s,;:/|._-]*")
# What chooses a text, or says one for each of several.
CHOICES = (ast.If, ast.For, ast.While, ast.With, ast.Match)


def lines_with_texts(code: str) -> Iterator[str]:
    """The lines of the statements that have a text, and of what they stand in, in their order."""
    kept: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and is_listed(node):
            kept |= {*lines_of(node)}
    for number, line in enumerate(code.splitlines(), start=1):
        if number in kept:
            yield line


def inner(node: ast.stmt) -> list[ast.stmt]:
    """The statements that a statement holds."""
    cases = getattr(node, "cases", ())
    inside = [one for case in cases for one in case.body]
    return [*inside, *getattr(node, "body", ()), *getattr(node, "orelse", ())]


def is_listed(node: ast.stmt) -> bool:
    """Whether a statement, or the head of one, says something to a reader."""
    if has_text(node):
        return True
    return isinstance(node, CHOICES) and any(
        has_text(one) for one in inner(node) if not hasattr(one, "body")
    )


def has_text(node: ast.AST) -> bool:
    """Whether a part of a statement has a text; of one with a body, only its head is read."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False  # a docstring
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return not NAME.fullmatch(node.value) and not NO_WORDS.fullmatch(node.value)
    return any(
        has_text(one)
        for one in ast.iter_child_nodes(node)
        if not isinstance(one, (ast.stmt, ast.ExceptHandler, ast.match_case))
    )


def lines_of(node: ast.stmt) -> range:
    """The numbers of the lines of a statement, or of the head of one that holds others."""
    assert node.end_lineno is not None
    end = node.end_lineno
    if inside := inner(node):
        first = inside[0]
        begins = [first, *getattr(first, "decorator_list", ())]
        end = max(node.lineno, min(one.lineno for one in begins) - 1)
    return range(node.lineno, end + 1)
