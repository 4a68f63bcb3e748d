"""What the parts of the extension share while one book is built."""

from dataclasses import dataclass
from typing import Any, Protocol

from sphinx.application import Sphinx

Symbols = tuple[tuple[str, str], ...]


class Renderer(Protocol):
    """What turns TeX into HTML."""

    def render(self, tex: str, *, display: bool, symbols: Symbols = ()) -> str:
        """Return the HTML of a formula; each symbol, TeX and class, gets its class in it."""
        ...


@dataclass
class Build:
    """The renderer of formulas, and the rows of the notation page once they are read."""

    katex: Renderer | None = None
    notation: list[Any] | None = None


def build_of(app: Sphinx) -> Build:
    """The shared object of a running build."""
    build: Build = vars(app).setdefault("book", Build())
    return build
