"""The two entry points: the value of an expression, and the relations of a display."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from lark import Tree

from texcheck.comparison import Comparison, Relation, Worth, covers, result_of, worse
from texcheck.display import Quantifier, Statement, declared_ranges, instances, read_display
from texcheck.errors import LatexError, ShapeError
from texcheck.evaluator import Evaluator
from texcheck.nodes import Chain
from texcheck.parser import parse, position_of
from texcheck.reader import Reader, symbol_table
from texcheck.rounding import Noise
from texcheck.values import (
    Dotted,
    Value,
    declared_values,
    is_exact,
)

SIGNS = re.compile(r"\\(pm|mp)(?![A-Za-z])")


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
        with np.errstate(all="ignore"):
            value = evaluator.evaluate(node)
        if isinstance(value, Dotted):
            raise LatexError("the dots show no pattern that could be filled", node.position, text)
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


def sign_choices(text: str) -> tuple[str, str]:
    """A text with the upper and with the lower signs of ± and ∓; every place stays where it is."""
    upper = SIGNS.sub(lambda match: "+  " if match.group(1) == "pm" else "-  ", text)
    lower = SIGNS.sub(lambda match: "-  " if match.group(1) == "pm" else "+  ", text)
    return upper, lower


@dataclass(frozen=True)
class Options:
    """How a check reads and compares; the fields are those of ``check``."""

    first_index: int = 1
    vectors: str | None = None
    approx: float = 0.02
    sampling_error: float = 0.0
    broadcast: bool = False
    noise: int | None = None


def check(
    text: str,
    values: Mapping[str, Any],
    *,
    first_index: int = 1,
    vectors: str | None = None,
    approx: float = 0.02,
    sampling_error: float = 0.0,
    broadcast: bool = False,
    noise: int | None = None,
) -> list[Relation]:
    """Evaluate every relation of a display; one entry for each, in the order printed.

    ``=`` allows what rounding can change (``texcheck.rounding``), entry by entry; whole
    numbers are compared exactly. ``\\approx`` allows half a unit of the last digit of a printed
    number, else ``approx`` times the larger side. ``sampling_error`` is for values that are
    averages of random draws: the share by which they may differ from their expectation.
    ``broadcast`` lets a number stand beside a vector and a row beside a matrix. ``\\pm`` and
    ``\\mp`` must hold with the upper signs and with the lower signs. ``noise`` is the seed of
    random changes by one unit in the last place; no verdict may depend on them.
    """
    options = Options(first_index, vectors, approx, sampling_error, broadcast, noise)
    return relations_of(text, symbol_table(declared_values(values)), options)


@dataclass
class Memory:
    """What other texts had evaluated with the same values: sides' values, statements that hold."""

    worth: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    holding: dict[tuple[Any, ...], list[Relation]] = field(default_factory=dict)


def relations_of(
    text: str, table: Mapping[str, Any], options: Options, memory: Memory | None = None
) -> list[Relation]:
    """The relations of a display; with a memory, only up to the first instance that fails."""
    if SIGNS.search(text):
        upper, lower = (relations_of(choice, table, options) for choice in sign_choices(text))
        return [worse(*pair) for pair in zip(upper, lower, strict=True)]
    statements, quantifiers = read_display(text, table)
    quantifiers = [*declared_ranges(statements, table), *quantifiers]
    comparison = Comparison(text, options.approx, options.sampling_error)
    noise = None if options.noise is None else Noise(options.noise, units=1)
    # Rows or columns, whichever fit: then a side may have two values.
    known = memory if options.vectors is not None else None

    def under(convention: str) -> tuple[list[Relation], Evaluator, bool]:
        evaluator = Evaluator(
            text, table, options.first_index, convention, options.broadcast, noise
        )
        with np.errstate(all="ignore"):
            relations = check_all(statements, quantifiers, evaluator, comparison, known)
        return relations, evaluator, not any(r.note for r in relations)

    result: list[Relation] = best_reading(under, options.vectors)
    return result


def check_all(
    statements: list[Statement],
    quantifiers: list[Quantifier],
    evaluator: Evaluator,
    comparison: Comparison,
    memory: Memory | None,
) -> list[Relation]:
    """Every statement at every value of its quantifiers; of each relation the worst case."""
    result: list[Relation] = []
    cases = instances(quantifiers, evaluator)
    ranges = tuple(quantifier.key for quantifier in quantifiers)
    for statement in statements:
        key = (statement.node.sides, statement.node.relations, ranges)
        if memory is not None and key in memory.holding:
            result += memory.holding[key]
            continue
        found = check_statement(statement.node, cases, evaluator, comparison, memory)
        result += found
        if memory is not None:
            if not all(relation.holds for relation in found):
                return result
            memory.holding[key] = found
    return result


def check_statement(
    node: Chain,
    cases: list[dict[str, int]],
    evaluator: Evaluator,
    comparison: Comparison,
    memory: Memory | None,
) -> list[Relation]:
    """The worst instance of each relation; with a memory, only up to the first that fails."""
    worst: list[Relation] = []
    for case in cases:
        with evaluator.bound(case):
            worth = side_values(node, case, evaluator, memory)
            found = comparison.chain(node, evaluator, worth)
            if not worst and not covers(node, evaluator):
                found[-1].holds = False
                found[-1].note = "the printed range is not the one the check declares"
        worst = [worse(*pair) for pair in zip(worst or found, found, strict=True)]
        if memory is not None and not all(relation.holds for relation in worst):
            break
    for relation in worst:
        relation.instances = len(cases)
    return worst


def side_values(
    node: Chain, case: Mapping[str, int], evaluator: Evaluator, memory: Memory | None
) -> Worth:
    """The values of a chain's sides, plain and under noise, each computed once."""
    known: dict[tuple[Any, ...], Value] = {} if memory is None else memory.worth
    constants = tuple(case.items())

    def worth(number: int, noise: Noise | None) -> Value:
        side = node.sides[number]
        key = (side, noise and noise.seed, constants)
        if key not in known:
            with evaluator.with_noise(noise or evaluator.noise):
                known[key] = evaluator.evaluate(side)
        return known[key]

    return worth
