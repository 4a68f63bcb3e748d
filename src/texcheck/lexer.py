"""Cut LaTeX mathematics into tokens for the grammar in ``grammar.lark``.

Spacing is dropped here and delimiters are paired here (``|`` has no direction of its own). What
separates the statements of a display is decided in ``layout``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lark import Token

from texcheck.bars import paired
from texcheck.errors import LatexError
from texcheck.layout import Layout, Remark
from texcheck.vocabulary import (
    ABOUT,
    ACCENTS,
    ARROWS,
    BARS,
    BRACES,
    CASE_WORDS,
    CLOSING,
    DEFINITIONS,
    DOTS,
    ENVIRONMENTS,
    FONTS,
    IMPLICATIONS,
    LETTER_FONTS,
    LINES,
    OPEN_OPERATORS,
    OPEN_RELATIONS,
    OPENING,
    OPERATORS,
    OTHERWISE,
    REFUSED,
    RELATIONS,
    SEPARATING_WORDS,
    SIZES,
    TAG,
    TEXTS,
    WIDE_SPACES,
    WITH_COLUMNS,
)

# The minus sign that editors and word processors write.
UNICODE_MINUS = "\N{MINUS SIGN}"
SPACING = {"\\,", "\\;", "\\:", "\\!", "\\>", "\\ "}
SIMPLE = {
    "_": "SUB",
    "^": "SUP",
    "+": "ADDOP",
    "-": "ADDOP",
    UNICODE_MINUS: "ADDOP",
    "/": "SLASH",
    ",": "COMMA",
}
COMMANDS = {
    **dict.fromkeys(("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"), "FRAC"),
    **dict.fromkeys(("\\binom", "\\dbinom", "\\tbinom"), "BINOM"),
    "\\sqrt": "SQRT",
    "\\mid": "MID",
    **dict.fromkeys(ACCENTS, "ACCENT"),
}

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
EMPTY_CELL = "a cell of this matrix is empty; print 0, or what it holds"
MATRICES = {"BEGINMATRIX"}
# Signs that join what stands on both sides of them.
SIGNS = {"+", "-", UNICODE_MINUS, "/"}
# What a programmer writes for a power of ten, and what is printed as a product: 1e4, 1e-3.
EXPONENT = re.compile(r"[eE][-+]?[0-9]")
SPREADSHEET = re.compile(
    r"(?<=\.[0-9])E[-+][0-9]{2}(?![0-9])|(?<=\.[0-9]{2})E[-+][0-9]{2}(?![0-9])"
)
# A font around one letter or command, or around another font.
FONT_ARGUMENT = re.compile(
    r"\s*(?:\{\s*(\\[A-Za-z]+)?\s*\{([^{}]*)\}\s*\}|\{([^{}]*)\}|(\\[A-Za-z]+|[A-Za-z0-9]))"
)
# Letters in one font, some of which have a script: v_i, or \\Theta_m Q_m.
SCRIPTED_LETTER = re.compile(
    r"\s*(\\[A-Za-z]+|[A-Za-z])\s*(?:([_^])\s*(\\[A-Za-z]+|[A-Za-z0-9]))?\s*"
)
SCRIPTED = re.compile(rf"(?=[^{{}}]*[_^])(?:{SCRIPTED_LETTER.pattern})+")
OPERATOR_NAME = re.compile(r"\s*\{\s*\\(?:math|text)(?:rm|bf|sf|normal)?\s*\{([A-Za-z~ ]+)\}\s*\}")
DEFINED = re.compile(
    r"\s*\{\s*(?:\\[a-z]+\s*\{\s*)?(?:def\.?|\\Delta|\\triangle)\s*\}?\s*\}\s*\{\s*:?=\s*\}"
)
PRIMES = re.compile(r"\s*\{\s*((?:\\prime\s*)+)\}|\s*\\prime(?![A-Za-z])")
# What may stand between a line break and the first sign of the next line.
INDENT = re.compile(r"(?:\s|&|\{\}|\\[,;:!> ]|\\q?quad(?![A-Za-z]))*")
# A bracket that \left opened, carried over a line break by two invisible ones.
CARRIED = re.compile(
    r"\s*\.\s*(?:\\\\(?:\[[^\]]*\])?(?:\s|&|\\q?quad(?![A-Za-z]))*)?"
    r"\\left\s*\.(?:\s|\\q?quad(?![A-Za-z]))*"
)
# A letter with a script of several signs, all in one font: \mathbf{A_{00}}.
LETTER_WITH_SCRIPT = re.compile(r"\s*\{\s*(\\[A-Za-z]+|[A-Za-z])(?=\s*[_^]\s*\{[^{}]*\}\s*\})")
# The distance that a line break may be given: \\[0.5em].
DISTANCE = re.compile(r"\*?\[\s*-?[0-9.]+\s*(?:em|ex|pt|mm|cm|in)\s*\]")
PLACE_OF_EXTREME = re.compile(
    r"\\arg\s*\\(max|min)(?![A-Za-z])"
    r"|\\operatorname\s*\*?\s*\{\s*arg\s*(?:\\[,;:! ])?\s*(max|min)\s*\}"
)
# The subscript of an operator.
OPERATOR_SUB = re.compile(
    r"\s*_\s*(\\(?:text|mathrm|textrm)\s*\{[^{}]*\}|\{[^{}]*\}|\\[A-Za-z]+|[A-Za-z0-9])"
)
# Words of a program, whose underlines are printed: \text{num_params}, and not \text{x_1}.
PROGRAM_WORDS = re.compile(r"[A-Za-z]{2,}(?:_[A-Za-z]{2,})+")
# Words that name something, also with the axes of an array: Q[B, T], or for all of something.
WORDS = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9 _./()\-]*"
    r"|[A-Za-z]+\[[A-Za-z0-9, ]+\]|for (?:any|all|every|each) [A-Za-z $]+"
)
# What makes words of a tag: several letters, and not the 3a of a number.
LETTERS = re.compile("[A-Za-z]{2}")
# A remark below a brace consists of words.
REMARK = re.compile(
    r"\s*\{\s*(?:\\[a-z]+\s+)?\\text[a-z]*\s*\{(?P<braced>[^{}]*)\}\s*\}"
    r"|\s*\\text[a-z]*\s*\{(?P<bare>[^{}]*)\}"
)


@dataclass
class Group:
    """An open delimiter, and which token may close it."""

    closer: str
    position: int
    kind: str
    sized: str
    # What is printed after it and is a remark: below a brace.
    remark: str = ""
    # Braces that say only how far a font reaches.
    silent: bool = False


@dataclass
class Lexer:
    """Reads one formula; ``tokens`` is the result, ``remarks`` what is part of no statement."""

    text: str
    place: int = 0
    tokens: list[Token] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    # "left" or "right" where \\left or \\right stands before the delimiter that is read next.
    sized: str = ""
    # The sign of the remark of a brace that is opened next.
    remark: str = ""
    remarks: list[Remark] = field(default_factory=list)

    def fail(self, message: str, position: int | None = None) -> LatexError:
        """The error of this formula at a place."""
        return LatexError(message, self.place if position is None else position, self.text)

    def emit(self, kind: str, value: str, position: int) -> None:
        """Add a token that ends here."""
        self.tokens.append(Token(kind, value, start_pos=position, end_pos=self.place))

    @property
    def top_level(self) -> bool:
        """Whether a line of the display itself is read."""
        return all(group.kind in LINES for group in self.groups)

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
        layout = Layout(self.text)
        result = layout.tidy(paired(self.tokens, self.text))
        self.remarks += layout.remarks
        return result

    def step(self) -> None:
        """Read one piece."""
        position = self.place
        match = PIECE.match(self.text, position)
        assert match is not None
        piece = match.group()
        self.place = match.end()
        if match.lastgroup == "space":
            return
        if extreme := PLACE_OF_EXTREME.match(self.text, position):
            self.place = extreme.end()
            self.emit("SYMBOL", f"\\arg{extreme.group(1) or extreme.group(2)}", position)
            return
        if piece in REFUSED:
            raise self.fail(REFUSED[piece], position)
        if self.sized and not (piece in OPENING or piece in CLOSING or piece in BARS):
            raise self.fail("\\left or \\right needs a delimiter after it", position)
        if match.lastgroup == "number":
            self.number(piece, position)
        elif self.remark and piece != "{":
            raise self.fail("a brace needs what it is below or above in braces", position)
        elif piece in BARS:
            self.bar(piece, position)
        elif match.lastgroup == "letter":
            self.emit("SYMBOL", piece, position)
        elif match.lastgroup == "command":
            self.command(piece, position)
        else:
            self.punctuation(piece, position)

    def number(self, piece: str, position: int) -> None:
        """Read a number."""
        spreadsheet = SPREADSHEET.match(self.text, self.place)
        if spreadsheet:
            # Nobody prints 1.97E+14 for a product and a sum: programs write numbers so.
            self.place = spreadsheet.end()
            piece += spreadsheet.group().replace("+", "")
        elif EXPONENT.match(self.text, self.place):
            raise self.fail(
                f"{piece}e… is printed as {piece} times e; write {piece} \\cdot 10^{{…}}", position
            )
        if self.top_level and len(self.tokens) > 1 and re.fullmatch("[0-9]{3}", piece):
            before, comma = self.tokens[-2:]
            together = before.end_pos == comma.start_pos and comma.end_pos == position
            if before.type == "NUMBER" and comma.type == "COMMA" and together:
                if self.alone_behind_a_relation(before, piece):
                    self.tokens = self.tokens[:-2]
                    self.emit("NUMBER", f"{before}{piece}", before.start_pos or 0)
                    return
                raise self.fail(f"{before},{piece} is a list; write {before}{{,}}{piece}", position)
        if self.tokens and self.tokens[-1].type == "FRAC" and re.fullmatch("[0-9]{2}", piece):
            # \\frac13: LaTeX takes one digit for each argument.
            self.emit("NUMBER", piece[0], position)
            self.emit("NUMBER", piece[1], position + 1)
            return
        value = piece.replace("{,}", "").replace("\\,", "").replace("E", "e")
        if len(value) > MOST_DIGITS:
            raise self.fail(
                f"the number has {len(value)} digits; at most {MOST_DIGITS} can be read", position
            )
        self.emit("NUMBER", value, position)

    def alone_behind_a_relation(self, number: Token, piece: str) -> bool:
        """Whether ``61,000`` can only be one number: nobody prints a list behind ≈ or <."""
        relation = self.tokens[-3] if len(self.tokens) > 2 else None
        after = self.text[self.place :].lstrip()[:1]
        alone = relation is not None and relation.type == "REL" and after in ("", ".", "}", "\\")
        return (
            alone
            and relation is not None
            and relation.value in ("approx", "<", "<=", ">", ">=")
            and bool(re.fullmatch("[1-9][0-9]{0,2}", number))
            and piece.endswith("00")  # 3,141 may be a decimal number
        )

    def open(self, kind: str, closer: str, name: str, position: int) -> None:
        """Start a group."""
        if len(self.groups) == DEEPEST:
            raise self.fail("the formula is nested too deeply", position)
        self.emit(kind, name, position)
        self.groups.append(Group(closer, position, kind=name, sized=self.sized, remark=self.remark))
        self.sized = ""
        self.remark = ""

    def bar(self, piece: str, position: int) -> None:
        """Read a bar; with \\left or \\right its direction is known, else others decide it."""
        opener, closer = BARS[piece]
        if self.sized == "left":
            self.open(opener, closer, piece, position)
        elif self.sized == "right":
            self.close(closer, piece, position)
        else:
            self.emit("BAR", piece, position)

    def close(self, kind: str, name: str, position: int) -> None:
        """End the group that this sign closes."""
        group = self.groups[-1] if self.groups else None
        if group is None or group.closer != kind:
            opened = f"; the last open one is {group.kind!r}" if group else ""
            raise self.fail(f"{name!r} closes nothing that is open{opened}", position)
        if bool(group.sized) != bool(self.sized):
            expected = "\\right" if group.sized else "no \\right"
            raise self.fail(f"{group.kind!r} needs {expected} before {name!r}", position)
        self.groups.pop()
        self.sized = ""
        if group.silent:
            return
        self.emit(kind, name, position)
        if group.remark:
            self.skip_remark(group)

    def skip_remark(self, group: Group) -> None:
        """Words below or above a brace are no part of the statement."""
        braced = (group.position, self.place)
        after = self.text[self.place :].lstrip()
        if not after.startswith(group.remark):
            return
        sign = self.text.index(group.remark, self.place)
        match = REMARK.match(self.text, sign + 1)
        if match is None:
            raise self.fail("what is below or above a brace must be words", sign + 1)
        self.place = match.end()
        words = match.group("braced") or match.group("bare") or ""
        self.remarks.append(Remark(words.strip(), sign, self.place, about=braced))

    def command(self, piece: str, position: int) -> None:
        """Read a command."""
        if piece in SPACING or piece in SIZES:
            return
        if piece == "\\right" and (carried := CARRIED.match(self.text, self.place)):
            self.place = carried.end()
        elif piece in ("\\left", "\\right"):
            self.sized = piece.removeprefix("\\")
        elif (
            piece in {*ABOUT, "\\hspace"}
            or piece in DEFINITIONS
            or piece in BRACES
            or piece == "\\not"
        ):
            self.around(piece, position)
        elif piece in OPENING:
            self.open(*OPENING[piece], piece, position)
        elif piece in CLOSING:
            self.close(CLOSING[piece], piece, position)
        elif piece == "\\forall":
            if not self.tokens:
                raise self.fail("print the statement first, and \\forall behind it", position)
            self.emit("TEXT", "for all", position)
        elif piece in WIDE_SPACES:
            self.emit("QUAD", piece, position)
        elif piece in IMPLICATIONS:
            self.emit("SEP" if self.top_level else "IMPLIES", piece, position)
        elif piece in ARROWS:
            # Below a sum or a limit it is something else, and refused by the grammar.
            self.emit("ARROW", piece, position)
        elif piece in RELATIONS:
            self.emit("REL", RELATIONS[piece], position)
        elif piece in OPEN_RELATIONS:
            self.emit("REL", piece, position)
        elif piece in OPERATORS or piece in OPEN_OPERATORS:
            self.sign(piece, position)
        elif piece == "\\choose":
            self.choose(position)
        elif piece in DOTS:
            self.emit("DOTS", piece, position)
        elif piece in COMMANDS:
            self.emit(COMMANDS[piece], piece, position)
        elif piece in LETTER_FONTS:
            self.letters(piece, position)
        elif piece == "\\mathop":
            self.operator(position)
        elif piece in FONTS or piece in TEXTS:
            self.named(piece, position)
        elif piece == "\\begin":
            self.begin(position)
        elif piece == "\\end":
            self.end(position)
        elif piece == "\\\\":
            self.row_end(position)
        else:
            self.emit("SYMBOL", piece, position)

    def sign(self, piece: str, position: int) -> None:
        """Read an operator; one with a subscript, such as ``\\cdot_D``, is a sign of its own."""
        match = OPERATOR_SUB.match(self.text, self.place)
        if match is None or (self.tokens and self.tokens[-1].type in ("SUB", "SUP")):
            self.emit("MULOP", OPERATORS.get(piece, piece), position)
            return
        self.place = match.end()
        self.emit("MULOP", f"{piece}_" + re.sub(r"[{}\s]", "", match.group(1)), position)

    def around(self, piece: str, position: int) -> None:
        """Read what is about something else: a label, a remark, a negation, a definition."""
        if piece in ABOUT or piece == "\\hspace":
            match = ARGUMENT.match(self.text, self.place)
            if match is None:
                raise self.fail(f"{piece} needs an argument in braces after it", position)
            self.place = match.end()
            if piece == TAG and LETTERS.search(match.group(1)):
                self.remarks.append(Remark(match.group(1).strip(), position, self.place))
            if piece == "\\hspace":
                self.emit("QUAD", piece, position)
        elif piece in BRACES:
            self.remark = BRACES[piece]
        elif piece in DEFINITIONS:
            match = DEFINED.match(self.text, self.place)
            if match is None:
                raise self.fail(f"{piece} is understood only as a definition", position)
            self.place = match.end()
            self.emit("REL", "=", position)
        else:
            match = re.compile(r"\s*(\\in(?![A-Za-z])|=)").match(self.text, self.place)
            if match is None:
                raise self.fail("\\not is understood only before \\in and =", position)
            self.place = match.end()
            self.emit("REL", "notin" if match.group(1) == "\\in" else "!=", position)

    def letters(self, piece: str, position: int) -> None:
        """Read a letter, or several, in a font."""
        scripted = LETTER_WITH_SCRIPT.match(self.text, self.place)
        if scripted:
            self.place = scripted.end()
            self.emit("SYMBOL", f"{piece}{{{scripted.group(1)}}}", position)
            self.groups.append(Group("RBRACE", position, kind="{", sized="", silent=True))
            return
        match = FONT_ARGUMENT.match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} needs a letter, or a name in braces after it", position)
        self.place = match.end()
        inner, nested, content, letter = match.groups()
        if nested is not None and inner not in FONTS:
            raise self.fail(f"{piece}{{{inner}…}} is not understood", position)
        found = next(one for one in (nested, content, letter) if one is not None)
        name = re.sub(r"\s+", "", found)
        if nested is None and SCRIPTED.fullmatch(found):
            self.scripted_letters(piece, match)
            return
        if not re.fullmatch(r"\\[A-Za-z]+|[A-Za-z0-9]+", name):
            complaint = (
                "holds scripts; write them outside" if re.search("[_^]", name) else "is not a name"
            )
            raise self.fail(f"{piece}{{{name}}} {complaint}", position)
        self.emit("SYMBOL", f"{inner if nested is not None else piece}{{{name}}}", position)

    def scripted_letters(self, piece: str, match: re.Match[str]) -> None:
        """``\\mathbf{v_i w}`` prints each letter with its script, and is their product."""
        end = self.place
        several = len(SCRIPTED_LETTER.findall(match.group(3))) > 1
        if several:
            self.emit("LBRACE", "{", match.start(3))
        for letter in SCRIPTED_LETTER.finditer(match.group(3)):
            places = [match.start(3) + letter.start(group) for group in (1, 2, 3)]
            self.place = match.start(3) + letter.end(1)
            self.emit("SYMBOL", f"{piece}{{{letter.group(1)}}}", places[0])
            if letter.group(2):
                self.emit("SUB" if letter.group(2) == "_" else "SUP", letter.group(2), places[1])
                self.place = match.start(3) + letter.end(3)
                kind = "NUMBER" if letter.group(3).isdigit() else "SYMBOL"
                self.emit(kind, letter.group(3), places[2])
        self.place = end
        if several:
            self.emit("RBRACE", "}", end - 1)

    def choose(self, position: int) -> None:
        """``{n \\choose k}`` is ``\\binom{n}{k}``."""
        braces = [k for k, token in enumerate(self.tokens) if token.type == "LBRACE"]
        if not self.groups or self.groups[-1].closer != "RBRACE":
            raise self.fail("\\choose needs braces around both numbers", position)
        start = next(k for k in braces if self.tokens[k].start_pos == self.groups[-1].position)
        before = self.tokens[start]
        binomial = Token("BINOM", "\\binom", start_pos=before.start_pos, end_pos=before.start_pos)
        self.tokens.insert(start, binomial)
        self.emit("RBRACE", "}", position)
        self.emit("LBRACE", "{", position)

    def operator(self, position: int) -> None:
        """``\\mathop{\\mathrm{max}}`` is the operator of that name."""
        match = OPERATOR_NAME.match(self.text, self.place)
        if match is None:
            raise self.fail("\\mathop needs a name in braces after it", position)
        self.place = match.end()
        self.emit("SYMBOL", self.known_name("\\operatorname", match.group(1).strip(" ~")), position)

    def known_name(self, piece: str, name: str) -> str:
        """``\\max`` for ``\\mathrm{max}``; else the name with its font."""
        if name in ("max", "min", "argmax", "argmin", "sup", "inf", "lim", "arg"):
            return f"\\{name}"
        piece = "\\text" if piece in ("\\textrm", "\\textnormal", "\\mbox") else piece
        return f"{piece}{{{name}}}"

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
        if piece == "\\operatorname" and self.text.startswith("*", self.place):
            self.place += 1
        pattern = FONT_ARGUMENT if piece in FONTS else ARGUMENT
        match = pattern.match(self.text, self.place)
        if match is None:
            raise self.fail(f"{piece} needs a name in braces after it", position)
        self.place = match.end()
        found = match.groups()[1:] if pattern is FONT_ARGUMENT else match.groups()
        content = next((one for one in found if one is not None), "")
        words = re.sub(r"[\s~]+", " ", content).strip(" ,.;:").lower()
        if piece in TEXTS:
            if words in SEPARATING_WORDS or words in CASE_WORDS:
                self.emit("TEXT", words, position)
                return
            if words in OTHERWISE:
                self.emit("OTHERWISE", words, position)
                return
            content = content.strip(" ,;:~")
            words_of_it = WORDS.fullmatch(content.replace("_", "-"))
            if not words_of_it or content[-1] == "-":
                raise self.fail(f"{piece}{{{content}}} is not a word that can be checked", position)
        in_text = piece in TEXTS and PROGRAM_WORDS.fullmatch(content)
        if any(mark in content for mark in "_^") and not in_text:
            raise self.fail(f"{piece}{{{content}}} holds scripts; write them outside", position)
        name = re.sub(r"\\[,;:! ]|\s+", "", content)
        if not name:
            raise self.fail(f"{piece} has an empty argument", position)
        self.emit("SYMBOL", self.known_name(piece, name), position)

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
        if name == "array":
            self.begin_array(position)
        elif name in ENVIRONMENTS:
            self.open(*ENVIRONMENTS[name], name, position)
        elif name not in LINES:
            known = ", ".join(sorted({*LINES, *ENVIRONMENTS}))
            raise self.fail(f"environment {name!r} is not known; use one of {known}", position)
        elif not self.top_level:
            raise self.fail(f"{name} cannot be inside another construct", position)
        else:
            self.groups.append(Group("", position, kind=name, sized=""))
            if name in WITH_COLUMNS:
                columns = ARGUMENT.match(self.text, self.place)
                if columns is None:
                    raise self.fail(f"{name} needs its number of columns in braces", position)
                self.place = columns.end()

    def begin_array(self, position: int) -> None:
        """An array between brackets is a matrix; any other is a table."""
        match = ARGUMENT.match(self.text, self.place)
        bracketed = bool(self.tokens) and self.tokens[-1].type in ("LPAR", "LBRACK")
        if match is None or not re.fullmatch(r"[lcr ]+", match.group(1)) or not bracketed:
            raise self.fail("an array without brackets around it is a table", position)
        self.place = match.end()
        self.open(*ENVIRONMENTS["array"], "array", position)

    def end(self, position: int) -> None:
        """End an environment."""
        name = self.environment_name("\\end", position)
        if not self.groups or self.groups[-1].kind != name:
            raise self.fail(f"\\end{{{name}}} closes nothing that is open", position)
        if name in LINES:
            self.groups.pop()
            return
        while self.tokens[-1].type in ("ROWSEP", "COMMA", "QUAD", "PERIOD"):
            self.tokens.pop()
        if self.tokens[-1].type == "AMP" and ENVIRONMENTS[name][0] in MATRICES:
            raise self.fail(EMPTY_CELL, position)
        self.close(ENVIRONMENTS[name][1], name, position)

    def row_end(self, position: int) -> None:
        """Read the end of a row or of a line."""
        match = DISTANCE.match(self.text, self.place)
        if match:
            self.place = match.end()
        kind = self.groups[-1].kind if self.groups else "aligned"
        if kind in ENVIRONMENTS:
            if self.tokens and self.tokens[-1].type == "AMP" and ENVIRONMENTS[kind][0] in MATRICES:
                raise self.fail(EMPTY_CELL, position)
            if self.tokens[-1].type != "ROWSEP":
                self.emit("ROWSEP", "\\\\", position)
        elif self.goes_on(kind):
            return
        elif kind in ("multline", "multline*") and not self.ends_a_statement():
            raise self.fail(
                "how does the next line of multline go on? begin it with a sign", position
            )
        elif kind in LINES:
            self.emit("NEWLINE", "\\\\", position)
        else:
            raise self.fail(
                f"a line break cannot be inside {kind!r}, unless the next line begins with a sign",
                position,
            )

    def last_sign(self) -> str:
        """The kind of the last token that is no space and no mark."""
        return next(
            (token.type for token in reversed(self.tokens) if token.type not in ("QUAD", "MARK")),
            "",
        )

    def marks_on_line(self) -> int:
        """How many marks the line has that ends here."""
        kinds = [token.type for token in self.tokens]
        start = len(kinds) - kinds[::-1].index("NEWLINE") if "NEWLINE" in kinds else 0
        return kinds[start:].count("MARK")

    def ends_a_statement(self) -> bool:
        """Whether the line that ends here has nothing, or closes a statement."""
        rest = self.text[self.place :].lstrip()
        return self.last_sign() in ("", "COMMA", "PERIOD", "TEXT") or rest.startswith("\\end")

    def goes_on(self, kind: str) -> bool:
        """Whether the next line can only go on with this one, and both are joined.

        In ``multline`` and between brackets, if either line has a sign beside the break; elsewhere
        if this line ends with one, or the next begins with a plus.
        """
        around = [group.kind for group in self.groups]
        while around and around[-1] in OPENING:
            around.pop()
        bracketed = kind in OPENING and (not around or around[-1] in LINES)
        if kind not in LINES and not bracketed:
            return False
        start = INDENT.match(self.text, self.place)
        assert start is not None
        first = PIECE.match(self.text, start.end())
        following = first.group() if first else ""
        operator = following in SIGNS or following in OPERATORS or following in OPEN_OPERATORS
        dangling = self.last_sign() in ("ADDOP", "MULOP", "SLASH")
        if dangling and not bracketed and self.marks_on_line() > 2:
            return False  # of several columns, which goes on?
        joined = dangling
        if bracketed:
            joined = dangling or operator or self.last_sign() == "COMMA"
        elif kind in ("multline", "multline*"):
            relation = following in RELATIONS or following in OPEN_RELATIONS
            joined = dangling or operator or relation or self.last_sign() == "REL"
        elif following == "+" and "&" not in self.text[self.place : start.end()]:
            marked = any(token.type == "MARK" for token in self.tokens)
            joined = not marked and not self.ends_a_statement()
        if not joined:
            return False
        while self.tokens and self.tokens[-1].type == "QUAD":
            self.tokens.pop()
        self.place = start.end()
        return True

    def punctuation(self, piece: str, position: int) -> None:
        """Read a sign that is no command."""
        if piece == "{":
            self.open("LBRACE", "RBRACE", "{", position)
        elif piece == "}":
            self.close("RBRACE", "}", position)
        elif piece in OPENING and self.is_interval():
            self.open("LINTERVAL", "RINTERVAL", piece, position)
        elif piece in OPENING:
            self.open(*OPENING[piece], piece, position)
        elif piece in CLOSING and self.groups and self.groups[-1].closer == "RINTERVAL":
            self.close("RINTERVAL", piece, position)
        elif piece in CLOSING:
            self.close(CLOSING[piece], piece, position)
        elif piece in "<>" and self.text.startswith(piece, self.place):
            raise self.fail(f"write \\{'ll' if piece == '<' else 'gg'} for {2 * piece}", position)
        elif piece == "=" and self.text.startswith("=", self.place):
            raise self.fail("write = for ==", position)
        elif piece in "<>:" and self.text.startswith("=", self.place):
            self.place += 1
            self.emit("REL", {"<": "<=", ">": ">=", ":": "="}[piece], position)
        elif piece in RELATIONS:
            self.emit("REL", RELATIONS[piece], position)
        elif piece in OPERATORS:
            self.emit("MULOP", OPERATORS[piece], position)
        elif piece == "'":
            self.emit("PRIME", piece, position)
        elif piece == "!":
            self.emit("BANG", piece, position)
        elif piece == "^" and (primes := PRIMES.match(self.text, self.place)):
            self.place = primes.end()
            for _ in range(primes.group().count("prime")):
                self.emit("PRIME", "'", position)
        elif piece in ";?:" and self.ends_here(piece):
            self.emit("PERIOD", ".", position)
        elif piece == "&":
            self.alignment_mark(position)
        elif piece == "…" or (piece == "." and self.text.startswith("..", self.place)):
            self.place += 2 if piece == "." else 0
            self.emit("DOTS", "\\ldots", position)
        elif piece == ".":
            if self.text[self.place : self.place + 1].isdigit():
                raise self.fail("a number cannot start with its point; write 0 before it", position)
            self.emit("PERIOD", piece, position)
        elif piece == ":" and self.in_subscript():
            self.emit("MID", piece, position)
        elif piece in SIMPLE:
            kind = SIMPLE[piece]
            if kind == "ADDOP" and self.tokens and self.tokens[-1].type in ("SUB", "SUP"):
                self.sign_as_script(piece, position)
            self.emit(kind, "-" if piece == UNICODE_MINUS else piece, position)
        else:
            raise self.fail(f"the character {piece!r} is not understood here", position)

    def in_subscript(self) -> bool:
        """Whether braces are open that stand below something."""
        group = self.groups[-1] if self.groups else None
        if group is None or group.kind != "{":
            return False
        places = [k for k, token in enumerate(self.tokens) if token.start_pos == group.position]
        return bool(places) and places[-1] > 0 and self.tokens[places[-1] - 1].type == "SUB"

    def ends_here(self, piece: str) -> bool:
        """Whether a sign ends the display, or a semicolon a statement or a case."""
        if not self.text[self.place :].strip(" \n.;"):
            return True
        if piece != ";" or self.top_level:
            return piece == ";"
        case = bool(self.groups) and self.groups[-1].kind in ENVIRONMENTS
        return case and bool(re.match(r"\s*(?:\\\\|\\end(?![A-Za-z]))", self.text[self.place :]))

    def is_interval(self) -> bool:
        """Whether an interval starts here: after \\in, with two ends between any two brackets."""
        if not self.tokens or self.tokens[-1].value not in ("in", "notin"):
            return False
        depth = 0
        commas = 0
        for sign in self.text[self.place :]:
            if sign in "([{":
                depth += 1
            elif sign in ")]}" and depth == 0:
                return commas == 1
            elif sign in ")]}":
                depth -= 1
            elif sign == "," and depth == 0:
                commas += 1
        return False

    def alignment_mark(self, position: int) -> None:
        """Read `&`, whose meaning the environment gives."""
        group = self.groups[-1] if self.groups else None
        if group is None:
            raise self.fail("an alignment mark & cannot be outside an environment", position)
        if group.kind in LINES:
            self.emit("MARK", "&", position)
        elif group.kind in ENVIRONMENTS:
            opener = ENVIRONMENTS[group.kind][0]
            if opener in MATRICES and self.tokens[-1].type in (opener, "AMP", "ROWSEP"):
                raise self.fail(EMPTY_CELL, position)
            self.emit("AMP", "&", position)
        else:
            raise self.fail(f"an alignment mark & cannot be inside {group.kind!r}", position)


def tokenize(text: str) -> list[Token]:
    """Cut a formula into tokens, each with its place in the text."""
    return Lexer(text).run()
