"""What a formula can meet: refused (not understood, and where) or refuted (understood and false).

Anything else that is raised is a fault of the interpreter itself and is never caught here.
"""

from __future__ import annotations

from typing import Any


class LatexError(ValueError):
    """A formula that cannot be read or evaluated; names the construct and its place.

    ``position`` is the offset of the construct in ``text`` (0 is the first character).
    """

    def __init__(self, message: str, position: int = 0, text: str = "") -> None:
        self.message = message
        self.position = position
        self.text = text
        super().__init__(message)

    def __str__(self) -> str:
        if not self.text:
            return f"{self.message} (at character {self.position})"
        line = self.text.count("\n", 0, self.position) + 1
        start = max(0, self.position - 25)
        before = self.text[start : self.position].replace("\n", " ")
        after = self.text[self.position : self.position + 25].replace("\n", " ")
        place = f"at character {self.position}, line {line}"
        return f"{self.message} ({place}: …{before} >>>here>>> {after})"


class UnknownSymbolError(LatexError):
    """A symbol without a meaning; ``context`` is where the reader met it, for who guesses one."""

    def __init__(self, message: str, position: int, text: str, context: Any) -> None:
        super().__init__(message, position, text)
        self.context = context


class RefutedError(AssertionError):
    """A relation that was understood and does not hold for the values given."""


class ShapeError(LatexError):
    """The shapes of two values do not fit the operation printed between them."""
