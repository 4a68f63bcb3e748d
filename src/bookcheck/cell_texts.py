"""The texts in a cell's code, which prints them or writes them into a figure or a table.

A reader sees most texts of a cell: heads and cells of tables, names in figures, printed words. A
single word may also be a key or an option, and its place says so: an index, a comparison, the value
of `color=`, an argument of a function of the library that takes the name of a file. There, a name
is left out; everywhere else each text counts. It comes with what decides what it says: an f-string
with its expressions, a condition that chooses between two texts, and beside a name what it names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

# Keywords and keys whose names are options and no texts: of figures, and of libraries.
OPTION_NAMES = """
    alpha arrowprops arrowstyle aspect axis bbox boxstyle color colour connectionstyle edgecolor
    facecolor fillstyle fontsize ha linestyle linewidth loc ls lw marker markerfacecolor markersize
    pad rotation_mode solid_capstyle textcoords va weight where xscale xytext yscale zorder
    device driver encoding end indexing layout line_search_fn order reduction rope_parameters sep
"""
# Functions and methods to which a name is an option, a style, a file or a key.
SWITCH_NAMES = """
    axis loglog plot semilogx semilogy set_aspect set_fontweight set_horizontalalignment
    set_layout_engine set_xscale set_yscale
    check decode device einsum endswith files find_spec float from_bytes get getattr patch recorded
    register_buffer removeprefix setdefault softmax_jacobian_norm startswith
"""
OPTIONS = frozenset(OPTION_NAMES.split())
SWITCHES = frozenset(SWITCH_NAMES.split())
# Inside an expression, a formula, a value or a reference, which is one word of its sentence.
SPACE = "␣"
# A text in code of this form may be a name: a key, an option, a colour.
NAME = re.compile(r"[a-z_\d.#=<>^/-]*|\W*|.")
# A style of lines, or what stands between texts.
NO_WORDS = re.compile(r"[\s,;:/|._-]*")


def descriptions_in(code: str) -> Iterator[str]:
    """The alt texts in a cell's code, with what an f-string computes: "It has {count} bars"."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.keyword) and node.arg == "alt":
            yield as_written(node.value)


def as_written(node: ast.AST) -> str:
    """A text or an f-string without its quotes; each expression is one word of its sentence."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(as_written, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return as_written(node.left) + as_written(node.right)
    if isinstance(node, ast.FormattedValue):
        form = f":{as_written(node.format_spec)}" if node.format_spec else ""
        return one_word(f"{{{expression_of(node.value)}{form}}}")
    return one_word(f"{{{expression_of(node)}}}")


def expression_of(node: ast.AST) -> str:
    """A part of code on one line; which quotes are inside others depends on Python's version."""
    return ast.unparse(node).replace('"', "'")


class Written(NamedTuple):
    """A text in code, and where it begins."""

    line: int
    column: int
    text: str


def written_by(code: str) -> list[str]:
    """The texts in a cell's code, in its order; alt texts are listed apart.

    An f-string has what it computes, and a text that depends on a condition has the condition. A
    name in a row, in a dictionary or of a line of a figure has with it what it names.
    """
    return [one.text for one in sorted(texts_below(ast.parse(code), code))]


def texts_below(node: ast.AST, code: str, of_keys: bool = False) -> Iterator[Written]:
    """The texts of a part of a cell's code; ``of_keys``: names are keys or options there."""
    if isinstance(node, ast.keyword) and node.arg == "alt":
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.expr) and (
        isinstance(node, ast.JoinedStr) or (not of_keys and listed_whole(node))
    ):
        yield Written(node.lineno, node.col_offset, ast.get_source_segment(code, node) or "")
        return
    if isinstance(node, ast.Dict) and not of_keys:
        yield from items_of(node, code)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        key = of_keys and NAME.fullmatch(node.value)
        if not key and not NO_WORDS.fullmatch(node.value):
            yield Written(node.lineno, node.col_offset, node.value)
    for child in ast.iter_child_nodes(node):
        yield from texts_below(child, code, of_keys or has_keys(node, child))


def listed_whole(node: ast.expr) -> bool:
    """Whether a part of code chooses a text, is a row with a name, or draws a line with a name."""
    if isinstance(node, ast.IfExp):
        return is_text(node.body) or is_text(node.orelse)
    if isinstance(node, (ast.Tuple, ast.List)):
        texts = [one for one in node.elts if is_text(one)]
        return any(map(has_words, texts)) and len(texts) < len(node.elts)
    return isinstance(node, ast.Call) and any(one.arg == "label" for one in node.keywords)


def items_of(dictionary: ast.Dict, code: str) -> Iterator[Written]:
    """The items of a dictionary: each name with what it names."""
    for key, value in zip(dictionary.keys, dictionary.values, strict=True):
        option = is_option(key)
        if key is not None and not option and is_text(key):
            parts = [ast.get_source_segment(code, part) for part in (key, value)]
            yield Written(key.lineno, key.col_offset, ": ".join(filter(None, parts)))
            continue
        for part in filter(None, (key, value)):
            yield from texts_below(part, code, of_keys=option)


def is_text(node: ast.AST) -> bool:
    """Whether a part of code is a text or an f-string."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def has_words(text: ast.AST) -> bool:
    """Whether a text is more than the style of a line or a mark between texts."""
    return not isinstance(text, ast.Constant) or NO_WORDS.fullmatch(str(text.value)) is None


def has_keys(node: ast.AST, part: ast.AST) -> bool:
    """Whether the names in a part of a piece of code are keys or options, and no texts."""
    if isinstance(node, ast.Subscript):
        return part is node.slice and not isinstance(part, ast.List)
    if isinstance(node, ast.Call):
        return part in node.args and name_of(node.func) in SWITCHES
    if isinstance(node, ast.keyword):
        return node.arg in OPTIONS
    return isinstance(node, ast.Compare)


def is_option(key: ast.AST | None) -> bool:
    """Whether a key of a dictionary names an option."""
    return isinstance(key, ast.Constant) and key.value in OPTIONS


def name_of(function: ast.AST) -> str:
    """The name of a function that code calls, without its object."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def one_word(text: str) -> str:
    """A formula, code or a reference as one word of its sentence."""
    return SPACE.join(text.split())
