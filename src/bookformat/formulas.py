"""The formulas that the book prints, displayed or in sentences: where they are, how they read."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bookformat.contents import book_pages
from bookformat.myst import displays_of, inline_of
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS


@dataclass(frozen=True)
class Equation:
    """A displayed equation: its text and the place where it is printed."""

    label: str | None
    text: str
    chapter: str
    cell: str
    line: int

    @property
    def page(self) -> str:
        """The name of the page: "attention", or "deeper/edge-cases"."""
        return self.chapter.rpartition(".")[0]

    @property
    def place(self) -> str:
        """Where an author finds it."""
        cell = f", {self.cell}" if self.cell else ""
        return f"chapters/{self.chapter}{cell}, line {self.line}"


def equations_of_markdown(text: str, chapter: str, cell: str = "") -> list[Equation]:
    """The displayed equations of one markdown text, in order."""
    try:
        displays = list(displays_of(text))
    except ValueError as error:
        place = ", ".join(filter(None, (f"chapters/{chapter}", cell)))
        raise ValueError(f"{place}, {error}") from None
    return [Equation(d.label, d.text, chapter, cell, d.line) for d in displays]


def collect(folder: Path = CHAPTERS) -> list[Equation]:
    """All displayed equations of the notebooks and pages of a folder of chapters, in order."""
    return [
        equation
        for path in book_pages(folder)
        for cell in cells_of(path)
        if cell.kind == "markdown"
        for equation in equations_of_markdown(
            cell.source, path.relative_to(folder).as_posix(), cell.place
        )
    ]


# What stands below a sum or an index is its range.
BELOW = re.compile(r"_\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
# The signs by which KaTeX prints that two sides are compared; arrows and bars are none.
COMPARING = """
    lt le leq leqq leqslant nless nleq nleqq nleqslant lneq lneqq lvertneqq lnsim lnapprox
    gt ge geq geqq geqslant ngtr ngeq ngeqq ngeqslant gneq gneqq gvertneqq gnsim gnapprox
    ne neq not eqsim eqcirc circeq triangleq doteq doteqdot Doteq risingdotseq fallingdotseq
    coloneq coloneqq Coloneq Coloneqq colonequals coloncolonequals colonminus coloncolonminus
    gets leftarrow eqcolon eqqcolon Eqcolon Eqqcolon equalscolon equalscoloncolon minuscolon
    minuscoloncolon simcolon simcoloncolon approxcolon approxcoloncolon
    colonapprox colonsim Colonapprox Colonsim coloncolonapprox coloncolonsim
    approx approxeq thickapprox cong ncong sim nsim simeq backsim backsimeq thicksim asymp
    equiv bumpeq Bumpeq propto varpropto ll gg lll ggg llless gggtr lesssim gtrsim lessapprox
    gtrapprox lessgtr gtrless lesseqgtr gtreqless lesseqqgtr gtreqqless eqslantless eqslantgtr
    in notin ni notni owns isin subset supset subseteq supseteq nsubseteq nsupseteq subseteqq
    supseteqq nsubseteqq nsupseteqq subsetneq supsetneq subsetneqq supsetneqq varsubsetneq
    varsupsetneq varsubsetneqq varsupsetneqq Subset Supset sqsubset sqsupset sqsubseteq sqsupseteq
    sub sube supe
    prec succ preceq succeq nprec nsucc npreceq nsucceq preccurlyeq succcurlyeq curlyeqprec
    curlyeqsucc precsim succsim precapprox succapprox precnsim succnsim precnapprox succnapprox
    precneqq succneqq perp parallel nparallel shortparallel nshortparallel models
"""
RELATION = re.compile(rf"[=<>]|\\(?:{'|'.join(COMPARING.split())})(?![A-Za-z])")
# Characters beyond ASCII that formulas may have; all others have a command.
LETTERS = "°"


@dataclass(frozen=True)
class InlineFormula:
    """A formula inside a sentence, with its place."""

    text: str
    page: str
    cell: str
    before: str = ""
    after: str = ""

    @property
    def context(self) -> str:
        """Its sentence: … stands for the formula itself, $ for every other one."""
        return f"{self.before} … {self.after}".strip()

    @property
    def line(self) -> str:
        """The formula in its sentence, as the record of a page's relations has it."""
        return f"{self.context}\t{self.text}"

    @property
    def place(self) -> str:
        """Where an author finds it."""
        return ", ".join(filter(None, (f"chapters/{self.page}", self.cell)))


def formulas_in(markdown: str) -> Iterator[str]:
    """The formulas of a text's sentences."""
    return (formula.text for formula in inline_of(markdown))


def is_relation(formula: str) -> bool:
    """Whether a formula compares two sides; what is below a sum does not count."""
    return RELATION.search(BELOW.sub("", formula)) is not None


def unknown_letters(formula: str) -> list[str]:
    """The characters of a formula that are no ASCII: KaTeX prints ≠, and no check reads it."""
    return sorted({one for one in formula if not one.isascii() and one not in LETTERS})


@functools.cache
def inline_formulas(folder: Path = CHAPTERS) -> dict[str, list[InlineFormula]]:
    """The inline formulas of each page, each time it has them; without the choices of a quiz."""
    found: dict[str, list[InlineFormula]] = {}
    for path in book_pages(folder):
        page = path.relative_to(folder).with_suffix("").as_posix()
        formulas = found.setdefault(page, [])
        for cell, source in markdown_cells(path):
            for one in inline_of(source):
                formulas.append(InlineFormula(one.text, page, cell, one.before, one.after))
    return found


@functools.cache
def inline_relations(folder: Path = CHAPTERS) -> dict[str, list[InlineFormula]]:
    """The inline relations of each page, each time it has them, in order."""
    return {
        page: [formula for formula in formulas if is_relation(formula.text)]
        for page, formulas in inline_formulas(folder).items()
    }


def markdown_cells(path: Path) -> Iterator[tuple[str, str]]:
    """The texts of a page, captions too, with the places of their cells."""
    for cell in cells_of(path):
        text = cell.source if cell.kind == "markdown" else cell.caption
        if text:
            yield cell.place, text
