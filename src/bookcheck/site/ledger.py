"""The ledger of equations: a page that lists them, and a mark beside each that was executed.

The page ``chapters/ledger.md`` holds the directive ``{equation-ledger}``. What was executed is read
from the records that `make test` writes under ``_build/equations``; a record counts while its text
is the text that the page prints. Without records there is no mark and no count of checks.
"""

import functools
import html
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from bookcheck.equations.records import Record, read_records, same_text

LEDGER = "chapters/ledger"
EXECUTED = "Executed: make test evaluated this formula, as printed, on numbers"


class equation_ledger(nodes.General, nodes.Element):  # noqa: N801
    """Stands where the ledger will be printed, once all equations are numbered."""


class LedgerDirective(SphinxDirective):
    """``{equation-ledger}``: the displayed equations of each chapter, and what was checked."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the ledger."""
        return [equation_ledger()]


def note_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the labelled formulas of a page, and how many of its numbers are computed."""
    facts = app.env.metadata[app.env.docname]
    displays = [node for node in doctree.findall(nodes.math_block) if node.get("label")]
    facts["equations"] = {node["label"]: node.astext() for node in displays}
    facts["values"] = sum("value" in node["classes"] for node in doctree.findall(nodes.inline))


@functools.lru_cache(maxsize=1)
def records_of(env: BuildEnvironment) -> dict[str, Record]:
    """The records of the formulas that the pages print now, by label."""
    known = read_records(Path(env.srcdir) / "_build" / "equations")
    return {
        label: known[label]
        for facts in env.metadata.values()
        for label, text in facts.get("equations", {}).items()
        if label in known and same_text(known[label].text, text)
    }


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Print the marks and the ledger of one page."""
    if LEDGER not in app.env.found_docs:
        return
    records = records_of(app.env)
    target = app.builder.get_relative_uri(docname, LEDGER)
    marked = [n for n in doctree.findall(nodes.math_block) if n.get("label") in records]
    for place, node in enumerate(marked):
        # The keyboard stops at one of them on a page: from there the ledger leads to all.
        node["mark"] = mark(records[node["label"]], target, reached=place == 0)
    for place_holder in list(doctree.findall(equation_ledger)):
        place_holder.replace_self(list(ledger_nodes(app, docname)))


def mark(record: Record, ledger: str, *, reached: bool) -> str:
    """A small link to the ledger, for the place beside an equation's number."""
    title = EXECUTED if record.by_hand is None else f"Checked by hand: {record.by_hand}"
    said = html.escape(title)
    name = f' aria-label="{said}"' if record.by_hand is None else ""
    stop = "" if reached else ' tabindex="-1"'
    text = "✓" if record.by_hand is None else "by hand"
    return f'<a class="equation-mark" href="{ledger}" title="{said}"{name}{stop}>{text}</a>'


def ledger_nodes(app: Sphinx, docname: str) -> Iterator[nodes.Node]:
    """The counts of the book, then the equations of each chapter, with the checks by hand."""
    facts, records = app.env.metadata, records_of(app.env)
    pages = [page for page in facts if facts[page].get("equations")]
    # Each page of depth after its chapter.
    pages.sort(key=lambda page: (PurePosixPath(page).name, page.count("/")))
    by_hand = {label: record.by_hand for label, record in records.items() if record.by_hand}
    text = f"The book displays {sum(len(facts[page]['equations']) for page in pages)} equations"
    if records:
        text += (
            f". In the last run of the tests {len(records) - len(by_hand)} of them were executed "
            f"from their own text, and {len(by_hand)} were checked by hand"
        )
    values = sum(page.get("values", 0) for page in facts.values())
    text += f". {values} numbers in its sentences are computed by the tests and compared."
    yield nodes.paragraph("", text)
    chapters = nodes.bullet_list()
    for page in pages:
        address = app.builder.get_relative_uri(docname, page)
        line = nodes.paragraph(
            "", "", link(app.env.titles[page].astext(), address), nodes.Text(":")
        )
        for label in facts[page]["equations"]:
            name = nodes.make_id(f"equation-{label}")
            numbers = app.env.toc_fignumbers.get(page, {}).get("displaymath", {}).get(name, ())
            shown = f"({'.'.join(map(str, numbers))})" if numbers else label
            line += [nodes.Text(" "), link(shown, f"{address}#{name}")]
            if label in by_hand:
                line += nodes.Text(f" [by hand: {by_hand[label]}]")
        chapters += nodes.list_item("", line)
    yield chapters


def link(text: str, target: str) -> nodes.reference:
    """A link inside the site."""
    return nodes.reference("", text, internal=True, refuri=target)


def setup(app: Sphinx) -> None:
    """Register the directive, the marks and the style sheet."""
    app.add_node(equation_ledger)
    app.add_directive("equation-ledger", LedgerDirective)
    app.connect("doctree-read", note_equations)
    app.connect("doctree-resolved", resolve)
    app.add_css_file("equation-ledger.css")
