r"""Formulas misprinted in all places at once: another sign or transpose, two names exchanged.

A single misprint breaks an identity such as ``(a + b) c = a c + b c``, whatever it is about. One
that is made in all its places leaves it an identity: ``(a - b) c = a c - b c``. Only a side that is
bound to what the formula is about can notice it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lark import Token, Tree

from texcheck.misprints.change import Change, printed_part, span
from texcheck.misprints.naming import joined, pieces
from texcheck.misprints.symbols import index_symbols
from texcheck.misprints.terms import dropped_factors
from texcheck.parser import canonical, end_of, full_name, parse, position_of, read_factor, tokens_of
from texcheck.remarks import named, remarks_of
from texcheck.vocabulary import TRANSPOSES

Kinds = Mapping[str, tuple[Any, ...]]
FUNCTION = ("function",)
INDEX = ("index",)
COUNTED = (INDEX, ("number",))
INVERSE = "-1"
BARS = ("LBAR", "LNORM")


class Edit(NamedTuple):
    """What is to be printed in place of a part of a formula."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Place:
    """One place of a declared symbol."""

    name: str
    start: int
    # After the name; after its index or its argument; after its power.
    name_end: int
    body_end: int
    end: int
    index: Tree[Token] | None
    power: str


Everywhere = tuple[str, list[Edit]]


def changed_everywhere(text: str, kinds: Kinds) -> list[tuple[str, str]]:
    """Each misprint that is made in all its places: what is changed, and the new text."""
    tree = parse(text)
    found: dict[str, list[Place]] = defaultdict(list)
    for place in sorted(places_of(text, tree, kinds), key=lambda one: one.start):
        found[place.name].append(place)
    spelled = {name: spelling(text, places[0]) for name, places in found.items()}
    several = {name: places for name, places in found.items() if len(places) > 1}
    matrices = {name: places for name, places in several.items() if of_matrix(places, kinds[name])}
    changed: dict[str, str] = {}
    for kind, edits in [
        *signs(several, kinds, spelled),
        *turned_matrices(matrices, spelled),
        *lost_powers(text, tree),
        *exchanged_names(found, kinds, spelled),
        *exchanged_indices(tree, found, spelled),
        *turned_differences(text, tree, kinds),
        *exchanged_words(text, kinds),
        *other_numbers(text, tree),
        *lost_factors(tree),
    ]:
        new = edited(text, edits)
        if new != text:
            changed.setdefault(new, kind)
    return [(kind, new) for new, kind in changed.items()]


def edited(text: str, edits: Sequence[Edit]) -> str:
    """A text with all changes made, the last one first."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def spelling(text: str, place: Place) -> str:
    """The name as it is printed, without spaces."""
    return joined(pieces(text[place.start : place.name_end]))


def places_of(text: str, tree: Tree[Token], kinds: Kinds) -> Iterator[Place]:
    """Every place of every declared symbol."""
    arguments: dict[int, Tree[Token]] = {}
    for term in tree.find_data("term"):
        for function, argument in itertools.pairwise(term.children):
            if isinstance(argument, Tree) and is_bracket(argument):
                arguments[id(function)] = argument
    for part in tree.find_data("factor"):
        place = place_of(text, part, kinds, arguments.get(id(part)))
        if place is not None:
            yield place


def is_bracket(part: Tree[Token]) -> bool:
    """Whether a factor is something in round or square brackets."""
    base = part.children[0]
    if not isinstance(base, Tree) or base.data != "bracket":
        return False
    first = base.children[0]
    return isinstance(first, Token) and first.type in ("LPAR", "LBRACK")


def place_of(
    text: str, part: Tree[Token], kinds: Kinds, argument: Tree[Token] | None
) -> Place | None:
    """The declared symbol that a factor is, if it is one."""
    factor = read_factor(part, text)
    if not factor.is_symbol:
        return None
    for sub, sup in (
        (factor.sub, factor.sup),
        (factor.sub, None),
        (None, factor.sup),
        (None, None),
    ):
        name = full_name(factor.name, sub, sup)
        if name in kinds:
            break
    else:
        return None
    index = factor.sub if sub is None else None
    power = factor.sup if sup is None else None
    # What is printed first: the name, then the index, then the power.
    of_name = [child for child in part.children if not holds(child, index, power)]
    with_index = [child for child in part.children if not holds(child, power)]
    name_end = end_of(of_name[-1])
    body_end = end_of(with_index[-1])
    end = end_of(part)
    if kinds[name] == FUNCTION and argument is not None and power is None:
        body_end = end_of(argument.children[0])
        end = end_of(argument)
        power = read_factor(argument, text).sup
    return Place(
        name,
        start=factor.position,
        name_end=name_end,
        body_end=body_end,
        end=end,
        index=index if isinstance(index, Tree) else as_tree(index),
        power=canonical(power) if power is not None else "",
    )


def as_tree(index: Token | None) -> Tree[Token] | None:
    """An index of one letter as a part."""
    return None if index is None else Tree("index", [index])


def holds(part: Tree[Token] | Token, *scripts: Tree[Token] | Token | None) -> bool:
    """Whether a part of a factor is one of its scripts."""
    inner = part.children[1] if isinstance(part, Tree) and part.data in ("sub", "sup") else part
    return any(inner is script for script in scripts if script is not None)


def of_matrix(places: Sequence[Place], kind: tuple[Any, ...]) -> bool:
    """Whether a symbol can stand for a matrix: by its shape and its indices, or as a function."""
    if kind[0] != "array":
        return kind == FUNCTION
    return all(len(kind[1]) - (place.index is not None) >= 2 for place in places)


def signs(
    several: Mapping[str, list[Place]], kinds: Kinds, spelled: Mapping[str, str]
) -> Iterator[Everywhere]:
    """Another sign of a symbol in all its places."""
    for name, places in several.items():
        edits = []
        for place in places:
            end = place.body_end if kinds[name] == FUNCTION else place.name_end
            edits.append(Edit(place.start, place.start, "{(-"))
            edits.append(Edit(end, end, ")}"))
        yield f"sign everywhere: {spelled[name]} → -{spelled[name]}", edits


def turned_matrices(
    matrices: Mapping[str, list[Place]], spelled: Mapping[str, str]
) -> Iterator[Everywhere]:
    """The transpose of a matrix for the matrix in all its places, and so its inverse."""
    for name, places in matrices.items():
        for mark, powers in (("\\top", TRANSPOSES), (INVERSE, (INVERSE,))):
            edits: list[Edit] = []
            for place in places:
                if place.power in powers:
                    edits.append(Edit(place.body_end, place.end, " "))
                else:
                    edits.append(Edit(place.start, place.start, "{("))
                    edits.append(Edit(place.end, place.end, f")}}^{{{mark}}}"))
            word = "transpose" if mark == "\\top" else "inverse"
            yield f"{word} everywhere: {spelled[name]}", edits


def lost_powers(text: str, tree: Tree[Token]) -> Iterator[Everywhere]:
    """No power where a symbol, or what is between bars, has one in all places."""
    powers: dict[str, list[Edit]] = defaultdict(list)
    for part in tree.find_data("factor"):
        factor = read_factor(part, text)
        if factor.sup is None or not canonical(factor.sup).isdigit():
            continue
        if factor.is_symbol:
            what = f"{factor.name}^{canonical(factor.sup)}"
        elif factor.bracket in BARS:
            what = f"|…|^{canonical(factor.sup)}"
        else:
            continue
        for script in part.children[1:]:
            if holds(script, factor.sup):
                powers[what].append(Edit(*span(script), new=" "))
    for what, edits in powers.items():
        if len(edits) > 1:
            yield f"power everywhere: {what} → {what.partition('^')[0]}", edits


def exchanged_names(
    found: Mapping[str, list[Place]], kinds: Kinds, spelled: Mapping[str, str]
) -> Iterator[Everywhere]:
    """Two symbols of one kind and shape exchanged in all their places; an index is only a name."""
    for first, second in itertools.combinations(found, 2):
        if kinds[first] != kinds[second] or kinds[first] == INDEX:
            continue
        edits = []
        for name, other in ((first, second), (second, first)):
            for place in found[name]:
                edits.append(Edit(place.start, place.name_end, f"{{{spelled[other]}}}"))
        yield f"exchange everywhere: {spelled[first]} ↔ {spelled[second]}", edits


def exchanged_indices(
    tree: Tree[Token], found: Mapping[str, list[Place]], spelled: Mapping[str, str]
) -> Iterator[Everywhere]:
    """Two indices exchanged in all places of one symbol: R_n for R_m, and A_{nm} for A_{mn}.

    Where no other symbol has them, they only change their names.
    """
    letters = index_symbols(tree)
    printed = [token.value for token in tokens_of(tree) if token.type == "SYMBOL"]
    for name, places in found.items():
        tokens = [
            token
            for place in places
            if place.index is not None
            for token in tokens_of(place.index)
            if token.type == "SYMBOL"
        ]
        for first, second in itertools.combinations(letters, 2):
            other = {first: second, second: first}
            edits = [
                Edit(*span(token), new=f"{{{other[token.value]}}}")
                for token in tokens
                if token.value in other
            ]
            places_of_both = printed.count(first) + printed.count(second)
            if 1 < len(edits) < places_of_both:
                yield f"index everywhere: {first} ↔ {second} of {spelled[name]}", edits


def turned_differences(text: str, tree: Tree[Token], kinds: Kinds) -> Iterator[Everywhere]:
    """``n - m`` for ``m - n`` in all places, whichever way they are printed."""
    found: dict[frozenset[str], list[Edit]] = defaultdict(list)
    for expression in tree.find_data("expr"):
        for place, sign in enumerate(expression.children):
            if sign != "-" or place == 0:
                continue
            left = expression.children[place - 1]
            right = expression.children[place + 1]
            first = canonical(left)
            second = canonical(right)
            kind = kinds.get(first)
            led = place > 1 and expression.children[place - 2] == "-"
            if kind in COUNTED and kinds.get(second) == kind and not led:
                new = f"{printed_part(text, right)} - {printed_part(text, left)}"
                edit = Edit(position_of(left), end_of(right), new)
                found[frozenset((first, second))].append(edit)
    for edits in found.values():
        if len(edits) > 1:
            first_edit = min(edits)
            difference = joined(pieces(text[first_edit.start : first_edit.end]))
            yield f"turn everywhere: {difference}", edits


def exchanged_words(text: str, kinds: Kinds) -> Iterator[Everywhere]:
    """The words of two braces exchanged, where both name declared values."""
    telling = [remark for remark in remarks_of(text) if named(remark, kinds)]
    for first, second in itertools.combinations(telling, 2):
        edits = [
            Edit(first.start, first.end, text[second.start : second.end]),
            Edit(second.start, second.end, text[first.start : first.end]),
        ]
        yield f"exchange words everywhere: {first.words} ↔ {second.words}", edits


def other_numbers(text: str, tree: Tree[Token]) -> Iterator[Everywhere]:
    """One more for a whole number from 2 on in all its places, but not for a power."""
    found: dict[str, list[Edit]] = defaultdict(list)
    for part in tree.find_data("factor"):
        printed = canonical(part)
        if printed.isdigit() and int(printed) > 1:
            found[printed].append(Edit(*span(part), new=f"{{{int(printed) + 1}}}"))
    for printed, edits in found.items():
        if len(edits) > 1:
            yield f"number everywhere: {printed} → {int(printed) + 1}", edits


def lost_factors(tree: Tree[Token]) -> Iterator[Everywhere]:
    """Without a number or a fraction that is a factor in several places."""
    found: dict[str, list[Edit]] = defaultdict(list)
    for term in tree.find_data("term"):
        for change in dropped_factors(term):
            lost = [child for child in term.children if lies_in(child, change)]
            factors = [child for child in lost if isinstance(child, Tree)]
            if is_constant(factors[0].children[0]):
                found[canonical(factors[0])].append(Edit(change.start, change.end, change.new))
    for printed, edits in found.items():
        if len(edits) > 1:
            yield f"factor everywhere: {printed} → ∅", edits


def is_constant(base: Tree[Token] | Token) -> bool:
    """Whether a factor is a printed number or a fraction."""
    return base.type == "NUMBER" if isinstance(base, Token) else base.data == "fraction"


def lies_in(part: Tree[Token] | Token, change: Change) -> bool:
    """Whether a part of a formula is in what a misprint changes."""
    start, end = span(part)
    return change.start <= start and end <= change.end
