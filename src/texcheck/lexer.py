"""Cut LaTeX mathematics into tokens for the grammar in ``grammar.lark``.

Spacing is dropped here and delimiters are paired here (``|`` has no direction of its own).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lark import Token

from texcheck.errors import LatexError
from texcheck.layout import Layout
from texcheck.tokens import (
    ACCENTS,
    ALIGNMENTS,
    ARGUMENTS,
    BARS,
    CLOSING,
    COMMANDS,
    DEEPEST,
    DELIMITER,
    DOTS,
    ENDS_OPERAND,
    EXPONENT,
    FONTS,
    IMPLICATIONS,
    MATRICES,
    MOST_DIGITS,
    MOST_TOKENS,
    OPENING,
    OPERATORS,
    OTHERWISE_WORDS,
    PIECE,
    RELATIONS,
    SEPARATING_WORDS,
    SIMPLE,
    SIZES,
    SPACING,
    UNICODE_MINUS,
    WIDE_SPACES,
)


@dataclass
class Group:
    """An open delimiter, and which token may close it."""

    closer: str
    position: int
    kind: str
    sized: bool = False


@dataclass
class Lexer:
    """Reads one formula; ``tokens`` is the result."""

    text: str
    place: int = 0
    tokens: list[Token] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)

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
            raise self.fail(f"a formula of {len(self.tokens)} symbols", 0)
        if self.groups:
            group = self.groups[-1]
            raise self.fail(f"{group.kind!r} is opened here and never closed", group.position)
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
        if match.lastgroup == "number":
            self.number(piece, position)
        elif match.lastgroup == "letter":
            self.operand("SYMBOL", piece, position)
        elif match.lastgroup == "command":
            self.command(piece, position)
        else:
            self.punctuation(piece, position)

    def number(self, piece: str, position: int) -> None:
        """Read a number; LaTeX takes one digit as an argument."""
        if self.pending_argument() and len(piece) > 1:
            if self.tokens[-1].type in ("SUB", "SUP"):
                mark = self.tokens[-1].value
                raise self.fail(
                    f"{mark}{piece} is printed as {mark}{{{piece[0]}}}{piece[1:]}; "
                    f"write {mark}{{{piece}}}",
                    position,
                )
            piece = piece[0]
            self.place = position + 1
        if EXPONENT.match(self.text, self.place):
            raise self.fail(
                f"{piece}e… is printed as {piece} times e; write {piece} \\cdot 10^{{…}}", position
            )
        value = piece.replace("{,}", "").replace("\\,", "")
        if len(value) > MOST_DIGITS:
            raise self.fail(f"a number of {len(value)} digits", position)
        self.operand("NUMBER", value, position)

    def pending_argument(self) -> bool:
        """Whether a command waits for an argument."""
        return bool(self.pending) and self.pending[-1] > 0

    def argument_done(self) -> None:
        """Note that a command has one argument more."""
        while self.pending and self.pending[-1] > 0:
            self.pending[-1] -= 1
            if self.pending[-1] > 0:
                return
            self.pending.pop()

    def operand(self, kind: str, value: str, position: int) -> None:
        """Add a token that can be an argument."""
        self.emit(kind, value, position)
        self.argument_done()

    def open(self, kind: str, closer: str, name: str, position: int, sized: bool = False) -> None:
        """Start a group."""
        if len(self.groups) == DEEPEST:
            raise self.fail("the formula is nested too deeply", position)
        self.emit(kind, name, position)
        self.groups.append(Group(closer, position, name, sized))
        self.pending.append(0)

    def close(self, kind: str, name: str, position: int, sized: bool = False) -> None:
        """End the group that this sign closes."""
        group = self.groups[-1] if self.groups else None
        if group is None or group.closer != kind:
            opened = f"; the last open one is {group.kind!r}" if group else ""
            raise self.fail(f"{name!r} closes nothing that is open{opened}", position)
        if group.sized != sized:
            expected = "\\right" if group.sized else "no \\right"
            raise self.fail(f"{group.kind!r} needs {expected} before {name!r}", position)
        self.groups.pop()
        self.pending.pop()
        self.emit(kind, name, position)
        if kind == "OPTR":
            return
        self.argument_done()

    def command(self, piece: str, position: int) -> None:
        """Read a command."""
        if piece.endswith("*") and piece != "\\operatorname*":
            piece = piece[:-1]
            self.place -= 1
        if piece in SPACING:
            return
        if piece in SIZES:
            self.require_delimiter(piece, position)
            return
        if piece in ("\\left", "\\right"):
            self.sized_delimiter(piece, position)
        elif piece in BARS:
            self.bar(piece, position)
        elif piece in OPENING:
            kind, closer = OPENING[piece]
            self.open(kind, closer, piece, position)
        elif piece in CLOSING:
            self.close(CLOSING[piece], piece, position)
        elif piece in WIDE_SPACES:
            self.emit("QUAD", piece, position)
        elif piece in IMPLICATIONS:
            self.emit("SEP" if self.top_level else "IMPLIES", piece, position)
        elif piece in RELATIONS:
            self.emit("REL", RELATIONS[piece], position)
        elif piece in OPERATORS:
            self.operator(OPERATORS[piece], position)
        elif piece in DOTS:
            self.operand("DOTS", piece, position)
        elif piece in COMMANDS or piece in ACCENTS:
            kind = COMMANDS.get(piece, "ACCENT")
            self.emit(kind, piece, position)
            self.pending.append(ARGUMENTS[kind])
            if kind == "SQRT":
                self.optional_argument()
        elif piece in FONTS or piece in ("\\operatorname*", "\\text", "\\mbox"):
            self.named(piece, position)
        elif piece == "\\begin":
            self.begin(position)
        elif piece == "\\end":
            self.end(position)
        elif piece == "\\\\":
            self.row_end(position)
        elif piece == "\\forall":
            self.emit("TEXT", "for all", position)
        else:
            self.operand("SYMBOL", piece, position)

    def operator(self, value: str, position: int) -> None:
        """Read a sign between factors."""
        self.emit("MULOP", value, position)
        previous = self.tokens[-2].type if len(self.tokens) > 1 else ""
        if previous in ("SUB", "SUP"):
            self.argument_done()

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
        self.argument_done()

    def optional_argument(self) -> None:
        """Start an argument in square brackets, where there is one."""
        match = re.compile(r"\s*\[").match(self.text, self.place)
        if match:
            position = match.end() - 1
            self.place = match.end()
            self.open("OPTL", "OPTR", "[", position)

    def require_delimiter(self, piece: str, position: int) -> None:
        """``\\big`` and its like enlarge a delimiter; anything else after them is a misprint."""
        match = DELIMITER.match(self.text, self.place)
        name = match.group(1) if match else ""
        if not (name in OPENING or name in CLOSING or name in BARS or name == "/"):
            raise self.fail(f"{piece} without a delimiter", position)

    def sized_delimiter(self, piece: str, position: int) -> None:
        r"""Read a delimiter behind `\\left` or `\\right`."""
        match = DELIMITER.match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} without a delimiter", position)
        self.place = match.end()
        name = match.group(1)
        if name in BARS:
            kind, closer = BARS[name]
            if piece == "\\left":
                self.open(kind, closer, name, position, sized=True)
            else:
                self.close(closer, name, position, sized=True)
        elif piece == "\\left" and name in OPENING:
            kind, closer = OPENING[name]
            self.open(kind, closer, name, position, sized=True)
        elif piece == "\\right" and name in CLOSING:
            self.close(CLOSING[name], name, position, sized=True)
        else:
            raise self.fail(f"{piece}{name} is not a delimiter that can be evaluated", position)

    def bar(self, piece: str, position: int) -> None:
        """Read a bar, which opens or closes by what stands before it."""
        kind, closer = BARS[piece]
        previous = self.tokens[-1].type if self.tokens else ""
        inner = self.groups[-1] if self.groups else None
        if inner and inner.closer == closer and not inner.sized and previous in ENDS_OPERAND:
            self.close(closer, piece, position)
        else:
            self.open(kind, closer, piece, position)

    def raw_argument(self, piece: str, position: int) -> str:
        """The text of the next argument: one token or a balanced group, unread."""
        match = re.compile(r"\s*(\{|\\[A-Za-z]+|.)", re.DOTALL).match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} without an argument", position)
        self.place = match.end()
        if match.group(1) != "{":
            return match.group(1)
        start, depth = self.place, 1
        while depth:
            if self.place >= len(self.text):
                raise self.fail(f"the argument of {piece} is never closed", position)
            character = self.text[self.place]
            if character == "\\":
                self.place += 1
            depth += {"{": 1, "}": -1}.get(character, 0)
            self.place += 1
        return self.text[start : self.place - 1]

    def named(self, piece: str, position: int) -> None:
        """Read words or the name of an operator."""
        content = self.raw_argument(piece, position)
        words = re.sub(r"\s+", " ", content).strip(" ,.;:~").lower()
        if piece in ("\\text", "\\mbox", "\\textrm"):
            if words in SEPARATING_WORDS:
                self.emit("TEXT", words, position)
                return
            if words in OTHERWISE_WORDS:
                self.emit("OTHERWISE", words, position)
                return
            if not re.fullmatch(r"[A-Za-z0-9 _.\-]+", content):
                raise self.fail(f"\\text{{{content}}} is not a word that can be checked", position)
        if any(mark in content for mark in "_^"):
            raise self.fail(f"{piece}{{{content}}} holds scripts; write them outside", position)
        name = re.sub(r"\\[,;:! ]|\s+", "", content)
        if not name:
            raise self.fail(f"{piece} has an empty argument", position)
        self.operand("SYMBOL", f"{piece.rstrip('*')}{{{name}}}", position)

    def environment_name(self, piece: str, position: int) -> str:
        r"""The name behind `\\begin` or `\\end`."""
        match = re.compile(r"\s*\{([A-Za-z*]+)\}").match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} without the name of an environment", position)
        self.place = match.end()
        return match.group(1)

    def begin(self, position: int) -> None:
        """Start an environment."""
        name = self.environment_name("\\begin", position)
        if name == "array":
            self.raw_argument("\\begin{array}", position)
        if name in MATRICES:
            self.open("BEGINMATRIX", "ENDMATRIX", name, position)
        elif name in ("cases", "dcases"):
            self.open("BEGINCASES", "ENDCASES", "cases", position)
        elif name in ALIGNMENTS:
            if not self.top_level:
                raise self.fail(f"{name} inside another construct", position)
            self.groups.append(Group("ENDALIGNED", position, "aligned"))
            self.pending.append(0)
        else:
            raise self.fail(f"environment {name!r} is not known", position)

    def end(self, position: int) -> None:
        """End an environment."""
        name = self.environment_name("\\end", position)
        closer = {"cases": "ENDCASES", "dcases": "ENDCASES"}.get(name)
        closer = closer or ("ENDALIGNED" if name in ALIGNMENTS else "ENDMATRIX")
        group = self.groups[-1] if self.groups else None
        if (
            group is None
            or group.closer != closer
            or (closer == "ENDMATRIX" and group.kind != name)
        ):
            raise self.fail(f"\\end{{{name}}} closes nothing that is open", position)
        if closer == "ENDALIGNED":
            self.groups.pop()
            self.pending.pop()
            return
        while self.tokens[-1].type in ("ROWSEP", "COMMA", "QUAD"):
            self.tokens.pop()
        self.close(closer, name, position)

    def row_end(self, position: int) -> None:
        """Read the end of a row or of a line."""
        kind = self.groups[-1].kind if self.groups else "aligned"
        spacing = re.compile(r"\s*\[[-\d.]+[a-z]+\]").match(self.text, self.place)
        if spacing:
            self.place = spacing.end()
        if kind == "aligned":
            self.emit("NEWLINE", "\\\\", position)
        elif kind == "cases" or self.groups[-1].closer == "ENDMATRIX":
            self.emit("ROWSEP", "\\\\", position)
        else:
            raise self.fail(f"a line break inside {kind!r}", position)

    def punctuation(self, piece: str, position: int) -> None:
        """Read a sign that is no command."""
        if piece == "{":
            self.open("LBRACE", "RBRACE", "{", position)
        elif piece == "}":
            self.close("RBRACE", "}", position)
        elif piece in BARS:
            self.bar(piece, position)
        elif piece in OPENING:
            kind, closer = OPENING[piece]
            self.open(kind, closer, piece, position)
        elif piece in CLOSING:
            if piece == "]" and self.groups and self.groups[-1].closer == "OPTR":
                self.close("OPTR", piece, position)
            else:
                self.close(CLOSING[piece], piece, position)
        elif piece in RELATIONS:
            if piece == "=" and self.tokens and self.tokens[-1].type == "COLON":
                self.tokens.pop()
            self.emit("REL", RELATIONS[piece], position)
        elif piece in OPERATORS:
            self.operator(OPERATORS[piece], position)
        elif piece == "'":
            self.emit("PRIME", piece, position)
        elif piece == "&":
            self.alignment_mark(position)
        elif piece == ".":
            if self.text[self.place : self.place + 1].isdigit():
                raise self.fail("a number that starts with its point; write 0 before it", position)
            self.emit("PERIOD", piece, position)
        elif piece in SIMPLE:
            kind = SIMPLE[piece]
            if kind in ("SUB", "SUP"):
                self.emit(kind, piece, position)
                self.pending.append(1)
            else:
                if kind == "ADDOP" and self.tokens and self.tokens[-1].type in ("SUB", "SUP"):
                    self.sign_as_script(piece, position)
                self.emit(kind, "-" if piece == UNICODE_MINUS else piece, position)
        else:
            raise self.fail(f"the character {piece!r} is not understood here", position)

    def alignment_mark(self, position: int) -> None:
        """Read `&`, whose meaning the environment gives."""
        group = self.groups[-1] if self.groups else None
        if group is None:
            raise self.fail("an alignment mark & outside an environment", position)
        if group.kind == "aligned":
            self.emit("MARK", "&", position)
        elif group.kind == "cases" or group.closer == "ENDMATRIX":
            self.emit("AMP", "&", position)
        else:
            raise self.fail(f"an alignment mark & inside {group.kind!r}", position)


def tokenize(text: str) -> list[Token]:
    """Cut a formula into tokens, each with its place in the text."""
    return Lexer(text).run()
