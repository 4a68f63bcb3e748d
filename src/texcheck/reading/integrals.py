"""Integrals with their bounds and their differential."""

from __future__ import annotations

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical
from texcheck.reading.parts import lone_symbol
from texcheck.reading.reader import Reader


def read_integral(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an integral up to its differential."""
    if factor.sub is None or factor.sup is None:
        raise reader.fail("an integral needs both bounds", factor.position)
    low = reader.single(factor.sub)
    high = reader.single(factor.sup)
    names = [canonical(part) for part in parts]
    end = place_of_differential(reader, parts, names, place)
    name = lone_symbol(parts[end + 1], reader.text)
    if not name or name in nodes.names_in_all((low, high)) | set(reader.scope.running):
        raise reader.fail(
            f"an integral over {names[end + 1]} is not understood; it needs a symbol of its own",
            parts[end + 1],
        )
    with reader.scope.binding([name]):
        inside = parts[place + 1 : end]
        body = reader.product(inside) if inside else nodes.Number(1, position=factor.position)
    node = nodes.Integral(name, low=low, high=high, body=body, position=factor.position)
    return node, end + 2


def place_of_differential(reader: Reader, parts: list[Part], names: list[str], place: int) -> int:
    """Where the differential is: ``\\mathrm{d}t``, or ``dt`` where only one d can be meant."""
    if "\\mathrm{d}" in names[place + 1 : -1]:
        return names.index("\\mathrm{d}", place + 1)
    found = [k for k in range(place + 1, len(parts) - 1) if names[k] == "d"]
    if len(found) != 1 or not lone_symbol(parts[found[0] + 1], reader.text):
        raise reader.fail("an integral needs its differential, such as \\mathrm{d}t", parts[place])
    (end,) = found
    if reader.scope.knows("d") and reader.scope.knows(names[end + 1]):
        raise reader.fail("d is declared; write the differential as \\mathrm{d}", parts[end])
    return end
