"""Which names have a meaning at a place of a formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Scope:
    """The declared symbols, and the indices and variables that are bound where the reader is.

    ``declared`` says of each declared symbol whether it is a function.
    """

    def __init__(self, declared: Mapping[str, bool]) -> None:
        self.declared = declared
        self.running: list[str] = []

    @contextmanager
    def binding(self, names: list[str]) -> Iterator[None]:
        """Let names be bound while an expression is read."""
        before = len(self.running)
        self.running.extend(names)
        try:
            yield
        finally:
            del self.running[before:]

    def knows(self, name: str) -> bool:
        """Whether a name has a meaning here."""
        return name in self.running or name in self.declared

    def is_declared(self, name: str) -> bool:
        """Whether a name has a meaning outside of what binds indices."""
        return name in self.declared

    def is_function(self, name: str) -> bool:
        """Whether a name is declared as a function."""
        return name not in self.running and self.declared.get(name, False)
