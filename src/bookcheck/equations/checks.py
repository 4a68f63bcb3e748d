r"""Every displayed equation of the book has a label and a check that executes its printed text.

A chapter prints ``$$ … $$ (eq-name)``. Its file ``tests/equations/test_NN_name.py`` binds the
label to values::

    @equation("eq-score", library=attention_weights, first_index=0)
    def test_score(rng):
        q, k = rng.normal(size=(2, 3, 4))
        return {"q": q, "k": k, "d_k": 4, "m": range(3), "n": range(3), "S": q @ k.T / 2}

The function gets a NumPy generator and returns what each printed symbol stands for: a number, an
array, a function (``"\\operatorname{Attention}": attention``), ``depends("x", softmax)`` for a
symbol that follows another, ``Random([-1, 1])`` for a random variable, ``range(3)`` for an index
for which the formula must hold at every value. It runs ``draws`` times; it may return a list of
such dictionaries (edge cases).

``library=`` names the function of the book's library that the formula is compared with. It must
really run during the check. A display that cannot be executed uses ``by_hand`` with a reason.

Each check that passes writes a small record under ``_build/equations``, from which the site marks
the equations that were executed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from bookcheck.equations.files import load
from bookcheck.equations.records import Record, write_record
from bookcheck.equations.scan import Equation, collect
from bookcheck.paths import CHECKS, RECORDS
from texcheck import Random, RefutedError, Relation, check, depends
from texcheck.check import Options
from texcheck.formulas import Nearness, Silent, claims_too_much, looseness, nearest
from texcheck.reader import symbol_table
from texcheck.values import declared_values

DRAWS = 4


@functools.cache
def printed() -> Mapping[str, Equation]:
    """The labelled equations of the book, by label."""
    return {equation.label: equation for equation in collect() if equation.label}


@dataclass
class Check:
    """A label with the function that binds it, or that checks it by hand."""

    label: str
    function: Callable[[np.random.Generator], Any]
    draws: int
    library: tuple[Callable[..., Any], ...]
    options: dict[str, Any]
    reason: str | None = None
    reviewed: str | None = None
    sizes: bool = False
    loose: Mapping[int, str] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return Path(inspect.getsourcefile(self.function) or "")

    @property
    def line(self) -> int:
        return inspect.getsourcelines(self.function)[1]


REGISTRY: list[list[Check]] = []


def equation(
    label: str,
    *,
    library: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
    draws: int = DRAWS,
    first_index: int = 1,
    vectors: str | None = "row",
    approx: float = 0.02,
    sampling_error: float = 0.0,
    broadcast: bool = False,
    sizes: bool = False,
    loose: Mapping[int, str] | None = None,
) -> Callable[[Callable[[np.random.Generator], Any]], Callable[[], None]]:
    """Bind the printed equation ``label`` to values and execute its text.

    The book's vectors are rows; a formula quoted with columns says ``vectors="column"``. One that
    counts what the library makes (parameters, shapes, bytes) says ``sizes=True``. An inequality
    must come near to equality on some input; where it is not meant to, ``loose={2: "why"}`` says
    it of the display's second relation.
    """
    options = {
        "first_index": first_index,
        "vectors": vectors,
        "approx": approx,
        "sampling_error": sampling_error,
        "broadcast": broadcast,
    }

    def decorate(function: Callable[[np.random.Generator], Any]) -> Callable[[], None]:
        named = functions(library)
        return registered(
            Check(label, function, draws, named, options, sizes=sizes, loose=loose or {})
        )

    return decorate


def by_hand(
    label: str,
    reason: str,
    *,
    reviewed: str,
    library: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
    draws: int = DRAWS,
) -> Callable[[Callable[[np.random.Generator], Any]], Callable[[], None]]:
    """Check an equation whose text cannot be executed; the function asserts and may return
    the deviation it found.

    ``reviewed`` is the mark of the text that a person compared with the function: a changed text
    fails until somebody has done that again.
    """
    if len(reason.split()) < 3:
        raise ValueError(f"{label}: say in a sentence why the text cannot be executed")

    def decorate(function: Callable[[np.random.Generator], Any]) -> Callable[[], None]:
        return registered(Check(label, function, draws, functions(library), {}, reason, reviewed))

    return decorate


def functions(library: Any) -> tuple[Callable[..., Any], ...]:
    """The functions of the library that a check names: none, one or several."""
    return (library,) if callable(library) else tuple(library)


def registered(item: Check) -> Callable[[], None]:
    """The test that runs a check, which is also noted for those who collect checks."""
    if REGISTRY:
        REGISTRY[-1].append(item)

    # Not functools.wraps: pytest would read the signature of the wrapped function as fixtures.
    def test() -> None:
        if item.label not in printed():
            raise AssertionError(f"{item.label} is checked, but no chapter prints it")
        execute(item, printed()[item.label])

    test.__name__ = item.function.__name__
    test.__doc__ = item.function.__doc__
    test.__module__ = item.function.__module__
    test.__qualname__ = item.function.__qualname__
    return test


def load_checks(folder: Path = CHECKS) -> list[Check]:
    """The checks of a folder's ``test_*.py`` files."""
    found: list[Check] = []
    for path in sorted(folder.glob("test_*.py")):
        REGISTRY.append([])
        try:
            load(path)
        finally:
            found += REGISTRY.pop()
    return found


def rule_violations(equations: Sequence[Equation], checks: Sequence[Check]) -> list[str]:
    """What breaks the rule: every displayed equation has a unique label and one check."""
    problems = [
        f"{item.place}: a displayed equation without a label; "
        f"write $$ … $$ (eq-name): {item.text[:60]!r}"
        for item in equations
        if item.label is None
    ]
    first: dict[str, Equation] = {}
    for item in equations:
        if item.label is None:
            continue
        if item.label in first:
            problems.append(
                f"{item.place}: the label {item.label} is used before, in {first[item.label].place}"
            )
        first.setdefault(item.label, item)
    bound: dict[str, Check] = {}
    for known in checks:
        if known.label in bound:
            problems.append(f"{known.file.name}: {known.label} has a second check")
        bound.setdefault(known.label, known)
        if known.label not in first:
            problems.append(
                f"{known.file.name}, line {known.line}: {known.label} is checked, "
                "but no chapter prints an equation with this label"
            )
    problems += [
        f"{item.place}: the equation {label} has no check in tests/equations"
        for label, item in first.items()
        if label not in bound
    ]
    return problems


def inputs_of(item: Check, first: int = 0) -> Iterator[Any]:
    """What the function returns for each draw; the seed follows the label, so runs repeat.

    Another ``first`` gives other draws than those of the check.
    """
    for draw in range(first, first + item.draws):
        rng = np.random.default_rng([zlib.crc32(item.label.encode()), draw])
        result = item.function(rng)
        if item.reason is not None or isinstance(result, Mapping):
            yield result
        elif isinstance(result, Sequence) and result:
            yield from result
        else:
            raise TypeError(
                f"{item.label}: the check must return a dictionary of symbols "
                f"or a list of them, got {type(result).__name__}"
            )


def codes(function: Any) -> set[CodeType]:
    """The code that runs when a library function (or a class) is used."""
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        members = [m for m in vars(function).values() if inspect.isfunction(m)]
        return {member.__code__ for member in members}
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        raise TypeError(f"library= needs functions written in Python, got {function!r}")
    return {function.__code__}


@contextlib.contextmanager
def watching(functions: Sequence[Callable[..., Any]]) -> Iterator[set[CodeType]]:
    """Note which code of the given functions runs inside the block."""
    waiting = [codes(function) for function in functions]
    seen: set[CodeType] = set()
    before = sys.getprofile()

    def notice(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if event == "call" and any(frame.f_code in wanted for wanted in waiting):
            seen.add(frame.f_code)
            waiting[:] = [wanted for wanted in waiting if not wanted & seen]
            if not waiting:
                sys.setprofile(before)  # all have run: the rest need not be slowed down

    if waiting:
        sys.setprofile(notice)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def mark_of(text: str) -> str:
    """A short name of a formula's text that changes with every sign of it, not with its spaces."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:8]


def forget(function: Callable[..., Any]) -> None:
    """Empty the caches of a check's files, so that a second run calls the library again."""
    folder = Path(function.__code__.co_filename).parent
    waiting, seen = [function.__globals__], set()
    while waiting:
        names = waiting.pop()
        seen.add(names["__name__"])
        for thing in list(names.values()):
            plain = inspect.unwrap(thing) if callable(thing) else None
            if not inspect.isfunction(plain):
                continue
            if clear := getattr(thing, "cache_clear", None):
                clear()
            if plain.__module__ not in seen and Path(plain.__code__.co_filename).parent == folder:
                waiting.append(plain.__globals__)


def run(item: Check, text: str) -> tuple[int, int, float]:
    """Check a text on all inputs: their number, the relations in one, the largest deviation."""
    forget(item.function)
    if item.reason is not None and item.reviewed != mark_of(text):
        raise RefutedError(
            f"{item.label}: its text changed since a person compared it with its check; read both, "
            f'then write reviewed="{mark_of(text)}"'
        )
    inputs, deviation = 0, 0.0
    entries: list[Relation] = []
    near: list[Nearness] = []
    for values in inputs_of(item):
        if item.reason is not None:
            inputs += 1
            deviation = max(deviation, float(values or 0.0))
            continue
        if isinstance(values, Silent):
            table = symbol_table(declared_values(values))
            if complaint := claims_too_much(text, table, Options(**item.options)):
                raise RefutedError(f"{item.label}: {complaint}")
            continue
        entries = check(text, values, **item.options)
        failed = [entry for entry in entries if not entry.holds]
        if failed:
            raise RefutedError(f"{item.label}: {failed[0]}")
        inputs += max(entry.instances for entry in entries)
        near = nearest(near, entries)
        deviation = max([deviation, *(equality_deviation(entry) for entry in entries)])
    if complaint := looseness(entries, near, item.loose):
        raise RefutedError(f"{item.label}: {complaint}")
    return inputs, len(entries), deviation


def equality_deviation(entry: Relation) -> float:
    """The deviation that the ledger reports: of equalities, not the slack of ≈."""
    return entry.deviation if entry.relation == "=" else 0.0


def execute(item: Check, printed_equation: Equation, records: Path = RECORDS) -> Record:
    """Run a check against the printed text and write its record; none is left if it fails."""
    record = records / f"{item.label}.json"
    try:
        with watching(item.library) as seen:
            run(item, printed_equation.text)
        for function in item.library:
            if not codes(function) & seen:
                raise AssertionError(
                    f"{item.label}: says it is compared with {function.__name__}, "
                    "but that function never ran; bind it to a symbol or call it for a value"
                )
    except BaseException:
        # Not before: a build that runs at the same time reads the record of the last check.
        record.unlink(missing_ok=True)
        raise
    found = Record(item.label, printed_equation.text, item.reason)
    write_record(found, records)
    return found


__all__ = ["Random", "Silent", "by_hand", "depends", "equation", "load_checks", "rule_violations"]
