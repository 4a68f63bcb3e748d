"""The ledger of equations: a page that lists them, and a mark beside each that was executed.

The page ``chapters/ledger.md`` holds the directive ``{equation-ledger}`` alone on two lines. What
was executed is read from the records that `make test` writes under ``_build/equations``; a record
counts while its text is the text that the page prints. Without records there is no mark and no
count of checks.
"""

import functools
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from bookcheck.equations.records import SENTENCES, Record, read_records, same_text
from bookcheck.equations.scan import collect, inline_relations
from bookcheck.paths import CHAPTERS

LEDGER = f"{CHAPTERS.name}/ledger"
PLACEHOLDER = "```{equation-ledger}\n```"
EXECUTED = "Executed: make test evaluated this formula, as printed, on numbers"


@functools.lru_cache(maxsize=1)
def records_of(app: Sphinx) -> dict[str, Record]:
    """The records of the last run of the tests."""
    return read_records(Path(app.srcdir) / "_build" / "equations")


def record_of(app: Sphinx, label: str | None, text: str) -> Record | None:
    """The record of a formula, if it is of the text that the page prints."""
    record = records_of(app).get(label or "")
    return record if record and same_text(record.text, text) else None


def ledger_markdown(app: Sphinx) -> str:
    """The counts of the book, then the equations of each page, with the checks by hand."""
    folder = Path(app.srcdir) / CHAPTERS.name
    pages: dict[str, list[str]] = {}
    checked: list[Record] = []
    for equation in collect(folder):
        entry, record = f"{{eq}}`{equation.label}`", record_of(app, equation.label, equation.text)
        checked += [record] if record else []
        if record and record.by_hand:
            entry += f" \\[by hand: {record.by_hand}\\]"
        if equation.label:
            pages.setdefault(equation.page, []).append(entry)
    by_hand = sum(record.by_hand is not None for record in checked)
    text = f"The book displays {sum(map(len, pages.values()))} equations."
    if checked:
        text += (
            f" The last run of the tests executed {len(checked) - by_hand} of them from their own "
            f"text and checked {by_hand} by hand."
        )
    relations = [one.text for page in inline_relations(folder).values() for one in page]
    records = [one for label, one in records_of(app).items() if label.startswith(SENTENCES)]
    stated = [line for one in records for line in one.text.splitlines() if line in relations]
    if stated:
        text += f" It executed {len(stated)} of the {len(relations)} relations inside sentences."
    return "\n".join([text, "", *(f"- {{doc}}`{page}`: {' '.join(pages[page])}" for page in pages)])


def write_ledger(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the directive by the list, before the page is read."""
    if docname == LEDGER:
        source[0] = source[0].replace(PLACEHOLDER, ledger_markdown(app))


def add_marks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a small link to the ledger beside the number of each equation that was executed."""
    if LEDGER not in app.env.found_docs:
        return
    for node in doctree.findall(nodes.math_block):
        record = record_of(app, node.get("label"), node.astext())
        if record and record.by_hand is None:
            address = app.builder.get_relative_uri(docname, LEDGER)
            # The keyboard goes past them: the ledger is in the contents.
            node["mark"] = (
                f'<a class="equation-mark" href="{address}" title="{EXECUTED}" '
                f'aria-label="{EXECUTED}" tabindex="-1">✓</a>'
            )


def setup(app: Sphinx) -> None:
    """Register the list, which is always written anew, the marks and the style sheet."""
    always: Any = {LEDGER}
    app.connect("env-get-outdated", lambda _app, env, *_: always & env.found_docs)
    app.connect("source-read", write_ledger)
    app.connect("doctree-resolved", add_marks)
    app.add_css_file("equation-ledger.css")
