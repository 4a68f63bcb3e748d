"""Cut a source file into rows: beside some lines of code, the text that explains them.

The text is what the file says itself: docstrings, and comments that have lines of their own. All
other lines are code, each in exactly one row, with the number that it has in the file. A comment at
the end of a line, such as a shape, stays in its line.
"""

import ast
import inspect
import io
import re
import tokenize
from typing import NamedTuple

# A line such as "# ------------- step 1: softmax" is a heading.
RULE = re.compile(r"-{5,} *(?P<title>.*)")
# What only tools read
FOR_TOOLS = re.compile(r"(fmt|type|ruff|noqa|pragma)\b")
# Where Sphinx' environment keeps, for each page of rows, which equations and chapters it names.
EQUATIONS = "annotated-equations"
CHAPTERS_NAMED = "annotated-chapters"
Definition = ast.FunctionDef | ast.ClassDef


class Piece(NamedTuple):
    """Lines that follow each other in the file, and the number of the first."""

    line: int
    code: str


class Row(NamedTuple):
    """A part of the file: a text, and the code beside it.

    name: of the function, method ("Decoder.forward") or class that begins here, or the title of a
    heading; empty where a row goes on with what is above it. pieces: of the code; there are two
    where a docstring was between them.
    """

    name: str
    is_heading: bool
    text: str
    pieces: tuple[Piece, ...]


class Start(NamedTuple):
    """Where a definition begins: the name with its class, and how far its lines are indented."""

    name: str
    indent: int


class Draft:
    """A row that is being collected."""

    def __init__(self, name: str = "", indent: int = 0, *, is_heading: bool = False) -> None:
        self.name = name
        self.indent = indent
        self.is_heading = is_heading
        self.texts: list[str] = []
        self.numbered: list[tuple[int, str]] = []

    @property
    def has_code(self) -> bool:
        """Whether it has a line that is not blank."""
        return any(line.strip() for _, line in self.numbered)

    def finished(self) -> Row:
        """The row, with the code cut where lines are missing."""
        cut: list[list[tuple[int, str]]] = []
        for number, line in self.numbered:
            if not cut or cut[-1][-1][0] != number - 1:
                cut.append([])
            cut[-1].append((number, line))
        pieces = tuple(piece for lines in cut if (piece := self.piece(lines)).code)
        return Row(self.name, self.is_heading, "\n\n".join(self.texts), pieces)

    def piece(self, lines: list[tuple[int, str]]) -> Piece:
        """Lines without blank ones at both ends, and without the indentation of a method."""
        while lines and not lines[0][1].strip():
            lines = lines[1:]
        while lines and not lines[-1][1].strip():
            lines = lines[:-1]
        if not lines:
            return Piece(0, "")
        margin = " " * self.indent
        code = "\n".join(line.removeprefix(margin) for _, line in lines)
        return Piece(lines[0][0], code)


def starts_of(tree: ast.Module) -> dict[int, Start]:
    """Functions, classes and their methods, by their first lines.

    Overloads only tell the types, so they are a part of the function that follows them. What makes
    an object is a part of its class, unless it has a docstring of its own.
    """
    found: dict[int, Start] = {}

    def add(parts: list[ast.stmt], prefix: str) -> None:
        waiting = 0
        for part in parts:
            if not isinstance(part, Definition):
                continue
            decorators = [ast.unparse(one) for one in part.decorator_list]
            first = min([part.lineno, *(one.lineno for one in part.decorator_list)])
            first = waiting or first
            waiting = first if "overload" in decorators else 0
            unsaid = part.name == "__init__" and ast.get_docstring(part) is None
            if waiting or unsaid:
                continue
            found[first] = Start(prefix + part.name, part.col_offset)
            if isinstance(part, ast.ClassDef):
                add(part.body, f"{part.name}.")

    add(tree.body, "")
    return found


def docstrings_of(tree: ast.Module) -> dict[int, tuple[int, str]]:
    """The docstrings of the module, its classes and functions: first line, last line and text."""
    found: dict[int, tuple[int, str]] = {}
    waiting: list[ast.Module | Definition] = [tree]
    while waiting:
        part = waiting.pop()
        text = ast.get_docstring(part, clean=False)
        if text is not None:
            line = part.body[0]
            assert line.end_lineno is not None
            found[line.lineno] = (line.end_lineno, inspect.cleandoc(text))
        # A function inside a function keeps its docstring in the code, where it is read.
        if not isinstance(part, ast.FunctionDef):
            waiting += [one for one in part.body if isinstance(one, Definition)]
    return found


def comments_of(source: str) -> dict[int, tuple[int, str]]:
    """Comments on lines of their own, neighbours together: first line, last line and text."""
    lines = source.splitlines()
    own: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        number = token.start[0]
        if token.type == tokenize.COMMENT and lines[number - 1].lstrip().startswith("#"):
            text = token.string.removeprefix("#").removeprefix(" ")
            if not FOR_TOOLS.match(text):
                own[number] = text
    found: dict[int, tuple[int, str]] = {}
    for first in sorted(own):
        if first - 1 in own:
            continue
        last = first
        while last + 1 in own:
            last += 1
        found[first] = (last, "\n".join(own[number] for number in range(first, last + 1)))
    return found


def rows_of(source: str) -> list[Row]:
    """The whole file, in order."""
    tree = ast.parse(source)
    starts = starts_of(tree)
    docstrings = docstrings_of(tree)
    comments = comments_of(source)
    drafts = [Draft()]
    pending: list[str] = []  # a comment directly above a definition belongs to it
    skipped_until = 0
    for number, line in enumerate(source.splitlines(), 1):
        if number <= skipped_until:
            continue
        if number in starts:
            drafts.append(Draft(*starts[number]))
            drafts[-1].texts += pending
            pending = []
        if number in docstrings:
            skipped_until, text = docstrings[number]
            drafts[-1].texts.append(text)
        elif number in comments:
            skipped_until, text = comments[number]
            rule = RULE.match(text)
            if rule:
                drafts.append(Draft(rule["title"], is_heading=True))
                rest = text[rule.end() :].strip()
                drafts[-1].texts += [rest] if rest else []
            elif skipped_until + 1 in starts:
                pending.append(text)
            else:
                if drafts[-1].has_code:
                    drafts.append(Draft(indent=drafts[-1].indent))
                drafts[-1].texts.append(text)
        else:
            if line and not line.startswith(" ") and drafts[-1].indent:
                drafts.append(Draft())  # the class has ended
            drafts[-1].numbered.append((number, line))
    rows = [draft.finished() for draft in drafts]
    return [row for row in rows if row.name or row.text or row.pieces]
