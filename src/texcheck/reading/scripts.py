"""Subscripts and superscripts: indices, powers and transposes."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.errors import LatexError
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical, full_name, position_of, read_factor
from texcheck.reading.names import takes_argument
from texcheck.reading.parts import is_parenthesised, term_parts, trees_in
from texcheck.reading.reader import Reader, Unknown
from texcheck.vocabulary import TRANSPOSES


def with_scripts_of(reader: Reader, node: Node, factor: Factor) -> Node:
    """A node with the indices, the power or the factorial of its factor."""
    position = factor.position
    node = with_scripts(reader, node, sub=factor.sub, sup=factor.sup, position=position)
    return with_factorial(node, factor)


def with_factorial(node: Node, factor: Factor) -> Node:
    """A node with the factorial of its factor, where it has one."""
    if not factor.factorial:
        return node
    return nodes.KnownCall("factorial", (node,), position=factor.position)


def with_scripts(
    reader: Reader, node: Node, *, sub: Part | None, sup: Part | None, position: int
) -> Node:
    """A node with its indices and its power."""
    if sub is not None:
        indices = tuple(read_indices(reader, sub))
        node = nodes.Index(node, indices, powered=sup is not None, position=position)
    if sup is not None:
        node = read_superscript(reader, node, sup, indexed=sub is not None)
    return node


def read_indices(reader: Reader, sub: Part) -> list[Node]:
    """Read a subscript as indices."""
    if isinstance(sub, Token) or sub.data != "group":
        return [reader.single(sub)]
    pieces = trees_in(sub.children)
    if any(isinstance(part, Token) and part.type == "MID" for part in sub.children):
        raise reader.fail(
            f"what is part {canonical(sub)} of an array? declare the symbol with it as one name",
            sub,
        )
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
    digits = digits_of(parts)
    if len(digits) > 1:
        items = tuple(nodes.Number(int(digit), position=position) for digit in digits)
        return nodes.RunTogether(items, whole=reader.only_expression(piece), position=position)
    if len(parts) < 2 or any(isinstance(part, Token) for part in parts):
        return None
    factors = [read_factor(part, reader.text) for part in parts]
    if not all(factor.is_symbol or factor.is_number for factor in factors):
        return None
    if any(takes_argument(reader, part) for part in parts):
        return None
    if any(factor.is_symbol and reader.scope.is_function(factor.name) for factor in factors):
        return None
    indices = tuple(reader.operand([part], 0)[0] for part in parts)
    # No product: a number after a factor needs an operator between them.
    numbered = any(factor.is_number for factor in factors[1:])
    whole = None if numbered else reader.product(parts)
    return nodes.RunTogether(indices, whole=whole, position=position)


def digits_of(parts: list[Part]) -> str:
    """The digits of a whole number that is printed alone and without scripts, or an empty text."""
    if len(parts) != 1 or not isinstance(parts[0], Tree) or len(parts[0].children) != 1:
        return ""
    base = parts[0].children[0]
    if isinstance(base, Token) and base.type == "NUMBER" and base.value.isdigit():
        return str(base.value)
    return ""


def separate_indices(reader: Reader, sub: Part) -> list[Node]:
    """The indices of a subscript, also where no comma separates them."""
    indices = read_indices(reader, sub)
    if len(indices) == 1 and isinstance(indices[0], nodes.RunTogether):
        return list(indices[0].items)
    return indices


def read_superscript(reader: Reader, node: Node, sup: Part, *, indexed: bool) -> Node:
    """Read a superscript: a power or a transpose."""
    name = canonical(sup)
    position = position_of(sup)
    if name in TRANSPOSES or (name == "T" and not reader.scope.knows("T")):
        return nodes.Transpose(node, indexed=indexed, position=position)
    if isinstance(sup, Tree) and sup.data == "group" and is_parenthesised(sup):
        message = f"the superscript {name} is not a declared name; a power needs no brackets"
        raise unknown_superscript(reader, node, sup, message)
    if isinstance(sup, Token) and sup.type not in ("SYMBOL", "NUMBER"):
        message = f"the superscript {name} is not a declared name"
        raise unknown_superscript(reader, node, sup, message)
    return nodes.Power(node, reader.single(sup), indexed=indexed, position=position)


def unknown_superscript(reader: Reader, node: Node, sup: Part, message: str) -> LatexError:
    """The error of a superscript that could only be part of a name."""
    base = node.base if isinstance(node, nodes.Index) else node
    if not isinstance(base, (nodes.Symbol, nodes.Constant)):
        return reader.fail(message, sup)
    factor = Factor(sup, sub=None, sup=None, primes="", position=position_of(sup))
    name = full_name(base.name, sub=None, sup=sup)
    return reader.unknown(message, Unknown(factor, [], 0, (), declare=(name, False)))


def forbid_scripts(reader: Reader, factor: Factor) -> None:
    """Refuse scripts that mean nothing here."""
    if factor.sub is not None or factor.sup is not None:
        printed = full_name(factor.name, factor.sub, factor.sup)
        raise reader.fail(f"the scripts of {printed} are not understood", factor.position)
