"""The texts in code, which prints them or writes them into a figure or a table, with their lines.

A reader sees most texts of a cell: heads and cells of tables, names in figures, printed words. A
single word may also be a key or an option, and its place says so: an index, a comparison, the value
of `color=`, an argument of a function of the library that takes the name of a file. There, a name
is left out; everywhere else each text counts. In files, where most single words are keys, only
longer texts count: messages, helps, names of trials.

What stands beside a text says as much as its words: the place in a figure, the value under a head
of a table, the order of names, the argument that a name names. So the whole statement is listed,
with the condition or the loop that it stands in. Where names and places are both computed, as in
`set_yticks(places, names)` or `zip(names, values)`, the statement is listed without a text, and so
are the rows that are shown below typed heads.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
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
# Functions that take a pattern.
PATTERNS = frozenset({"compile", "fullmatch", "match", "search", "sub"})
OPTIONS = frozenset(OPTION_NAMES.split())
SWITCHES = frozenset(SWITCH_NAMES.split())
# Inside an expression, a formula, a value or a reference, which is one word of its sentence.
SPACE = "␣"
# A text in code of this form may be a name: a key, an option, a colour.
NAME = re.compile(r"[a-z_\d.#=<>^/-]*|\W*|.")
# A style of lines, or what stands between texts.
NO_WORDS = re.compile(r"[\s,;:/|._-]*")
# What is left of a line: more than brackets and commas.
HAS_WORDS = re.compile(r"[\w\"']")
BEFORE_OPTION = re.compile(rb",?\s*$")
BEHIND_OPTION = re.compile(rb"^\s*,\s*")
ALT = "alt"
TABLE = "show_table"
# What chooses a text, or writes one for each of several.
CHOICES = (ast.If, ast.For, ast.While, ast.With, ast.Match)
# Functions that pair names with places or values, also where both are computed.
PLACES = frozenset({"set_xticks", "set_yticks", "set_xticklabels", "set_yticklabels", "zip"})


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


class Statement(NamedTuple):
    """A statement of code, or the head of one that holds others."""

    node: ast.stmt
    inner: Sequence[ast.stmt]  # what it holds; nothing if it is simple
    of_class: bool  # whether it stands in a class, as a field does


def written_by(code: str, *, words: bool = True, signatures: bool = True) -> list[str]:
    """The lines of the statements that write a text, in their order; alt texts are listed apart.

    With them come the heads of what they stand in, such as a condition or a loop, and signatures
    and fields of classes. Options, such as a colour, are left out. ``words``: whether single words
    count, or are keys.
    """
    code = without_comments(code)
    source = Source(code)
    tree = ast.parse(code)
    tables = {name for node in ast.walk(tree) for name in shown_as_table(node)}
    lines: list[str] = []
    for statement in statements_of(tree):
        shown = signatures and is_signature(statement, all_of_file=not words)
        if shown or fills(statement.node, tables) or is_listed(statement, words=words):
            lines += source.lines_of(statement)
    return lines


def shown_as_table(node: ast.AST) -> Iterator[str]:
    """The names of rows that a call shows below heads, `show_table(rows, columns=[…])`."""
    if isinstance(node, ast.Call) and name_of(node.func) == TABLE:
        yield from (one.id for one in node.args if isinstance(one, ast.Name))


def fills(node: ast.stmt, tables: AbstractSet[str]) -> bool:
    """Whether a statement writes rows of one of these tables."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_empty = isinstance(node.value, ast.List) and not node.value.elts
        return not is_empty and any(
            isinstance(one, ast.Name) and one.id in tables for one in targets
        )
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return isinstance(function, ast.Attribute) and (
            isinstance(function.value, ast.Name) and function.value.id in tables
        )
    return False


def statements_of(node: ast.AST) -> Iterator[Statement]:
    """The statements below a part of code, in their order."""
    of_class = isinstance(node, ast.ClassDef)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            cases = getattr(child, "cases", ())
            inner = [one for case in cases for one in case.body]
            inner += [*getattr(child, "body", ()), *getattr(child, "orelse", ())]
            yield Statement(child, inner, of_class)
        yield from statements_of(child)


def is_signature(statement: Statement, *, all_of_file: bool) -> bool:
    """Whether a statement says what a function or a class takes; in a file also numbers."""
    if isinstance(statement.node, ast.AnnAssign):
        return statement.of_class
    if isinstance(statement.node, ast.Assign):
        names = [one.id for one in statement.node.targets if isinstance(one, ast.Name)]
        typed = [
            one.value for one in ast.walk(statement.node.value) if isinstance(one, ast.Constant)
        ]
        is_number = bool(typed) and not any(isinstance(one, str) for one in typed)
        return all_of_file and is_number and any(len(one) > 1 and one.isupper() for one in names)
    return isinstance(statement.node, (ast.FunctionDef, ast.AsyncFunctionDef))


def is_listed(statement: Statement, *, words: bool) -> bool:
    """Whether a statement, or the head of one, says something to a reader."""
    if writes_text(statement.node, words=words):
        return True
    return isinstance(statement.node, CHOICES) and any(
        not hasattr(one, "body") and writes_text(one, words=words) for one in statement.inner
    )


def writes_text(node: ast.AST, *, words: bool, of_keys: bool = False) -> bool:
    """Whether a part of a statement has a text; of one with a body, only its head is read."""
    if isinstance(node, ast.keyword) and node.arg == ALT:
        return False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False  # a docstring
    if isinstance(node, ast.Call) and name_of(node.func) in PLACES:
        return True
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        may_be_key = of_keys or not words
        is_key = may_be_key and NAME.fullmatch(node.value) is not None
        return not is_key and NO_WORDS.fullmatch(node.value) is None
    if words and not of_keys and isinstance(node, ast.JoinedStr):
        return True
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            continue
        if isinstance(node, ast.JoinedStr) and isinstance(child, ast.FormattedValue):
            child = child.value  # its form is no text
        keys = of_keys or has_keys(node, child)
        if not words and isinstance(node, ast.Call) and (keys or name_of(node.func) in PATTERNS):
            continue
        if writes_text(child, words=words, of_keys=keys):
            return True
    return False


class Source:
    """Code, and where its parts are: Python counts columns in bytes."""

    def __init__(self, code: str) -> None:
        self.code = code.encode()
        self.starts = [0]
        for line in self.code.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def place(self, line: int, column: int) -> int:
        """Where a line's column is in the code."""
        return self.starts[line - 1] + column

    def lines_of(self, statement: Statement) -> Iterator[str]:
        """The lines of a statement or of its head, without options and alt texts."""
        node = statement.node
        start = self.place(node.lineno, node.col_offset)
        end = self.end_of(node)
        if statement.inner:
            body = statement.inner[0]
            begins = [body, *getattr(body, "decorator_list", ())]
            end = min(self.place(one.lineno, one.col_offset) for one in begins)
        kept = self.code[start:end]
        cuts = [
            (self.place(one.lineno, one.col_offset) - start, self.end_of(one) - start)
            for one in ast.walk(node)
            if isinstance(one, ast.keyword) and (one.arg == ALT or one.arg in OPTIONS)
        ]
        for first, last in sorted(cuts, reverse=True):
            if last <= len(kept):
                before = BEFORE_OPTION.sub(b"", kept[:first])
                behind = kept[last:]
                kept = before + (BEHIND_OPTION.sub(b"", behind) if before[-1:] == b"(" else behind)
        for line in kept.decode().splitlines():
            if HAS_WORDS.search(line):
                yield " ".join(line.split())

    def end_of(self, node: ast.stmt | ast.keyword) -> int:
        """Where a part of the code ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.place(node.end_lineno, node.end_col_offset)


def without_comments(code: str) -> str:
    """Code whose comments are gone; lines and columns of the rest stay."""
    lines = code.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            text = lines[line - 1]
            lines[line - 1] = text[:column].rstrip() + text[column + len(token.string) :]
    return "".join(lines)


def has_keys(node: ast.AST, part: ast.AST) -> bool:
    """Whether the names in a part of a piece of code are keys or options, and no texts."""
    if isinstance(node, ast.Subscript):
        return part is node.slice and not isinstance(part, ast.List)
    if isinstance(node, ast.Call):
        return part in node.args and name_of(node.func) in SWITCHES
    if isinstance(node, ast.keyword):
        return node.arg in OPTIONS
    if isinstance(node, ast.Dict):
        return any(
            is_option(key) and part in (key, value)
            for key, value in zip(node.keys, node.values, strict=True)
        )
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
