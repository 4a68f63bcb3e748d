r"""``\newcommand`` and its kind: found in a text, and put in place of what they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from texcheck.errors import LatexError

MOST_EXPANSIONS = 2_000
DEFINITION = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand)\*?\s*\{?\s*(?P<name>\\[A-Za-z]+)\s*\}?"
    r"\s*(?:\[(?P<count>[0-9])\])?\s*(?P<default>\[[^\]]*\])?\s*(?=\{)"
    r"|\\def\s*(?P<defined>\\[A-Za-z]+)\s*(?P<marks>(?:#[0-9])*)\s*(?=\{)"
    r"|\\DeclareMathOperator(?P<star>\*?)\s*\{?\s*(?P<operator>\\[A-Za-z]+)\s*\}?\s*(?=\{)"
)
COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)", re.DOTALL)


@dataclass(frozen=True)
class Macro:
    """What a command stands for; ``#1`` is its first argument."""

    arguments: int
    body: str
    default: str | None = None


@dataclass
class Expanded:
    """A text with its macros put in, and where each of its characters comes from."""

    text: str
    origins: list[int]

    def origin(self, position: int) -> int:
        """Where a place of the text was before."""
        return self.origins[min(position, len(self.origins) - 1)] if self.origins else 0


def in_braces(text: str, start: int) -> int:
    """Behind the closing brace of the group that opens at ``start``."""
    depth = 0
    place = start
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            place += 1
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    raise LatexError("'{' is opened here and never closed", start, text)


def macros_in(text: str) -> dict[str, Macro]:
    """The macros that a text defines; a definition that does not end defines nothing."""
    found: dict[str, Macro] = {}
    for match in DEFINITION.finditer(text):
        try:
            end = in_braces(text, match.end())
        except LatexError:
            continue
        body = text[match.end() + 1 : end - 1]
        if match["operator"]:
            found[match["operator"]] = Macro(0, f"\\operatorname{{{body}}}")
        elif match["defined"]:
            found[match["defined"]] = Macro(match["marks"].count("#"), body)
        else:
            default = match["default"]
            count = int(match["count"] or 0)
            found[match["name"]] = Macro(count, body, default[1:-1] if default else None)
    return found


def without_definitions(text: str) -> str:
    """A text with blanks in place of the definitions of macros."""
    result = text
    for match in DEFINITION.finditer(text):
        try:
            end = in_braces(text, match.end())
        except LatexError:
            continue
        blank = re.sub(r"[^\n]", " ", text[match.start() : end])
        result = result[: match.start()] + blank + result[end:]
    return result


def expanded(text: str, macros: dict[str, Macro]) -> Expanded:
    """A text with what its macros stand for."""
    result = Expanded(text, list(range(len(text))))
    place = 0
    for _ in range(MOST_EXPANSIONS):
        match = COMMAND.search(result.text, place)
        if match is None:
            return result
        macro = macros.get(match.group())
        if macro is None:
            place = match.end()
        else:
            place = match.start()
            result = with_one(result, match, macro)
    raise LatexError("a macro stands for itself, or for too much", 0, text)


def with_one(before: Expanded, match: re.Match[str], macro: Macro) -> Expanded:
    """A text in which one macro is put in."""
    place = match.end()
    arguments: list[tuple[str, list[int]]] = []
    if macro.default is not None:
        optional = re.compile(r"\s*\[([^\]]*)\]").match(before.text, place)
        origin = before.origin(match.start())
        if optional:
            start, place = optional.start(1), optional.end()
            end = optional.end(1)
            arguments.append((before.text[start:end], before.origins[start:end]))
        else:
            arguments.append((macro.default, [origin] * len(macro.default)))
    while len(arguments) < macro.arguments:
        start, end, place = next_argument(before, place, match)
        arguments.append((before.text[start:end], before.origins[start:end]))
    origin = before.origin(match.start())
    text = ""
    origins: list[int] = []
    for piece in re.split(r"(#[1-9])", macro.body):
        number = int(piece[1:]) if re.fullmatch(r"#[1-9]", piece) else 0
        if 0 < number <= len(arguments):
            text += arguments[number - 1][0]
            origins += arguments[number - 1][1]
        else:
            text += piece
            origins += [origin] * len(piece)
    # A command before a letter must end, as it did where its name ended.
    if re.search(r"\\[A-Za-z]+$", text) and before.text[place : place + 1].isalpha():
        text += " "
        origins.append(origin)
    return Expanded(
        before.text[: match.start()] + text + before.text[place:],
        before.origins[: match.start()] + origins + before.origins[place:],
    )


def next_argument(text: Expanded, place: int, match: re.Match[str]) -> tuple[int, int, int]:
    """Where the next argument of a macro starts and ends, and what comes after it."""
    while place < len(text.text) and text.text[place].isspace():
        place += 1
    if place == len(text.text):
        message = f"{match.group()} needs another argument"
        raise LatexError(message, match.start(), text.text)
    if text.text[place] == "{":
        end = in_braces(text.text, place)
        return place + 1, end - 1, end
    command = COMMAND.match(text.text, place)
    end = command.end() if command else place + 1
    return place, end, end
