"""The formulas that the book prints, displayed or in sentences: where they stand, how they read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bookcheck.paths import CHAPTERS, book_pages

FENCE = re.compile(r"^[ >\t]*(?P<marks>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<name>[^}]*)\})?(?P<rest>.*)$")
LITERAL = {"", "code", "code-block", "code-cell", "sourcecode", "literalinclude", "raw", "mermaid"}
OPTION = re.compile(r"\s*:\w+:")
LABEL = re.compile(r"[ \t]*\(([^()\s]+)\)")
BARE_DISPLAY = re.compile(
    r"^[ >\t]*\\begin\{(equation|align|gather|multline|eqnarray|alignat|flalign)\*?\}"
)


@dataclass(frozen=True)
class Equation:
    """A displayed equation: its text and the place where it is printed."""

    label: str | None
    text: str
    chapter: str
    cell: int | None
    line: int

    @property
    def page(self) -> str:
        """The name of the page: "01-attention", or "deeper/01-edge-cases"."""
        return self.chapter.rpartition(".")[0]

    @property
    def place(self) -> str:
        """Where a reader of the repository finds it."""
        cell = "" if self.cell is None else f"cell {self.cell}, "
        return f"chapters/{self.chapter}, {cell}line {self.line}"


def equations_of_markdown(text: str, chapter: str, cell: int | None = None) -> list[Equation]:
    """The displayed equations of one markdown text, in order."""
    return list(MarkdownScanner(text, chapter, cell).run())


def closes(line: str, marks: str) -> bool:
    """Whether a line is a fence that closes the fence ``marks``."""
    return len(line) >= len(marks) and line == marks[0] * len(line)


class MarkdownScanner:
    """Finds displays in MyST text; code is not looked into, other directives are."""

    def __init__(self, text: str, chapter: str, cell: int | None) -> None:
        self.lines = text.split("\n")
        self.chapter = chapter
        self.cell = cell
        self.row = 0
        self.open_directives: list[str] = []

    def found(self, label: str | None, text: str, row: int) -> Equation:
        """An equation that starts in this row."""
        return Equation(label, text.strip(), self.chapter, self.cell, row + 1)

    def run(self) -> Iterator[Equation]:
        """The displays of the text, in order."""
        while self.row < len(self.lines):
            line = self.lines[self.row]
            fence = FENCE.match(line)
            if fence:
                self.row += 1
                yield from self.fence(fence["marks"], fence["name"], fence["rest"].strip())
                continue
            if BARE_DISPLAY.match(line):
                yield self.found(None, line, self.row)
                self.row += 1
                continue
            visible = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda m: " " * len(m.group()), line)
            start = visible.find("$$")
            if start < 0:
                self.row += 1
                continue
            yield self.display(start)

    def fence(self, marks: str, name: str | None, rest: str) -> Iterator[Equation]:
        """Leave a directive, or skip code, read a ``{math}`` directive, enter any other."""
        if (
            name is None
            and not rest
            and self.open_directives
            and closes(marks, self.open_directives[-1])
        ):
            self.open_directives.pop()
            return
        if name is not None and name.strip() not in {*LITERAL, "math"}:
            self.open_directives.append(marks)
            return
        start = self.row - 1
        body: list[str] = []
        while self.row < len(self.lines) and not closes(self.lines[self.row].strip(" >\t"), marks):
            body.append(self.lines[self.row])
            self.row += 1
        self.row += 1
        if name == "math":
            options = [line.strip() for line in body if OPTION.match(line)]
            labels = [option[7:].strip() for option in options if option.startswith(":label:")]
            text = "\n".join(line for line in body if not OPTION.match(line))
            yield self.found(labels[0] if labels else None, text, start)

    def display(self, start: int) -> Equation:
        """Read a display from its first `$$` to its last."""
        first = self.row
        rest = self.lines[self.row][start + 2 :]
        pieces: list[str] = []
        while "$$" not in rest:
            pieces.append(rest)
            self.row += 1
            if self.row >= len(self.lines):
                where = self.found(None, "", first).place
                raise ValueError(f"{where}: a display is opened with $$ and never closed")
            rest = re.sub(r"^[ >\t]*(?=\S)", "", self.lines[self.row])
        content, after = rest.split("$$", 1)
        pieces.append(content)
        label = LABEL.match(after)
        remaining = after[label.end() :] if label else after
        # What follows on the same line may hold another display.
        self.lines[self.row] = remaining
        return self.found(label.group(1) if label else None, "\n".join(pieces), first)


def collect(folder: Path = CHAPTERS) -> list[Equation]:
    """All displayed equations of the notebooks and pages of a folder of chapters, in order."""
    found: list[Equation] = []
    for path in book_pages(folder):
        chapter = path.relative_to(folder).as_posix()
        if path.suffix == ".md":
            found += equations_of_markdown(path.read_text(encoding="utf-8"), chapter)
            continue
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for number, cell in enumerate(notebook["cells"], start=1):
            if cell["cell_type"] == "markdown":
                source = cell["source"]
                text = source if isinstance(source, str) else "".join(source)
                found += equations_of_markdown(text, chapter, number)
    return found


NOT_SENTENCES = (
    re.compile(r"^(`{3,}|~{3,})(?!\{)[^\n]*\n.*?^\1\s*$", re.MULTILINE | re.DOTALL),
    re.compile(r"^(`{3,})\{(?:code[\w-]*|math)\}.*?^\1\s*$", re.MULTILINE | re.DOTALL),
    re.compile(r"^(?:`{3,}|:{3,}).*$", re.MULTILINE),
    re.compile(r"\$\$.*?\$\$", re.DOTALL),
    re.compile(r"\{[\w:-]+\}`[^`]*`"),
    re.compile(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)"),
    # A choice of a quiz may be false.
    re.compile(r"^- \[ \] .*$", re.MULTILINE),
)
INLINE = re.compile(r"(?<![\\$])\$(?![\s$])([^$]+?)(?<![\s\\])\$(?!\$)")
SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*$(])|\n\s*\n|\n[-|] ")
# What stands below a sum or an index is its range.
BELOW = re.compile(r"_\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
RELATION = re.compile(
    r"=|<|>|\\(?:le|ge|leq|geq|ne|neq|approx|in|notin|coloneqq|ll|gg|equiv|propto|sim)(?![A-Za-z])"
)


@dataclass(frozen=True)
class InlineFormula:
    """A formula inside a sentence, with its place."""

    text: str
    page: str
    cell: int | None
    before: str = ""

    @property
    def place(self) -> str:
        """Where a reader of the repository finds it."""
        cell = "" if self.cell is None else f", cell {self.cell}"
        return f"chapters/{self.page}{cell}"


def formulas_in(markdown: str) -> Iterator[str]:
    """The formulas of a text's sentences."""
    return (formula for formula, _ in formulas_with_words(markdown))


def formulas_with_words(markdown: str) -> Iterator[tuple[str, str]]:
    """The formulas of a text's sentences, each with the words of its sentence before it."""
    for pattern in NOT_SENTENCES:
        markdown = pattern.sub(" ", markdown)
    for found in INLINE.finditer(markdown):
        sentence = SENTENCE_END.split(markdown[: found.start()])[-1]
        yield " ".join(found[1].split()), " ".join(INLINE.sub(" ", sentence).split())


def is_relation(formula: str) -> bool:
    """Whether a formula compares two sides; what stands below a sum does not count."""
    return RELATION.search(BELOW.sub("", formula)) is not None


# A symbol with its index: it is named, nothing is said of it.
NAME = re.compile(r"\\?[A-Za-z]+(?:(?:_\d|[_^](?:[A-Za-z]|\\[A-Za-z]+|\{[A-Za-z]+\})))*'*")
# What makes a formula more than the name of a thing: an operation, or a number.
COMPUTES = re.compile(
    r"[-+/^!]|\d|\\(?:frac|sqrt|cdot|times|exp|ln|log|sum|max|min|sin|cos|arctan|l[vV]ert|lfloor|lceil)"
    r"(?![A-Za-z])"
)


def inline_expressions(folder: Path = CHAPTERS) -> dict[str, list[str]]:
    """The distinct formulas of each page's sentences that compute something and state no relation.

    ``$4 N^2 d$`` operations: what it counts stands in the words.
    """
    found: dict[str, list[str]] = {}
    for path in book_pages(folder):
        page = path.relative_to(folder).with_suffix("").as_posix()
        texts = (text for _, source in markdown_cells(path) for text in formulas_in(source))
        computing = [text for text in texts if computes(text)]
        if computing:
            found[page] = list(dict.fromkeys(computing))
    return found


def computes(formula: str) -> bool:
    """Whether a formula without a relation is more than a name."""
    named = is_relation(formula) or NAME.fullmatch(formula)
    return not named and COMPUTES.search(formula) is not None


def inline_relations(folder: Path = CHAPTERS) -> dict[str, list[InlineFormula]]:
    """The distinct inline relations of each page, in order."""
    found: dict[str, dict[str, InlineFormula]] = {}
    for path in book_pages(folder):
        page = path.relative_to(folder).with_suffix("").as_posix()
        formulas = found.setdefault(page, {})
        for cell, source in markdown_cells(path):
            for text, before in formulas_with_words(source):
                if is_relation(text):
                    formulas.setdefault(text, InlineFormula(text, page, cell, before))
    return {page: list(formulas.values()) for page, formulas in found.items()}


def markdown_cells(path: Path) -> Iterator[tuple[int | None, str]]:
    """The texts of a page, captions too, with the numbers of their cells; a file has no cells."""
    if path.suffix == ".md":
        yield None, path.read_text(encoding="utf-8")
        return
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], start=1):
        if cell["cell_type"] == "markdown":
            yield number, "".join(cell["source"])
        elif caption := cell.get("metadata", {}).get("mystnb", {}).get("figure", {}).get("caption"):
            yield number, caption
