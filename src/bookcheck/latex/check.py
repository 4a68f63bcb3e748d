"""The two entry points: the value of an expression, and the relations of a display."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from lark import Token, Tree

from bookcheck.latex.errors import LatexError, ShapeError
from bookcheck.latex.evaluator import Evaluator
from bookcheck.latex.lexer import DECLARED_RELATIONS, QUANTIFYING_WORDS
from bookcheck.latex.nodes import Node, free_names, names_in
from bookcheck.latex.parser import parse, position_of
from bookcheck.latex.reader import Reader, canonical_name, symbol_table
from bookcheck.latex.values import (
    Crossed,
    Dotted,
    as_array,
    declared_values,
    is_exact,
    is_number,
    is_real,
    is_undefined,
)

SHOWN = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "approx": r"\approx", "in": r"\in"}
MOST_INSTANCES = 20_000


@dataclass
class Relation:
    """One relation of a display: both sides' values, their deviation, and whether it holds.

    Where the display states a range (``i = 0, \\ldots, d/2-1``), the values are those of the
    instance with the largest deviation and ``instances`` counts all of them.
    """

    relation: str
    left_text: str
    right_text: str
    left: Any
    right: Any
    deviation: float
    holds: bool
    position: int
    instances: int = 1
    note: str = ""

    def __str__(self) -> str:
        sign = SHOWN.get(self.relation, self.relation)
        verdict = "holds" if self.holds else "fails"
        detail = f"; {self.note}" if self.note else ""
        return (
            f"{self.left_text} {sign} {self.right_text} {verdict}: "
            f"{shown(self.left)} against {shown(self.right)}, "
            f"deviation {self.deviation:.3g}{detail}"
        )


def shown(value: Any) -> str:
    return (
        np.array2string(as_array(value), precision=6, threshold=12)
        if value is not None
        else "a set"
    )


def result_of(value: Any, exact: bool) -> Any:
    """A value as the caller receives it: a number or an array."""
    if isinstance(value, Crossed):
        return value.array
    if isinstance(value, Fraction) and not exact:
        return float(value)
    return value


def evaluate(
    text: str,
    values: Mapping[str, Any],
    *,
    first_index: int = 1,
    vectors: str | None = None,
    broadcast: bool = False,
) -> Any:
    """The value of a LaTeX expression.

    ``values`` maps symbols as printed to numbers, arrays, callables, ``Random`` or ``depends``.
    ``vectors`` says how 1-D arrays are to be read, ``"row"`` or ``"column"``; by default the
    one reading under which all shapes fit (and, of two such, the one with inner products).
    """
    if SIGNS.search(text):
        raise LatexError("\\pm is two values; check a relation with it", 0, text)
    table = symbol_table(declared_values(values))
    tree = parse(text)
    chains = [child for child in tree.children if isinstance(child, Tree)]
    if len(chains) != 1:
        raise LatexError("one expression is needed, not a list", position_of(chains[1]), text)
    node = Reader(text, table).only_expression(chains[0])
    exact = any(
        isinstance(value, Fraction) or (isinstance(value, np.ndarray) and is_exact(value))
        for value in table.values()
    )

    def under(convention: str) -> tuple[Any, Evaluator, bool]:
        evaluator = Evaluator(text, table, first_index, convention, broadcast)
        with np.errstate(all="raise", under="ignore"):
            value = evaluator.evaluate(node)
        if isinstance(value, Dotted):
            raise LatexError("the dots show no pattern that could be filled", node.position, text)
        if is_undefined(value) and not any(is_undefined(known) for known in table.values()):
            raise LatexError("the result is not a number, as in ∞ − ∞", node.position, text)
        return value, evaluator, True

    return result_of(best_reading(under, vectors), exact)


def best_reading(under: Any, vectors: str | None) -> Any:
    """Try rows and columns where it matters; keep the reading whose shapes fit.

    ``under(convention)`` gives a value, its evaluator, and whether all sides fit together.
    """
    if vectors not in (None, "row", "column"):
        raise ValueError(f'vectors must be "row", "column" or None, got {vectors!r}')
    if vectors is not None:
        return under(vectors)[0]
    outcomes: list[tuple[bool, int, Any]] = []
    problems: list[LatexError] = []
    for convention in ("row", "column"):
        try:
            value, evaluator, fits = under(convention)
        except LatexError as error:
            problems.append(error)
            continue
        if not evaluator.arithmetic.orientation_used:
            return value
        outcomes.append((not fits, evaluator.arithmetic.outer_products, value))
    if not outcomes:
        raise next((p for p in problems if not isinstance(p, ShapeError)), problems[0])
    return min(outcomes, key=lambda outcome: outcome[:2])[2]


SIGNS = re.compile(r"\\(pm|mp)(?![A-Za-z])")


def sign_choices(text: str) -> tuple[str, str]:
    """A text with the upper and with the lower signs of ± and ∓; every place stays where it is."""
    upper = SIGNS.sub(lambda match: "+  " if match.group(1) == "pm" else "-  ", text)
    lower = SIGNS.sub(lambda match: "-  " if match.group(1) == "pm" else "+  ", text)
    return upper, lower


@dataclass
class Statement:
    """One chain of relations of a display, as the reader gives it."""

    node: Node


@dataclass
class Quantifier:
    """An index that the display itself ranges over."""

    names: tuple[str, ...]
    ranges: tuple[range | None, ...]
    test: Node | None
    listed: tuple[Node, ...] = ()

    def names_used(self) -> set[str]:
        """The symbols in the stated range."""
        parts = (*self.listed, *([self.test] if self.test else []))
        return set().union(*(names_in(part) for part in parts))


def check(
    text: str,
    values: Mapping[str, Any],
    *,
    first_index: int = 1,
    vectors: str | None = None,
    tolerance: float = 1e-9,
    absolute: float = 0.0,
    approx: float = 0.02,
    broadcast: bool = False,
) -> list[Relation]:
    """Evaluate every relation of a display; one entry for each, in the order printed.

    ``=`` allows ``tolerance`` times the larger side (of an array: its largest entry) plus
    ``absolute``; ``\\approx`` allows ``approx`` times the larger side. ``broadcast`` lets a number
    stand beside a vector and a row beside a matrix. ``\\pm`` and ``\\mp`` must hold with the upper
    signs and with the lower signs.
    """
    if SIGNS.search(text):
        upper, lower = (
            check(
                choice,
                values,
                first_index=first_index,
                vectors=vectors,
                tolerance=tolerance,
                absolute=absolute,
                approx=approx,
                broadcast=broadcast,
            )
            for choice in sign_choices(text)
        )
        return [max(pair, key=severity) for pair in zip(upper, lower, strict=True)]
    table = symbol_table(declared_values(values))
    statements, quantifiers = read_display(text, table)
    quantifiers = [*declared_ranges(statements, table), *quantifiers]
    comparison = Comparison(text, tolerance, absolute, approx)

    def under(convention: str) -> tuple[list[Relation], Evaluator, bool]:
        evaluator = Evaluator(text, table, first_index, convention, broadcast)
        with np.errstate(all="raise", under="ignore"):
            relations = check_all(statements, quantifiers, evaluator, comparison)
        return relations, evaluator, not any(r.note for r in relations)

    result: list[Relation] = best_reading(under, vectors)
    return result


def read_display(text: str, table: Mapping[str, Any]) -> tuple[list[Statement], list[Quantifier]]:
    """Split a display into statements to be checked and ranges for their free indices."""
    reader = Reader(text, table)
    groups: list[list[Tree[Token]]] = []
    introduced: list[bool] = []
    separator, quantifying = ",", False
    for child in parse(text).children:
        if isinstance(child, Token):
            separator = child.value
            # \text{for} reaches over commas: for i = 1, …, n, j = 1, …, m.
            quantifying = separator in QUANTIFYING_WORDS or (quantifying and separator == ",")
            continue
        # Only commas hold a list of values together, as in i = 0, 1, 2.
        for chain in reader.bracketed_relations(child) or [child]:
            if len(chain.children) == 1 and groups and separator == ",":
                groups[-1].append(chain)
            else:
                groups.append([chain])
                introduced.append(quantifying)
            separator = ","
    quantifiers: list[Quantifier] = []
    claims: list[list[Tree[Token]]] = []
    for group, after_for in zip(groups, introduced, strict=True):
        quantifier = read_quantifier(group, reader) if after_for else None
        if quantifier is None:
            claims.append(group)
            continue
        reader.bound.extend(quantifier.names)
        quantifiers.append(quantifier)
    statements = []
    for group in claims:
        chain = group[0]
        if len(chain.children) == 1:
            reader.only_expression(chain)  # an unknown symbol in it is the better complaint
            raise reader.fail("an expression without a relation states nothing", chain)
        node = reader.relation_chain(chain)
        if len(group) > 1:
            if not reader.lone_symbol(chain.children[0]):
                raise reader.fail("a list of values for something that is not one symbol", chain)
            node = membership(node, listed_after(group, reader), reader)
        statements.append(Statement(node))
    if not statements:
        raise LatexError("the display holds no relation that could be checked", 0, text)
    used = set().union(*(free_names(statement.node) for statement in statements))
    for place, quantifier in enumerate(quantifiers):
        later = set().union(*(q.names_used() for q in quantifiers[place + 1 :]))
        for name in quantifier.names:
            if name not in used | later:
                raise LatexError(f"{name} runs over a range, but no statement uses it", 0, text)
    return statements, quantifiers


def declared_ranges(statements: list[Statement], table: Mapping[str, Any]) -> list[Quantifier]:
    """Indices declared as a ``range``: the display must hold for every value in it."""
    used = set().union(*(free_names(statement.node) for statement in statements))
    return [
        Quantifier((name,), (value,), None)
        for name, value in table.items()
        if isinstance(value, range) and name in used
    ]


def listed_after(group: list[Tree[Token]], reader: Reader) -> tuple[Node, ...]:
    """The values in ``i = 0, 1, \\ldots, n``, of which the parser sees separate pieces."""
    first = Tree("chain", [group[0].children[-1]])
    return tuple(reader.listed([first, *group[1:]]))


def membership(first: Node, items: tuple[Node, ...], reader: Reader) -> Node:
    """``i = 0, 1, 2`` for a declared i: i is one of these."""
    sides, relations, places, texts = first.parts
    if relations != ("=",):
        raise reader.fail("a list of values after a relation that is not =", first.position)
    listed = Node("listed_set", (items, None), first.position)
    texts = (texts[0], texts[1] + ", …")
    return Node("chain", ((sides[0], listed), ("in",), places, texts), first.position)


def read_quantifier(group: list[Tree[Token]], reader: Reader) -> Quantifier | None:
    """A range for an undeclared symbol: ``i = 0, \\ldots, n``, ``0 \\le i < n``, ``i \\in S``."""
    chain = group[0]
    sides = [child for child in chain.children if isinstance(child, Tree)]
    relations = [child.value for child in chain.children if isinstance(child, Token)]
    fresh: list[str] = []
    for place, side in enumerate(sides):
        name = reader.lone_symbol(side)
        if place and relations[place - 1] in ("in", "notin"):
            continue
        if name and not reader.known(name) and name not in ("e", r"\pi", r"\infty"):
            fresh.append(name)
    if not fresh or not relations:
        return None
    names = tuple(dict.fromkeys(fresh))
    if relations == ["="]:
        if len(group) == 1:
            return None
        items = listed_after(group, reader)
        return Quantifier(names, (None,), None, items)
    if len(group) > 1:
        raise reader.fail("a list after this relation is not understood", group[1])
    reader.bound.extend(names)
    test = reader.relation_chain(chain)
    del reader.bound[len(reader.bound) - len(names) :]
    return Quantifier(names, (None,) * len(names), test)


def instances(quantifiers: list[Quantifier], evaluator: Evaluator) -> list[dict[str, int]]:
    """All values of the indices that the display ranges over."""
    if not quantifiers:
        return [{}]
    first, *rest = quantifiers
    whole_range = first.ranges[0]
    position = Node("number") if whole_range is not None else (first.test or first.listed[0])
    if whole_range is not None:
        choices = [{first.names[0]: number} for number in whole_range]
    elif first.listed:
        numbers = [evaluator.whole(v, position) for v in evaluator.arguments(first.listed)]
        choices = [{first.names[0]: number} for number in numbers]
    else:
        assert first.test is not None
        choices = list(
            evaluator.assignments(first.names, first.ranges, (first.test,), None, position)
        )
    found: list[dict[str, int]] = []
    for choice in choices:
        with evaluator.bound(choice):
            found += [{**choice, **others} for others in instances(rest, evaluator)]
    if not found:
        raise evaluator.fail("the stated range is empty", position)
    if len(found) > MOST_INSTANCES:
        raise evaluator.fail(f"more than {MOST_INSTANCES} instances", position)
    return found


def check_all(
    statements: list[Statement],
    quantifiers: list[Quantifier],
    evaluator: Evaluator,
    comparison: Comparison,
) -> list[Relation]:
    result: list[Relation] = []
    cases = instances(quantifiers, evaluator)
    for statement in statements:
        worst: list[Relation] = []
        for case in cases:
            with evaluator.bound(case):
                found = comparison.chain(statement.node, evaluator)
            if not worst:
                worst = found
            worst = [max(pair, key=severity) for pair in zip(worst, found, strict=True)]
        for relation in worst:
            relation.instances = len(cases)
        result += worst
    return result


def covers(node: Node, evaluator: Evaluator) -> bool:
    """Whether a printed range of an index is exactly the range that the check declares for it.

    Printed are ``i = 0, 1, \\ldots, n`` and ``0 \\le i < n``; any other chain covers what it must.
    """
    sides, relations, *_ = node.parts
    place = 0 if relations == ("in",) else 1
    if place == 1 and not (len(relations) == 2 and set(relations) <= {"<", "<="}):
        return True
    index = sides[place]
    declared = evaluator.declared.get(index.parts[0]) if index.kind == "symbol" else None
    if not isinstance(declared, range):
        return True
    if place == 0:
        members = evaluator.members(sides[1])
        return members is None or sorted(members) == sorted(declared)
    others = names_in(sides[0]) | names_in(sides[2])
    if any(isinstance(evaluator.declared.get(name), range) for name in others):
        return True
    name = index.parts[0]
    found = evaluator.assignments((name,), (None,), (node,), None, node)
    return [assignment[name] for assignment in found] == sorted(declared)


def severity(relation: Relation) -> tuple[bool, float]:
    return (not relation.holds, relation.deviation)


class Comparison:
    """Compares two sides under the tolerances of one check."""

    def __init__(self, text: str, tolerance: float, absolute: float, approx: float) -> None:
        self.text = text
        self.tolerance = tolerance
        self.absolute = absolute
        self.approx = approx

    def chain(self, node: Node, evaluator: Evaluator) -> list[Relation]:
        sides, relations, places, texts = node.parts
        result: list[Relation] = []
        left = evaluator.evaluate(sides[0])
        for k, relation in enumerate(relations):
            if relation in ("in", "notin"):
                inside = evaluator.is_member(left, sides[k + 1], node)
                holds = inside == (relation == "in") and covers(node, evaluator)
                deviation = 0.0 if holds else math.inf
                entry = Relation(
                    relation,
                    texts[k],
                    texts[k + 1],
                    result_of(left, False),
                    None,
                    deviation,
                    holds,
                    places[k],
                )
                result.append(entry)
                continue
            right = evaluator.evaluate(sides[k + 1])
            if relation in ("divides", "ndivides") or relation in DECLARED_RELATIONS:
                holds = self.related(relation, left, right, evaluator, node)
                entry = Relation(
                    relation,
                    texts[k],
                    texts[k + 1],
                    result_of(left, False),
                    result_of(right, False),
                    0.0 if holds else math.inf,
                    holds,
                    places[k],
                )
                result.append(entry)
                left = right
                continue
            deviation, holds, note = self.compare(relation, left, right, evaluator, places[k])
            result.append(
                Relation(
                    relation,
                    texts[k],
                    texts[k + 1],
                    result_of(left, False),
                    result_of(right, False),
                    deviation,
                    holds,
                    places[k],
                    note=note,
                )
            )
            left = right
        if not covers(node, evaluator):
            result[-1].holds = False
            result[-1].note = "the printed range is not the one the check declares"
        return result

    def related(
        self, relation: str, left: Any, right: Any, evaluator: Evaluator, node: Node
    ) -> bool:
        """Whether a relation of whole numbers, or one that the check declares, holds."""
        if relation in ("divides", "ndivides"):
            return evaluator.divides(left, right, node) == (relation == "divides")
        sides = [evaluator.argument(left), evaluator.argument(right)]
        return bool(evaluator.answered(relation, evaluator.values[relation], sides, node))

    def compare(
        self, relation: str, left: Any, right: Any, evaluator: Evaluator, position: int
    ) -> tuple[float, bool, str]:
        """The deviation, whether the relation holds, and a note when the shapes do not fit."""
        try:
            a, b = self.aligned(relation, left, right, evaluator, position)
        except ShapeError as error:
            return math.inf, False, error.message
        except OverflowError:
            raise LatexError("a number too large to compare", position, self.text) from None
        if relation not in ("=", "!=", "approx"):
            if not (is_real(a) and is_real(b)):
                raise LatexError("an inequality between complex numbers", position, self.text)
            a, b = np.real(a), np.real(b)
        with np.errstate(invalid="ignore"):
            gap = np.where(a == b, 0.0, np.abs(a - b))
        if np.any(np.isnan(gap)):
            return math.inf, False, ""
        size = np.maximum(np.abs(a), np.abs(b))
        finite = np.where(np.isfinite(size), size, 0.0)
        # The entries of an array are rounded by its largest one.
        room = self.tolerance * np.max(finite) + self.absolute
        largest = float(np.max(gap))
        if relation == "=":
            return largest, bool(np.all(gap <= room)), ""
        if relation == "!=":
            return 0.0, bool(np.any(gap > room)), ""
        if relation == "approx":
            return largest, bool(np.all(gap <= self.approx * finite)), ""
        if relation in (">", ">="):
            a, b = b, a
        excess = float(np.max(np.where(a > b, gap, 0.0)))
        if relation in ("<", ">"):
            return excess, bool(np.all(a < b)), ""
        return excess, bool(np.all((a <= b) | (gap <= room))), ""

    def aligned(
        self, relation: str, left: Any, right: Any, evaluator: Evaluator, position: int
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Both sides with one shape."""
        arithmetic = evaluator.arithmetic
        if isinstance(left, Dotted) or isinstance(right, Dotted):
            pair = arithmetic.dotted("compare", lambda a, b: a, left, right, position)
            other = arithmetic.dotted("compare", lambda a, b: b, left, right, position)
            return numeric(pair.entries), numeric(other.entries)
        if is_number(left) and is_number(right):
            return numeric(as_array(left)), numeric(as_array(right))
        if is_number(left) or is_number(right):
            number = left if is_number(left) else right
            # x = 0 and x ≠ 0 speak of the array of zeros; anything else is a broadcast.
            if relation in ("=", "approx", "!=") and number != 0:
                raise ShapeError("a number against an array", position, self.text)
            if relation not in ("=", "!="):
                arithmetic.require_broadcast("compare a number with an array", position)
            return numeric(as_array(left)), numeric(as_array(right))
        a, b = as_array(left), as_array(right)
        same_kind = isinstance(left, Crossed) == isinstance(right, Crossed)
        if a.shape != b.shape or (a.ndim == 1 and not same_kind):
            a, b = arithmetic.grid(left), arithmetic.grid(right)
        if a.shape != b.shape:
            raise ShapeError(f"shapes {a.shape} against {b.shape}", position, self.text)
        return numeric(a), numeric(b)


def numeric(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype != object:
        return array
    has_complex = any(isinstance(entry, complex) for entry in array.flat)
    return array.astype(np.complex128 if has_complex else np.float64)


__all__ = ["Relation", "canonical_name", "check", "evaluate"]
