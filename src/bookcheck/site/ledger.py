"""The ledger of equations: a page that lists them, and a mark beside each that was executed.

The page ``chapters/ledger.md`` holds the directive ``{equation-ledger}`` alone on two lines. What
was executed is read from the records that `make test` writes under ``_build/equations``; a record
counts while its text is the text that the page prints. Without records there is no mark and no
count of checks.
"""

import functools
import html
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from bookcheck.equations.records import SENTENCES, Record, read_records, same_text
from bookcheck.equations.scan import Equation, collect, inline_relations, markdown_cells
from bookcheck.notebooks.values import values_in
from bookcheck.paths import CHAPTERS, book_pages

LEDGER = f"{CHAPTERS.name}/ledger"
PLACEHOLDER = "```{equation-ledger}\n```"
EXECUTED = "Executed: make test evaluated this formula, as printed, on numbers"


@functools.lru_cache(maxsize=1)
def records_of(app: Sphinx) -> dict[str, Record]:
    """The records of the last run of the tests."""
    return read_records(Path(app.srcdir) / "_build" / "equations")


def record_of(app: Sphinx, label: str, text: str) -> Record | None:
    """The record of a formula, if it is of the text that the page prints."""
    record = records_of(app).get(label)
    return record if record and same_text(record.text, text) else None


def ledger_markdown(app: Sphinx) -> str:
    """The counts of the book, then the equations of each page, with the checks by hand."""
    folder = Path(app.srcdir) / CHAPTERS.name
    pages: dict[str, list[Equation]] = {}
    for equation in collect(folder):
        if equation.label:
            pages.setdefault(equation.page, []).append(equation)
    executed, by_hand, lines = 0, 0, []
    for page, equations in pages.items():
        line = f"- {{doc}}`{page}`:"
        for equation in equations:
            record = record_of(app, equation.label or "", equation.text)
            executed += record is not None and record.by_hand is None
            line += f" {{eq}}`{equation.label}`"
            if record and record.by_hand:
                by_hand += 1
                line += f" \\[by hand: {record.by_hand}\\]"
        lines.append(line)
    text = f"The book displays {sum(map(len, pages.values()))} equations."
    if executed or by_hand:
        text += (
            f" The last run of the tests executed {executed} of them from their own text and "
            f"checked {by_hand} by hand."
        )
    relations = [one.text for page in inline_relations(folder).values() for one in page]
    records = [one for label, one in records_of(app).items() if label.startswith(SENTENCES)]
    stated = [line for one in records for line in one.text.splitlines() if line in relations]
    if stated:
        text += (
            f" It executed {len(stated)} of the {len(relations)} relations inside sentences as "
            "well; the others introduce a symbol, a condition or an example, or are left out for a "
            "reason that their check states."
        )
    cells = [text for page in book_pages(folder) for _, text in markdown_cells(page)]
    values = sum(len(values_in(cell)) for cell in cells)
    text += f" {values} numbers in its sentences are computed by the tests and compared."
    return "\n".join([text, "", *lines])


def write_ledger(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the directive by the list, before the page is read."""
    if docname == LEDGER:
        source[0] = source[0].replace(PLACEHOLDER, ledger_markdown(app))


def add_marks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a small link to the ledger beside the number of each equation that was executed."""
    if LEDGER not in app.env.found_docs:
        return
    stop = ""
    for node in doctree.findall(nodes.math_block):
        record = record_of(app, node.get("label") or "", node.astext())
        if record is None:
            continue
        text, title = "✓", EXECUTED
        if record.by_hand is not None:
            text, title = "by hand", f"Checked by hand: {record.by_hand}"
        address, said = app.builder.get_relative_uri(docname, LEDGER), html.escape(title)
        name = f' aria-label="{said}"' if text == "✓" else ""
        node["mark"] = (
            f'<a class="equation-mark" href="{address}" title="{said}"{name}{stop}>{text}</a>'
        )
        # The keyboard stops at one of them on a page: from there the ledger leads to all.
        stop = ' tabindex="-1"'


def setup(app: Sphinx) -> None:
    """Register the list, which is always written anew, the marks and the style sheet."""
    always: Any = {LEDGER}
    app.connect("env-get-outdated", lambda _app, env, *_: always & env.found_docs)
    app.connect("source-read", write_ledger)
    app.connect("doctree-resolved", add_marks)
    app.add_css_file("equation-ledger.css")
