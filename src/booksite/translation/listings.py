"""The words of code: comments, docstrings, and the texts that a listing prints.

A text of the code (a "literal") is a message if a listing that readers see unfolded has it and an
output of the page shows it. Its translation replaces it in every cell of the page, so that code and
output agree: a reader who runs the translated listing gets the translated output. A translation
that is the same as the message leaves the text in English, which is right wherever the code needs
it: the name of a file, an option, a key. The letters of an f-string's fields stay as they are.
"""

import ast
import io
import json
import re
import tokenize
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from booksite.translation.outputs import FIELD, WIDTH, WORDS, said

Lookup = Callable[[str], str | None]

# Comments that speak to programs.
FOR_PROGRAMS = re.compile(r"(?:fmt|noqa|type|ruff|pragma)\b")
# The columns that are seen whole in a listing.
COLUMNS = 92
STRING = re.compile(
    r"(?P<prefix>[A-Za-z]*)(?P<quote>\"\"\"|'''|\"|')(?P<text>.*)(?P=quote)", re.DOTALL
)


class Piece(NamedTuple):
    """A place of the code with words: from a column of its first line to one of its last."""

    first: int
    start: int
    last: int
    end: int
    message: str
    kind: str  # "comment", "docstring", "text", or "f-string"


def width_of(text: str) -> int:
    """The columns of a text; a Chinese letter takes two."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def comments_of(code: str) -> Iterator[Piece]:
    """The comments; one that goes on in the next line, at the same column, is one piece."""
    # Not `token.line`: behind a text of several lines it is other lines in other Pythons.
    lines = code.split("\n")

    def alone(token: tokenize.TokenInfo) -> bool:
        row, column = token.start
        return not lines[row - 1][:column].strip()

    block: list[tokenize.TokenInfo] = []
    pieces = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT:
            continue
        follows = block and token.start == (block[-1].start[0] + 1, block[-1].start[1])
        if not (follows and alone(token) and alone(block[-1])):
            block = []
            pieces.append(block)
        block.append(token)
    for block in pieces:
        message = " ".join(token.string.lstrip("#").strip() for token in block)
        if not FOR_PROGRAMS.match(message):
            first, start = block[0].start
            last, end = block[-1].end
            yield Piece(first - 1, start, last - 1, end, message, "comment")


def texts_of(code: str) -> Iterator[Piece]:
    """The docstrings and the literals."""
    lines = code.split("\n")

    def piece(node: ast.expr, message: str, kind: str) -> Piece:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = node.lineno - 1, node.end_lineno - 1
        start = len(lines[first].encode()[: node.col_offset].decode())
        end = len(lines[last].encode()[: node.end_col_offset].decode())
        return Piece(first, start, last, end, message, kind)

    def visit(node: ast.AST) -> Iterator[Piece]:
        documented = isinstance(node, ast.FunctionDef | ast.ClassDef)
        text = ast.get_docstring(node) if documented else None  # type: ignore[arg-type]
        # An exercise is checked by its name; an option has the value that its function knows.
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check":
            return
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
            return
        for child in ast.iter_child_nodes(node):
            if text is not None and child is node.body[0]:  # type: ignore[attr-defined]
                yield piece(child.value, text, "docstring")
            elif isinstance(child, ast.JoinedStr):
                place = piece(child, "", "f-string")
                yield place._replace(message=inside(cut(lines, place)))
            elif isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield piece(child, child.value, "text")
            else:
                yield from visit(child)

    yield from visit(ast.parse(code))


def cut(lines: list[str], place: Piece) -> str:
    """The code of a piece."""
    if place.first == place.last:
        return lines[place.first][place.start : place.end]
    middle = lines[place.first + 1 : place.last]
    return "\n".join([lines[place.first][place.start :], *middle, lines[place.last][: place.end]])


def strings_of(code: str) -> Iterator[str]:
    """The strings of a code as they are written; those in the field of an f-string are its own.

    Until Python 3.11 an f-string is one token, from 3.12 on many: a start, its parts, an end.
    """
    lines = code.split("\n")
    starts: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":
            starts.append(token.start)
        if name == "STRING" and not starts:
            yield token.string
        if name == "FSTRING_END":
            row, column = starts.pop()
            if not starts:
                place = Piece(row - 1, column, token.end[0] - 1, token.end[1], "", "f-string")
                yield cut(lines, place)


def inside(written: str) -> str:
    """What an f-string says, its fields as they are; strings that follow each other are one."""
    parts = []
    for string in strings_of(f"({written})"):
        found = STRING.fullmatch(string)
        assert found is not None
        text = found["text"]
        if "f" not in found["prefix"].lower():
            text = text.replace("{", "{{").replace("}", "}}")
        parts.append(text)
    return "".join(parts).replace("\\n", "\n")


def pieces_of(code: str) -> list[Piece]:
    """All places of the code with words; none where it is no plain Python."""
    try:
        found = [*comments_of(code), *texts_of(code)]
    except (SyntaxError, tokenize.TokenError):
        return []
    return [piece for piece in found if said(piece.message)]


class Function(NamedTuple):
    """A function of a listing: the frames that it may print, and the names that it uses."""

    frames: list[str]
    names: set[str]


def own_frames(code: str) -> list[str]:
    """The f-strings without words, which say how wide the words are that they show."""
    return [
        piece.message
        for piece in texts_of(code)
        if piece.kind == "f-string" and WIDTH.search(piece.message) and not said(piece.message)
    ]


def functions_of(code: str) -> dict[str, Function]:
    """The functions that a listing defines."""
    try:
        found = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return {}
    return {node.name: Function(own_frames(ast.unparse(node)), names_in(node)) for node in found}


def names_in(tree: ast.AST) -> set[str]:
    """The names that code uses."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def frames_of(code: str, functions: Mapping[str, Function]) -> list[str]:
    """The frames of a listing, and those of the functions from earlier ones that it calls."""
    try:
        found = own_frames(code)
        waiting = [*names_in(ast.parse(code))]
    except SyntaxError:
        return []
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in seen:
            seen.add(name)
            found += functions[name].frames
            waiting += functions[name].names
    return found


def shown_texts(code: str, seen: str) -> Iterator[str]:
    """The literals of a listing of which an output shows all words."""
    for piece in pieces_of(code):
        if piece.kind in ("text", "f-string"):
            parts = FIELD.split(piece.message) if piece.kind == "f-string" else [piece.message]
            lines = [line.strip() for part in parts for line in part.split("\n")]
            if all(line in seen for line in lines if WORDS.search(line)):
                yield piece.message


def beside(code: str, texts: Collection[str]) -> Iterator[str]:
    """The texts that stand in one list with some of the given ones, so that none is left out."""
    try:
        displays = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.List)]
    except SyntaxError:
        return
    for display in displays:
        entries = [entry.value for entry in display.elts if isinstance(entry, ast.Constant)]
        if len(entries) == len(display.elts) and any(entry in texts for entry in entries):
            yield from (entry for entry in entries if isinstance(entry, str) and said(entry))


def translate_code(
    code: str, lookup: Lookup, texts: Collection[str], *, comments: bool = True
) -> str:
    """The code with its comments and docstrings, and of its literals `texts`, translated."""
    lines = code.split("\n")
    for piece in sorted(pieces_of(code), reverse=True):
        wanted = piece.message in texts if piece.kind in ("text", "f-string") else comments
        if not wanted:
            continue
        other = lookup(piece.message)
        if other is None or other == piece.message:
            continue
        before = lines[piece.first][: piece.start]
        after = lines[piece.last][piece.end :]
        written = before + WRITE[piece.kind](other, before) + after
        lines[piece.first : piece.last + 1] = written.split("\n")
    return "\n".join(lines)


def write_comment(text: str, before: str) -> str:
    """A comment; on lines of its own it is as wide as the page."""
    if before.strip():
        return f"# {text}"
    indent = " " * len(before)
    lines = [""]
    # A line ends at a space or behind a Chinese letter, but not before a mark.
    for part in re.findall(r"[^\s⺀-鿿＀-￯]+[，。；：、）]?|[⺀-鿿＀-￯][，。；：、）]*|\s+", text):
        if width_of(f"{indent}# {lines[-1]}{part}") > COLUMNS and part.strip():
            lines.append("")
        lines[-1] += part
    return f"\n{indent}".join(f"# {line.strip()}" for line in lines)


def write_docstring(text: str, before: str) -> str:
    """A docstring, indented like the code."""
    indent = " " * len(before)
    first, *others = text.split("\n")
    end = f"\n{indent}" if others else ""
    rest = "".join(f"\n{indent}{line}" if line else "\n" for line in others)
    return f'"""{first}{rest}{end}"""'


def write_text(text: str, _before: str) -> str:
    """A literal."""
    return json.dumps(text, ensure_ascii=False)


def write_f_string(text: str, _before: str) -> str:
    """An f-string in quotation marks that it does not contain."""
    text = text.replace("\n", "\\n")
    quote = "'" if '"' in text else '"'
    return f"f{quote}{text}{quote}"


WRITE = {
    "comment": write_comment,
    "docstring": write_docstring,
    "text": write_text,
    "f-string": write_f_string,
}
