"""Integrals with their bounds and their differential."""

from __future__ import annotations

import re

from lark import Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical, read_factor
from texcheck.reading.parts import lone_symbol
from texcheck.reading.reader import Reader


def read_integral(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an integral up to its differential."""
    if factor.sub is not None and factor.sup is None and dimensions_of(factor.sub):
        return read_integral_over_space(reader, factor, parts, place)
    if factor.sub is None or factor.sup is None:
        raise reader.fail("an integral needs both bounds", factor.position)
    low = reader.single(factor.sub)
    high = reader.single(factor.sup)
    names = [canonical(part) for part in parts]
    end = place_of_differential(reader, parts, names, place)
    name = lone_symbol(parts[end + 1], reader.text)
    if not name or name in reader.scope.running:
        raise reader.fail(
            f"an integral over {names[end + 1]} is not understood; it needs a symbol of its own",
            parts[end + 1],
        )
    with reader.scope.binding([name]):
        inside = parts[place + 1 : end]
        body = reader.product(inside) if inside else nodes.Number(1, position=factor.position)
    node = nodes.Integral(name, low=low, high=high, body=body, position=factor.position)
    return node, end + 2


def dimensions_of(sub: Part) -> int:
    """The number of dimensions of ``\\mathbb{R}^2`` below an integral; 0 for anything else."""
    match = re.fullmatch(r"\\mathbb\{R\}(?:\^([1-9]))?", canonical(sub))
    return int(match.group(1) or 1) if match else 0


def read_integral_over_space(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """``\\int_{\\mathbb{R}^2} … dx dy``: one integral over all numbers in the other."""
    assert factor.sub is not None
    count = dimensions_of(factor.sub)
    names = [canonical(part) for part in parts]
    end = place_of_differential(reader, parts, names, place)
    variables = [lone_symbol(part, reader.text) for part in parts[end + 1 : end + 2 * count : 2]]
    signs = names[end : end + 2 * count : 2]
    if len(variables) != count or not all(variables) or set(signs) != {names[end]}:
        raise reader.fail(f"this integral needs {count} differentials", factor.position)
    if len(set(variables)) < count or set(variables) & set(reader.scope.running):
        raise reader.fail("the variables of an integral need names of their own", factor.position)
    with reader.scope.binding(variables):
        body = reader.product(parts[place + 1 : end])
    infinity = nodes.Constant("\\infty", position=factor.position)
    low = nodes.SumOf((("-", infinity),), position=factor.position)
    for name in variables:
        body = nodes.Integral(name, low=low, high=infinity, body=body, position=factor.position)
    return body, end + 2 * count


def place_of_differential(reader: Reader, parts: list[Part], names: list[str], place: int) -> int:
    """Where the differential is: ``\\mathrm{d}t``, or ``dt`` where only one d can be meant.

    Each integral inside has its own before it.
    """
    upright = "\\mathrm{d}" in names[place + 1 : -1]
    sign = "\\mathrm{d}" if upright else "d"
    found = [k for k in range(place + 1, len(parts) - 1) if names[k] == sign]
    signs = [read_factor(part, reader.text) for part in parts[place:] if isinstance(part, Tree)]
    inner = sum(dimensions(one) for one in signs if one.name == "\\int")
    if not found or not lone_symbol(parts[found[0] + 1], reader.text):
        raise reader.fail("an integral needs its differential, such as \\mathrm{d}t", parts[place])
    own = dimensions(signs[0])
    if not upright and len(found) != inner:
        raise reader.fail("an integral needs its differential, such as \\mathrm{d}t", parts[place])
    opened = 0
    for k in range(place, len(parts) - 1):
        one = parts[k]
        if isinstance(one, Tree) and read_factor(one, reader.text).name == "\\int":
            opened += dimensions(read_factor(one, reader.text))
        elif names[k] == sign:
            opened -= 1
            if opened == own - 1:
                end = k
                break
    else:
        raise reader.fail("an integral needs its differential, such as \\mathrm{d}t", parts[place])
    if not upright and reader.scope.knows("d") and reader.scope.knows(names[end + 1]):
        raise reader.fail("d is declared; write the differential as \\mathrm{d}", parts[end])
    return end


def dimensions(factor: Factor) -> int:
    """How many differentials an integral has."""
    return max(1, dimensions_of(factor.sub)) if factor.sub is not None and factor.sup is None else 1
