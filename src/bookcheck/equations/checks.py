r"""How a check of a page's formulas is written and run.

A chapter prints ``$$ … $$ (eq-name)``. Its file ``tests/equations/test_name.py`` binds the
label to values::

    @equation("eq-score", first_index=0)
    def test_score(rng):
        q, k = rng.normal(size=(2, 3, 4))
        return {"q": q, "k": k, "d_k": 4, "m": range(3), "n": range(3), "S": q @ k.T / 2}

What the function may return is in the README of ``texcheck``. Relations in sentences are bound by
``sentences``.

Each check that passes writes a small record under ``_build/equations``, from which the site marks
the equations that were executed.
"""

from __future__ import annotations

import functools
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bookcheck.equations.sentences import Page
from bookformat.formulas import Equation, collect, inline_formulas
from bookformat.paths import CHECKS, RECORDS
from bookformat.records import SENTENCES, Record, write_record
from texcheck import Excluded, LatexError, Random, RefutedError, Silent, depends
from texcheck.approximation import Shares
from texcheck.formulas import DRAWS, Binding, Check

Decorator = Callable[[Binding], Callable[[], None]]


@functools.cache
def printed() -> Mapping[str, Equation]:
    """The labelled equations of the book, by label."""
    return {equation.label: equation for equation in collect() if equation.label}


# The checks of displays and of sentences in the files that are being loaded.
REGISTRY: list[list[Check | Page]] = []


def equation(
    label: str,
    *,
    draws: int = DRAWS,
    vectors: str = "row",
    loose: Shares | None = None,
    somewhere: Mapping[int, str] | None = None,
    equivalent: Mapping[str, str] | None = None,
    fixed: Mapping[str, str] | None = None,
    names: Mapping[int, str] | None = None,
    remark: Mapping[str, str] | None = None,
    identity: Mapping[int, str] | None = None,
    symbols: str = "",
    **options: Any,
) -> Decorator:
    """Bind the printed equation ``label`` to values and execute its text.

    The book's vectors are rows; a formula quoted with columns says ``vectors="column"``. An
    inequality must come near to equality on some input; where it is not meant to, ``loose={2:
    (0.3, "why")}`` says of the display's second relation how near it comes, as a share of the
    larger side, and ``somewhere={2: "why"}`` is for one that comes near, but not at every index.
    ``fixed`` says why a symbol is the same on all draws. ``equivalent`` names misprints that are
    true as well. ``names={1: "S_{mn}"}`` says what the display's first
    statement is about, where the page says it in words: it is executed as ``S_{mn} = …``, with S
    from the library. ``remark={"the scores": "why"}`` says why words are true that no statement
    has, where no value of the check is named by them, and ``identity={1: "why"}`` why a statement
    that holds whatever its symbols are has no such name. ``symbols="S, q, k"`` says which symbols
    the display has, where the function serves several: the check gives it these alone, and each
    must be printed. Other options are those of ``texcheck.check``.
    """

    def decorate(function: Binding) -> Callable[[], None]:
        chosen = {"vectors": vectors, **options}
        check = Check(
            label,
            function,
            chosen,
            draws,
            loose=loose or {},
            somewhere=somewhere or {},
            equivalent=equivalent or {},
            fixed=fixed or {},
            names=names or {},
            remark=remark or {},
            identity=identity or {},
            symbols=symbols,
        )
        return registered(check)

    return decorate


def sentences(
    page: str,
    *,
    where: Mapping[str, Binding | None] | None = None,
    loose: Mapping[str, Shares] | None = None,
    equivalent: Mapping[str, Mapping[str, str]] | None = None,
    fixed: Mapping[str, str | Mapping[str, str]] | None = None,
    approx: Mapping[str, Shares] | None = None,
    numbers: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    identity: Mapping[str, str] | None = None,
    vectors: str = "row",
    **options: Any,
) -> Decorator:
    """Bind the relations in a page's sentences; ``bookcheck.equations.sentences`` says how."""

    def decorate(function: Binding) -> Callable[[], None]:
        known = Page(
            page,
            function,
            {"vectors": vectors, **options},
            where or {},
            loose or {},
            equivalent or {},
            fixed or {},
            approx or {},
            numbers or {},
            names or {},
            identity or {},
        )
        if REGISTRY:
            REGISTRY[-1].append(known)

        def test() -> None:
            formulas = known.stated(inline_formulas().get(page, []))
            label = SENTENCES + page.replace("/", "-")
            problems = known.problems(formulas)
            if problems:
                (RECORDS / f"{label}.json").unlink(missing_ok=True)
            assert not problems, "\n".join(problems)
            lines = [formula.line for formula in known.executed(formulas)]
            write_record(Record(label, "\n".join(lines)), RECORDS)

        return test

    return decorate


def registered(item: Check) -> Callable[[], None]:
    """The test that runs a check, which is also noted for those who collect checks."""
    if REGISTRY:
        REGISTRY[-1].append(item)

    def test() -> None:
        if item.name not in printed():
            raise AssertionError(nowhere_printed(item))
        equation = printed()[item.name]
        try:
            execute(item, equation)
        except LatexError as error:
            raise AssertionError(
                f"{equation.place}: {item.name} cannot be executed: {error}\n"
                f"Give every symbol a value in its check ({item.place}), or write the formula in "
                "another way"
            ) from None
        except RefutedError as error:
            raise AssertionError(
                f"{equation.place}: {error}\n"
                f"Correct the formula there, or the values that its check gives ({item.place})"
            ) from None

    return test


def nowhere_printed(item: Check) -> str:
    """What to tell of a check whose equation is gone."""
    return (
        f"{item.place}: {item.name} is checked, but no chapter prints it; "
        "print it with this label, or remove the check"
    )


def file_of_checks(page: str) -> str:
    """Where the checks of a page are, as an author names the file."""
    return f"tests/equations/test_{page.replace('/', '_').replace('-', '_')}.py"


def execute(item: Check, equation: Equation, records: Path = RECORDS) -> Record:
    """Run a check against the printed text and write its record; none is left if it fails."""
    try:
        item.run(equation.text)
    except BaseException:
        # Not before: a build that runs at the same time reads the record of the last check.
        (records / f"{item.name}.json").unlink(missing_ok=True)
        raise
    found = Record(item.name, equation.text)
    write_record(found, records)
    return found


def load_file(path: Path) -> list[Check | Page]:
    """What a file binds: displays and the sentences of pages; what it imports may be beside it."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    REGISTRY.append([])
    try:
        runpy.run_path(str(path))
    finally:
        found = REGISTRY.pop()
    return found


def load_all(folder: Path = CHECKS) -> list[Check | Page]:
    """What a folder's files bind."""
    return [item for path in sorted(folder.glob("test_*.py")) for item in load_file(path)]


def load_checks(folder: Path = CHECKS) -> list[Check]:
    """The checks of displays in a folder's files."""
    return [item for item in load_all(folder) if isinstance(item, Check)]


def rule_violations(equations: Sequence[Equation], checks: Sequence[Check]) -> list[str]:
    """What breaks the rule: every displayed equation has a unique label, no tag and one check."""
    problems: list[str] = []
    first: dict[str, Equation] = {}
    for item in equations:
        if item.label is None:
            problems.append(
                f"{item.place}: a displayed equation without a label; "
                f"write $$ … $$ (eq-name): {item.text[:60]!r}"
            )
        elif item.label in first:
            place = first[item.label].place
            problems.append(
                f"{item.place}: the label {item.label} is used before, in {place}; choose another"
            )
        else:
            first[item.label] = item
        if "\\tag" in item.text:
            problems.append(
                f"{item.place}: take \\tag out; the label gives an equation its number, and words "
                "about it belong into the sentence above"
            )
    bound: set[str] = set()
    for known in checks:
        if known.name in bound:
            problems.append(f"{known.place}: {known.name} has a second check; remove one of them")
        if known.name not in first:
            problems.append(nowhere_printed(known))
        bound.add(known.name)
    return problems + [
        f"{item.place}: the equation {label} has no check; write one in "
        f"{file_of_checks(item.page)}, as src/bookcheck/equations/README.md shows"
        for label, item in first.items()
        if label not in bound
    ]


__all__ = ["Excluded", "Random", "Silent", "depends", "equation", "sentences"]
