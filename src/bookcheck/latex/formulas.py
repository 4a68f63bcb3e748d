r"""Executable formulas for any book: a test that checks a printed formula and its misprints.

A book gives its formulas by name, from wherever it keeps them; each test binds the symbols::

    BOOK = Formulas({"eq-pythagoras": r"c^2 = a^2 + b^2"})


    @BOOK.test("eq-pythagoras")
    def test_pythagoras(rng):
        a, b = rng.uniform(1, 2, size=2)
        return {"a": a, "b": b, "c": math.hypot(a, b)}

pytest collects the decorated functions. Each runs its formula on some draws and then plants every
misprint of ``bookcheck.latex.misprints``: one that still passes fails the test, unless it stands
in ``equivalent={change: reason}``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from bookcheck.latex.check import check
from bookcheck.latex.errors import LatexError, RefutedError
from bookcheck.latex.misprints import misprints
from bookcheck.latex.reader import canonical_name

Values = Mapping[str, Any]
Binding = Callable[[np.random.Generator], Values]


class Fate(Enum):
    """What a check says to a misprint; only the first two notice it."""

    REFUTED = "refuted"
    REFUSED = "refused"
    INTERNAL = "internal error"
    SURVIVED = "survived"


def fate_of(text: str, inputs: Sequence[Values], options: Mapping[str, Any]) -> tuple[Fate, str]:
    """Whether a text is refuted, refused, breaks the interpreter, or passes; and what was said."""
    try:
        for values in inputs:
            for entry in check(text, values, **options):
                if not entry.holds:
                    return Fate.REFUTED, str(entry)
    except LatexError as error:
        return Fate.REFUSED, str(error)
    except Exception as error:  # a fault of the interpreter: counted apart, never as caught
        return Fate.INTERNAL, f"{type(error).__name__}: {error}"
    return Fate.SURVIVED, ""


def matrix_symbols(values: Values) -> list[str]:
    """The symbols, printed without scripts, that stand for matrices."""
    matrices = [name for name, value in values.items() if getattr(value, "ndim", 0) == 2]
    return [name for name in matrices if canonical_name(name) == name]


@dataclass(frozen=True)
class Formulas:
    """The formulas of a book, by name."""

    texts: Mapping[str, str]

    def test(
        self,
        name: str,
        *,
        draws: int = 4,
        equivalent: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Callable[[Binding], Callable[[], None]]:
        """Make a test of a function that binds a formula's symbols; options as of ``check``."""

        def decorate(binding: Binding) -> Callable[[], None]:
            # Not functools.wraps: pytest would read the signature of the function as fixtures.
            def run() -> None:
                self.run(name, binding, draws, equivalent or {}, options)

            run.__name__, run.__doc__ = binding.__name__, binding.__doc__
            return run

        return decorate

    def run(
        self,
        name: str,
        binding: Binding,
        draws: int,
        equivalent: Mapping[str, str],
        options: Mapping[str, Any],
    ) -> None:
        """Check a formula on all draws, then all its misprints."""
        text = self.texts[name]
        seed = zlib.crc32(name.encode())
        inputs = [binding(np.random.default_rng([seed, draw])) for draw in range(draws)]
        for values in inputs:
            for entry in check(text, values, **options):
                if not entry.holds:
                    raise RefutedError(f"{name}: {entry}")
        alive = []
        for misprint in misprints(text, matrix_symbols(inputs[0])):
            fate, said = fate_of(misprint.text, inputs, options)
            if fate is Fate.INTERNAL:
                raise AssertionError(f"{name}: {misprint.change}: {said}")
            if fate is Fate.SURVIVED and misprint.change not in equivalent:
                alive.append(misprint.change)
        if alive:
            raise AssertionError(f"{name}: these misprints are not noticed: {'; '.join(alive)}")
