"""Subscripts and superscripts: indices, powers and transposes."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical, full_name, position_of, read_factor
from texcheck.reading.names import takes_argument
from texcheck.reading.parts import is_parenthesised, term_parts
from texcheck.reading.reader import Reader
from texcheck.vocabulary import TRANSPOSES


def with_scripts(
    reader: Reader, node: Node, sub: Part | None, sup: Part | None, factor: Factor
) -> Node:
    """A node with its indices and its power."""
    if sub is not None:
        indices = tuple(read_indices(reader, sub))
        node = nodes.Index(node, indices, sup is not None, position=factor.position)
    if sup is not None:
        node = read_superscript(reader, node, sup, sub is not None)
    return node


def read_indices(reader: Reader, sub: Part) -> list[Node]:
    """Read a subscript as indices."""
    if isinstance(sub, Token) or sub.data != "group":
        return [reader.single(sub)]
    pieces = [child for child in sub.children if isinstance(child, Tree)]
    if len(sub.children) != 2 * len(pieces) + 1 or any(p.data != "piece" for p in pieces):
        raise reader.fail(f"the index {canonical(sub)} is not understood", sub)
    if len(pieces) == 1 and len(pieces[0].children) == 1:
        run = run_together(reader, pieces[0])
        if run is not None:
            return [run]
    return [reader.only_expression(piece) for piece in pieces]


def run_together(reader: Reader, piece: Tree[Token]) -> Node | None:
    """``ij``: two indices of a matrix or a product; the array's dimension decides later."""
    parts = term_parts(piece)
    position = position_of(piece)
    if len(parts) == 1 and isinstance(parts[0], Tree):
        base = parts[0].children[0]
        if (
            len(parts[0].children) == 1
            and isinstance(base, Token)
            and base.type == "NUMBER"
            and len(base.value) > 1
            and base.value.isdigit()
        ):
            digits = tuple(nodes.Number(int(c), position=position) for c in base.value)
            return nodes.RunTogether(digits, reader.only_expression(piece), position=position)
    if len(parts) < 2 or any(isinstance(part, Token) for part in parts):
        return None
    factors = [read_factor(part, reader.text) for part in parts]
    if any(f.bracket or takes_argument(reader, p) for f, p in zip(factors, parts, strict=True)):
        return None
    if any(f.is_symbol and reader.scope.is_function(f.name) for f in factors):
        return None
    if not all(
        f.is_symbol or (isinstance(f.base, Token) and f.base.type == "NUMBER") for f in factors
    ):
        return None
    items = tuple(reader.operand([part], 0)[0] for part in parts)
    numbered = any(isinstance(f.base, Token) and f.base.type == "NUMBER" for f in factors[1:])
    whole = None if numbered else reader.product(parts)
    return nodes.RunTogether(items, whole, position=position)


def separate_indices(reader: Reader, sub: Part) -> list[Node]:
    """The indices of a subscript, also where no comma separates them."""
    indices = read_indices(reader, sub)
    if len(indices) == 1 and isinstance(indices[0], nodes.RunTogether):
        return list(indices[0].items)
    return indices


def read_superscript(reader: Reader, node: Node, sup: Part, indexed: bool) -> Node:
    """Read a superscript: a power or a transpose."""
    name = canonical(sup)
    position = position_of(sup)
    if name in TRANSPOSES:
        return nodes.Transpose(node, indexed, position=position)
    if isinstance(sup, Tree) and sup.data == "group" and is_parenthesised(sup):
        raise reader.fail(
            f"the superscript {name} is not a declared name; a power needs no brackets",
            sup,
        )
    if isinstance(sup, Token) and sup.type not in ("SYMBOL", "NUMBER"):
        raise reader.fail(f"the superscript {name} is not a declared name", sup)
    return nodes.Power(node, reader.single(sup), indexed, position=position)


def forbid_scripts(reader: Reader, factor: Factor) -> None:
    """Refuse scripts that mean nothing here."""
    if factor.sub is not None or factor.sup is not None:
        printed = full_name(factor.name, factor.sub, factor.sup)
        raise reader.fail(f"the scripts of {printed} are not understood", factor.position)
