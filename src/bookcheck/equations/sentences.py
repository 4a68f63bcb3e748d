r"""Relations inside sentences: those that a sentence states are executed, by their place.

``$\sum_j A_{mj} = 1$`` in the prose of a page is a claim. The page's file binds its symbols::

    @sentences("attention", first_index=0, where={"would be symmetric, …": one_matrix})
    def test_sentences(rng):
        return {"A": ..., "m": range(3)}

The function binds the symbols of all relations of the page. ``where`` adds values for the
relations at a place: words of their sentence, in which ``…`` stands for the relation and ``$`` for
every other formula. A misprint in the formula therefore loses no values.

Every relation of a sentence is executed, and must hold, unless `tests/equations/relations.tsv`
lists it at its place with a reason (`places`): it defines, it is a condition, it is the size of an
example. A definition binds its symbol for the rest of the page, where nothing else does.

``3 \cdot 80 = 240`` holds whatever it is about, and so does ``4 \cdot 64 g = 256 g``. What the
numbers of such a relation are, ``numbers`` says, one expression of the page's values for each::

    numbers={"The stacks: …": r"3, P_{\text{att}}, P_{\text{stacks}}"}

An expression is executed where ``names`` says what it is: ``names={"together have …": "P"}``
executes the ``4 d^2`` there as ``P = 4 d^2``, with P from ``where`` or from the page's values.

A relation that a page has several times is executed once for each place that has values of its
own. Every sentence, also with an expression without a relation such as ``$b^{-2i/d}$``, is listed
whole in `tests/bookcheck/numbers.tsv` (`bookcheck.numbers`), so that a change of the formula or of
the words beside it is noticed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bookcheck.equations.evident import UNBOUND, is_evident, misread
from bookcheck.equations.places import listed, reasons, row_of
from bookformat.formulas import InlineFormula, is_relation
from texcheck import Excluded, LatexError, evaluate
from texcheck.approximation import Shares
from texcheck.formulas import Binding, Check, names_of

DRAWS = 4
# The options of a page that decide how an expression is read.
READING = ("first_index", "vectors", "broadcast")
SYMBOL = re.compile(r"\\?[A-Za-z]+(?:_(?:\w|\{\\?\w+(?:\{\w+\})?\}))?'*")


@dataclass
class Page:
    """What a file says about the sentences of one page."""

    name: str
    bindings: Binding
    options: Mapping[str, Any]
    where: Mapping[str, Binding | None]
    loose: Mapping[str, Shares]
    equivalent: Mapping[str, Mapping[str, str]]
    fixed: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    approx: Mapping[str, Shares] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)

    def problems(self, formulas: Sequence[InlineFormula]) -> list[str]:
        """Which relations do not hold or could not be refuted, and words that no sentence has."""
        words = {*self.where, *self.loose, *self.equivalent, *self.approx}
        words |= {*self.numbers, *self.names, *self.identity}
        words |= {place for place, said in self.fixed.items() if isinstance(said, Mapping)}
        found = [
            f"{self.name}: no relation stands at “{place}” that is executed; in the page's file of "
            "tests/equations, write the words that its sentence has now, or take the place out"
            for place in sorted(words)
            if not any(stands_at(place, formula) for formula in self.executed(formulas))
        ]
        for formula, check in self.checks(formulas):
            try:
                complaint = self.complaint(formula, check)
            except LatexError as error:
                complaint = f"cannot be executed: {error}"
            if complaint:
                found.append(
                    f"{formula.place}: “{formula.context}” ${formula.text}$: {complaint}; make it "
                    "hold, give its values under where=, or write a reason for it into "
                    "tests/equations/relations.tsv, at this place"
                )
        return found

    def stated(self, formulas: Sequence[InlineFormula]) -> list[InlineFormula]:
        """The formulas of a page that are executed or excused: relations, and what has a name."""
        return [
            one
            for one in formulas
            if is_relation(one.text) or matching(self.names, one) is not None
        ]

    def complaint(self, formula: InlineFormula, check: Check) -> str:
        """Why a relation is refuted by the page's values; empty where it is not."""
        inputs = check.inputs()
        trial = check.trial(inputs)
        if told := trial.complaint(formula.text):
            return told
        said = matching(self.numbers, formula)
        if said is not None:
            return misread(formula.text, names_of(said), inputs, self.reading_options())
        if matching(self.identity, formula) is None:
            return UNBOUND if is_evident(trial, formula.text) else ""
        return "" if is_evident(trial, formula.text) else "is bound; take it out of identity="

    def checks(self, formulas: Sequence[InlineFormula]) -> Iterator[tuple[InlineFormula, Check]]:
        """The relations that are executed, each with its check."""
        excused = reasons(listed().get(self.name, []))
        given = dict.fromkeys(one.text for one in formulas if row_of(one)[:2] in excused)
        for formula, named in self.places(self.executed(formulas)):
            name = matching(self.names, formula)
            yield (
                formula,
                Check(
                    f"{self.name}: {formula.context}",
                    functools.partial(self.inputs, named, list(given)),
                    self.reading(formula),
                    DRAWS,
                    matching(self.loose, formula) or {},
                    equivalent=matching(self.equivalent, formula) or {},
                    fixed=self.fixed_at(formula),
                    names={1: name} if name else {},
                ),
            )

    def executed(self, formulas: Sequence[InlineFormula]) -> list[InlineFormula]:
        """The relations that no reason excuses, each time the page has them."""
        excused = reasons(listed().get(self.name, []))
        return [one for one in formulas if row_of(one)[:2] not in excused]

    def places(
        self, formulas: Sequence[InlineFormula]
    ) -> Iterator[tuple[InlineFormula, Sequence[str]]]:
        """Each formula once for each of its places that has values or numbers of its own.

        Places without any have the page's values, so one of them stands for all.
        """
        own = [*self.where, *self.numbers, *self.names]
        found: dict[str, dict[tuple[str, ...], InlineFormula]] = {}
        for formula in formulas:
            named = tuple(dict.fromkeys(place for place in own if stands_at(place, formula)))
            found.setdefault(formula.text, {}).setdefault(named, formula)
        for places in found.values():
            for named, formula in places.items():
                yield formula, [place for place in named if place in self.where]

    def fixed_at(self, formula: InlineFormula) -> dict[str, str]:
        """Why symbols are the same on all draws: those of the page, and those of its place."""
        found: dict[str, str] = {}
        for name, said in self.fixed.items():
            if isinstance(said, str):
                found[name] = said
            elif stands_at(name, formula):
                found |= said
        return found

    def reading(self, formula: InlineFormula) -> dict[str, Any]:
        """The options of the page for one relation; `approx` is what its place says."""
        shares = matching(self.approx, formula)
        return dict(self.options) if shares is None else {**self.options, "approx": shares}

    def reading_options(self) -> dict[str, Any]:
        """Those that decide how an expression is read."""
        return {name: self.options[name] for name in READING if name in self.options}

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
                added = [beside(one, other) for one in added for other in more]
        return [beside(values, one) for one in added]

    def defined(self, given: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
        """The symbols that the page's definitions bind, each where it has one and no other."""
        reading = self.reading_options()
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


def beside(values: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Values with others added; values that a relation excludes stay such."""
    both = {**values, **added}
    return Excluded(both) if isinstance(values, Excluded) or isinstance(added, Excluded) else both


def stands_at(place: str, formula: InlineFormula) -> bool:
    """Whether a place names this formula; … alone is a formula without words around it."""
    return formula.context == place if place == "…" else place in formula.context


def matching(places: Mapping[str, Any], formula: InlineFormula) -> Any:
    """What is said about the relation at this place; None where nothing is."""
    return next((said for place, said in places.items() if stands_at(place, formula)), None)
