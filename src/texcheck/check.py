"""A display's statements and the ranges of their indices; the value of an expression, a verdict."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from lark import Token, Tree

from texcheck import nodes
from texcheck.comparison import Comparison, Relation, Seen, covers, either, result_of, worse
from texcheck.errors import LatexError
from texcheck.evaluator import Evaluator, Memory
from texcheck.lexer import CONDITION_WORDS, EQUIVALENCES, IMPLICATIONS, QUANTIFYING_WORDS
from texcheck.nodes import Chain, Nodes
from texcheck.parser import parse, position_of, symbol_table
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
            if isinstance(part, (nodes.Case, nodes.Indicator)):
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
        return set().union(*(nodes.free_names(chain) for chain in self.chains))


@dataclass
class Quantifier:
    """An index that the display itself ranges over."""

    names: tuple[str, ...]
    whole: range | None = None
    test: Chain | None = None
    listed: Nodes = ()

    @property
    def place(self) -> int:
        """Where the range is printed; 0 for one that the check declares."""
        stated = self.test or next(iter(self.listed), None)
        return 0 if stated is None else stated.position

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this range from another, wherever it is printed."""
        return self.names, self.whole, self.test, self.listed

    def names_used(self) -> set[str]:
        """The symbols in the stated range."""
        return nodes.names_in_all((*self.listed, *([self.test] if self.test else [])))


Display = tuple[list[Statement], list[Quantifier]]


def read_display(text: str, table: Mapping[str, Any]) -> Display:
    """Split a display into statements to be checked and ranges for their free indices."""
    return read_with(text, frozenset((name, callable(value)) for name, value in table.items()))


@functools.lru_cache(maxsize=64)
def read_with(text: str, symbols: frozenset[tuple[str, bool]]) -> Display:
    """Read a display by the names of the declared symbols, and whether they are functions."""
    reader = Reader(text, dict(symbols))
    groups: list[list[Tree[Token]]] = []
    introduced: list[bool] = []
    joined_by: list[str] = []
    separator, quantifying = ",", False
    for child in parse(text).children:
        if isinstance(child, Token):
            separator = child.value
            # \text{for} reaches over commas: for i = 1, …, n, j = 1, …, m.
            quantifying = separator in QUANTIFYING_WORDS or (quantifying and separator == ",")
            continue
        # Only commas hold a list of values together, as in i = 0, 1, 2.
        if len(child.children) == 1 and groups and separator == ",":
            groups[-1].append(child)
        else:
            groups.append([child])
            introduced.append(quantifying)
            joined_by.append(separator)
        separator = ","
    quantifiers: list[Quantifier] = []
    claims: list[tuple[str, list[Tree[Token]]]] = []
    for word, group, after_for in zip(joined_by, groups, introduced, strict=True):
        quantifier = read_quantifier(group, reader) if after_for else None
        if quantifier is None:
            claims.append((word, group))
            continue
        reader.bound.extend(quantifier.names)
        quantifiers.append(quantifier)
    statements: list[Statement] = []
    for number, (word, group) in enumerate(claims):
        chain = group[0]
        if len(chain.children) == 1:
            reader.only_expression(chain)  # an unknown symbol in it is the better complaint
            raise reader.fail("an expression without a relation states nothing", chain)
        node = reader.relation_chain(chain)
        for left, right, relation, place in zip(
            node.sides, node.sides[1:], node.relations, node.places, strict=False
        ):
            if left == right and relation == "=":
                raise reader.fail("both sides are printed alike, which states nothing", place)
        if len(group) > 1:
            if not reader.lone_symbol(chain.children[0]):
                raise reader.fail("a list of values for something that is not one symbol", chain)
            node = membership(node, listed_after(group, reader), reader)
        if word in IMPLICATIONS and number > 0:
            if number > 1 and claims[number - 1][0] == ",":
                raise reader.fail("what does this follow from? join the premises by a word", chain)
            premise = statements[-1]
            if premise.premise is None:
                statements.pop()
            statements.append(Statement(node, premise.node, both=word in EQUIVALENCES))
        elif word in CONDITION_WORDS and number > 0:
            if statements[-1].premise is not None:
                raise reader.fail("a second condition on one statement", chain)
            statements[-1].premise = node
        else:
            statements.append(Statement(node))
    if not statements:
        raise LatexError("the display holds no relation that could be checked", 0, text)
    used = set().union(*(statement.free_names() for statement in statements))
    for place, quantifier in enumerate(quantifiers):
        later = set().union(*(q.names_used() for q in quantifiers[place + 1 :]))
        for name in quantifier.names:
            if name not in used | later:
                raise LatexError(f"{name} runs over a range, but no statement uses it", 0, text)
    return statements, quantifiers


def declared_ranges(statements: list[Statement], table: Mapping[str, Any]) -> list[Quantifier]:
    """Indices declared as a ``range``: the display must hold for every value in it."""
    used = set().union(*(statement.free_names() for statement in statements))
    return [
        Quantifier((name,), value)
        for name, value in table.items()
        if isinstance(value, range) and name in used
    ]


def listed_after(group: list[Tree[Token]], reader: Reader) -> Nodes:
    """The values in ``i = 0, 1, \\ldots, n``, of which the parser sees separate pieces."""
    first = Tree("chain", [group[0].children[-1]])
    return tuple(reader.listed([first, *group[1:]]))


def membership(first: Chain, items: Nodes, reader: Reader) -> Chain:
    """``i = 0, 1, 2`` for a declared i: i is one of these."""
    if first.relations != ("=",):
        raise reader.fail("a list of values after a relation that is not =", first.position)
    listed = nodes.ListedSet(items, position=first.position)
    texts = (first.texts[0], first.texts[1] + ", …")
    return replace(first, sides=(first.sides[0], listed), relations=("in",), texts=texts)


def read_quantifier(group: list[Tree[Token]], reader: Reader) -> Quantifier | None:
    """A range for an undeclared symbol: ``i = 0, \\ldots, n``, ``0 \\le i < n``, ``i \\in S``."""
    chain = group[0]
    sides = [child for child in chain.children if isinstance(child, Tree)]
    relations = [child.value for child in chain.children if isinstance(child, Token)]
    fresh: list[str] = []
    for place, side in enumerate(sides):
        name = reader.lone_symbol(side)
        if place and relations[place - 1] == "in":
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
        return Quantifier(names, listed=items)
    if len(group) > 1:
        raise reader.fail("a list after this relation is not understood", group[1])
    reader.bound.extend(names)
    test = reader.relation_chain(chain)
    del reader.bound[len(reader.bound) - len(names) :]
    return Quantifier(names, test=test)


def instances(quantifiers: list[Quantifier], evaluator: Evaluator) -> list[dict[str, int]]:
    """All values of the indices that the display ranges over."""
    if not quantifiers:
        return [{}]
    first, *rest = quantifiers
    position = first.place
    if first.whole is not None:
        choices = [{first.names[0]: number} for number in first.whole]
    elif first.listed:
        node = first.listed[0]
        numbers = [evaluator.whole(v, node) for v in evaluator.arguments(first.listed)]
        choices = [{first.names[0]: number} for number in numbers]
    else:
        assert first.test is not None
        unstated = (None,) * len(first.names)
        choices = list(
            evaluator.assignments(first.names, unstated, (first.test,), None, first.test)
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
