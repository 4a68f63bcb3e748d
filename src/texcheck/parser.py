"""Parse tokens into the structure that the grammar describes: factors with their scripts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from texcheck.errors import LatexError
from texcheck.lexer import tokenize
from texcheck.vocabulary import ARROWS, BARS, DECLARED_PREFIXES, INNER, OPEN_SIGNS, OPERATORS

# What is followed by an argument, which may be one token without braces.
ARGUMENTS = ("SUB", "SUP", "FRAC", "SQRT", "ACCENT")
# An operator or a relation that a check declares: \\otimes, \\gg, \\cdot_D.
OPEN_SIGN = re.compile(
    r"(" + "|".join(re.escape(sign) for sign in sorted({*OPEN_SIGNS, *OPERATORS, *ARROWS})) + r")"
    r"(\s*_.+)?"
)
WRAPPED = re.compile(r"\\(?:operatorname|mathrm|text|mathbb)\{(\w+)\}")


def bare_name(name: str) -> str:
    """``softmax`` for ``\\operatorname{softmax}``, ``\\mathrm{softmax}``, ``\\text{softmax}``."""
    match = WRAPPED.fullmatch(name)
    return match.group(1) if match else name.removeprefix("\\")


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
    for before, token in itertools.pairwise(tokens):
        if before.type in ARGUMENTS and token.type == "NUMBER" and len(token) > 1:
            raise long_argument(token, text)
    try:
        return grammar().parse(tokens)
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise LatexError("the formula ends too early", len(text), text) from None
        message = f"{error.token.value!r} cannot stand here"
        if error.token.type == "MID" and error.token.value == ":":
            message = "a slice cannot be read; declare the part under a name of its own"
        raise LatexError(message, error.token.start_pos or 0, text) from None


def long_argument(token: Token, text: str) -> LatexError:
    """The error of a number without braces that LaTeX would cut after its first digit."""
    message = f"LaTeX takes only the first digit of {token}; write {{{token}}}"
    return LatexError(message, token.start_pos or 0, text)


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
        "\\mid" if token.type == "MID" and token.value in BARS else token.value
        for token in tokens_of(tree)
        if token.type not in ("LBRACE", "RBRACE")
    )


def position_of(tree: Tree[Token] | Token) -> int:
    """Where a part starts."""
    while isinstance(tree, Tree):
        tree = tree.children[0]
    return tree.start_pos or 0


def end_of(tree: Tree[Token] | Token) -> int:
    """Where a part ends."""
    while isinstance(tree, Tree):
        tree = tree.children[-1]
    return tree.end_pos or 0


Part = Tree[Token] | Token


def tree_of(part: Any) -> Tree[Token]:
    """A part that is no single token."""
    assert isinstance(part, Tree)
    return part


@dataclass
class Factor:
    """One printed factor: what is on the line, and its scripts."""

    base: Part
    sub: Part | None
    sup: Part | None
    primes: str
    position: int
    factorial: bool = False

    @property
    def is_symbol(self) -> bool:
        """Whether the base is a symbol."""
        if isinstance(self.base, Token):
            return self.base.type == "SYMBOL"
        return self.base.data == "accent"

    @property
    def is_number(self) -> bool:
        """Whether the base is a number."""
        return isinstance(self.base, Token) and self.base.type == "NUMBER"

    @property
    def name(self) -> str:
        """The symbol with its primes."""
        return canonical(self.base) + self.primes

    @property
    def bracket(self) -> str:
        """The kind of the opening bracket, or an empty text."""
        if isinstance(self.base, Tree) and self.base.data == "bracket":
            first = self.base.children[0]
            assert isinstance(first, Token)
            return first.type
        return ""


def read_factor(tree: Part, text: str) -> Factor:
    """A factor: its base, its scripts and primes."""
    tree = tree_of(tree)
    base, *scripts = tree.children
    found: dict[str, Part] = {}
    primes = ""
    factorial = False
    for script in scripts:
        if factorial:
            raise LatexError("write brackets around a factorial", position_of(script), text)
        if isinstance(script, Token) and script.type == "BANG":
            factorial = True
            continue
        if isinstance(script, Token):
            if "sup" in found:
                raise LatexError("a prime after a power is ambiguous", position_of(script), text)
            primes += "'"
            continue
        if script.data in found:
            raise LatexError(f"two {script.data}scripts on one symbol", position_of(script), text)
        found[script.data] = script.children[1]
    if isinstance(base, Tree) and base.data == "accent" and "sub" not in found:
        base, inner = without_index(base)
        found |= inner
    factor = Factor(
        base,
        sub=found.get("sub"),
        sup=found.get("sup"),
        primes=primes,
        position=position_of(tree),
        factorial=factorial,
    )
    if factorial and factor.sup is not None:
        raise LatexError("the factorial of what? write brackets", factor.position, text)
    if primes and not factor.is_symbol:
        raise LatexError("only a symbol can have a prime", factor.position, text)
    return factor


def without_index(accent: Tree[Token]) -> tuple[Tree[Token], dict[str, Part]]:
    """``\\hat{x_i}`` as ``\\hat{x}`` with the index i; of an overline it makes no difference."""
    tree: Part = accent.children[1]
    while isinstance(tree, Tree) and tree.data != "factor":
        inner = [child for child in tree.children if not is_brace(child)]
        if len(inner) != 1:
            return accent, {}
        tree = inner[0]
    scripts = tree.children[1:] if isinstance(tree, Tree) else []
    if len(scripts) != 1 or not isinstance(scripts[0], Tree) or scripts[0].data != "sub":
        return accent, {}
    if accent.children[0] == "\\overline" or not isinstance(tree, Tree):
        return accent, {}
    bare: Tree[Token] = Tree("accent", [accent.children[0], tree.children[0]])
    return bare, {"sub": scripts[0].children[1]}


def is_brace(part: Part) -> bool:
    """Whether a part is a brace."""
    return isinstance(part, Token) and part.type in ("LBRACE", "RBRACE")


def full_name(base: str, sub: Part | None, sup: Part | None) -> str:
    """A symbol with its scripts, as it is declared."""
    name = base
    if sub is not None:
        name += "_" + canonical(sub)
    if sup is not None:
        name += "^" + canonical(sup)
    return name


def canonical_name(printed: str) -> str:
    """The name under which a declared symbol is found in formulas."""
    if re.fullmatch(r"[A-Za-z]{2,}", printed):
        return f"\\operatorname{{{printed}}}"
    if re.sub(r"\s", "", printed) == INNER:
        return INNER
    if sign := OPEN_SIGN.fullmatch(printed.strip()):
        found = sign.group(1) + re.sub(r"[{}\s]", "", sign.group(2) or "")
        if found in ARROWS:
            return "\\rightarrow"
        if found in OPEN_SIGNS or sign.group(2):
            return found
    before, arrow, after = printed.partition("\\leftarrow")
    if arrow and not after.strip():
        return new_value(canonical_name(before))
    top = parse(printed)
    while top.data != "term" and len(top.children) == 1:
        top = tree_of(top.children[0])
    parts = [child for child in top.children if isinstance(child, Tree)]
    factors = [read_factor(part, printed) for part in parts] if top.data == "term" else []
    if len(factors) == 2 and factors[0].name in DECLARED_PREFIXES:
        factors = [joined_prefix(factors[0], factors[1])]
    factor = factors[0] if len(factors) == 1 else None
    if (
        factor is None
        or factor.factorial
        or not (factor.is_symbol or factor.bracket in ("LNORM", "LBAR"))
    ):
        raise LatexError(f"{printed!r} is not a symbol that can be declared", 0, printed)
    return full_name(factor.name, factor.sub, factor.sup)


def joined_prefix(prefix: Factor, factor: Factor) -> Factor:
    """``\\Delta w`` or ``\\nabla_x f`` as one symbol: the sign is declared with its letter."""
    sign = full_name(prefix.name, prefix.sub, prefix.sup)
    name = f"{sign} {canonical(factor.base)}"
    base = Token("SYMBOL", name, start_pos=prefix.position, end_pos=end_of(factor.base))
    return replace(factor, base=base, position=prefix.position)


def new_value(name: str) -> str:
    """The name under which the new value of ``x \\leftarrow x + 1`` is declared."""
    return f"{name} \\leftarrow"


def symbol_table(values: Mapping[str, Any]) -> dict[str, Any]:
    """The declared values by the one spelling of their symbols."""
    table: dict[str, Any] = {}
    for printed, value in values.items():
        name = canonical_name(printed)
        if name in table:
            raise LatexError(f"{printed!r} is declared twice", 0, printed)
        table[name] = value
    return table
