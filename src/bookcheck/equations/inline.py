r"""Formulas inside sentences that state something: executed with their page's bindings.

``$\sum_j A_{mj} = 1$`` in the prose of a chapter is a claim. A file beside the checks of displayed
equations, ``tests/equations/inline_NN_name.py``, says what the page's symbols stand for::

    PAGE = "01-attention"
    OPTIONS = {"first_index": 0}                # as for displayed equations

    def bindings(rng):                          # values of the symbols that the page uses
        return {"A": ..., "m": range(3)}

    CHECKS = {r"r = N / (6 d)": lambda rng: {"r": 2.0, "N": 48, "d": 4}}   # more, or other, values
    DEFINITIONS = [r"d_k = 2"]                  # introduces a symbol or an example: no claim

Every other relation of the page is executed with ``bindings`` alone. What is false, cannot be read
or stands in the file but not on the page is a problem.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bookcheck.equations.files import load
from bookcheck.equations.records import InlineCounts
from bookcheck.equations.scan import InlineFormula
from bookcheck.latex import LatexError, check
from bookcheck.paths import CHECKS

DRAWS = 3


@dataclass
class InlineFile:
    """What a file says about the inline formulas of one page."""

    page: str
    module: ModuleType

    @property
    def definitions(self) -> list[str]:
        return [" ".join(text.split()) for text in getattr(self.module, "DEFINITIONS", [])]

    @property
    def checks(self) -> dict[str, Any]:
        given: Mapping[str, Any] = getattr(self.module, "CHECKS", {})
        return {" ".join(text.split()): values for text, values in given.items()}


def load_inline(folder: Path = CHECKS) -> dict[str, InlineFile]:
    """The files of a folder, by the page that each is for."""
    modules = map(load, sorted(folder.glob("inline_*.py")))
    return {module.PAGE: InlineFile(module.PAGE, module) for module in modules}


def problem_of(formula: InlineFormula, file: InlineFile) -> str | None:
    """Why a formula does not hold for its page's values; None where it does."""
    options: dict[str, Any] = getattr(file.module, "OPTIONS", {})
    more = file.checks.get(formula.text)
    for draw in range(DRAWS):
        rng = np.random.default_rng([zlib.crc32(formula.text.encode()), draw])
        values = file.module.bindings(rng)
        if more is not None:
            values = {**values, **more(rng)}
        try:
            failed = [one for one in check(formula.text, values, **options) if not one.holds]
        except LatexError as error:
            return f"{formula.place}: ${formula.text}$ cannot be executed: {error}"
        if failed:
            return f"{formula.place}: ${formula.text}$ does not hold: {failed[0]}"
    return None


def page_problems(formulas: list[InlineFormula], file: InlineFile) -> list[str]:
    """What is wrong on a page: formulas that do not hold, and lines for formulas it lacks."""
    printed = {formula.text for formula in formulas}
    definitions = set(file.definitions)
    problems = [
        f"{file.page}: no sentence has ${text}$; take it out of the file of inline formulas"
        for text in [*file.definitions, *file.checks]
        if text not in printed
    ]
    claims = [formula for formula in formulas if formula.text not in definitions]
    return problems + [found for claim in claims if (found := problem_of(claim, file))]


def check_inline(
    relations: Mapping[str, Sequence[InlineFormula]], files: Mapping[str, InlineFile]
) -> tuple[list[str], InlineCounts]:
    """Execute the pages that have a file: the problems, and what the ledger counts."""
    problems = []
    executed = definitions = 0
    for page, file in files.items():
        formulas = list(relations.get(page, []))
        problems += page_problems(formulas, file)
        defined = sum(formula.text in file.definitions for formula in formulas)
        definitions += defined
        executed += len(formulas) - defined
    total = sum(map(len, relations.values()))
    return problems, InlineCounts(total, executed, definitions)
