"""The ledger of equations: a page that lists them, and a mark beside each that was executed.

The page ``chapters/ledger.md`` holds the directive ``{equation-ledger}`` alone on two lines, the
opening page ``{equation-counts}``: a sentence that says how many formulas were executed and how
many were not. What was executed is read from the records that `make test` writes under
``_build/equations``; a record counts while its text is the text that the page prints. Without
records there is no mark and no count of checks.
"""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import _

from bookformat.contents import book_pages
from bookformat.formulas import collect, inline_formulas, inline_relations, is_relation
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS, NUMBERS, ROOT, rows_of
from bookformat.records import (
    LINE,
    SENTENCES,
    TYPED_NUMBERS,
    VALUES,
    Record,
    read_records,
    same_text,
)
from bookformat.values import line_of, values_in
from texcheck.sphinx import connect, mark_html

LEDGER = f"{CHAPTERS.name}/ledger"
LIST = "```{equation-ledger}\n```"
COUNTS = "```{equation-counts}\n```"


@functools.lru_cache(maxsize=1)
def records_of(app: Sphinx) -> dict[str, Record]:
    """The records of the last run of the tests."""
    return read_records(Path(app.srcdir) / "_build" / "equations")


def record_of(app: Sphinx, label: str | None, text: str) -> Record | None:
    """The record of a formula, if it is of the text that the page prints."""
    record = records_of(app).get(label or "")
    return record if record and same_text(record.text, text) else None


@dataclass
class Counted:
    """The formulas of one page, and what the last run of the tests has executed of them."""

    labels: list[str] = field(default_factory=list)
    checked: dict[str, Record] = field(default_factory=dict)
    relations: int = 0
    executed_relations: int = 0
    others: int = 0


def count_page(app: Sphinx, page: str, equations: dict[str, str]) -> Counted:
    """Count the formulas of a page; `equations` are its displays by label."""
    folder = Path(app.srcdir) / CHAPTERS.name
    found = Counted(labels=list(equations))
    for label, text in equations.items():
        record = record_of(app, label, text)
        if record:
            found.checked[label] = record
    relations = [formula.line for formula in inline_relations(folder)[page]]
    others = [one.line for one in inline_formulas(folder)[page] if not is_relation(one.text)]
    found.relations = len(relations)
    found.others = len(others)
    sentences = records_of(app).get(SENTENCES + page.replace("/", "-"))
    if sentences:
        executed = {*sentences.text.splitlines()}
        found.executed_relations = sum(line in executed for line in relations)
        found.others -= sum(line in executed for line in others)
    return found


@functools.lru_cache(maxsize=1)
def count_pages(app: Sphinx) -> dict[str, Counted]:
    """The formulas of every page."""
    folder = Path(app.srcdir) / CHAPTERS.name
    equations: dict[str, dict[str, str]] = {}
    for equation in collect(folder):
        if equation.label:
            equations.setdefault(equation.page, {})[equation.label] = equation.text
    return {
        page: count_page(app, page, equations.get(page, {})) for page in inline_formulas(folder)
    }


def count_values(app: Sphinx) -> tuple[int, int]:
    """How many values the sentences of the book have, and how many of them were computed."""
    folder = Path(app.srcdir)
    files = [*book_pages(folder / CHAPTERS.name), *folder.glob("index.*")]
    texts = [
        cell.source if cell.kind == "markdown" else cell.caption
        for file in files
        for cell in cells_of(file)
    ]
    printed = [line_of(value) for text in texts for value in values_in(text)]
    records = records_of(app)
    lines = (records[label].text.splitlines() for label in records if label.startswith(VALUES))
    computed = {line for found in lines for line in found}
    return len(printed), sum(line in computed for line in printed)


def count_listed(app: Sphinx) -> tuple[int, int, int]:
    """How many sentences and lines of code are listed, and how many numbers that were typed."""
    table = Path(app.srcdir) / NUMBERS.relative_to(ROOT)
    rows = [kinds.split() for _, _, kinds in rows_of(table)] if table.is_file() else []
    lines = rows.count([LINE])
    typed = sum(kind in TYPED_NUMBERS for kinds in rows for kind in kinds)
    return len(rows) - lines, lines, typed


def counts_markdown(app: Sphinx) -> str:
    """How many formulas were executed and how many were not; nothing where there is no record."""
    pages = count_pages(app).values()
    records = [record for page in pages for record in page.checked.values()]
    if not records:
        return ""
    relations = sum(page.relations for page in pages)
    executed_relations = sum(page.executed_relations for page in pages)
    text = _(
        "The last run of the tests executed %(executed)s of the %(displayed)s displayed equations "
        "from their own text, and %(stated)s of the %(relations)s relations inside sentences. "
        "The other %(left)s relations are only listed, and so are the %(others)s formulas without "
        "a relation (single letters included)."
    )
    numbers = _(
        "Of the %(values)s numbers in sentences that are written with their computation, it "
        "computed %(computed)s. Other numbers, number words and units are only listed, and so are "
        "all words. The list has %(typed)s such numbers in %(sentences)s sentences, titles and "
        "rows of tables, and %(lines)s lines of code, figures, settings and data, each whole and "
        "in its place. A test notices what differs from the list; that the list is right, nothing "
        "has proved."
    )
    values, computed = count_values(app)
    sentences, lines, typed = count_listed(app)
    return f"{text} {numbers}" % {
        "values": f"{values:,}",
        "computed": f"{computed:,}",
        "typed": f"{typed:,}",
        "sentences": f"{sentences:,}",
        "lines": f"{lines:,}",
        "executed": f"{len(records):,}",
        "displayed": f"{sum(len(page.labels) for page in pages):,}",
        "stated": f"{executed_relations:,}",
        "relations": f"{relations:,}",
        "left": f"{relations - executed_relations:,}",
        "others": f"{sum(page.others for page in pages):,}",
    }


def ledger_markdown(app: Sphinx) -> str:
    """The counts of the book, then those of each page with its equations."""
    pages = count_pages(app)
    counts = counts_markdown(app)
    displayed = sum(len(found.labels) for found in pages.values())
    lines = [counts or _("The book displays %s equations.") % displayed, ""]
    for page, found in pages.items():
        parts = [f"{{eq}}`{label}`" for label in found.labels]
        if counts and found.relations:
            executed = found.executed_relations, found.relations
            parts.append(_("(relations in sentences: %s of %s executed)") % executed)
        if parts:
            lines.append(f"- {{doc}}`{page}`{_(': ')}{' '.join(parts)}")
    return "\n".join(lines)


def write_counts(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Replace the directives by the list and the counts, before a page is read."""
    if LIST in source[0]:
        source[0] = source[0].replace(LIST, ledger_markdown(app))
    if COUNTS in source[0]:
        source[0] = source[0].replace(COUNTS, counts_markdown(app))


def outdated_pages(_app: Sphinx, env: BuildEnvironment, *_: Any) -> set[str]:
    """The pages that show counts: what they count is on other pages, so they are always read."""
    return {LEDGER, str(env.config.root_doc)} & env.found_docs


def mark_of(app: Sphinx, docname: str, node: nodes.Element) -> str | None:
    """A small link to the ledger beside the number of an equation that was executed."""
    if LEDGER not in app.env.found_docs:
        return None
    record = record_of(app, node.get("label"), node.astext())
    if record is None:
        return None
    executed = _("Executed: make test evaluated this formula, as printed, on numbers")
    return mark_html(executed, address=app.builder.get_relative_uri(docname, LEDGER))


def setup(app: Sphinx) -> None:
    """Register the list and the counts, the marks and the style sheet."""
    app.connect("env-get-outdated", outdated_pages)
    app.connect("source-read", write_counts)
    connect(app, mark_of)
    app.add_css_file("equation-ledger.css")
