"""Questions about parts of the parsed structure, before they have a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lark import Token, Tree

from texcheck.parser import Part, canonical, read_factor


def trees_in(parts: Iterable[Part]) -> list[Tree[Token]]:
    """Those of some parts that are no single tokens."""
    return [part for part in parts if isinstance(part, Tree)]


def is_dots(tree: Part) -> bool:
    """Whether an expression, a term or a cell consists of dots alone."""
    while isinstance(tree, Tree) and len(tree.children) == 1:
        tree = tree.children[0]
    return isinstance(tree, Token) and tree.type == "DOTS"


def next_name(parts: list[Part], place: int, text: str) -> str:
    """The symbol that follows, or an empty text."""
    if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
        following = read_factor(parts[place + 1], text)
        return following.name if following.is_symbol else ""
    return ""


def next_bracket(parts: list[Part], place: int, text: str) -> str:
    """The kind of bracket that follows, or an empty text."""
    if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
        return read_factor(parts[place + 1], text).bracket
    return ""


def lone_symbol(tree: Part, text: str) -> str:
    """The name of an expression that is one symbol without scripts, or an empty text."""
    while isinstance(tree, Tree) and tree.data != "factor" and len(tree.children) == 1:
        tree = tree.children[0]
    if isinstance(tree, Tree) and tree.data == "factor":
        factor = read_factor(tree, text)
        if factor.is_symbol and not (factor.sub or factor.sup):
            return factor.name
    return ""


def term_parts(part: Part) -> list[Part]:
    """The factors of a group that holds one term, or nothing."""
    if isinstance(part, Token):
        return [Tree("factor", [part])]
    tree: Part = part
    if part.data == "group":
        inner = trees_in(part.children)
        if len(inner) != 1:
            return []
        tree = inner[0]
    while isinstance(tree, Tree) and tree.data != "term" and len(tree.children) == 1:
        tree = tree.children[0]
    return list(tree.children) if isinstance(tree, Tree) and tree.data == "term" else []


def is_parenthesised(sup: Part) -> bool:
    """Whether a superscript is in parentheses."""
    return bool(re.fullmatch(r"\([^()]*\)", canonical(sup)))
