"""The two entry points: the value of an expression, and the relations of a display."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from lark import Tree

from texcheck.comparison import (
    Comparison,
    Relation,
    Seen,
    covers,
    either,
    result_of,
    worse,
)
from texcheck.display import Quantifier, Statement, declared_ranges, instances, read_display
from texcheck.errors import LatexError
from texcheck.evaluator import Evaluator, Memory
from texcheck.factors import symbol_table
from texcheck.nodes import Case, Chain, Indicator
from texcheck.parser import parse, position_of
from texcheck.reader import Reader
from texcheck.rounding import Noise
from texcheck.values import declared_values, is_exact

SIGNS = re.compile(r"\\(pm|mp)(?![A-Za-z])")
CONVENTIONS = ("row", "column")


@dataclass(frozen=True)
class Options:
    """How a check reads and compares; the fields are those of ``check``."""

    vectors: str
    first_index: int = 1
    approx: float = 0.02
    sampling_error: float = 0.0
    broadcast: bool = False
    noise: int | None = None

    def __post_init__(self) -> None:
        if self.vectors not in CONVENTIONS:
            raise ValueError(f'vectors must be "row" or "column", got {self.vectors!r}')


def evaluate(
    text: str,
    values: Mapping[str, Any],
    *,
    vectors: str,
    first_index: int = 1,
    broadcast: bool = False,
) -> Any:
    """The value of a LaTeX expression.

    ``values`` maps symbols as printed to numbers, arrays, callables, ``Random`` or ``depends``;
    ``vectors`` says how 1-D arrays are to be read, as ``"row"`` or as ``"column"``.
    """
    options = Options(vectors, first_index, broadcast=broadcast)
    if SIGNS.search(text):
        raise LatexError("\\pm is two values; check a relation with it", 0, text)
    table = symbol_table(declared_values(values))
    chains = [child for child in parse(text).children if isinstance(child, Tree)]
    if len(chains) != 1:
        raise LatexError("one expression is needed, not a list", position_of(chains[1]), text)
    symbols = {name: callable(value) for name, value in table.items()}
    node = Reader(text, symbols).only_expression(chains[0])
    exact = any(
        isinstance(value, Fraction) or (isinstance(value, np.ndarray) and is_exact(value))
        for value in table.values()
    )
    evaluator = evaluator_for(text, table, options)
    with np.errstate(all="ignore"):
        value = evaluator.evaluate(node)
    return result_of(value, exact)


def check(text: str, values: Mapping[str, Any], *, vectors: str, **options: Any) -> list[Relation]:
    """Evaluate every relation of a display; one entry for each, in the order printed.

    ``=`` allows what rounding can change (``texcheck.rounding``), entry by entry; whole numbers
    are compared exactly. ``\\approx`` allows half a unit of the last digit of a printed number,
    else ``approx`` (0.02) times the larger side. ``sampling_error`` is for values that are
    averages of random draws: the share by which they may differ from their expectation.
    ``broadcast`` lets a number stand beside a vector and a row beside a matrix. ``noise`` is the
    seed of random changes by one unit in the last place; no verdict may depend on them.
    """
    chosen = Options(vectors, **options)
    return relations_of(text, symbol_table(declared_values(values)), chosen)


def evaluator_for(
    text: str, table: Mapping[str, Any], options: Options, memory: Memory | None = None
) -> Evaluator:
    """An evaluator of one text by the options of its check."""
    noise = None if options.noise is None else Noise(options.noise, units=1)
    reading = (options.first_index, options.vectors, options.broadcast)
    return Evaluator(text, table, *reading, noise, memory)


def sign_choices(text: str) -> tuple[str, str]:
    """A text with the upper and with the lower signs of ± and ∓; every place stays where it is."""
    upper = SIGNS.sub(lambda match: "+  " if match.group(1) == "pm" else "-  ", text)
    lower = SIGNS.sub(lambda match: "-  " if match.group(1) == "pm" else "+  ", text)
    return upper, lower


def conditions_of(text: str, table: Mapping[str, Any]) -> Iterator[Chain]:
    """The conditions in a display's ``cases`` and indicators."""
    statements, _ = read_display(sign_choices(text)[0], table)
    for statement in statements:
        for part in statement.node.walk():
            if isinstance(part, (Case, Indicator)):
                yield from part.tests


def relations_of(
    text: str,
    table: Mapping[str, Any],
    options: Options,
    memory: Memory | None = None,
    hasty: bool = False,
) -> list[Relation]:
    """The relations of a display; with a memory, only up to the first instance that fails.

    ``x = \\pm 2`` holds with either sign; where both sides have ± or ∓, the display must hold
    with the upper signs and with the lower signs.
    """
    if SIGNS.search(text):
        upper, lower = (relations_of(choice, table, options) for choice in sign_choices(text))
        return [either(*pair) for pair in zip(upper, lower, strict=True)]
    statements, quantifiers = read_display(text, table)
    quantifiers = [*declared_ranges(statements, table), *quantifiers]
    comparison = Comparison(text, options.approx, options.sampling_error, hasty)
    evaluator = evaluator_for(text, table, options, memory)
    with np.errstate(all="ignore"):
        return check_all(statements, quantifiers, evaluator, comparison, memory)


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
        key = (*statement.key, ranges)
        if memory is not None and key in memory.holding:
            result += memory.holding[key]
            continue
        found = check_statement(statement, cases, evaluator, comparison, memory)
        result += found
        if memory is not None:
            if not all(relation.holds for relation in found):
                return result
            memory.holding[key] = found
    return result


def check_statement(
    statement: Statement,
    cases: list[dict[str, int]],
    evaluator: Evaluator,
    comparison: Comparison,
    memory: Memory | None,
) -> list[Relation]:
    """The worst instance of each relation; with a memory, only up to the first that fails."""
    node = statement.node
    worst: list[Relation] = []
    for case in cases:
        with evaluator.bound(case):
            found = instance_of(statement, case, evaluator, comparison)
            if not worst and not covers(node, evaluator):
                found[-1].holds = False
                found[-1].note = "the printed range is not the one the check declares"
        worst = [worse(*pair) for pair in zip(worst or found, found, strict=True)]
        if memory is not None and not all(relation.holds for relation in worst):
            break
    for relation in worst:
        relation.instances = len(cases)
    return worst


def instance_of(
    statement: Statement,
    case: Mapping[str, int],
    evaluator: Evaluator,
    comparison: Comparison,
) -> list[Relation]:
    """A statement at one value of its indices; what it concludes counts where its premise holds."""
    found = comparison.chain(statement.node, evaluator, case)
    if statement.premise is None:
        return found
    premise = comparison.chain(statement.premise, evaluator, case)
    given = all(relation.holds for relation in premise)
    concluded = all(relation.holds for relation in found)
    for relation in found:
        relation.seen.outcomes = frozenset({(given, concluded)})
        if statement.both:
            relation.holds = given == concluded
            relation.note = "" if given == concluded else "one side of \\iff holds, the other not"
        elif not given:
            relation.holds, relation.seen = True, Seen(outcomes=relation.seen.outcomes)
    return found
