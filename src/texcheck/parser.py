"""Parse tokens into the structure that the grammar describes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken
from lark.lexer import Lexer

from texcheck.errors import LatexError
from texcheck.lexer import tokenize


class TokenList(Lexer):
    """Hands Lark the tokens that ``tokenize`` has cut."""

    def __init__(self, lexer_conf: Any) -> None:
        del lexer_conf

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]  # Lark calls a lexer of ours so
        """Hand the tokens on."""
        yield from data


@cache
def grammar() -> Lark:
    """The grammar of displayed formulas, read once."""
    text = files("texcheck").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, start="display", parser="lalr", lexer=TokenList, keep_all_tokens=True)


@cache
def parse(text: str) -> Tree[Token]:
    """The structure of a displayed formula; its symbols are not yet given a meaning."""
    tokens = tokenize(text)
    try:
        return grammar().parse(tokens)
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise LatexError("the formula ends too early", len(text), text) from None
        raise LatexError(
            f"{error.token.value!r} cannot stand here", error.token.start_pos or 0, text
        ) from None
    except UnexpectedInput as error:  # pragma: no cover - the token list gives no other kind
        raise LatexError(str(error), 0, text) from None


def tokens_of(tree: Tree[Token] | Token) -> Iterator[Token]:
    """The tokens of a part, in order."""
    if isinstance(tree, Token):
        yield tree
        return
    for child in tree.children:
        yield from tokens_of(child)


def canonical(tree: Tree[Token] | Token) -> str:
    """The text of a piece without spaces and braces: ``W^{Q}`` and ``W^Q`` are one name."""
    return "".join(
        token.value for token in tokens_of(tree) if token.type not in ("LBRACE", "RBRACE")
    )


def position_of(tree: Tree[Token] | Token) -> int:
    """Where a part starts."""
    for token in tokens_of(tree):
        return token.start_pos or 0
    return 0
