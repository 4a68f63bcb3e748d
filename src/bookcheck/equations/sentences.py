r"""Relations inside sentences: those that a sentence states are executed, by their place.

``$\sum_j A_{mj} = 1$`` in the prose of a page is a claim. The page's file binds its symbols::

    @sentences("attention", first_index=0, where={"would be symmetric, …": one_matrix})
    def test_sentences(rng):
        return {"A": ..., "m": range(3)}

The function binds the symbols of all relations of the page. ``where`` adds values for the
relations at a place: words of their sentence, in which ``…`` stands for the relation and ``$`` for
every other formula. A misprint in the formula therefore loses no values.

A relation that a sentence introduces (let, write, with, for, if …) is not executed: it is taken for
a definition, a condition or an example. The words alone decide this, so some claims are among them;
a relation at a place that ``where`` names is executed all the same. A definition binds its symbol
for the rest of the page, where nothing else does. Every other relation must hold.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bookformat.formulas import InlineFormula
from texcheck import LatexError, evaluate
from texcheck.formulas import Binding, Check

DRAWS = 3
# Every relation of a formula in a sentence that is said to be loose.
LOOSE = dict.fromkeys(range(1, 9), "loose")
# The options of a page that decide how an expression is read.
READING = ("first_index", "vectors", "broadcast")
# Words that say: what follows is given. A few words may stand between, none that concludes.
BETWEEN = (
    r"(?:[^\w.:;]+(?!(?:so|then|gives?|equals|is|are|was|holds?|becomes?|because|since|means|that|"
    r"therefore|hence)\b)[\w'’-]+){0,8}[^\w.;:]*$"
)
GIVEN = re.compile(
    r"(?<!exactly )(?<!only )\b(?:with|without|if|for|when|whenever|where|let|take|put|write|"
    rf"suppose|assume|set|choose|call|given|say|at|every|each|any|insert|from)\b{BETWEEN}",
    re.IGNORECASE,
)
# Before a symbol with its number these give the number: a layer has $h = 8$ heads.
HAVING = re.compile(
    rf"\b(?:has|have|of|up to|keeps?|writes?|sets?|uses?|serve|query|code)\b{BETWEEN}",
    re.IGNORECASE,
)
SYMBOL = re.compile(r"\\?[A-Za-z]+(?:_(?:\w|\{\\?\w+(?:\{\w+\})?\}))?'*")
DATUM = re.compile(rf"(?:{SYMBOL.pattern}) = (?:-?[\d.,{{}}\s]+|\([-\d.,\s]+\)|-?\\infty)")


def is_given(formula: InlineFormula) -> bool:
    """Whether its sentence introduces a relation: a definition, a condition or an example."""
    if GIVEN.search(formula.before):
        return True
    return bool(DATUM.fullmatch(formula.text) and HAVING.search(formula.before))


@dataclass
class Page:
    """What a file says about the sentences of one page; ``unchecked`` says why one is left out."""

    name: str
    bindings: Binding
    options: Mapping[str, Any]
    where: Mapping[str, Binding | None]
    loose: Mapping[str, str]
    unchecked: Mapping[str, str]
    equivalent: Mapping[str, Mapping[str, str]]

    def problems(self, formulas: Sequence[InlineFormula]) -> list[str]:
        """Which relations do not hold or could not be refuted, and words that no sentence has."""
        words = {*self.where, *self.loose, *self.unchecked, *self.equivalent}
        found = [
            f"{self.name}: no relation stands at “{place}”; in the page's file of tests/equations, "
            "write the words that its sentence has now, or take the place out"
            for place in sorted(words)
            if not any(place in formula.context for formula in formulas)
        ]
        for formula, check in self.checks(formulas):
            try:
                complaint = self.complaint(formula, check)
            except LatexError as error:
                complaint = f"cannot be executed: {error}"
            if complaint:
                found.append(
                    f"{formula.place}: “{formula.context}” ${formula.text}$: {complaint}; make it "
                    "hold, give its values under where=, or introduce it (let, with, for, …)"
                )
        return found

    def complaint(self, formula: InlineFormula, check: Check) -> str:
        """Why a relation is refuted by the page's values; empty where it is not."""
        return check.trial(check.inputs()).complaint(formula.text)

    def checks(self, formulas: Sequence[InlineFormula]) -> Iterator[tuple[InlineFormula, Check]]:
        """The relations that are executed, each with its check."""
        given = [formula.text for formula in formulas if is_given(formula)]
        for formula in formulas:
            named = [place for place in self.where if place in formula.context]
            if matching(self.unchecked, formula) or (is_given(formula) and not named):
                continue
            yield (
                formula,
                Check(
                    f"{self.name}: {formula.context}",
                    functools.partial(self.inputs, named, given),
                    self.options,
                    DRAWS,
                    LOOSE if matching(self.loose, formula) else {},
                    equivalent=matching(self.equivalent, formula) or {},
                ),
            )

    def inputs(
        self, named: Sequence[str], given: Sequence[str], rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """The values of one draw: those of the page, and what is added at the place."""
        values = self.bindings(rng)
        values = {**self.defined(given, values), **values}
        added: list[Mapping[str, Any]] = [{}]
        for place in named:
            binding = self.where[place]
            if binding is not None:
                result = binding(rng)
                more = result if isinstance(result, list) else [result]
                added = [{**one, **other} for one in added for other in more]
        return [{**values, **one} for one in added]

    def defined(self, given: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
        """The symbols that the page's definitions bind, each where it has one and no other."""
        reading = {name: self.options[name] for name in READING if name in self.options}
        sides = [text.partition(" = ")[::2] for text in given]
        symbols = [left for left, right in sides if right and SYMBOL.fullmatch(left)]
        bound: dict[str, Any] = {}
        for left, right in sides:
            if symbols.count(left) == 1 and not {left, left.partition("_")[0]} & {*values}:
                try:
                    bound[left] = evaluate(right, {**values, **bound}, **reading)
                except LatexError:
                    continue  # an example with symbols that no statement of the page uses
        return bound


def matching(places: Mapping[str, Any], formula: InlineFormula) -> Any:
    """What is said about the relation at this place; None where nothing is."""
    return next((said for place, said in places.items() if place in formula.context), None)
