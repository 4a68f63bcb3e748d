r"""One text after another on the same values: would a check notice that a text is wrong?

A text passes if every relation holds on every input and if the inputs could have refuted it. They
could not where an inequality is an equality everywhere or never comes near one, where a number is
the same on every input or two symbols are, or where a condition or a maximum goes one way only.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from texcheck.approximation import Shares, require_shares, spare_sampling
from texcheck.check import (
    Options,
    chains_of,
    fails_beside,
    free_decimal,
    misjudged_share,
    relations_of,
)
from texcheck.decimals import Roundings
from texcheck.draws import coincidences, sameness, twofold
from texcheck.errors import LatexError
from texcheck.evaluation.memory import Memory
from texcheck.functions import indifference
from texcheck.named import with_names
from texcheck.nodes import Call, Chain, KnownCall, words_in
from texcheck.parser import canonical_name, symbol_table
from texcheck.reading.statements import conditions_of, read_display
from texcheck.relation import ORDER, Relation, Seen, levelled
from texcheck.relation import shown as shown_value
from texcheck.remarks import equations_of, names_below, unsaid
from texcheck.sharpness import blunt_number
from texcheck.values import Depends, declared_values, is_number
from texcheck.vocabulary import EXTREMES, ROUNDINGS

# How near, as a share of the larger side, an inequality must come to equality on some input; and
# one that is said to be loose.
NEAR = 0.02
LOOSE = 0.6
# How much farther than the draws are a bound may be said to be.
SPARE = 2
# Arrays with more entries are shown by their shape.
MOST_SHOWN = 12
WEAK = ("<=", ">=")
# The calls that can go one way only.
WAYS = {*EXTREMES, *ROUNDINGS, "abs", "="}
UNEQUAL = (
    "would hold for nearly any other text; print which side is the larger, or draw the values that "
    "it excludes too: Excluded({…})"
)
BOTH = {(True, True), (False, False)}

Values = Mapping[str, Any]


class Fate(Enum):
    """What a check says to a misprint; only the first two notice it."""

    REFUTED = "refuted"
    REFUSED = "refused"
    INTERNAL = "internal error"
    SURVIVED = "survived"


class Silent(dict[str, Any]):
    """Values for which a display states nothing: what holds there claims too much.

    The derivative of |x| is 1 for x > 0 and -1 for x < 0; with x = 0 this must be refused.
    """


class Excluded(dict[str, Any]):
    """Values that a display excludes, for which it must fail.

    That ``a b \\ne 0`` holds for most a and b tells little: so do many texts. That it fails at
    a = 0 tells more.
    """


class Trial:
    """Inputs on which one text after another is tried; a misprint is another text.

    ``loose={2: (0.3, "why")}`` says that the display's second relation is an inequality that is
    not meant to come nearer to equality than by about this share of the larger side;
    ``somewhere={2: "why"}`` is for one that does, but not at every index, and
    ``fixed={"d": "why"}`` of a symbol that the inputs do not vary, or of an ``abs``, ``max`` or
    ``floor`` that goes one way only, of an equation (``"="``) whose sides are one number, or of an
    index beside whose range the text fails.
    ``names={1: "S"}`` puts ``S =`` before the first statement (``texcheck.named``).
    ``remark={"the scores": "why"}`` says why words are true that no statement has
    (``texcheck.remarks``). ``symbols``: those that the text must have;
    ``equivalent``: the misprints that are true as well; ``drawing``: whether
    a third value can be drawn of a number that has two.
    """

    def __init__(
        self,
        inputs: Sequence[Values],
        options: Mapping[str, Any],
        loose: Shares | None = None,
        somewhere: Mapping[int, str] | None = None,
        fixed: Mapping[str, str] | None = None,
        names: Mapping[int, str] | None = None,
        remark: Mapping[str, str] | None = None,
        symbols: Sequence[str] = (),
        equivalent: Collection[str] = (),
        drawing: bool = False,
    ) -> None:
        telling = [values for values in inputs if not isinstance(values, (Silent, Excluded))]
        self.tables = [symbol_table(declared_values(values)) for values in telling]
        self.memories = [Memory() for _ in telling]
        silent = [values for values in inputs if isinstance(values, Silent)]
        self.silent = [symbol_table(declared_values(values)) for values in silent]
        self.silent_memory = Memory()
        excluded = [values for values in inputs if isinstance(values, Excluded)]
        self.excluded = [symbol_table(declared_values(values)) for values in excluded]
        self.options = Options(**options)
        require_shares(loose or {}, "loose", LOOSE)
        self.loose = loose or {}
        self.somewhere = somewhere or {}
        self.names = names or {}
        self.remark = remark or {}
        self.symbols = symbols
        self.equivalent = equivalent
        self.drawing = drawing
        self.fixed = {
            name if name in WAYS or name.isdigit() else canonical_name(name) for name in fixed or {}
        }
        self.printed = {canonical_name(name): name for values in telling for name in values}
        # The input at which a relation fails, and the relation.
        self.failed: tuple[int, Relation] | None = None

    def complaint(self, text: str, hasty: bool = False) -> str:
        """Why a text is refuted; empty where it is not. ``hasty``: see ``Comparison``."""
        found: list[Relation] = []
        seen: list[Seen] = []
        self.failed = None
        text = with_names(text, self.names)
        roundings: Roundings = {}
        for number, (table, memory) in enumerate(self.pairs()):
            found = relations_of(text, table, self.options, memory, hasty, roundings)
            for relation in found:
                if not relation.holds:
                    self.failed = (number, relation)
                    return str(relation)
            here = [relation.seen for relation in found]
            seen = [one.joined(other) for one, other in zip(seen or here, here, strict=True)]
        for table in self.silent:
            if self.says_something(text, table):
                return "states something for values of which it should say nothing"
        for table in self.excluded:
            if all(relation.holds for relation in relations_of(text, table, self.options)):
                return "holds for values that it should exclude"
        return (
            self.weakness(found, seen)
            or self.misjudged_sampling(seen)
            or self.coincidence(text)
            or self.one_sided(text)
            or self.one_branch(text)
            or self.indifferent(text)
            or self.alike(text)
            or self.flat(found, seen)
            or self.beside(text)
            or self.remarked(text)
            or self.unprinted(text)
            or free_decimal(text, self.tables, self.options, self.memories, self.equivalent)
            or self.blunt(found, seen, text)
        )

    def blunt(self, relations: Sequence[Relation], seen: Sequence[Seen], text: str) -> str:
        """Which number of a bound could be sharper; else empty."""
        if not any(relation.relation in ORDER for relation in relations):
            return ""
        return blunt_number(text, self.tables, self.options, self.memories, seen, self.equivalent)

    def drawn(self, text: str) -> str:
        """At which input the relation failed, and with which values; empty where none failed."""
        if self.failed is None:
            return ""
        text = with_names(text, self.names)
        number, relation = self.failed
        table = self.tables[number]
        names = set[str]().union(
            *(
                chain.free_names
                for chain in chains_of(text, table)
                if relation.position in chain.places
            )
        )
        values = [
            f"{self.printed[name]} = {brief(table[name])}"
            for name in sorted(names & {*self.printed} - {*relation.case})
            if brief(table[name])
        ]
        values += [
            f"{self.printed.get(name, name)} = {value}" for name, value in relation.case.items()
        ]
        which = f"draw {number + 1} of {len(self.tables)}" if len(self.tables) > 1 else "drawn"
        return f"\n{which}: " + ", ".join(values) if values else ""

    def says_something(self, text: str, table: Values) -> bool:
        """Whether a text can be evaluated for values of which it should say nothing."""
        try:
            # Not with the memory's values: those of another input would answer.
            memory = Memory(decisions=self.silent_memory.decisions)
            relations_of(text, table, self.options, memory=memory)
        except LatexError:
            return False
        return True

    def fate(self, text: str, hasty: bool = False) -> tuple[Fate, str]:
        """Whether a text is refuted, refused, breaks the interpreter, or passes; what was said."""
        try:
            complaint = self.complaint(text, hasty)
        except LatexError as error:
            return Fate.REFUSED, str(error)
        except Exception as error:  # a fault of the interpreter: counted apart, never as caught
            return Fate.INTERNAL, f"{type(error).__name__}: {error}"
        return (Fate.REFUTED, complaint) if complaint else (Fate.SURVIVED, "")

    def weakness(self, relations: Sequence[Relation], seen: Sequence[Seen]) -> str:
        """Which relation the inputs could not refute, or is excused without need; else empty."""
        for number, (relation, shown) in enumerate(zip(relations, seen, strict=True), start=1):
            sharp = one_weakness(relation.relation, shown) or misjudged_share(
                number, relation.relation, shown, self.options.approx
            )
            if relation.relation == "!=":
                told = "" if self.excluded else UNEQUAL
            elif number in self.loose:
                told = loose_weakness(number, relation.relation, shown, self.loose[number][0])
            elif number in self.somewhere:
                told = sharp or (
                    "" if far_index(shown) else "is near at every index: no somewhere="
                )
            else:
                told = sharp or far_index(shown)
            if told:
                sides = f"{relation.left_text} {relation.sign} {relation.right_text}"
                return f"relation {number}, {sides}, {told}"
        return ""

    def misjudged_sampling(self, seen: Sequence[Seen]) -> str:
        """What is wrong with ``sampling_error``, where it is given; else empty."""
        allowed = self.options.sampling_error
        return spare_sampling(allowed, max(one.share for one in seen)) if allowed else ""

    def coincidence(self, text: str) -> str:
        """Which symbol equals, on every input, a whole number that is printed beside it."""
        chains = chains_of(text, self.tables[0])
        return next((told for _, told in coincidences(chains, self.tables)), "")

    def alike(self, text: str) -> str:
        """Which symbol is too much alike on all inputs, or is excused without need; else empty."""
        chains = chains_of(text, self.tables[0])
        # A part that words below a brace name follows from the text, which need not print it.
        parts = names_below(text, self.tables[0])
        tables = [without_parts(table, parts) for table in self.tables]
        found = sameness(chains, tables, self.fixed)
        for name, what in itertools.chain(found, twofold(chains, tables) if self.drawing else ()):
            if name not in self.fixed:
                return f'{what}, or say why not: fixed={{"{name}": "why"}}'
        return ""

    def flat(self, relations: Sequence[Relation], seen: Sequence[Seen]) -> str:
        """Which equation has one number on both sides everywhere; else empty."""
        for relation, shown in zip(relations, seen, strict=True):
            told = "" if "=" in self.fixed else levelled(shown.levels, len(self.tables))
            if told:
                return f"{relation.left_text} {relation.sign} {relation.right_text} {told}"
        return ""

    def beside(self, text: str) -> str:
        """Where a statement fails beside the declared range of an index; else empty."""
        for table in self.tables:
            if told := fails_beside(text, table, self.options, self.fixed):
                return told
        return ""

    def remarked(self, text: str) -> str:
        """Which words of no statement name another value, or nothing accounts for; else empty."""
        declared = self.tables[0]
        for remark, equation in equations_of(text, declared):
            for table in self.tables:
                for relation in relations_of(equation, table, self.options):
                    if not relation.holds:
                        return f"the words “{remark.words}”: {relation}"
            if told := self.coincidence(equation):
                return f"the words “{remark.words}”: {told}"
        return unsaid(text, declared, self.remark)

    def unprinted(self, text: str) -> str:
        """Which symbol of ``symbols`` the text does not have; else empty."""
        if not self.symbols:
            return ""
        table = self.tables[0]
        found = set[str]().union(*(words_in(chain) for chain in chains_of(text, table)))
        for name in [*found]:
            if isinstance(value := table.get(name), Depends):
                found |= {canonical_name(one) for one in value.names}
        for name in self.symbols:
            if canonical_name(name) not in found:
                return f"does not have {name}, which is one of its symbols="
        return ""

    def indifferent(self, text: str) -> str:
        """Which function would give the same for other arguments; else empty."""
        chains = chains_of(text, self.tables[0])
        calls = [part for chain in chains for part in chain.walk() if isinstance(part, Call)]
        for name in sorted({call.name for call in calls} - self.fixed):
            functions = [(table.get(name), m.calls.get(name, [])) for table, m in self.pairs()]
            if told := indifference(functions):
                return f'{name} {told}, or say why not: fixed={{"{name}": "why"}}'
        return ""

    def pairs(self) -> Iterator[tuple[Values, Memory]]:
        """Each input with what was found for it."""
        return zip(self.tables, self.memories, strict=True)

    def one_branch(self, text: str) -> str:
        """Which way a maximum, a bar or a rounding never goes; else empty."""
        statements = read_display(text, self.tables[0])
        parts = (part for one in statements for chain in one.chains for part in chain.walk())
        for call in parts:
            if not isinstance(call, KnownCall) or call.name in self.fixed:
                continue
            ways = set[int]().union(*(memory.ways.get(call, set()) for memory in self.memories))
            if told := missing_way(call, ways):
                return told
        return ""

    def one_sided(self, text: str) -> str:
        """Which condition of ``cases`` or of an indicator is never met, always met, or not tied."""
        memories = [*self.memories, self.silent_memory]
        if not any(memory.decisions for memory in memories):
            return ""
        for test in conditions_of(text, self.tables[0]):
            met: set[bool | str] = set()
            for memory in memories:
                met |= memory.decisions.get(test, set())
            shown = " ".join(printed_chain(test))
            if len(met & {True, False}) < 2:
                always = "always" if True in met else "never"
                return f"the condition {shown} {always} holds; draw values on both sides of it"
            if "tie" not in met and any(relation in ORDER for relation in test.relations):
                return f"the sides of the condition {shown} are never equal; draw a tie"
        return ""


def only(values: Values, names: Sequence[str]) -> Values:
    """Some of the values of one input, which remain such as must fail or say nothing."""
    chosen = {name: values[name] for name in names if name in values}
    for kind in (Silent, Excluded):
        if isinstance(values, kind):
            return kind(chosen)
    return chosen


def without_parts(table: Values, parts: Collection[str]) -> Values:
    """Declared values without some of them."""
    return {name: value for name, value in table.items() if name not in parts} if parts else table


def brief(value: Any) -> str:
    """A value in a line: a number, a small array, the shape of a larger one; else empty."""
    if is_number(value):
        return shown_value(value)
    if not isinstance(value, np.ndarray):
        return ""
    if value.size > MOST_SHOWN:
        return f"an array of shape {value.shape}"
    return " ".join(shown_value(value).split())


def printed_chain(chain: Chain) -> Iterator[str]:
    """A chain's sides and relations in the order printed."""
    yield chain.texts[0]
    for relation, text in zip(chain.relations, chain.texts[1:], strict=True):
        yield relation
        yield text


def missing_way(call: KnownCall, ways: set[int]) -> str:
    """What the values never let a maximum, a bar or a rounding do; empty where there is nothing."""
    if call.name in EXTREMES:
        missing = sorted({*range(len(call.arguments))} - ways)
        if not missing:
            return ""
        size = "largest" if call.name == "max" else "smallest"
        which = f"argument {missing[0] + 1} of \\{call.name}"
        return f"{which} is never the {size}; draw values where it is"
    if call.name == "abs" and len(ways & {-1, 1}) == 1:
        sign = "negative" if -1 not in ways else "positive"
        return f"what stands between bars is never {sign}; draw values where it is"
    if call.name in ROUNDINGS:
        if not ways & {-1, 1}:
            return f"what \\{call.name} rounds is always a whole number; draw one that is not"
        if call.name != "round" and 0 not in ways:
            other = "1 + floor" if call.name == "ceil" else "ceil - 1"
            return (
                f"what \\{call.name} rounds is never a whole number, so that {other} gives the "
                "same; draw one that is"
            )
        if call.name != "ceil" and 1 not in ways:
            return (
                f"what \\{call.name} rounds is never nearer to the whole number above it, so that "
                f"another rounding gives the same; draw one that is"
            )
        if call.name != "floor" and -1 not in ways:
            return (
                f"what \\{call.name} rounds is never nearer to the whole number below it, so that "
                f"another rounding gives the same; draw one that is"
            )
    return ""


def loose_weakness(number: int, relation: str, seen: Seen, share: float) -> str:
    """What is wrong with a relation that is said to be loose by a share; else empty."""
    if relation not in ORDER:
        return f"is no inequality; take loose={{{number}: …}} out"
    if seen.slack <= NEAR:
        return "comes near to equality: take it out of loose="
    comes = f"and the sides come within {seen.slack:.2g} of the larger one"
    if share < seen.slack < np.inf:
        nearer = "draw values where they come nearer, or print a sharper bound"
        if seen.slack > LOOSE:
            return f"is loose by {share:.2g}, {comes}; {nearer}: more than {LOOSE} is no bound"
        return f"is loose by {share:.2g}, {comes}; {nearer}, or say a larger share in loose="
    if share > SPARE * seen.slack:
        near = max(seen.slack, min(1.5 * seen.slack, LOOSE))
        return f'may be loose by {share:.2g}, {comes}; say loose={{{number}: ({near:.2g}, "why")}}'
    return ""


def one_weakness(relation: str, seen: Seen) -> str:
    """What the inputs leave open about a relation that is not meant to be loose; else empty."""
    if seen.outcomes and not seen.outcomes >= BOTH:
        missing = (
            "holds" if (True, True) not in seen.outcomes else "fails together with its premise"
        )
        return f"never {missing}; draw values for which it does"
    if relation in (*WEAK, "approx") and not seen.differ:
        return "is an equality on every input; print =, or draw values for which the sides differ"
    if relation not in ORDER:
        return ""
    if seen.slack > NEAR:
        return (
            f"does not come nearer to equality than {seen.slack:.0%} of the larger side, so that a "
            f"sharper bound would hold as well; draw values where it comes within {NEAR:.0%}, or "
            'say by which share, and why: loose={number: (share, "why")}'
        )
    if relation in WEAK and not seen.attained:
        return (
            f"is never an equality, so that {relation[0]} would hold as well; "
            "draw values where both sides are equal, or print it strictly"
        )
    return ""


def far_index(seen: Seen) -> str:
    """An index at which an inequality does not come near to equality; else empty."""
    for (name, value), slack in seen.near.items():
        if NEAR < slack < np.inf:
            return (
                f"does not come nearer to equality than {slack:.0%} at {name} = {value}, so that a "
                "bound that is sharper there would hold as well; draw values where it comes near, "
                'or say why not: somewhere={number: "why"}'
            )
    return ""


def kinds_of(inputs: Sequence[Values]) -> dict[str, tuple[Any, ...]]:
    """The kind of each symbol, for misprints: number, index, array by its shape, function."""
    found: dict[str, tuple[Any, ...]] = {}
    for printed, value in inputs[0].items():
        shape = getattr(value, "shape", None)
        if isinstance(value, range):
            found[canonical_name(printed)] = ("index",)
        elif shape is not None and not callable(value):
            found[canonical_name(printed)] = ("array", tuple(shape or ()))
        elif is_number(value):
            found[canonical_name(printed)] = ("number",)
        elif callable(value):
            found[canonical_name(printed)] = ("function",)
    return found


def transposable(inputs: Sequence[Values]) -> list[str]:
    """The symbols without scripts that stand for matrices which some input does not have symmetric.

    A symmetric matrix and its transpose are the same on every page.
    """
    found = []
    for name in inputs[0]:
        values = [one[name] for one in inputs if getattr(one.get(name), "ndim", 0) == 2]
        if canonical_name(name) == name and values:
            arrays = [np.asarray(value) for value in values]
            if not all(a.shape[0] == a.shape[1] and np.array_equal(a, a.T) for a in arrays):
                found.append(name)
    return found
