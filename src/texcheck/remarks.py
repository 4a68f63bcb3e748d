r"""Words of a display that no statement has: below a brace, in a column of their own, in ``\tag``.

Nothing executes them, so that any other words would pass in their place. Below a brace they can
name a value of the check: ``\underbrace{2 N d}_{\text{the scores}}`` is executed as
``2 N d = \text{the scores}`` where ``r"\text{the scores}"`` is declared. A check says why other
words are true: ``remark={"the scores": "why"}``.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping

from texcheck.errors import LatexError
from texcheck.layout import Remark
from texcheck.lexer import Lexer
from texcheck.parser import canonical_name

# Without one of these, a display has no such words.
SIGNS = ("brace", "&", "\\tag")


@functools.cache
def remarks_of(text: str) -> tuple[Remark, ...]:
    """The words of a display that are part of no statement, in the order printed."""
    if not any(sign in text for sign in SIGNS):
        return ()
    lexer = Lexer(text)
    lexer.run()
    return tuple(sorted(lexer.remarks, key=lambda remark: remark.start))


def named(remark: Remark, names: Collection[str]) -> str:
    """The declared symbol that words below a brace name, as it is printed; else empty."""
    symbol = f"\\text{{{remark.words}}}"
    try:
        name = canonical_name(symbol)
    except LatexError:
        return ""
    return symbol if remark.about is not None and name in names else ""


def equations_of(text: str, names: Collection[str]) -> Iterator[tuple[Remark, str]]:
    """What is said by words below a brace that name a declared value, each as an equation."""
    for remark in remarks_of(text):
        if remark.about is not None and (symbol := named(remark, names)):
            start, end = remark.about
            yield remark, f"{symbol} = {text[start + 1 : end - 1]}"


def names_below(text: str, names: Collection[str]) -> set[str]:
    """The declared symbols that words below braces name."""
    symbols = [named(remark, names) for remark in remarks_of(text)]
    return {canonical_name(symbol) for symbol in symbols if symbol}


def unsaid(text: str, names: Collection[str], reasons: Mapping[str, str]) -> str:
    """Which words of a display nothing executes and nothing excuses; else empty."""
    found = remarks_of(text)
    for remark in found:
        if remark.words not in reasons and not named(remark, names):
            return (
                f"nothing executes the words “{remark.words}” (at character {remark.start + 1}): "
                "take them out, or say why they are true: "
                f'remark={{"{remark.words}": "why"}}{VALUE if remark.about else ""}'
            )
    for words in reasons:
        alike = [remark for remark in found if remark.words == words]
        if not alike:
            return f"remark= has the words “{words}”, which are not printed: take them out there"
        if all(named(remark, names) for remark in alike):
            return f"the words “{words}” are executed: take them out of remark="
    return ""


VALUE = ", or, better, declare the value that they name, as \\text{…}, beside the other symbols"


def without(text: str) -> str:
    """A display without its remarks, and without the commands of its braces."""
    parts = [(remark.start, remark.end) for remark in remarks_of(text)]
    for start, end in sorted(parts, reverse=True):
        text = text[:start] + text[end:]
    return text.replace("\\underbrace", "").replace("\\overbrace", "")
