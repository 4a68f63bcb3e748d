"""A display's statements at all values of their indices; the value of an expression, a verdict."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from texcheck.anew import is_index, other_values, size_of, undrawable
from texcheck.approximation import Shares, require_shares, spare_share
from texcheck.comparison import Comparison
from texcheck.decimals import Roundings, beside_nearness, decimals_in, is_excused
from texcheck.draws import on_one_input
from texcheck.errors import LatexError
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.memory import Memory
from texcheck.evaluation.ranges import covers
from texcheck.evaluation.rules import RULES
from texcheck.nodes import Chain, Symbol
from texcheck.parser import canonical_name, symbol_table
from texcheck.reading.statements import (
    Every,
    Statement,
    read_display,
    read_every,
    read_expression,
)
from texcheck.relation import ORDER, Relation, Seen, levelled, result_of, shown, worse
from texcheck.rounding import Noise
from texcheck.values import declared_values

MOST_INSTANCES = 20_000
CONVENTIONS = ("row", "column")
# As most papers print them; a book in which x W is printed says "row".
DEFAULT_CONVENTION = "column"
# What ``fixed`` excuses of a relation: one number on both sides; a share or a decimal that only
# other draws tell.
SIGNS = ("=", "approx")
# Relations that hold wherever = does.
WEAKER = ("<=", ">=", "approx")
# The relations of a printed range.
LIMITS = frozenset((*ORDER, "in"))
# What an author does where nothing can draw a symbol anew, or where a statement is false there.
LEAVE_OUT = "leave the words out, or give several draws instead"
FOLLOW = 'let what follows {name} follow it: depends("{name}", …)'
LIMIT = "print behind it which values it has"


@dataclass(frozen=True)
class Options:
    """How a check reads and compares; the fields are those of ``check``."""

    vectors: str = DEFAULT_CONVENTION
    first_index: int = 1
    approx: Shares = field(default_factory=dict)
    sampling_error: float = 0.0
    broadcast: bool = False
    noise: int | None = None

    def __post_init__(self) -> None:
        if self.vectors not in CONVENTIONS:
            raise ValueError(f'vectors must be "row" or "column", got {self.vectors!r}')
        require_shares(self.approx)


def evaluate(
    text: str,
    values: Mapping[str, Any],
    *,
    vectors: str = DEFAULT_CONVENTION,
    first_index: int = 1,
    broadcast: bool = False,
) -> Any:
    """The value of a LaTeX expression.

    ``values`` maps symbols as printed to numbers, arrays, callables, ``Random`` or ``depends``;
    ``vectors`` says how 1-D arrays are to be read, as ``"row"`` or as ``"column"``.
    """
    options = Options(vectors=vectors, first_index=first_index, broadcast=broadcast)
    table = symbol_table(declared_values(values))
    node = read_expression(text, table)
    with np.errstate(all="ignore"):
        return result_of(evaluator_for(text, table, options).evaluate(node))


def check(
    text: str,
    values: Mapping[str, Any],
    *,
    vectors: str = DEFAULT_CONVENTION,
    fixed: Mapping[str, str] | None = None,
    **options: Any,
) -> list[Relation]:
    """Evaluate every relation of a display; one entry for each, in the order printed.

    ``=`` allows what rounding can change (``texcheck.rounding``), entry by entry; whole numbers
    are compared exactly. ``\\approx`` allows half a unit of the last digit of a printed number, and
    between two expressions what decimals in them round; else ``approx={1: (0.005, "why")}`` says
    by which share of the larger side the sides of the first relation may differ.
    ``sampling_error`` is for values that are averages of random draws: the share by which they may
    differ from their expectation. ``broadcast`` lets a row be beside a matrix. ``noise`` is the
    seed of random changes by one unit in the last place; no verdict may depend on them.

    What holds must also be able to fail: ``x^2 = 2 x`` does not count at x = 2, nor ``a + b = 2 a``
    where a and b are equal. Such a relation does not hold, with a note; ``fixed={"x": "why"}`` says
    that the symbol can have no other value. So it is with a matrix that is symmetric, diagonal or
    its own inverse, and with ``=`` between two sides that are 0 (``fixed={"=": "why"}``), unless
    the display itself says so; and with ``\\approx`` where ``approx`` says more than twice what the
    sides differ by (``fixed={"approx": "one draw of several"}``). More is asked of the draws of
    ``Formulas``.

    What stands behind "for all" is drawn anew (``texcheck.anew``), one symbol at a time, and what
    is printed before it must hold then as well.
    """
    chosen = Options(vectors=vectors, **options)
    table = symbol_table(declared_values(values))
    found = relations_of(text, table, chosen)
    excused = {name if name in SIGNS else canonical_name(name) for name in fixed or {}}
    for name, what in on_one_input(chains_of(text, table), table):
        if name not in excused:
            for relation in found:
                hold_back(relation, what)
            break
    for number, relation in enumerate(found, start=1):
        if "=" not in excused and (told := levelled(relation.seen.levels, 1)):
            hold_back(relation, told)
        if "approx" in excused:
            continue
        if told := misjudged_share(number, relation.relation, relation.seen, chosen.approx):
            hold_back(relation, told)
        if relation.relation == "approx" and (told := free_decimal(text, [table], chosen)):
            hold_back(relation, told)
    return found


def misjudged_share(number: int, relation: str, seen: Seen, approx: Shares) -> str:
    """What is wrong with the share that ``approx`` says of a relation; else empty."""
    if number not in approx:
        return ""
    if relation != "approx":
        return f"is no \\approx; take approx={{{number}: …}} out"
    return spare_share(number, approx[number][0], seen.share, seen.needed)


def free_decimal(
    text: str,
    tables: Sequence[Mapping[str, Any]],
    options: Options,
    memories: Sequence[Memory | None] = (None,),
    excused: Collection[str] = (),
) -> str:
    """Which decimal beside ``\\approx`` could have another last digit; empty where none could.

    Where sides are averages, a decimal beside any other sign has room as well.

    ``excused``: misprints that are true as well, by their names.
    """
    sides = [
        side
        for statement in read_display(text, tables[0])
        for chain in statement.chains
        for side in (chain.sides if options.sampling_error else beside_nearness(chain))
    ]
    for decimal in decimals_in(sides, text):
        for units in (1, -1):
            moved = decimal.moved(units)
            name = f"last digit: {decimal.printed} → {moved}"
            if not moved or is_excused(name, excused):
                continue
            end = decimal.position + len(decimal.printed)
            changed = text[: decimal.position] + moved + text[end:]
            if holds_on_all(changed, tables, options, memories):
                return (
                    f"holds with {moved} in place of {decimal.printed} as well; draw values that "
                    "tell them apart, print fewer digits, say a smaller share in approx=, or why "
                    f'it is true: equivalent={{"{name}": "why"}}'
                )
    return ""


def holds_on_all(
    text: str,
    tables: Sequence[Mapping[str, Any]],
    options: Options,
    memories: Sequence[Memory | None],
) -> bool:
    """Whether all relations of a text hold on all inputs."""
    roundings: Roundings = {}
    try:
        return all(
            relation.holds
            for table, memory in zip(tables, memories, strict=True)
            for relation in relations_of(text, table, options, memory, True, roundings)
        )
    except LatexError:
        return False


def hold_back(relation: Relation, what: str) -> None:
    """A relation that holds, but could not have failed, does not count as one that holds."""
    relation.note = relation.note or (what if relation.holds else "")
    relation.holds = False


def chains_of(text: str, table: Mapping[str, Any]) -> list[Chain]:
    """The chains of relations of a display."""
    return [chain for statement in read_display(text, table) for chain in statement.chains]


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


def relations_of(
    text: str,
    table: Mapping[str, Any],
    options: Options,
    memory: Memory | None = None,
    hasty: bool = False,
    roundings: Roundings | None = None,
) -> list[Relation]:
    """The relations of a display; with a memory, only up to the first instance that fails.

    ``roundings``: what was found for other values of the same text.
    """
    statements = read_display(text, table)
    comparison = comparison_of(text, table, options, hasty=hasty, roundings=roundings)
    evaluator = evaluator_for(text, table, options, memory)
    with np.errstate(all="ignore"):
        found = check_all(statements, evaluator, comparison, memory)
        for every in read_every(text, table):
            if all(relation.holds for relation in found):
                draw_anew(every, found, table, options, comparison)
    return found


def comparison_of(text: str, table: Mapping[str, Any], options: Options, **more: Any) -> Comparison:
    """The comparison of the sides of one text by the options of its check."""
    places = [place for one in read_display(text, table) for place in one.node.places]
    return Comparison(
        text,
        approx=options.approx,
        numbers={place: number for number, place in enumerate(places, start=1)},
        sampling_error=options.sampling_error,
        **more,
    )


def draw_anew(
    every: Every,
    found: list[Relation],
    table: Mapping[str, Any],
    options: Options,
    comparison: Comparison,
) -> None:
    """Try what is said "for all" values of a symbol at other values of it; all else stays.

    A relation that fails there takes the place of the one that was found. Where nothing can be
    tried, the words are refused.
    """
    name = every.name
    value = table[name]
    refusal = undrawable(value, name)
    parts = [part for one in every.about for chain in one.chains for part in chain.walk()]
    indexing = is_index(name, parts)
    lowest = options.first_index if indexing else 1
    told = isinstance(value, range)
    for other in () if refusal else other_values(value, name, lowest):
        tried = said_at(every, {**table, name: other}, options, comparison)
        told = told or bool(tried)
        failing = next((relation for relation in tried if not relation.holds), None)
        if failing is None:
            continue
        symbols = sorted(set[str]().union(*(one.free_names() for one in every.about)))
        sized = "" if indexing else size_of(value, symbols, table)
        if sized:
            refusal = f"it is also a size of {sized}, which stays as it is"
            break
        advice = LIMIT if indexing else FOLLOW.format(name=name)
        failing.note = (
            f"said for all {name}, and false at {name} = {shown(other)}, where all else stays as "
            f"drawn: leave the words out, or {advice}"
        )
        for place, relation in enumerate(found):
            if relation.position == failing.position:
                found[place] = failing
        return
    if not (told or refusal):
        refusal = "no other value that was tried has a meaning here and meets the conditions"
    if refusal:
        message = f"nothing draws {name} anew: {refusal}; {LEAVE_OUT}"
        raise LatexError(message, every.position, comparison.text)


def fails_beside(
    text: str, table: Mapping[str, Any], options: Options, excused: Collection[str]
) -> str:
    """Where a statement fails beside the range that is declared for one of its indices; else empty.

    What a display prints of the index alone, such as ``0 \\le i < n``, limits it: a number that
    does not meet it is not tried, nor is one for which the statement has no meaning.
    """
    comparison = comparison_of(text, table, options)
    quantified = {every.name for every in read_every(text, table)}
    with np.errstate(all="ignore"):
        for every in indices_of(read_display(text, table), table):
            name = every.name
            if name in quantified or name in excused:
                continue
            for other in other_values(table[name], name, options.first_index):
                for relation in said_at(every, {**table, name: other}, options, comparison):
                    if not relation.holds:
                        return (
                            f"{relation.left_text} {relation.sign} {relation.right_text} holds at "
                            f"the declared {name}, and fails at {name} = {other}: print for which "
                            f'{name} it holds, or say why not: fixed={{"{name}": "why"}}'
                        )
    return ""


def indices_of(statements: list[Statement], table: Mapping[str, Any]) -> Iterator[Every]:
    """The indices that are declared as a ``range``: what is said of each, and what limits it."""
    used = set[str]().union(*(statement.free_names() for statement in statements))
    for name in sorted(used):
        if not isinstance(table.get(name), range):
            continue
        about = []
        conditions = []
        for statement in statements:
            if statement.premise is None and limits(statement.node, name):
                conditions.append(statement.node)
            elif name in statement.free_names():
                about.append(statement)
        if about:
            yield Every(name, 0, tuple(about), tuple(conditions))


def limits(chain: Chain, name: str) -> bool:
    """Whether a chain is the printed range of an index: ``i \\ge 0``, ``0 \\le i < n``."""
    side = chain.sides[1] if len(chain.sides) == 3 else chain.sides[0]
    return side == Symbol(name) and LIMITS.issuperset(chain.relations)


def said_at(
    every: Every, table: Mapping[str, Any], options: Options, comparison: Comparison
) -> list[Relation]:
    """The relations of what is said of a symbol, each at its worst instance.

    Empty where the values mean nothing, or where the conditions leave them out.
    """
    evaluator = evaluator_for(comparison.text, table, options)
    conditions = [Statement(chain) for chain in every.conditions]
    worst: list[Relation] = []
    try:
        cases = instances([*every.about, *conditions], evaluator)
    except LatexError:
        return []
    for case in cases:
        found: list[Relation] = []
        try:
            with evaluator.bound(case):
                with comparison.only_if(False):
                    met = all(
                        relation.holds
                        for chain in every.conditions
                        for relation in comparison.chain(chain, evaluator, case)
                    )
                for statement in every.about if met else ():
                    found += instance_of(statement, case, evaluator, comparison)
        except (LatexError, AssertionError):
            continue  # also a declared function may say that it is not for this value
        if met:
            worst = [worse(*pair) for pair in zip(worst or found, found, strict=True)]
        elif isinstance(table[every.name], np.ndarray):
            return []  # a condition on its entries
    return worst


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
        sure = memory is not None and holds_as_equality(statement, memory, ranges)
        found = check_statement(
            statement,
            cases=cases[-1:] if sure else cases,
            evaluator=evaluator,
            comparison=comparison,
            hurried=memory is not None,
        )
        result += found
        if memory is not None:
            if not all(relation.holds for relation in found):
                return result
            if "approx" not in statement.node.relations:
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
    *,
    cases: list[dict[str, int]],
    evaluator: Evaluator,
    comparison: Comparison,
    hurried: bool,
) -> list[Relation]:
    """The worst instance of each relation; ``hurried``: only up to the first that fails."""
    node = statement.node
    worst: list[Relation] = []
    for case in cases:
        with evaluator.bound(case):
            found = instance_of(statement, case, evaluator, comparison)
            if not worst and not covers(evaluator, node):
                found[-1].holds = False
                found[-1].note = "the printed range is not the one the check declares"
        worst = [worse(*pair) for pair in zip(worst or found, found, strict=True)]
        if hurried and not all(relation.holds for relation in worst):
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
    given = True
    if statement.premise is not None:
        require_sharp(statement.premise, comparison.text)
        with comparison.only_if(False):
            premise = comparison.chain(statement.premise, evaluator, case)
        given = all(relation.holds for relation in premise)
    with comparison.only_if(given and comparison.claimed):
        found = comparison.chain(statement.node, evaluator, case)
    for relation in found:
        relation.case = case
    if statement.premise is None:
        return found
    concluded = all(relation.holds for relation in found)
    for relation in found:
        relation.seen.outcomes = frozenset({(given, concluded)})
        if statement.both:
            relation.holds = given == concluded
            relation.note = "" if given == concluded else "one side of \\iff holds, the other not"
        elif not given:
            relation.holds = True
            relation.seen = Seen(outcomes=relation.seen.outcomes)
    return found


def require_sharp(premise: Chain, text: str) -> None:
    """Refuse a premise that nobody can tell from others that are as near."""
    for relation, place in zip(premise.relations, premise.places, strict=True):
        if relation == "approx":
            message = "\\approx cannot be a condition: how near? print =, or a bound"
            raise LatexError(message, place, text)


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
        raise evaluator.fail(
            f"the indices have {count} values together; from 1 to {MOST_INSTANCES} can be checked",
            0,
        )
    return [dict(zip(ranges, case, strict=True)) for case in itertools.product(*ranges.values())]
