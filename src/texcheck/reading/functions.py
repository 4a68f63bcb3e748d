"""Declared and known functions with their arguments, in brackets or without."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical, full_name, read_factor
from texcheck.reading.lists import read_arguments, read_given
from texcheck.reading.names import Match, match, takes_argument
from texcheck.reading.parts import holds_one_factor, is_label, next_bracket
from texcheck.reading.reader import Reader, Unknown
from texcheck.reading.scripts import read_indices, with_scripts, with_scripts_of
from texcheck.vocabulary import CLEAR_POWERS, LOOSE_FUNCTIONS, LOOSE_NAMES, TEXTS, TRANSPOSES


def read_declared_call(
    reader: Reader, found: Match, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read a declared function with its arguments."""
    name = found.name
    arguments: list[Node] = []
    given: list[Node] = []
    if found.sub is not None:
        arguments = read_index_arguments(reader, found.sub)
    scripts: Factor | None = None
    bracketed = next_bracket(parts, place, reader.text) in ("LPAR", "LBRACK")
    if bracketed and (found.sup is None or not arguments):
        if found.sup is not None:
            raise reader.fail(
                f"{name} is a function; write {name}(…)^… for a power of its value",
                factor.position,
            )
        scripts = read_factor(parts[place + 1], reader.text)
        before, given = read_given(reader, parts[place + 1])
        arguments += before
        place += 1
    if not arguments and is_words(name) and operand_at_end(reader, parts, place):
        # \\operatorname{vec} A: one factor alone behind it, which is its argument.
        argument, end = reader.operand(parts, place + 1)
        arguments = [argument]
        place = end - 1
    if not arguments:
        message = f"{name} is a function and needs an argument"
        if found.sup is not None and is_label(found.sup):
            declared = (full_name(name, None, found.sup), False)
            raise reader.unknown(message, Unknown(factor, [], 0, (), declare=declared))
        raise reader.fail(message, factor.position)
    node: Node = nodes.Call(name, tuple(arguments), tuple(given), position=factor.position)
    node = with_scripts(reader, node, sub=None, sup=found.sup, position=factor.position)
    if scripts is not None:
        node = with_scripts_of(reader, node, scripts)
        if next_bracket(parts, place, reader.text) == "LBRACK":
            raise reader.fail("is this an entry of the value, or a factor?", parts[place + 1])
    return node, place + 1


def is_words(name: str) -> bool:
    """Whether a function has a name in words and no letter."""
    return name.startswith(("\\operatorname", "\\mathrm", *TEXTS))


def operand_at_end(reader: Reader, parts: list[Part], place: int) -> bool:
    """Whether one factor follows, or one call, and then nothing but what an operator joins."""
    trees = [isinstance(part, Tree) for part in parts[place + 1 : place + 4]]
    if trees[:2] == [True, True] and next_bracket(parts, place + 1, reader.text):
        following = match(reader, read_factor(parts[place + 1], reader.text))
        called = following is not None and reader.scope.is_function(following.name)
        return called and trees[2:] in ([], [False])
    return trees[:2] in ([True], [True, False])


def read_index_arguments(reader: Reader, sub: Part) -> list[Node]:
    """Read a subscript as arguments of a function."""
    index = read_indices(reader, sub)
    first = index[0]
    if len(index) == 1 and isinstance(first, nodes.RunTogether):
        if first.whole is None or all(isinstance(item, nodes.Symbol) for item in first.items):
            raise reader.fail("write a comma between the indices of a function", sub)
        return [first.whole]
    return index


def read_known_call(
    reader: Reader, name: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """A known function with brackets, or (``\\sin m\\theta``) with the factors after it."""
    loose = factor.name in LOOSE_FUNCTIONS or name in LOOSE_NAMES
    base = None
    if factor.sub is not None and name == "log":
        base = reader.single(factor.sub)
    elif factor.sub is not None:
        raise reader.fail(f"{factor.name} takes no subscript", factor.position)
    power = None
    if factor.sup is not None:
        power = reader.single(factor.sup)
        if not isinstance(power, nodes.Number) or power.value < 2:
            raise reader.fail(
                f"{factor.name} to the power {canonical(factor.sup)} is ambiguous; "
                "put the power behind the argument's brackets",
                factor.position,
            )
    scripts: Factor | None = None
    if next_bracket(parts, place, reader.text) in ("LPAR", "LBRACK", "LSET"):
        scripts = read_factor(parts[place + 1], reader.text)
        arguments = read_arguments(reader, parts[place + 1])
        place += 2
    elif loose:
        argument, place = read_loose_argument(reader, factor, parts, place + 1)
        arguments = [argument]
    else:
        raise reader.fail(f"{factor.name} needs its argument in brackets", factor.position)
    node: Node = nodes.KnownCall(name, tuple(arguments), position=factor.position)
    if base is not None:
        unit = nodes.KnownCall(name, (base,), position=factor.position)
        node = nodes.Product("/", node, unit, position=factor.position)
    if power is not None:
        node = nodes.Power(node, power, position=factor.position)
    if scripts is not None:
        forbid_unclear_power(reader, name, factor, scripts)
        node = with_scripts_of(reader, node, scripts)
    return node, place


def forbid_unclear_power(reader: Reader, name: str, factor: Factor, scripts: Factor) -> None:
    """Refuse ``\\sin (x + 1)^2``: the sine of a square, or the square of a sine."""
    if name in CLEAR_POWERS or factor.name not in LOOSE_FUNCTIONS or scripts.sup is None:
        return
    if canonical(scripts.sup) in TRANSPOSES or holds_one_factor(scripts.base):
        return
    raise reader.fail(
        f"a power behind the brackets of {factor.name} is ambiguous; write {factor.name}^2(…) for "
        f"the power of its value, {factor.name}((…)^2) for that of its argument",
        scripts.position,
    )


def read_loose_argument(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an argument without brackets, as in `sin x`."""
    start = place
    result: Node | None = None
    while place < len(parts) and isinstance(parts[place], Tree):
        first = place == start
        if not first and takes_argument(reader, parts[place]):
            break
        following = read_factor(parts[place], reader.text)
        called = following.is_symbol and reader.scope.is_function(following.name)
        if not first and (called or following.bracket in ("LPAR", "LBRACK")):
            raise reader.fail(
                f"where does the argument of {factor.name} end? put it in brackets", parts[place]
            )
        if not first:
            reader.forbid_side_by_side(parts[place], after_slash=False)
        nested = takes_argument(reader, parts[place])
        node, place = reader.operand(parts, place)
        if result is None:
            result = node
        else:
            result = nodes.Product("juxtaposed", result, node, position=node.position)
        if nested:
            break
    if result is None:
        raise reader.fail(f"{factor.name} has no argument", factor.position)
    if place < len(parts) and isinstance(parts[place], Token) and parts[place] == "/":
        raise reader.fail(
            f"{factor.name} a/b is ambiguous; put the argument in brackets", parts[place]
        )
    return result, place
