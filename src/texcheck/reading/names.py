"""Symbols with scripts: which part of them is a declared name."""

from __future__ import annotations

from texcheck.parser import Factor, Part, bare_name, full_name, read_factor
from texcheck.reading.reader import Reader
from texcheck.vocabulary import LOOSE_FUNCTIONS, MOMENTS, NAMED_FUNCTIONS, REDUCTIONS


def match(reader: Reader, factor: Factor) -> tuple[str, Part | None, Part | None] | None:
    """The longest declared name in a symbol with its scripts, and the scripts left over."""
    name, sub, sup = factor.name, factor.sub, factor.sup
    whole, bare = full_name(name, sub, sup), name
    if reader.scope.knows(whole):
        return whole, None, None
    if sub is not None and sup is not None:
        lower, upper = full_name(name, sub, None), full_name(name, None, sup)
        if reader.scope.knows(lower) and reader.scope.knows(upper):
            raise reader.fail(
                f"{lower} and {upper} are both declared, so {whole} is ambiguous",
                factor.position,
            )
        if reader.scope.knows(lower):
            return lower, None, sup
        if reader.scope.knows(upper):
            return upper, sub, None
    return (bare, sub, sup) if reader.scope.knows(bare) else None


def takes_argument(reader: Reader, part: Part) -> bool:
    """Whether a factor takes what follows it as its argument."""
    factor = read_factor(part, reader.text)
    if not factor.is_symbol or match(reader, factor) is not None:
        return False
    name = factor.name
    named = name.startswith("\\") and bare_name(name) in {*NAMED_FUNCTIONS, *MOMENTS}
    return named or name in LOOSE_FUNCTIONS or name in REDUCTIONS or name == "\\int"
