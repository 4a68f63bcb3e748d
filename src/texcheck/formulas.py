r"""Executable formulas for any book: a test that checks a printed formula, and its misprints.

A book gives its formulas by name, from wherever it keeps them; each test binds the symbols::

    BOOK = Formulas({"eq-pythagoras": r"c^2 = a^2 + b^2"}, vectors="row")


    @BOOK.test("eq-pythagoras")
    def test_pythagoras(rng):
        a, b = rng.uniform(1, 2, size=2)
        return {"a": a, "b": b, "c": math.hypot(a, b)}

pytest collects the decorated functions. Each runs its formula on some draws; with ``--misprints``
it then plants every misprint of ``texcheck.misprints``, and one that still passes fails the test,
unless it is in ``equivalent={change: reason}``.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from texcheck.approximation import Shares
from texcheck.chance import chances, too_few, varied
from texcheck.errors import RefutedError
from texcheck.trial import Excluded, Silent, Trial, Values, only

DRAWS = 4
# At most so many draws are added to tell numbers apart, and no further one after so many that told
# nothing; half as many where every number has a third value.
MOST_MORE = 12
PATIENCE = 6

Binding = Callable[[np.random.Generator], Any]


@dataclass
class Check:
    """A formula's name, and the function that binds its symbols to values."""

    name: str
    function: Binding
    options: Mapping[str, Any]
    draws: int = DRAWS
    loose: Shares = field(default_factory=dict)
    somewhere: Mapping[int, str] = field(default_factory=dict)
    equivalent: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    remark: Mapping[str, str] = field(default_factory=dict)
    # Why no side of a statement is bound to a value, by its number (``texcheck.anything``).
    identity: Mapping[int, str] = field(default_factory=dict)
    symbols: str = ""

    @property
    def place(self) -> str:
        """Where an author finds the check."""
        file = Path(inspect.getsourcefile(self.function) or "")
        return f"{file.name}, line {inspect.getsourcelines(self.function)[1]}"

    def inputs(self, first: int = 0) -> list[Values]:
        """What the function returns for each draw; the seed follows the name, so runs repeat.

        Another ``first`` gives other draws than those of the check.
        """
        found: list[Values] = []
        for draw in range(first, first + self.draws):
            values, fresh = self.drawn(draw)
            found += values
            if fresh:
                return self.chosen(found)  # It draws nothing, so that all draws are this one.
        return self.chosen(self.told_apart(found, first + self.draws))

    def drawn(self, draw: int) -> tuple[list[Values], bool]:
        """What the function returns for one draw, and whether it has drawn nothing."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), draw])
        fresh = rng.bit_generator.state
        result = self.function(rng)
        if isinstance(result, Mapping):
            found = [result]
        elif isinstance(result, Sequence) and result:
            found = [*result]
        else:
            raise TypeError(
                f"{self.name}: the check must return a dictionary of symbols "
                f"or a list of them, got {type(result).__name__}"
            )
        return found, rng.bit_generator.state == fresh

    def told_apart(self, found: list[Values], start: int) -> list[Values]:
        """The inputs, and those of further draws that tell numbers apart which were alike so far.

        Four draws of small whole numbers are often alike by chance (``texcheck.chance``). Which
        draws are added does not depend on the text.
        """
        left = alike(self.chosen(found))
        since = 0
        for draw in range(start, start + MOST_MORE):
            # A third value of a number is drawn sooner or later; what is alike may always be.
            patience = PATIENCE if any(isinstance(one, str) for one in left) else PATIENCE // 2
            if not left or since == patience:
                break
            more, _ = self.drawn(draw)
            now = alike(self.chosen([*found, *more]))
            since += 1
            if left - now:
                found = [*found, *more]
                left = now
                since = 0
        return found

    def chosen(self, inputs: list[Values]) -> list[Values]:
        """The inputs with those symbols alone that the display is said to have."""
        names = names_of(self.symbols)
        given = {name for values in inputs for name in values}
        if not names:
            return inputs
        if strange := [name for name in names if name not in given]:
            raise ValueError(
                f"{self.name}: symbols= names {strange}, which the check does not give"
            )
        return [only(values, names) for values in inputs]

    def trial(self, inputs: Sequence[Values]) -> Trial:
        """The inputs as texts are tried on them."""
        return Trial(
            inputs,
            self.options,
            loose=self.loose,
            somewhere=self.somewhere,
            fixed=self.fixed,
            names=self.names,
            remark=self.remark,
            symbols=names_of(self.symbols),
            equivalent=self.equivalent,
            drawing=True,
        )

    def run(self, text: str) -> None:
        """Check a text on all inputs."""
        trial = self.trial(self.inputs())
        if complaint := trial.complaint(text):
            place = getattr(text, "place", "")
            name = f"{self.name} ({place})" if place else self.name
            raise RefutedError(f"{name}: {complaint}{trial.drawn(text)}")


def alike(inputs: Sequence[Values]) -> set[Any]:
    """What chance may have made alike: numbers with two values, and those that others give."""
    telling = [values for values in inputs if not isinstance(values, (Silent, Excluded))]
    numbers = varied(telling)
    return {*too_few(numbers), *(chance.key for chance in chances(numbers))}


def names_of(symbols: str) -> list[str]:
    """The names in ``symbols=``, which commas and spaces separate."""
    return symbols.split(", ") if symbols else []


class Formulas:
    """The formulas of a book by name, and the options that its checks share."""

    def __init__(self, texts: Mapping[str, str], **options: Any) -> None:
        self.texts = texts
        self.options = options

    def test(
        self,
        name: str,
        *,
        draws: int = DRAWS,
        loose: Shares | None = None,
        somewhere: Mapping[int, str] | None = None,
        equivalent: Mapping[str, str] | None = None,
        fixed: Mapping[str, str] | None = None,
        names: Mapping[int, str] | None = None,
        remark: Mapping[str, str] | None = None,
        identity: Mapping[int, str] | None = None,
        symbols: str = "",
        **options: Any,
    ) -> Callable[[Binding], Callable[[], None]]:
        """Make a test of a function that binds a formula's symbols; options as of ``check``."""

        def decorate(binding: Binding) -> Callable[[], None]:
            chosen = {**self.options, **options}
            check = Check(
                name,
                binding,
                options=chosen,
                draws=draws,
                loose=loose or {},
                somewhere=somewhere or {},
                equivalent=equivalent or {},
                fixed=fixed or {},
                names=names or {},
                remark=remark or {},
                identity=identity or {},
                symbols=symbols,
            )
            return test_of(check, lambda: self.texts[name])

        return decorate


def test_of(check: Check, text: Callable[[], str]) -> Callable[[], None]:
    """A function that pytest collects: it runs the check on the text."""

    # Not functools.wraps: pytest would read the signature of the function as fixtures.
    def test() -> None:
        check.run(text())

    test.__name__ = check.function.__name__
    test.__qualname__ = check.function.__qualname__
    test.__doc__ = check.function.__doc__
    test.__module__ = check.function.__module__
    test.formula = (check, text)  # type: ignore[attr-defined]
    return test
