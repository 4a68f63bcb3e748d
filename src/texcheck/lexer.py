"""Cut LaTeX mathematics into tokens for the grammar in ``grammar.lark``.

Spacing is dropped here and delimiters are paired here (``|`` has no direction of its own). What
separates the statements of a display is decided in ``layout``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lark import Token

from texcheck.errors import LatexError
from texcheck.layout import Layout
from texcheck.vocabulary import (
    ACCENTS,
    CASE_WORDS,
    CLOSING,
    DOTS,
    ENVIRONMENTS,
    FONTS,
    IMPLICATIONS,
    OPENING,
    OPERATORS,
    REFUSED,
    RELATIONS,
    SEPARATING_WORDS,
    WIDE_SPACES,
)

# The minus sign that editors and word processors write.
UNICODE_MINUS = "\N{MINUS SIGN}"
SPACING = {"\\,", "\\;", "\\:", "\\!", "\\ "}
SIMPLE = {
    "_": "SUB",
    "^": "SUP",
    "+": "ADDOP",
    "-": "ADDOP",
    UNICODE_MINUS: "ADDOP",
    "/": "SLASH",
    ",": "COMMA",
}
COMMANDS = {"\\frac": "FRAC", "\\sqrt": "SQRT", **dict.fromkeys(ACCENTS, "ACCENT")}

PIECE = re.compile(
    r"(?P<space>\s+|~)"
    r"|(?P<number>[0-9]+(?:(?:\{,\}|\\,)[0-9]{3})*(?:\.[0-9]+)?)"
    r"|(?P<command>\\(?:[A-Za-z]+|.))"
    r"|(?P<letter>[A-Za-z])"
    r"|(?P<other>.)",
    re.DOTALL,
)

# A formula beyond these cannot be read by a person, and would exhaust Python's stack.
DEEPEST = 40
MOST_TOKENS = 2_000
MOST_DIGITS = 300
ARGUMENT = re.compile(r"\s*\{([^{}]*)\}")
# What a programmer writes for a power of ten: 1e-3.
EXPONENT = re.compile(r"e[-+]?[0-9]")


@dataclass
class Group:
    """An open delimiter, and which token may close it."""

    closer: str
    position: int
    kind: str
    sized: bool


@dataclass
class Lexer:
    """Reads one formula; ``tokens`` is the result."""

    text: str
    place: int = 0
    tokens: list[Token] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    # Whether \\left or \\right stands before the delimiter that is read next.
    sized: bool = False

    def fail(self, message: str, position: int | None = None) -> LatexError:
        """The error of this formula at a place."""
        return LatexError(message, self.place if position is None else position, self.text)

    def emit(self, kind: str, value: str, position: int) -> None:
        """Add a token that ends here."""
        self.tokens.append(Token(kind, value, start_pos=position, end_pos=self.place))

    @property
    def top_level(self) -> bool:
        """Whether a line of the display itself is read."""
        return not self.groups or self.groups[-1].kind == "aligned"

    def run(self) -> list[Token]:
        """All tokens of the formula."""
        while self.place < len(self.text):
            self.step()
        if len(self.tokens) > MOST_TOKENS:
            raise self.fail(
                f"the formula has {len(self.tokens)} symbols; at most {MOST_TOKENS} can be read", 0
            )
        if self.groups:
            group = self.groups[-1]
            raise self.fail(f"{group.kind!r} is opened here and never closed", group.position)
        if self.sized:
            raise self.fail("\\left or \\right needs a delimiter after it")
        return Layout(self.text).tidy(self.tokens)

    def step(self) -> None:
        """Read one piece."""
        position = self.place
        match = PIECE.match(self.text, position)
        assert match is not None
        piece = match.group()
        self.place = match.end()
        if match.lastgroup == "space":
            return
        if piece in REFUSED:
            raise self.fail(REFUSED[piece], position)
        if self.sized and piece not in OPENING and piece not in CLOSING:
            raise self.fail("\\left or \\right needs a delimiter after it", position)
        if match.lastgroup == "number":
            self.number(piece, position)
        elif match.lastgroup == "letter":
            self.emit("SYMBOL", piece, position)
        elif match.lastgroup == "command":
            self.command(piece, position)
        else:
            self.punctuation(piece, position)

    def number(self, piece: str, position: int) -> None:
        """Read a number."""
        if EXPONENT.match(self.text, self.place):
            raise self.fail(
                f"{piece}e… is printed as {piece} times e; write {piece} \\cdot 10^{{…}}", position
            )
        value = piece.replace("{,}", "").replace("\\,", "")
        if len(value) > MOST_DIGITS:
            raise self.fail(
                f"the number has {len(value)} digits; at most {MOST_DIGITS} can be read", position
            )
        self.emit("NUMBER", value, position)

    def open(self, kind: str, closer: str, name: str, position: int) -> None:
        """Start a group."""
        if len(self.groups) == DEEPEST:
            raise self.fail("the formula is nested too deeply", position)
        self.emit(kind, name, position)
        self.groups.append(Group(closer, position, kind=name, sized=self.sized))
        self.sized = False

    def close(self, kind: str, name: str, position: int) -> None:
        """End the group that this sign closes."""
        group = self.groups[-1] if self.groups else None
        if group is None or group.closer != kind:
            opened = f"; the last open one is {group.kind!r}" if group else ""
            raise self.fail(f"{name!r} closes nothing that is open{opened}", position)
        if group.sized != self.sized:
            expected = "\\right" if group.sized else "no \\right"
            raise self.fail(f"{group.kind!r} needs {expected} before {name!r}", position)
        self.groups.pop()
        self.sized = False
        self.emit(kind, name, position)

    def command(self, piece: str, position: int) -> None:
        """Read a command."""
        if piece in SPACING:
            return
        if piece in ("\\left", "\\right"):
            self.sized = True
        elif piece in OPENING:
            self.open(*OPENING[piece], piece, position)
        elif piece in CLOSING:
            self.close(CLOSING[piece], piece, position)
        elif piece in WIDE_SPACES:
            self.emit("QUAD", piece, position)
        elif piece in IMPLICATIONS:
            self.emit("SEP" if self.top_level else "IMPLIES", piece, position)
        elif piece in RELATIONS:
            self.emit("REL", RELATIONS[piece], position)
        elif piece in OPERATORS:
            self.emit("MULOP", OPERATORS[piece], position)
        elif piece in DOTS:
            self.emit("DOTS", piece, position)
        elif piece in COMMANDS:
            self.emit(COMMANDS[piece], piece, position)
        elif piece in FONTS or piece == "\\text":
            self.named(piece, position)
        elif piece == "\\begin":
            self.begin(position)
        elif piece == "\\end":
            self.end(position)
        elif piece == "\\\\":
            self.row_end(position)
        else:
            self.emit("SYMBOL", piece, position)

    def sign_as_script(self, piece: str, position: int) -> None:
        """``x_+`` is a name; ``10^-3`` prints a raised minus and then a 3 on the line."""
        mark = self.tokens[-1].value
        match = re.compile(r"\s*(\d+)").match(self.text, self.place)
        if match:
            raise self.fail(
                f"{mark}{piece}{match.group(1)} raises or lowers the sign alone; "
                f"write {mark}{{{piece}{match.group(1)}}}",
                position,
            )

    def named(self, piece: str, position: int) -> None:
        """Read words or the name of an operator."""
        match = ARGUMENT.match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} needs a name in braces after it", position)
        self.place = match.end()
        content = match.group(1)
        words = re.sub(r"\s+", " ", content).strip(" ,.;:~").lower()
        if piece == "\\text":
            if words in SEPARATING_WORDS or words in CASE_WORDS:
                self.emit("TEXT", words, position)
                return
            if words == "otherwise":
                self.emit("OTHERWISE", words, position)
                return
            if not re.fullmatch(r"[A-Za-z0-9 _.\-]+", content):
                raise self.fail(f"\\text{{{content}}} is not a word that can be checked", position)
        if any(mark in content for mark in "_^"):
            raise self.fail(f"{piece}{{{content}}} holds scripts; write them outside", position)
        name = re.sub(r"\\[,;:! ]|\s+", "", content)
        if not name:
            raise self.fail(f"{piece} has an empty argument", position)
        self.emit("SYMBOL", f"{piece}{{{name}}}", position)

    def environment_name(self, piece: str, position: int) -> str:
        r"""The name behind `\\begin` or `\\end`."""
        match = ARGUMENT.match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} needs the name of an environment after it", position)
        self.place = match.end()
        return match.group(1)

    def begin(self, position: int) -> None:
        """Start an environment."""
        name = self.environment_name("\\begin", position)
        if name in ENVIRONMENTS:
            self.open(*ENVIRONMENTS[name], name, position)
        elif name != "aligned":
            known = ", ".join(sorted({"aligned", *ENVIRONMENTS}))
            raise self.fail(f"environment {name!r} is not known; use one of {known}", position)
        elif self.groups:
            raise self.fail(f"{name} cannot be inside another construct", position)
        else:
            self.groups.append(Group("", position, kind=name, sized=False))

    def end(self, position: int) -> None:
        """End an environment."""
        name = self.environment_name("\\end", position)
        if not self.groups or self.groups[-1].kind != name:
            raise self.fail(f"\\end{{{name}}} closes nothing that is open", position)
        if name == "aligned":
            self.groups.pop()
            return
        while self.tokens[-1].type in ("ROWSEP", "COMMA", "QUAD"):
            self.tokens.pop()
        self.close(ENVIRONMENTS[name][1], name, position)

    def row_end(self, position: int) -> None:
        """Read the end of a row or of a line."""
        kind = self.groups[-1].kind if self.groups else "aligned"
        if kind == "aligned":
            self.emit("NEWLINE", "\\\\", position)
        elif kind in ENVIRONMENTS:
            self.emit("ROWSEP", "\\\\", position)
        else:
            raise self.fail(f"a line break cannot be inside {kind!r}", position)

    def punctuation(self, piece: str, position: int) -> None:
        """Read a sign that is no command."""
        if piece == "{":
            self.open("LBRACE", "RBRACE", "{", position)
        elif piece == "}":
            self.close("RBRACE", "}", position)
        elif piece in OPENING:
            self.open(*OPENING[piece], piece, position)
        elif piece in CLOSING:
            self.close(CLOSING[piece], piece, position)
        elif piece in RELATIONS:
            self.emit("REL", RELATIONS[piece], position)
        elif piece in OPERATORS:
            self.emit("MULOP", OPERATORS[piece], position)
        elif piece == "'":
            self.emit("PRIME", piece, position)
        elif piece == "&":
            self.alignment_mark(position)
        elif piece == ".":
            if self.text[self.place : self.place + 1].isdigit():
                raise self.fail("a number cannot start with its point; write 0 before it", position)
            self.emit("PERIOD", piece, position)
        elif piece in SIMPLE:
            kind = SIMPLE[piece]
            if kind == "ADDOP" and self.tokens and self.tokens[-1].type in ("SUB", "SUP"):
                self.sign_as_script(piece, position)
            self.emit(kind, "-" if piece == UNICODE_MINUS else piece, position)
        else:
            raise self.fail(f"the character {piece!r} is not understood here", position)

    def alignment_mark(self, position: int) -> None:
        """Read `&`, whose meaning the environment gives."""
        group = self.groups[-1] if self.groups else None
        if group is None:
            raise self.fail("an alignment mark & cannot be outside an environment", position)
        if group.kind == "aligned":
            self.emit("MARK", "&", position)
        elif group.kind in ENVIRONMENTS:
            self.emit("AMP", "&", position)
        else:
            raise self.fail(f"an alignment mark & cannot be inside {group.kind!r}", position)


def tokenize(text: str) -> list[Token]:
    """Cut a formula into tokens, each with its place in the text."""
    return Lexer(text).run()
