"""The ledger of equations: a page that lists them, and a mark beside each that was executed.

The page ``chapters/ledger.md`` holds the directive ``{equation-ledger}``. What was executed is read
from the records that `make test` writes under ``_build/equations``; a record counts while its text
is the text that the page prints. Without records there is no mark and no count of checks.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from bookcheck.equations.records import Record, read_records, same_text
from bookcheck.site.state import build_of

EXECUTED = "Executed: make test evaluated this formula, as printed, on numbers"


class equation_ledger(nodes.General, nodes.Element):  # noqa: N801
    """Stands where the ledger will be printed, once all equations are numbered."""


class LedgerDirective(SphinxDirective):
    """``{equation-ledger}``: the displayed equations of each chapter, and what was checked."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the ledger."""
        self.env.metadata[self.env.docname]["equation-ledger"] = True
        return [equation_ledger()]


def note_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the labelled formulas of a page, and how many of its numbers are computed."""
    facts = app.env.metadata[app.env.docname]
    displays = [node for node in doctree.findall(nodes.math_block) if node.get("label")]
    facts["equations"] = {node["label"]: node.astext() for node in displays}
    facts["values"] = sum("value" in node["classes"] for node in doctree.findall(nodes.inline))


def records_of(app: Sphinx) -> dict[str, dict[str, Record]]:
    """The records of the formulas that each page prints now; read once for each build."""
    build = build_of(app)
    if build.records is None:
        known = read_records(Path(app.srcdir) / "_build" / "equations")
        build.records = {
            page: {
                label: known[label]
                for label, text in facts.get("equations", {}).items()
                if label in known and same_text(known[label].text, text)
            }
            for page, facts in app.env.metadata.items()
        }
    return build.records


def ledger_page(env: BuildEnvironment) -> str | None:
    """The name of the page that holds the ledger, if the book has one."""
    pages = [name for name, facts in env.metadata.items() if facts.get("equation-ledger")]
    return pages[0] if pages else None


def row_id(label: str) -> str:
    """The place of an equation in the ledger."""
    return str(nodes.make_id(f"ledger-{label}"))


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Print the marks and the ledger of one page."""
    ledger = ledger_page(app.env)
    if ledger is None:
        return
    records = records_of(app).get(docname, {})
    target = app.builder.get_relative_uri(docname, ledger)
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
    target = html.escape(f"{ledger}#{row_id(record.label)}")
    return f'<a class="equation-mark" href="{target}" title="{said}"{name}{stop}>{text}</a>'


def ledger_nodes(app: Sphinx, docname: str) -> Iterator[nodes.Node]:
    """The counts of the book, then the equations of each chapter, then the checks by hand."""
    metadata = app.env.metadata
    pages = [page for page, facts in metadata.items() if facts.get("equations")]
    # Each page of depth after its chapter.
    pages.sort(key=lambda page: (PurePosixPath(page).name, page.count("/")))
    records = [record for found in records_of(app).values() for record in found.values()]
    by_hand = {record.label: record.by_hand for record in records if record.by_hand}
    total = sum(len(metadata[page]["equations"]) for page in pages)
    text = f"The book displays {total} equations"
    if records:
        text += (
            f". In the last run of the tests {len(records) - len(by_hand)} of them were executed "
            f"from their own text, and {len(by_hand)} were checked by hand"
        )
    values = sum(facts.get("values", 0) for facts in metadata.values())
    text += f". {values} numbers in its sentences are computed by the tests and compared."
    yield nodes.paragraph("", text)
    heading: list[nodes.Node] = [nodes.Text("Chapter"), nodes.Text("Equations")]
    heading += [nodes.Text("Executed")] if records else []
    rows = [heading]
    for page in pages:
        labels = metadata[page]["equations"]
        found = records_of(app)[page].values()
        executed = sum(record.by_hand is None for record in found)
        chapter = link(app.env.titles[page].astext(), app.builder.get_relative_uri(docname, page))
        links = nodes.inline()
        for label in labels:
            place = nodes.inline("", "", equation_link(app, docname, page, label))
            place["ids"] = [row_id(label)]
            links += [place, nodes.Text(" ")]
        rows.append([chapter, links, *([nodes.Text(str(executed))] if records else [])])
    yield table(rows)
    if by_hand:
        yield nodes.paragraph("", "These were checked by hand, for the reason given:")
        reasons = [(p, x) for p in pages for x in metadata[p]["equations"] if x in by_hand]
        items = nodes.bullet_list()
        for page, label in reasons:
            line = nodes.paragraph("", "", equation_link(app, docname, page, label))
            line += nodes.Text(f" {by_hand[label]}")
            items += nodes.list_item("", line)
        yield items


def equation_link(app: Sphinx, docname: str, page: str, label: str) -> nodes.reference:
    """The number of an equation, which leads to it."""
    identifier = nodes.make_id(f"equation-{label}")
    numbers = app.env.toc_fignumbers.get(page, {}).get("displaymath", {}).get(identifier, ())
    shown = f"({'.'.join(map(str, numbers))})" if numbers else label
    return link(shown, f"{app.builder.get_relative_uri(docname, page)}#{identifier}")


def link(text: str, target: str) -> nodes.reference:
    """A link inside the site."""
    return nodes.reference("", text, internal=True, refuri=target)


def table(rows: list[list[nodes.Node]]) -> nodes.table:
    """A table of one line of headings and lines of words or links."""
    group = nodes.tgroup(cols=len(rows[0]))
    group += [nodes.colspec(colwidth=1) for _ in rows[0]]
    lines = [
        nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))
        for cells in rows
    ]
    group += nodes.thead("", lines[0])
    group += nodes.tbody("", *lines[1:])
    return nodes.table("", group, classes=["ledger"])


def setup(app: Sphinx) -> None:
    """Register the directive, the marks and the style sheet."""
    app.add_node(equation_ledger)
    app.add_directive("equation-ledger", LedgerDirective)
    app.connect("doctree-read", note_equations)
    app.connect("doctree-resolved", resolve)
    app.add_css_file("equation-ledger.css")
