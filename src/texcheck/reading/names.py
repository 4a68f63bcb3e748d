"""Symbols with scripts: which part of them is a declared name."""

from __future__ import annotations

from dataclasses import dataclass

from texcheck.parser import (
    Factor,
    Part,
    bare_name,
    canonical,
    full_name,
    read_factor,
    tokens_of,
)
from texcheck.reading.parts import is_parenthesised
from texcheck.reading.reader import Reader
from texcheck.vocabulary import (
    LOOSE_FUNCTIONS,
    MOMENTS,
    NAMED_FUNCTIONS,
    PROBABILITIES,
    REDUCTIONS,
)


@dataclass(frozen=True)
class Match:
    """A declared name, and the scripts of its symbol that are not part of it."""

    name: str
    sub: Part | None
    sup: Part | None


def match(reader: Reader, factor: Factor) -> Match | None:
    """The longest declared name in a symbol with its scripts."""
    sub = factor.sub
    sup = factor.sup
    whole = full_name(factor.name, sub, sup)
    forbid_running_index(reader, factor)
    if reader.scope.knows(whole):
        return Match(whole, sub=None, sup=None)
    if sub is not None and sup is not None:
        lower = full_name(factor.name, sub=sub, sup=None)
        upper = full_name(factor.name, sub=None, sup=sup)
        if reader.scope.knows(lower) and reader.scope.knows(upper):
            raise reader.fail(
                f"{lower} and {upper} are both declared, so {whole} is ambiguous",
                factor.position,
            )
        if reader.scope.knows(lower):
            return Match(lower, sub=None, sup=sup)
        if reader.scope.knows(upper):
            return Match(upper, sub=sub, sup=None)
    return Match(factor.name, sub=sub, sup=sup) if reader.scope.knows(factor.name) else None


def forbid_running_index(reader: Reader, factor: Factor) -> None:
    """Refuse ``\\sum_i x_i`` where x_i is declared as one number, and ``\\sum_k k_j``."""
    if factor.sup is not None and is_parenthesised(factor.sup):
        above = {token.value for token in tokens_of(factor.sup)} & set(reader.scope.running)
        for name in sorted(above):
            raise reader.fail(
                f"{canonical(factor.sup)} is part of a name, but {name} is an index here; print it "
                "below the symbol",
                factor.position,
            )
    if factor.sub is None or not reader.scope.running:
        return
    whole = full_name(factor.name, factor.sub, factor.sup)
    if factor.name in reader.scope.running and not reader.scope.is_declared(whole):
        raise reader.fail(
            f"{factor.name} is an index here, and an index has none itself", factor.position
        )
    indices = {token.value for token in tokens_of(factor.sub) if token.type == "SYMBOL"}
    found = sorted(indices & set(reader.scope.running))
    name = full_name(factor.name, factor.sub, None)
    if found and reader.scope.is_declared(name):
        raise reader.fail(
            f"{name} is declared as one symbol, but {found[0]} is an index here", factor.position
        )


def takes_argument(reader: Reader, part: Part) -> bool:
    """Whether a factor takes what follows it as its argument."""
    factor = read_factor(part, reader.text)
    if not factor.is_symbol or match(reader, factor) is not None:
        return False
    name = factor.name
    if name in PROBABILITIES:
        return True
    named = name.startswith("\\") and bare_name(name) in {*NAMED_FUNCTIONS, *MOMENTS}
    return named or name in LOOSE_FUNCTIONS or name in REDUCTIONS or name == "\\int"
