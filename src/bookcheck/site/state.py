"""What the parts of the extension share: an object for a running build."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sphinx.application import Sphinx

if TYPE_CHECKING:
    from bookcheck.equations.records import Record
    from bookcheck.site.math import Katex
    from bookcheck.site.symbols import Row


@dataclass
class Build:
    """What is known while one book is built; gone when the build ends."""

    katex: Katex | None = None
    notation: list[Row] | None = None
    records: dict[str, dict[str, Record]] | None = None
    contents: dict[Any, str] = field(default_factory=dict)


def build_of(app: Sphinx) -> Build:
    """The shared object of a running build."""
    build: Build = vars(app).setdefault("book", Build())
    return build
