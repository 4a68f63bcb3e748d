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
    if "\\mathrm{d}" not in names[place + 1 : -1]:
        raise reader.fail(
            "an integral needs its differential, such as \\mathrm{d}t", factor.position
        )
    end = names.index("\\mathrm{d}", place + 1)
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
