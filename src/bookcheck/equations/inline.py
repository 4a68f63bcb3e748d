r"""Formulas inside sentences that state something: executed with their page's bindings.

``$\sum_j A_{mj} = 1$`` in the prose of a chapter is a claim. A file beside the checks of displayed
equations, ``tests/equations/inline_NN_name.py``, says what the page's symbols stand for::

    PAGE = "01-attention"
    OPTIONS = {"first_index": 0}                # as for displayed equations

    def bindings(rng):                          # values of the symbols that the page uses
        return {"A": ..., "m": range(3)}

    CHECKS = {r"r = N / (6 d)": lambda rng: {"r": 2.0, "N": 48, "d": 4}}   # more, or other, values,
                                                # or a list of them
    DEFINITIONS = [r"d_k = 2"]                  # introduces a symbol, a case or an example
    LOOSE = {r"3 < \pi": "why"}                 # an inequality not meant to be a sharp bound

Every other relation of the page is executed with ``bindings`` alone. What is false, cannot be read
or stands in the file but not on the page is a problem. A definition binds its symbol for the rest
of the page, where nothing else binds it and the page defines it once. An inequality comes near to
equality on some draw, and ``\\le`` reaches it, as in a display; ``LOOSE`` says why one does not. A
statement cannot pass as a
definition: its sentence must announce that something is set (with, if, for, let, take, …), and it
must not hold for the page's own values.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bookcheck.equations.files import load
from bookcheck.equations.scan import InlineFormula
from bookcheck.paths import CHECKS
from texcheck import LatexError, Relation, check, evaluate
from texcheck.formulas import Nearness, looseness, nearest

DRAWS = 3
# The options of a page that decide how an expression is read.
READING = ("first_index", "vectors", "broadcast")
# Words that say: what follows is given. Up to seven words may stand between, none that concludes.
ANNOUNCED = re.compile(
    r"\b(?:with|without|if|for|when|whenever|where|as soon as|at|on|let|take|put|write|insert|"
    r"suppose|assume|set|choose|call|until|unless|has|have|from|up to|given|say|every|each|any|"
    r"wants|needs?|numbered|uses?|of|keeps|reads|here|meets|prints|writes|sets)\b"
    r"(?:[^\w.:;]+(?!(?:so|then|gives?|equals)\b)[\w-]+){0,7}[^\w.;]*$",
    re.IGNORECASE,
)
SYMBOL = re.compile(r"\\?[A-Za-z]+(?:_(?:\w|\{\w+\}))?'*")


@dataclass
class InlineFile:
    """What a file says about the inline formulas of one page."""

    page: str
    module: ModuleType

    @property
    def definitions(self) -> list[str]:
        """The relations that only introduce something."""
        return [" ".join(text.split()) for text in getattr(self.module, "DEFINITIONS", [])]

    @property
    def checks(self) -> dict[str, Any]:
        """The relations that need values of their own."""
        given: Mapping[str, Any] = getattr(self.module, "CHECKS", {})
        return {" ".join(text.split()): values for text, values in given.items()}

    @property
    def loose(self) -> dict[str, str]:
        """The inequalities that are not meant to be sharp, and why."""
        given: Mapping[str, str] = getattr(self.module, "LOOSE", {})
        return {" ".join(text.split()): reason for text, reason in given.items()}


def load_inline(folder: Path = CHECKS) -> dict[str, InlineFile]:
    """The files of a folder, by the page that each is for."""
    modules = map(load, sorted(folder.glob("inline_*.py")))
    return {module.PAGE: InlineFile(module.PAGE, module) for module in modules}


def defined(file: InlineFile, values: Mapping[str, Any]) -> dict[str, Any]:
    """The symbols that the page's definitions bind, each where it has one and no other value."""
    options: dict[str, Any] = getattr(file.module, "OPTIONS", {})
    reading = {name: options[name] for name in READING if name in options}
    sides = [text.partition(" = ")[::2] for text in file.definitions]
    symbols = [left for left, right in sides if right and SYMBOL.fullmatch(left)]
    bound: dict[str, Any] = {}
    for left, right in sides:
        if symbols.count(left) == 1 and not {left, left.partition("_")[0]} & {*values}:
            try:
                known = {**values, **bound}
                bound[left] = evaluate(right, known, **reading)
            except LatexError:
                continue  # an example with symbols that no statement of the page uses
    return bound


def cases_of(formula: InlineFormula, file: InlineFile) -> Iterator[dict[str, Any]]:
    """The values of each draw: those of the page, and what the formula's own lines add."""
    more = file.checks.get(formula.text)
    for draw in range(DRAWS):
        rng = np.random.default_rng([zlib.crc32(formula.text.encode()), draw])
        values = file.module.bindings(rng)
        values = {**defined(file, values), **values}
        added = more(rng) if more is not None else {}
        for one in added if isinstance(added, list) else [added]:
            yield {**values, **one}


def problem_of(formula: InlineFormula, file: InlineFile, *, sharp: bool = True) -> str | None:
    """Why a formula does not hold for its page's values, or is too loose; None where it is right.

    Without ``sharp`` only whether it holds.
    """
    options: dict[str, Any] = getattr(file.module, "OPTIONS", {})
    found: list[Relation] = []
    near: list[Nearness] = []
    for values in cases_of(formula, file):
        try:
            found = check(formula.text, values, **options)
        except LatexError as error:
            return f"{formula.place}: ${formula.text}$ cannot be executed: {error}"
        failed = [one for one in found if not one.holds]
        if failed:
            return f"{formula.place}: ${formula.text}$ does not hold: {failed[0]}"
        near = nearest(near, found)
    return looseness_of(formula, file, found, near) if sharp else None


def looseness_of(
    formula: InlineFormula, file: InlineFile, found: list[Relation], near: list[Nearness]
) -> str | None:
    """Why an inequality could be sharper, or is said to be loose and is not; None where neither."""
    complaint = looseness(found, near, {})
    if formula.text in file.loose:
        said = f"{formula.place}: ${formula.text}$ is sharp: take it out of LOOSE"
        return None if complaint else said
    advice = "; or say in LOOSE why it is not meant to be sharp"
    return f"{formula.place}: ${formula.text}$: {complaint}{advice}" if complaint else None


def page_problems(formulas: list[InlineFormula], file: InlineFile) -> list[str]:
    """What is wrong on a page: formulas that do not hold, and lines for formulas it lacks."""
    printed = {formula.text for formula in formulas}
    definitions = set(file.definitions)
    problems = [
        f"{file.page}: no sentence has ${text}$; take it out of the file of inline formulas"
        for text in [*file.definitions, *file.checks, *file.loose]
        if text not in printed
    ]
    for formula in formulas:
        found = (
            disguise_of(formula, file) if formula.text in definitions else problem_of(formula, file)
        )
        problems += [found] if found else []
    return problems


def disguise_of(formula: InlineFormula, file: InlineFile) -> str | None:
    """Why a declared definition states something; None where it is a definition."""
    if not ANNOUNCED.search(formula.before):
        return (
            f"{formula.place}: “… {formula.before[-60:]}” ${formula.text}$ states something: "
            "execute it, or announce what is given (with, if, for, let, take, …)"
        )
    bare = InlineFile(file.page, ModuleType("bare"))
    bare.module.__dict__.update(vars(file.module), CHECKS={}, DEFINITIONS=[])
    if problem_of(formula, bare, sharp=False) is None:
        return f"{formula.place}: ${formula.text}$ holds for the page's values: no definition"
    return None
