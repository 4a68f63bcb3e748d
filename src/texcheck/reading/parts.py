"""Questions about parts of the parsed structure, before they have a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lark import Token, Tree

from texcheck.errors import LatexError
from texcheck.parser import Factor, Part, canonical, position_of, read_factor
from texcheck.vocabulary import DECLARED_PREFIXES, TEXTS


def trees_in(parts: Iterable[Part]) -> list[Tree[Token]]:
    """Those of some parts that are no single tokens."""
    return [part for part in parts if isinstance(part, Tree)]


def entries_in(tree: Tree[Token], text: str) -> list[Tree[Token]]:
    """What is listed between two brackets, where nothing but commas separates it."""
    for part in tree.children:
        if isinstance(part, Token) and part.type == "MID":
            message = "a bar between brackets is a condition; this is no probability or function"
            if tree.children[0] == "\\{":
                message = "a set by a condition cannot be read; declare it under a name"
            raise LatexError(message, position_of(part), text)
        if isinstance(part, Token) and part.type == "COMMA" and part.value == "and":
            raise LatexError("'and' cannot stand inside brackets", position_of(part), text)
    return trees_in(tree.children[1:-1])


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


def is_prefix(factor: Factor) -> bool:
    """Whether a sign is declared with the letter behind it; \\partial only with its variable."""
    return factor.name in DECLARED_PREFIXES and (
        factor.name != "\\partial" or factor.sub is not None
    )


def next_bracket(parts: list[Part], place: int, text: str) -> str:
    """The kind of bracket that follows, or an empty text."""
    if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
        return read_factor(parts[place + 1], text).bracket
    return ""


def holds_one_factor(bracket: Part) -> bool:
    """Whether a bracket holds one factor alone, without a sign."""
    if not isinstance(bracket, Tree):
        return False
    inner = trees_in(bracket.children[1:-1])
    if len(inner) != 1 or len(bracket.children) != 3:
        return False
    tree: Part = inner[0]
    while isinstance(tree, Tree) and tree.data != "factor" and len(tree.children) == 1:
        tree = tree.children[0]
    return isinstance(tree, Tree) and tree.data == "factor"


def lone_symbol(tree: Part, text: str) -> str:
    """The name of an expression that is one symbol without scripts, or an empty text."""
    while isinstance(tree, Tree) and tree.data != "factor" and len(tree.children) == 1:
        tree = tree.children[0]
    if isinstance(tree, Tree) and tree.data == "factor":
        factor = read_factor(tree, text)
        if factor.is_symbol and not (factor.sub or factor.sup or factor.factorial):
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


def is_label(sup: Part) -> bool:
    """Whether a superscript is part of a name: (k), a star, a word."""
    printed = canonical(sup)
    if re.fullmatch(r"\(.*\)|star|[+-]|\\ast|\\dagger|\\star", printed):
        return True
    return any(printed.startswith(f"{piece}{{") for piece in (*TEXTS, "\\mathrm"))
