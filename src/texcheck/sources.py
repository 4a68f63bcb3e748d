r"""The displays of a file: ``.tex``, Markdown and notebooks, with labels, macros and line numbers.

``displays_of("paper.tex")`` lists them; ``formulas_in`` is the same by name, as ``Formulas`` takes
it: a display is named by its label and by its line, as in ``BOOK.test("line 12")``.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from texcheck.errors import LatexError
from texcheck.macros import Expanded, Macro, expanded, macros_in, without_definitions

KINDS = (".tex", ".md", ".markdown", ".ipynb")
LATEX_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
# What is no text of a Markdown page: code, and remarks to other authors.
FENCE = re.compile(
    r"^([ \t>]*)(`{3,}|~{3,})(?!\s*\{math\})[^\n]*\n.*?^[ \t>]*\2[`~]*[ \t]*$", re.S | re.M
)
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)[^`\n]*?(?<!`)\1(?!`)")
REMARK = re.compile(r"<!--.*?-->", re.S)
# Also those that no reader knows: they are named and refused, and never left out in silence.
LINES_OF = (
    r"(?:equation|align|gather|multline|flalign|eqnarray|displaymath|math"
    r"|alignat|xalignat|IEEEeqnarray|dmath|dgroup)\*?"
)
BRACKETS = r"(?<!\\)\\\[(?P<brackets>.+?)\\\]"
# In Markdown \\[ is a bracket as well; a display starts and ends a line.
BRACKETS_ALONE = r"^[ \t>]*\\\[(?P<brackets>(?:(?!\n[ \t>]*\n).)+?)\\\][ \t]*$"
OTHER_DISPLAYS = (
    r"|\$\$(?P<dollars>.+?)\$\$"
    rf"|(?P<environment>\\begin\{{(?P<name>{LINES_OF})\}}.*?\\end\{{(?P=name)\}})"
    r"|^[ \t>]*(?P<fence>`{3,})\{math\}[^\n]*\n(?P<directive>.*?)^[ \t>]*(?P=fence)`*[ \t]*$"
)
DISPLAY = re.compile(BRACKETS + OTHER_DISPLAYS, re.S | re.M)
DISPLAY_OF_MARKDOWN = re.compile(BRACKETS_ALONE + OTHER_DISPLAYS, re.S | re.M)
DIRECTIVE_OPTION = re.compile(r"\A(?:[ \t>]*:[a-z]+:[^\n]*\n)+")
LABEL = re.compile(r"\\label\s*\{([^{}]*)\}|^[ \t>]*:label:[ \t]*(\S+)", re.M)
# A label behind the display: MyST's (name), d2l's :eqlabel:`name`, pandoc's {#name}.
LABEL_AFTER = re.compile(r"[ \t]*(?:\(([\w:.-]+)\)|\{#([\w:.-]+)\}|\n?:eqlabel:`([^`]+)`)")


class Printed(str):
    """The text of a display, which knows its place."""

    place: str

    def __new__(cls, text: str, place: str) -> Printed:
        """A text with its place."""
        made = super().__new__(cls, text)
        made.place = place
        return made


@dataclass
class Page:
    """One text of a file: all of it, or a cell of a notebook."""

    text: str
    name: str
    starts: list[int] = field(default_factory=list)

    def line(self, position: int) -> int:
        """The line of a place, from 1."""
        if not self.starts:
            self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return bisect.bisect_right(self.starts, position)

    def place(self, position: int) -> str:
        """A place in words."""
        return f"{self.name}, line {self.line(position)}"


@dataclass
class Display:
    """One display of a file: its formula with macros put in, its label, and where it is."""

    page: Page
    start: int
    formula: Expanded
    label: str = ""

    @property
    def text(self) -> Printed:
        """The formula."""
        return Printed(self.formula.text, self.place)

    @property
    def line(self) -> int:
        """The line of its first sign."""
        return self.page.line(
            self.position(len(self.formula.text) - len(self.formula.text.lstrip()))
        )

    @property
    def place(self) -> str:
        """Its place in words."""
        return f"{self.page.name}, line {self.line}"

    def position(self, offset: int) -> int:
        """Where a place of the formula is in its page."""
        return self.start + self.formula.origin(offset)

    def complaint(self, error: LatexError) -> str:
        """An error of the formula with its place in the file."""
        offset = min(error.position, len(self.formula.text))
        after = " ".join(self.formula.text[offset : offset + 40].split())
        return f"{self.page.place(self.position(offset))}: {error.message}, at {after!r}"


def displays_of(path: str | Path) -> list[Display]:
    """All displays of a file, in their order."""
    path = Path(path)
    if path.suffix not in KINDS:
        raise ValueError(f"{path.name}: only {', '.join(KINDS)} can be read")
    pages = list(pages_of(path))
    macros: dict[str, Macro] = {}
    for page in pages:
        macros |= macros_in(page.text)
    return [display for page in pages for display in displays_in(page, macros)]


def formulas_in(path: str | Path) -> dict[str, str]:
    """The formulas of a file by their names: ``line 12``, and the label where there is one."""
    found: dict[str, str] = {}
    for display in displays_of(path):
        cell = display.page.name.partition(", ")[2]
        line = f"line {display.line}"
        found[f"{cell}, {line}" if cell else line] = display.text
        if display.label:
            found[display.label] = display.text
    return found


def pages_of(path: Path) -> Iterator[Page]:
    """The texts of a file, in which only what may hold displays is left, at its place."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if path.suffix == ".tex":
        yield Page(LATEX_COMMENT.sub(blank, text), path.name)
        return
    if path.suffix != ".ipynb":
        yield Page(without_code(text), path.name)
        return
    try:
        cells = json.loads(text)["cells"]
        texts = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path.name} is no notebook") from None
    for number, (kind, source) in enumerate(texts, start=1):
        if kind == "markdown":
            yield Page(without_code(source), f"{path.name}, cell {number}")


def without_code(text: str) -> str:
    """A Markdown text with blanks in place of code and remarks."""
    for pattern in (FENCE, REMARK, INLINE_CODE):
        text = pattern.sub(blank_code, text)
    return text


def blank(match: re.Match[str]) -> str:
    """As many blanks, with the line breaks."""
    return re.sub(r"[^\n]", " ", match.group())


def blank_code(match: re.Match[str]) -> str:
    """Blanks, but for a label: d2l prints it as code."""
    before = match.string[: match.start()]
    return match.group() if before.endswith(":eqlabel:") else blank(match)


def displays_in(page: Page, macros: dict[str, Macro]) -> Iterator[Display]:
    """The displays of one text."""
    text = without_definitions(page.text)
    pattern = DISPLAY if page.name.endswith(".tex") else DISPLAY_OF_MARKDOWN
    for match in pattern.finditer(text):
        kind = next(
            name for name in ("dollars", "brackets", "environment", "directive") if match[name]
        )
        start = match.start(kind)
        body = DIRECTIVE_OPTION.sub(blank, match[kind]) if kind == "directive" else match[kind]
        label = LABEL.search(match[kind]) or LABEL_AFTER.match(text, match.end())
        name = next((group for group in label.groups() if group), "") if label else ""
        body = re.sub(r"^([ \t]*)>", r"\1 ", body, flags=re.M)
        if body.strip():
            yield Display(page, start, put_in(body, macros), name)


def put_in(body: str, macros: dict[str, Macro]) -> Expanded:
    """A formula with its macros put in; where that fails, as it is printed."""
    try:
        return expanded(body, macros)
    except LatexError:
        return Expanded(body, list(range(len(body))))
