"""The ledger of equations on the site: the page, the marks beside formulas, the counts.

The page ``chapters/ledger.md`` holds the directive ``{equation-ledger}``, an overview; the
equations of each chapter stand on a page of their own, since formulas are heavy, each with the
source of its check. The role
``{equation-count}`` gives ``total``, ``checked``, ``executed``, ``by-hand``, or for the relations
in sentences ``inline``, ``inline-executed``, ``inline-definitions``; for the prose ``values``,
the numbers in sentences that are computed. Everything comes from the pages and from the records
that the checks write under ``_build/equations``; nothing is typed.
"""

from __future__ import annotations

import ast
import functools
import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from bookcheck.equations.files import files_of
from bookcheck.equations.records import InlineCounts, Outcome, Status, relative, status
from bookcheck.equations.scan import Equation
from bookcheck.notebooks.values import VALUE
from bookcheck.paths import ROOT, book_pages
from bookcheck.prose.cells import cells_of
from bookcheck.site.generated_pages import ExtraPage, add_pages
from bookcheck.site.library_source import fold
from bookcheck.site.state import build_of, memory_of

STATIC = Path(__file__).with_name("static")
COUNTS = (
    "total",
    "checked",
    "executed",
    "by-hand",
    "inline",
    "inline-executed",
    "inline-definitions",
    "values",
)
ADVICE = "run: python -m bookcheck.equations (make book does it first)"


class equation_ledger(nodes.General, nodes.Element):  # noqa: N801
    """Stands where the ledger will be printed, once all equations are numbered."""


class equation_count(nodes.Inline, nodes.Element):  # noqa: N801
    """Stands where a count of equations will be printed."""


class LedgerDirective(SphinxDirective):
    """``{equation-ledger}``: how many equations each chapter has, and how they were checked."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the ledger."""
        self.env.metadata[self.env.docname]["equation-ledger"] = True
        return [equation_ledger()]


class CountRole(SphinxRole):
    """``{equation-count}`executed` ``: a number that the records give."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a place for the count."""
        if self.text not in COUNTS:
            message = self.inliner.reporter.error(
                f"equation-count knows {', '.join(COUNTS)}, got {self.text!r}", line=self.lineno
            )
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        self.env.metadata[self.env.docname]["equation-count"] = True
        return [equation_count(kind=self.text)], []


def current_status(app: Sphinx) -> Status:
    """The equations of the book that is being built; read once for each build."""
    build = build_of(app)
    if build.equations is None:
        source = Path(app.srcdir)
        build.equations = status(source / "chapters", source / "_build" / "equations")
    return build.equations


def computed_values(app: Sphinx) -> int:
    """How many numbers in the book's sentences are computed; read once for each build."""
    build = build_of(app)
    if build.computed_values is None:
        cells = (
            cell for page in book_pages(Path(app.srcdir, "chapters")) for cell in cells_of(page)
        )
        texts = (cell.source if cell.kind == "markdown" else cell.caption for cell in cells)
        build.computed_values = sum(len(VALUE.findall(text)) for text in texts)
    return build.computed_values


def ledger_page(env: BuildEnvironment) -> str | None:
    """The name of the page that holds the ledger, if the book has one."""
    pages = [name for name, data in env.metadata.items() if data.get("equation-ledger")]
    return pages[0] if pages else None


def row_id(label: str) -> str:
    """The anchor of an equation's row."""
    return str(nodes.make_id(f"ledger-{label}"))


def rows_page(chapter: str) -> str:
    """The page of the site that lists the equations of a chapter."""
    return f"ledger/{PurePosixPath(chapter).with_suffix('')}"


def chapter_page(chapter: str) -> str:
    """The page of a chapter."""
    return f"chapters/{PurePosixPath(chapter).with_suffix('')}"


def equations_of(env: BuildEnvironment) -> dict[str, tuple[str, int]]:
    """The labelled equations that Sphinx has read: page and number of each."""
    return cast(MathDomain, env.get_domain("math")).equations


def number_of(env: BuildEnvironment, label: str) -> str:
    """The number printed beside an equation, such as 4.2, or an empty text."""
    known = equations_of(env).get(label)
    if known is None:
        return ""
    docname, plain_number = known
    if env.app.config.math_numfig and env.app.config.numfig:
        identifier = nodes.make_id(f"equation-{label}")
        numbers = env.toc_fignumbers.get(docname, {}).get("displaymath", {})
        return ".".join(map(str, numbers.get(identifier, ())))
    return str(plain_number)


def link(text: str, target: str, title: str = "") -> nodes.reference:
    """A link inside the site."""
    reference = nodes.reference("", text, internal=True, refuri=target)
    if title:
        reference["reftitle"] = title
    return reference


def summary(outcome: Outcome) -> str:
    """One sentence: what was done to the formula."""
    inputs = "1 input" if outcome.inputs == 1 else f"{outcome.inputs} inputs"
    if not outcome.executed:
        return f"Checked by hand on {inputs}: {outcome.reason}"
    return f"Executed from its text on {inputs}, largest deviation {deviation(outcome)}."


def deviation(outcome: Outcome) -> str:
    """The largest deviation as the ledger prints it."""
    return "0" if outcome.deviation == 0 else f"{outcome.deviation:.0e}".replace("e-0", "e-")


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Print the counts, the marks and the ledger of one page."""
    found = current_status(app)
    for node in list(doctree.findall(equation_count)):
        node.replace_self(nodes.Text(count(found, computed_values(app), node["kind"])))
    if ledger_page(app.env) is None:
        return
    labelled = [node for node in doctree.findall(nodes.math_block) if node.get("label")]
    for place, node in enumerate(labelled):
        node["mark"] = mark(app, node["label"], docname, found, reached=place == 0)
    for node in list(doctree.findall(equation_ledger)):
        node.replace_self(list(ledger_nodes(app, docname, found)))


def count(found: Status, values: int, kind: str) -> str:
    """A count of equations, or of computed numbers in sentences, by its name."""
    numbers = {
        "total": len(found.labelled),
        "checked": found.checked,
        "executed": found.executed,
        "by-hand": found.checked - found.executed,
        "inline": found.inline.relations,
        "inline-executed": found.inline.executed,
        "inline-definitions": found.inline.definitions,
        "values": values,
    }
    return str(numbers[kind])


def mark(app: Sphinx, label: str, docname: str, found: Status, *, reached: bool) -> str:
    """A small link to the ledger's row, for the place beside an equation's number.

    What is the rule is a sign, what is not is words. The keyboard stops at one of them on a page:
    from there the ledger leads to all.
    """
    outcome = found.outcomes.get(label)
    if outcome is None:
        text, title = "not checked", f"No check of this formula is on record; {ADVICE}"
    else:
        text = "✓" if outcome.executed else "✓ by hand"
        title = summary(outcome)
    page = app.builder.get_relative_uri(docname, rows_page(docname.removeprefix("chapters/")))
    target = html.escape(f"{page}#{row_id(label)}")
    title = html.escape(title)
    said = f' aria-label="{title}"' if text == "✓" else ""
    stop = "" if reached else ' tabindex="-1"'
    return f'<a class="equation-mark" href="{target}" title="{title}"{said}{stop}>{text}</a>'


def ledger_nodes(app: Sphinx, docname: str, found: Status) -> Iterator[nodes.Node]:
    """The overview: the counts of the book, then those of each chapter."""
    total = len(found.labelled)
    if not found.outcomes:
        yield nodes.paragraph(
            "",
            f"There is no record of the checks of the {total} displayed equations yet; {ADVICE}.",
        )
    else:
        by_hand = found.checked - found.executed
        text = (
            f"The book displays {total} equations. {found.executed} are executed from their own "
            f"text, {by_hand} are checked by hand for a stated reason"
        )
        missing = total - found.checked
        ending = f", and {missing} have no current record; {ADVICE}." if missing else "."
        yield nodes.paragraph("", text + ending)
    yield nodes.paragraph("", sentence_on_sentences(found.inline))
    yield nodes.paragraph("", sentence_on_values(computed_values(app)))
    heading: list[str | nodes.Node] = ["Chapter", "Equations", "Executed", "By hand", "Deviation"]
    yield table([heading, *(overview_row(app, docname, *each) for each in by_chapter(found))])


def sentence_on_sentences(counts: InlineCounts) -> str:
    """How many formulas inside sentences state something, and were executed."""
    held = f"Its sentences hold {counts.relations} formulas with a relation"
    if counts.executed + counts.definitions < counts.relations:
        return f"{held}; there is no record of their checks yet; {ADVICE}."
    return (
        f"{held}. {counts.executed} are executed. The other {counts.definitions} state nothing: "
        "they define a symbol, or name the case of which their sentence speaks."
    )


def sentence_on_values(values: int) -> str:
    """How many numbers of sentences are computed."""
    return f"{values} numbers in sentences are computed where they stand, and compared."


def by_chapter(found: Status) -> list[tuple[str, list[tuple[Equation, Outcome | None]]]]:
    """The equations of each chapter with their records, in the order of the book."""
    chapters: dict[str, list[tuple[Equation, Outcome | None]]] = {}
    for item in found.labelled:
        record = found.outcomes.get(item.label or "")
        chapters.setdefault(item.chapter, []).append((item, record))
    return list(chapters.items())


def overview_row(
    app: Sphinx, docname: str, chapter: str, items: list[tuple[Equation, Outcome | None]]
) -> list[str | nodes.Node]:
    """One chapter's line of the overview."""
    outcomes = [outcome for _, outcome in items if outcome]
    executed = [outcome for outcome in outcomes if outcome.executed]
    target = app.builder.get_relative_uri(docname, rows_page(chapter))
    return [
        link(chapter_title(app, chapter), target),
        str(len(items)),
        str(len(executed)),
        str(len(outcomes) - len(executed)),
        deviation(max(executed, key=lambda outcome: outcome.deviation)) if executed else "",
    ]


def table(rows: list[list[str | nodes.Node]]) -> nodes.table:
    """A table of one line of headings and lines of words or links."""
    group = nodes.tgroup(cols=len(rows[0]))
    group += [nodes.colspec(colwidth=1) for _ in rows[0]]
    lines = []
    for cells in rows:
        line = nodes.row()
        for cell in cells:
            content = nodes.Text(cell) if isinstance(cell, str) else cell
            line += nodes.entry("", nodes.paragraph("", "", content))
        lines.append(line)
    group += nodes.thead("", lines[0])
    group += nodes.tbody("", *lines[1:])
    return nodes.table("", group, classes=["ledger-overview"])


def chapter_title(app: Sphinx, chapter: str) -> str:
    """The title of a chapter, or its file where it is not built."""
    title = app.env.titles.get(chapter_page(chapter))
    return chapter if title is None else title.astext()


def rows_pages(app: Sphinx) -> Iterator[ExtraPage]:
    """One page for each chapter: its equations, and how each was checked."""
    overview = ledger_page(app.env)
    if overview is None:
        return
    for chapter, items in by_chapter(current_status(app)):
        title = f"Equations: {chapter_title(app, chapter)}"
        shown = [
            (item.label, item.text, number_of(app.env, item.label or ""), outcome)
            for item, outcome in items
        ]
        checks = {ROOT / outcome.file for _, outcome in items if outcome}
        files = sorted({file for check in checks for file in files_of(check)})
        sources = {relative(file): file.read_text(encoding="utf-8") for file in files}
        body = functools.partial(rows_body, app, overview, chapter, items, sources)
        yield ExtraPage(rows_page(chapter), title, repr((shown, sources)), body)


class CheckSources(NamedTuple):
    """A file of checks: the source of each by the label of its equation, and what they share."""

    checks: dict[str, str]
    shared: str


def read_checks(source: str) -> CheckSources:
    """Take a file of checks apart."""
    lines = source.splitlines()
    checks: dict[str, str] = {}
    for node in reversed(ast.parse(source).body):
        label = checked_label(node)
        if label is not None and isinstance(node, ast.FunctionDef):
            start = node.decorator_list[0].lineno - 1
            checks[label] = "\n".join(lines[start : node.end_lineno])
            del lines[start : node.end_lineno]
    return CheckSources(checks, re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip())


def checked_label(node: ast.stmt) -> str | None:
    """The equation that a function checks: `@equation("eq-a", …)` or `@by_hand("eq-a", …)`."""
    for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        match decorator:
            case ast.Call(ast.Name("equation" | "by_hand"), [ast.Constant(str(label)), *_]):
                return label
    return None


def rows_body(
    app: Sphinx,
    overview: str,
    chapter: str,
    items: list[tuple[Equation, Outcome | None]],
    sources: Mapping[str, str],
) -> str:
    """The equations of a chapter as HTML, each with its check, then what the checks share."""
    builder: Any = app.builder
    page = rows_page(chapter)
    name = chapter_title(app, chapter)
    ways = nodes.paragraph("", "Every displayed equation of the chapter ")
    ways += link(name, builder.get_relative_uri(page, chapter_page(chapter)))
    ways += nodes.Text(". The ")
    ways += link("ledger", builder.get_relative_uri(page, overview))
    ways += nodes.Text(" tells what is checked, and leads to the other chapters.")
    files = {file: read_checks(source) for file, source in sources.items()}
    rows = []
    for item, outcome in items:
        check = files[outcome.file].checks.get(outcome.label) if outcome else None
        rows.append(row(app, page, item, outcome, check))
    blocks = [ways, *rows]
    blocks += [fold(f"What the checks of {file} share", f.shared) for file, f in files.items()]
    # Formulas are written as on the page of the chapter.
    builder.current_docname = chapter_page(chapter)
    body = builder.render_partial(nodes.container("", *blocks))["fragment"]
    return f"<h1>{html.escape(f'Equations: {name}')}</h1>\n{body}"


def row(
    app: Sphinx,
    docname: str,
    item: Equation,
    outcome: Outcome | None,
    check: str | None,
) -> nodes.Node:
    """An equation, what was done to it, and the check itself."""
    assert item.label is not None
    box = nodes.container(classes=["ledger-row"], ids=[row_id(item.label)])
    heading = nodes.paragraph(classes=["ledger-name"])
    known = equations_of(app.env).get(item.label)
    if known is None:
        heading += nodes.Text(item.label)
    else:
        anchor = nodes.make_id(f"equation-{item.label}")
        target = f"{app.builder.get_relative_uri(docname, known[0])}#{anchor}"
        heading += link(f"({number_of(app.env, item.label)})", target, "To the equation")
        heading += nodes.Text(f" {item.label}")
    box += heading
    box += nodes.math_block(
        item.text, item.text, nowrap=False, number=None, label=None, docname=docname
    )
    # A record whose check is gone tells of the past.
    if outcome is None or check is None:
        box += nodes.paragraph("", f"Not checked: no current record; {ADVICE}.")
        return box
    facts = nodes.paragraph("", summary(outcome), classes=["ledger-facts"])
    if outcome.library:
        facts += nodes.Text(" Compared with ")
        for place, name in enumerate(outcome.library):
            facts += nodes.Text(", " if place else "")
            facts += nodes.literal("", name)
        facts += nodes.Text(".")
    box += facts
    box += fold("The check", check)
    return box


def outdated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write pages again that show what a record says, when the record changed."""
    found = current_status(app)
    records = {label: repr(outcome) for label, outcome in found.outcomes.items()}
    records["inline"] = repr(found.inline)
    records["values"] = repr(computed_values(app))
    memory = memory_of(env)
    known = memory.equation_records
    changed = {label for label in {*records, *known} if records.get(label) != known.get(label)}
    if not changed:
        return []
    memory.equation_records = records
    equations = equations_of(env)
    marked = {equations[label][0] for label in changed if label in equations}
    shown = {
        n for n, data in env.metadata.items() if {"equation-ledger", "equation-count"} & {*data}
    }
    return sorted(marked | shown)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, the role, the marks and the style sheet."""
    app.add_node(equation_ledger)
    app.add_node(equation_count)
    app.add_directive("equation-ledger", LedgerDirective)
    app.add_role("equation-count", CountRole())
    app.connect("config-inited", lambda _, config: config.html_static_path.append(str(STATIC)))
    app.connect("env-updated", outdated)
    app.connect("doctree-resolved", resolve)
    add_pages(app, rows_pages)
    app.add_css_file("equation-ledger.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
