"""A display's statements at all values of their indices; the value of an expression, a verdict."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lark import Token, Tree

from texcheck import nodes
from texcheck.comparison import Comparison, covers
from texcheck.errors import LatexError
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.memory import Memory
from texcheck.evaluation.rules import RULES
from texcheck.nodes import Chain, Nodes
from texcheck.parser import parse, position_of, symbol_table
from texcheck.reading.factors import read_operand
from texcheck.reading.lists import read_list
from texcheck.reading.parts import lone_symbol
from texcheck.reading.reader import Reader
from texcheck.reading.relations import read_chain
from texcheck.relation import Relation, Seen, result_of, worse
from texcheck.rounding import Noise
from texcheck.values import declared_values
from texcheck.vocabulary import IMPLICATIONS

CONVENTIONS = ("row", "column")
# Relations that hold wherever = does.
WEAKER = ("<=", ">=", "approx")


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
    table = symbol_table(declared_values(values))
    chains = [child for child in parse(text).children if isinstance(child, Tree)]
    if len(chains) != 1:
        raise LatexError("one expression is needed, not a list", position_of(chains[1]), text)
    symbols = {name: callable(value) for name, value in table.items()}
    node = Reader(text, symbols, read_operand).only_expression(chains[0])
    with np.errstate(all="ignore"):
        return result_of(evaluator_for(text, table, options).evaluate(node))


def check(text: str, values: Mapping[str, Any], *, vectors: str, **options: Any) -> list[Relation]:
    """Evaluate every relation of a display; one entry for each, in the order printed.

    ``=`` allows what rounding can change (``texcheck.rounding``), entry by entry; whole numbers
    are compared exactly. ``\\approx`` allows half a unit of the last digit of a printed number,
    else ``approx`` (0.02) times the larger side. ``sampling_error`` is for values that are
    averages of random draws: the share by which they may differ from their expectation.
    ``broadcast`` lets a row be beside a matrix. ``noise`` is the seed of random changes by one
    unit in the last place; no verdict may depend on them.
    """
    chosen = Options(vectors, **options)
    return relations_of(text, symbol_table(declared_values(values)), chosen)


def evaluator_for(
    text: str, table: Mapping[str, Any], options: Options, memory: Memory | None = None
) -> Evaluator:
    """An evaluator of one text by the options of its check."""
    noise = None if options.noise is None else Noise(options.noise, units=1)
    return Evaluator(
        text,
        table,
        RULES,
        first_index=options.first_index,
        convention=options.vectors,
        broadcast=options.broadcast,
        noise=noise,
        memory=memory,
    )


def conditions_of(text: str, table: Mapping[str, Any]) -> Iterator[Chain]:
    """The conditions in a display's ``cases`` and indicators."""
    for statement in read_display(text, table):
        for part in statement.node.walk():
            if isinstance(part, (nodes.Case, nodes.Indicator)):
                yield from part.tests


def relations_of(
    text: str,
    table: Mapping[str, Any],
    options: Options,
    memory: Memory | None = None,
    hasty: bool = False,
) -> list[Relation]:
    """The relations of a display; with a memory, only up to the first instance that fails."""
    statements = read_display(text, table)
    comparison = Comparison(text, options.approx, options.sampling_error, hasty)
    evaluator = evaluator_for(text, table, options, memory)
    with np.errstate(all="ignore"):
        return check_all(statements, evaluator, comparison, memory)


def check_all(
    statements: list[Statement],
    evaluator: Evaluator,
    comparison: Comparison,
    memory: Memory | None,
) -> list[Relation]:
    """Every statement at every value of its indices; of each relation the worst case."""
    result: list[Relation] = []
    cases = instances(statements, evaluator)
    ranges = tuple(cases[0])
    for statement in statements:
        key = (*statement.key, ranges)
        if memory is not None and key in memory.holding:
            result += memory.holding[key]
            continue
        some = cases[-1:] if memory and holds_as_equality(statement, memory, ranges) else cases
        found = check_statement(statement, some, evaluator, comparison, memory)
        result += found
        if memory is not None:
            if not all(relation.holds for relation in found):
                return result
            memory.holding[key] = found
    return result


def holds_as_equality(statement: Statement, memory: Memory, ranges: tuple[str, ...]) -> bool:
    """Whether ``a = b`` in place of ``a \\le b`` held at all instances, so that one tells all."""
    node = statement.node
    for k, relation in enumerate(node.relations):
        if relation in WEAKER and statement.premise is None:
            relations = (*node.relations[:k], "=", *node.relations[k + 1 :])
            if (replace(node, relations=relations), False, ranges) in memory.holding:
                return True
    return False


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


MOST_INSTANCES = 20_000


@dataclass
class Statement:
    """One chain of relations of a display, and what it is said to follow from.

    ``both``: premise and conclusion are said to be equivalent.
    """

    node: Chain
    premise: Chain | None = None
    both: bool = False

    @property
    def chains(self) -> tuple[Chain, ...]:
        """All relations that are printed in it."""
        return (self.node,) if self.premise is None else (self.premise, self.node)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this statement from another, wherever it is printed."""
        return (*self.chains, self.both)

    def free_names(self) -> set[str]:
        """The symbols whose values it needs."""
        return set().union(*(chain.free_names for chain in self.chains))


def read_display(text: str, table: Mapping[str, Any]) -> list[Statement]:
    """The statements of a display, all of which must hold."""
    return read_with(text, frozenset((name, callable(value)) for name, value in table.items()))


@functools.lru_cache(maxsize=64)
def read_with(text: str, symbols: frozenset[tuple[str, bool]]) -> list[Statement]:
    """Read a display by the names of the declared symbols, and whether they are functions."""
    reader = Reader(text, dict(symbols), read_operand)
    claims: list[tuple[str, list[Tree[Token]]]] = []
    separator = ","
    for child in parse(text).children:
        if isinstance(child, Token):
            separator = child.value
        # Only commas hold a list of values together, as in i = 0, 1, 2.
        elif len(child.children) == 1 and claims and separator == ",":
            claims[-1][1].append(child)
        else:
            claims.append((separator, [child]))
            separator = ","
    statements: list[Statement] = []
    for number, (word, group) in enumerate(claims):
        chain = group[0]
        if len(chain.children) == 1:
            reader.only_expression(chain)  # an unknown symbol in it is the better complaint
            raise reader.fail("an expression without a relation states nothing", chain)
        node = read_chain(reader, chain)
        for left, right, relation, place in zip(
            node.sides, node.sides[1:], node.relations, node.places, strict=False
        ):
            if left == right and relation == "=":
                raise reader.fail("both sides are printed alike, which states nothing", place)
        if len(group) > 1:
            if not lone_symbol(chain.children[0], text):
                raise reader.fail("a list of values for something that is not one symbol", chain)
            node = membership(node, listed_after(group, reader), reader)
        if word in IMPLICATIONS and number > 0:
            if number > 1 and claims[number - 1][0] == ",":
                raise reader.fail("what does this follow from? join the premises by a word", chain)
            premise = statements[-1]
            if premise.premise is None:
                statements.pop()
            statements.append(Statement(node, premise.node, both=word == "\\iff"))
        else:
            statements.append(Statement(node))
    return statements


def listed_after(group: list[Tree[Token]], reader: Reader) -> Nodes:
    """The values in ``i = 0, 1, \\ldots, n``, of which the parser sees separate pieces."""
    first = Tree("chain", [group[0].children[-1]])
    return tuple(read_list(reader, [first, *group[1:]]))


def membership(first: Chain, items: Nodes, reader: Reader) -> Chain:
    """``i = 0, 1, 2`` for a declared i: i is one of these."""
    if first.relations != ("=",):
        raise reader.fail("a list of values after a relation that is not =", first.position)
    listed = nodes.ListedSet(items, position=first.position)
    texts = (first.texts[0], first.texts[1] + ", …")
    return replace(first, sides=(first.sides[0], listed), relations=("in",), texts=texts)


def instances(statements: list[Statement], evaluator: Evaluator) -> list[dict[str, int]]:
    """All values of the indices that are declared as a ``range``; the display must hold at each."""
    used = set().union(*(statement.free_names() for statement in statements))
    ranges = {
        name: value
        for name, value in evaluator.declared.items()
        if isinstance(value, range) and name in used
    }
    count = math.prod(map(len, ranges.values()))
    if not 0 < count <= MOST_INSTANCES:
        raise evaluator.fail(f"{count} instances of the indices", 0)
    return [dict(zip(ranges, case, strict=True)) for case in itertools.product(*ranges.values())]
