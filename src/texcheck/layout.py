"""Lay out the tokens of a display for the grammar: one statement after the other.

Punctuation, words, wide spaces and the lines of ``aligned`` become separators of statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lark import Token

from texcheck.bars import CLOSERS, OPENERS
from texcheck.errors import LatexError
from texcheck.vocabulary import ARROWS, CASE_WORDS, CONDITIONS, IMPLICATIONS, SEPARATING_WORDS

# What may continue an expression at the start of a line.
CONTINUING = ("ADDOP", "MULOP", "SLASH")
WORDS = SEPARATING_WORDS | CONDITIONS
# Words that join two conditions of a case.
JOINING = {"with", "where", "so that"}
# Words of a remark that change what is stated beside it.
UNIVERSAL = re.compile(r"\bfor (?:any|all|every|each)\b")
# A letter among such words.
LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
CONDITIONAL = re.compile(r"\b(if|when|unless|except|not|only|provided|for|where)\b")


@dataclass
class Column:
    """The statements of one column of ``aligned``; ``indented``: its lines start at the mark.

    ``dotted``: the line before the next one consists of dots.
    """

    statements: list[list[Token]] = field(default_factory=list)
    indented: bool = False
    dotted: bool = False


@dataclass(frozen=True)
class Remark:
    """Words that are part of no statement: where they are printed, and below or above what.

    ``start`` and ``end`` are those of all that is printed for their sake, ``about`` those of what
    stands in the braces that they belong to.
    """

    words: str
    start: int
    end: int
    about: tuple[int, int] | None = None


@dataclass
class Layout:
    """The tokens of one formula as the grammar takes them; ``remarks`` is what it leaves out."""

    text: str
    remarks: list[Remark] = field(default_factory=list)

    def fail(self, message: str, position: int | None) -> LatexError:
        """The error of this formula at a place."""
        return LatexError(message, position or 0, self.text)

    def tidy(self, tokens: list[Token]) -> list[Token]:
        """Turn punctuation at the top level into separators of statements."""
        if is_one_group(tokens):
            tokens = tokens[1:-1]  # \\small{…} is how large it is printed
        aligned = self.with_arrows(self.join_aligned_lines(tokens))
        result: list[Token] = []
        depth: list[str] = []
        for token in aligned:
            kind = token.type
            if kind in OPENERS:
                depth.append(kind)
            elif kind in CLOSERS:
                depth.pop()
            if not depth:
                self.tidy_top(token, result)
            elif depth[-1] == "BEGINCASES":
                self.tidy_cases(token, result)
            elif kind == "TEXT" and token.value == "and":
                # P(X = 1 and Y = 2); whoever reads it says whether a word may be there.
                result.append(Token("COMMA", "and", start_pos=token.start_pos))
            elif kind in ("TEXT", "OTHERWISE", "PERIOD", "IMPLIES", "NEWLINE", "ARROW"):
                raise self.fail(f"{token.value!r} cannot stand inside brackets", token.start_pos)
            elif kind != "QUAD":
                result.append(token)
            elif result[-1].type not in ("COMMA", "AMP", "ROWSEP"):
                raise self.fail("a wide space inside brackets separates nothing", token.start_pos)
        while result and result[-1].type == "SEP":
            dangling = result.pop()
            if dangling.value in WORDS or dangling.value in IMPLICATIONS:
                raise self.fail(f"nothing follows {dangling.value!r}", dangling.start_pos)
        if not result:
            raise self.fail("the formula is empty", 0)
        return result

    def tidy_top(self, token: Token, result: list[Token]) -> None:
        """Punctuation and words between statements separate them."""
        if token.type in ("COMMA", "QUAD", "TEXT", "PERIOD", "NEWLINE", "SEP"):
            separator = Token("SEP", token.value, start_pos=token.start_pos)
            condition = token.type == "TEXT" and token.value in CONDITIONS and states(result[::-1])
            if token.type == "TEXT" and token.value not in SEPARATING_WORDS and not condition:
                raise self.fail(
                    "a condition can be printed only in cases; elsewhere write \\implies",
                    token.start_pos,
                )
            if not result and token.type not in ("QUAD", "NEWLINE"):
                raise self.fail(f"nothing stands before {token.value!r}", token.start_pos)
            if result and result[-1].type != "SEP":
                result.append(separator)
            elif result and result[-1].value == token.value == ",":
                raise self.fail("two commas with nothing between them", token.start_pos)
            elif result[-1:] and result[-1].value in WORDS and token.type == "QUAD":
                pass  # the space after \\text{for} takes nothing from the word
            elif result and result[-1].value in IMPLICATIONS and token.type in ("QUAD", "NEWLINE"):
                pass  # nor does the line break after an arrow
            elif result and token.type != "COMMA":
                # A wide space, a word or a new line after a comma ends a list of values.
                result[-1] = separator
        elif token.type == "OTHERWISE":
            raise self.fail(f"{token.value!r} can be printed only in cases", token.start_pos)
        else:
            if token.type == "REL":
                self.join_to_chain(token, result)
            result.append(token)

    def join_to_chain(self, relation: Token, result: list[Token]) -> None:
        """A relation behind a comma or behind dots, ``= \\ldots, = b``, continues the chain."""
        if len(result) > 1 and result[-1].type == "SEP" and result[-1].value in (",", "."):
            result.pop()
        if len(result) > 1 and result[-1].type == "DOTS" and result[-2].type == "REL":
            if result[-2].value != relation.value:
                raise self.fail("dots between two different relations", relation.start_pos)
            del result[-2:]

    def tidy_cases(self, token: Token, result: list[Token]) -> None:
        """Punctuation and words inside a case."""
        if token.type == "QUAD":
            return
        if token.type == "TEXT" and token.value in JOINING and result[-1].type != "AMP":
            token = Token("COMMA", ",", start_pos=token.start_pos)
        if token.type == "TEXT" and token.value != "and":
            if token.value not in CASE_WORDS or result[-1].type not in ("AMP", "COMMA"):
                raise self.fail(f"{token.value!r} cannot stand here", token.start_pos)
            return
        if token.type in ("TEXT", "PERIOD"):
            token = Token("COMMA", token.value, start_pos=token.start_pos)
        if token.type in ("AMP", "ROWSEP", "ENDCASES", "OTHERWISE"):
            while result[-1].type == "COMMA":
                result.pop()
        if token.type == "COMMA" and result[-1].type in ("AMP", "BEGINCASES", "ROWSEP", "COMMA"):
            return
        result.append(token)

    def with_arrows(self, tokens: list[Token]) -> list[Token]:
        """An arrow between two statements is an implication; any other has several meanings."""
        result: list[Token] = []
        depth = 0
        for place, token in enumerate(tokens):
            depth += (token.type in OPENERS) - (token.type in CLOSERS)
            if token.type != "ARROW" or depth:
                result.append(token)
                continue
            if not (states(reversed(tokens[:place])) and states(tokens[place + 1 :])):
                result.append(Token("REL", "\\rightarrow", start_pos=token.start_pos))
                continue
            result.append(Token("SEP", ARROWS[token.value], start_pos=token.start_pos))
        return result

    def join_aligned_lines(self, tokens: list[Token]) -> list[Token]:
        """The statements of ``aligned``, column by column, without its marks.

        Marks alternate: the first, third, … stand before a relation, the second, fourth, … begin
        a new column. A line that starts with a relation continues the chain of its column, one
        that starts with an operator its expression; any other line is a statement of its own.
        """
        columns: dict[tuple[int, int], Column] = {}
        for line in lines_of(tokens):
            for number, cells in enumerate(line):
                if number and self.is_remark(cells):
                    continue
                for half, (left, right) in enumerate(halves(cells)):
                    column = columns.setdefault((number, half), Column())
                    self.join_line(column, left, right)
        result: list[Token] = []
        for _, column in sorted(columns.items(), key=lambda item: item[0]):
            for statement in column.statements:
                if result:
                    result.append(Token("NEWLINE", "\\\\", start_pos=statement[0].start_pos))
                result += statement
        return result

    def is_remark(self, cells: tuple[list[Token], list[Token] | None]) -> bool:
        """Whether a column of its own holds only words that name the line, such as a rule's name.

        Words that change what is stated, such as "unless", are none.
        """
        content = visible([*cells[0], *(cells[1] or [])])
        if len(content) != 1 or content[0].type != "SYMBOL":
            return False
        if not content[0].value.startswith("\\text"):
            return False
        start = content[0].start_pos or 0
        end = content[0].end_pos or 0
        printed = self.text[start:end]
        beside = self.text[:start] + " " + self.text[end:]
        universal = UNIVERSAL.search(printed)
        for letter in LETTER.findall(printed[universal.end() :]) if universal else ():
            if re.search(rf"(?<![A-Za-z\\]){letter}(?![A-Za-z])", beside):
                raise self.fail(
                    f"print {letter} behind the words and not among them, so that it is drawn anew",
                    start,
                )
        words = printed.lower()
        if CONDITIONAL.search(UNIVERSAL.sub("", words)):
            raise self.fail(
                "these words change what is stated; print the condition as a formula",
                content[0].start_pos,
            )
        said = printed[printed.index("{") + 1 : printed.rindex("}")]
        self.remarks.append(Remark(said.strip(), start, end))
        return True

    def join_line(self, column: Column, left: list[Token], right: list[Token] | None) -> None:
        """Add one line to a column; ``right`` is what comes after the mark, if there is one."""
        before = visible(left)
        after = visible(right or [])
        content = [*left, *(right or [])]
        start = next(iter(before or after), None)
        if start is None or all(token.type == "DOTS" for token in [*before, *after]):
            column.dotted = start is not None
            return  # a line of dots says that it goes on like this
        if column.dotted and start.type in CONTINUING:
            raise self.fail("dots between the lines of one sum cannot be read", start.start_pos)
        column.dotted = False
        at_a_sign = after and after[0].type in ("REL", "TEXT", *CONTINUING)
        if before and after and not at_a_sign and before[-1].type not in ("REL", "ARROW"):
            raise self.fail("a mark & needs a relation or a sign beside it", after[0].start_pos)
        continuing = start.type == "REL" or (start.type in CONTINUING and not before)
        indented = right is not None and not before
        if continuing:
            if not column.statements:
                raise self.fail(f"{start.value!r} continues nothing", start.start_pos)
            column.statements[-1] += content[content.index(start) :]
            return
        # Where every line starts at the mark, each is a whole statement.
        whole = column.indented and any(token.type == "REL" for token in after)
        if column.statements and indented and not (whole or after[0].type == "TEXT"):
            raise self.fail(
                "this line starts with neither a relation nor a sign of continuation",
                start.start_pos,
            )
        if not column.statements:
            column.indented = indented
        column.statements.append(content)


def halves(
    cells: tuple[list[Token], list[Token] | None],
) -> list[tuple[list[Token], list[Token] | None]]:
    """``a = b, & c = d`` as two columns: what a comma ends is no side of what follows the mark."""
    left, right = cells
    before = visible(left)
    ends = bool(before) and before[-1].type in ("COMMA", "PERIOD")
    if right is None or not (ends and states(before) and states(visible(right))):
        return [cells]
    return [(left, None), (right, None)]


def is_one_group(tokens: list[Token]) -> bool:
    """Whether all tokens are between one pair of braces."""
    if len(tokens) < 2 or tokens[0].type != "LBRACE":
        return False
    depth = 0
    for token in tokens[:-1]:
        depth += (token.type in OPENERS) - (token.type in CLOSERS)
        if depth == 0:
            return False
    return tokens[-1].type == "RBRACE"


def states(tokens: Iterable[Token]) -> bool:
    """Whether a relation stands in what follows, up to the next separator of statements."""
    depth = 0
    for token in tokens:
        depth += (token.type in OPENERS) - (token.type in CLOSERS)
        if depth == 0 and token.type == "REL":
            return True
        if depth == 0 and token.type in ("SEP", "ARROW", "TEXT", "PERIOD"):
            return False
    return False


def visible(tokens: list[Token]) -> list[Token]:
    """The tokens without wide spaces."""
    return [token for token in tokens if token.type != "QUAD"]


def lines_of(tokens: list[Token]) -> Iterator[list[tuple[list[Token], list[Token] | None]]]:
    """The lines of ``aligned``, each as its columns: what is left and right of the mark."""
    line: list[list[Token]] = [[]]
    for token in [*tokens, Token("NEWLINE", "")]:
        if token.type == "NEWLINE":
            pairs = [line[k : k + 2] for k in range(0, len(line), 2)]
            yield [(pair[0], pair[1] if len(pair) == 2 else None) for pair in pairs]
            line = [[]]
        elif token.type == "MARK":
            if len(line) % 2 == 0 and [one.type for one in visible(line[-1])[-1:]] == ["REL"]:
                continue  # a second mark behind a relation, as in = a =& b
            line.append([])
        else:
            line[-1].append(token)
