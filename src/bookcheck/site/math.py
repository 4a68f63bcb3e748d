"""Formulas become HTML at build time; one that KaTeX cannot read stops the build.

The page then needs no JavaScript and no other host to show a formula.
"""

import json
import os
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.math import get_node_equation_number

from bookcheck.cache import digest_of
from bookcheck.node.packages import NODE
from bookcheck.paths import KEPT, NODE_ROOM
from bookcheck.site.source_place import place_of
from bookcheck.site.state import build_of
from bookcheck.site.symbols import symbols_on_page

SERVER = Path(__file__).with_name("katex_lines.cjs")
# KaTeX would number the rows of these by itself, beside the book's own number.
SELF_NUMBERED = re.compile(r"\\begin\{(align|alignat|gather|equation|CD)\}")

OPENING, CLOSING = re.compile(r"[(\[‘“]+$"), re.compile(r"^[,.;:!?)\]’”]+")
# KaTeX lets a line end after these. A formula that has one must stay free to do so.
BREAK = re.compile(
    r"\S\s*([=<>+-]|\\(le|ge|ne|ll|gg|to|in|sim|approx|propto|cdot|times|odot|pm)(?![a-zA-Z]))"
)
LONGEST_WHOLE = 25  # characters of TeX outside braces
# What no reader sees or hears: the TeX inside the hidden copy, the row that a formula is anyhow,
# and a name space.
UNREAD = re.compile(
    r"<semantics>(?:<mrow>)?"
    r'|(?:</mrow>)?<annotation encoding="application/x-tex">.*?</annotation></semantics>'
    r'|(?<=<math) xmlns="http://www\.w3\.org/1998/Math/MathML"',
    re.DOTALL,
)

FIRST_BOX = re.compile(r'<span class="base"><span class="strut"[^>]*></span>')

Symbols = tuple[tuple[str, str], ...]


class FormulaError(SphinxError):
    """A formula that KaTeX cannot read."""

    category = "Formula error"


class UnreadableFormulaError(ValueError):
    """KaTeX's own words about one formula."""


class Shelf:
    """Rendered formulas, kept in a file from build to build and shared by all workers of one."""

    def __init__(self, path: Path, renderer: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = sqlite3.connect(path, timeout=60, isolation_level=None)
        # A row that is lost is rendered again, so nothing waits for the disk.
        self.rows.execute("PRAGMA journal_mode = TRUNCATE")
        self.rows.execute("PRAGMA synchronous = OFF")
        self.rows.execute(
            "CREATE TABLE IF NOT EXISTS formulas"
            " (request TEXT PRIMARY KEY, renderer TEXT, html TEXT)"
        )
        self.rows.execute("DELETE FROM formulas WHERE renderer != ?", (renderer,))
        self.renderer = renderer

    def get(self, request: dict[str, Any]) -> str | None:
        """What was rendered for a request, if anything was."""
        asked = self.rows.execute(
            "SELECT html FROM formulas WHERE request = ?", (json.dumps(request),)
        )
        found = asked.fetchone()
        return None if found is None else str(found[0])

    def put(self, request: dict[str, Any], html: str) -> None:
        """Keep the HTML of a request."""
        row = (json.dumps(request), self.renderer, html)
        self.rows.execute("INSERT OR REPLACE INTO formulas VALUES (?, ?, ?)", row)


class Katex:
    """A node process that turns TeX into HTML, started at the first formula that is not kept."""

    def __init__(self, package: Path, kept_in: Path | None = None) -> None:
        self.package = package
        self.kept_in = kept_in
        self.process: subprocess.Popen[str] | None = None
        self.shelf: Shelf | None = None
        self.owner: int | None = None
        self.rendered: dict[tuple[str, bool, Symbols], str] = {}

    def render(self, tex: str, *, display: bool, symbols: Symbols = ()) -> str:
        """Return the HTML of a formula, or raise UnreadableFormulaError.

        Each of the symbols, a pair of TeX and class, gets its class where it stands.
        """
        numbered = SELF_NUMBERED.search(tex)
        if numbered:
            name = numbered[1]
            raise UnreadableFormulaError(
                f"{name} numbers its own rows: write {name}* and label the whole formula"
            )
        key = (tex, display, symbols)
        if key not in self.rendered:
            if self.owner != os.getpid():
                self._own()
            request = {"tex": tex, "display": display, "symbols": symbols}
            html = self.shelf.get(request) if self.shelf else None
            if html is None:
                answer = self._ask(request)
                if "error" in answer:
                    raise UnreadableFormulaError(answer["error"])
                html = UNREAD.sub("", answer["html"])
                if self.shelf:
                    self.shelf.put(request, html)
            self.rendered[key] = html
        return self.rendered[key]

    def _own(self) -> None:
        """Give each worker of a parallel build its own node: two that ask one mix the answers."""
        self.process, self.shelf, self.owner = None, None, os.getpid()
        if self.kept_in is not None:
            renderer = digest_of([self.package, SERVER], UNREAD.pattern)
            self.shelf = Shelf(self.kept_in, renderer)

    def _ask(self, request: dict[str, Any]) -> dict[str, str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [NODE, SERVER, self.package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf8",
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise FormulaError(
                f"KaTeX's node process ended with status {self.process.wait()} before it answered"
            )
        answer: dict[str, str] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the node process."""
        if self.process is not None:
            self.process.communicate()
            self.process = None


def bad_formulas(document: nodes.document, katex: Katex, source_root: str | Path) -> list[str]:
    """Return one line for each formula of a document that KaTeX cannot read."""
    complaints = []
    for node in document.findall(lambda n: isinstance(n, nodes.math | nodes.math_block)):
        display = isinstance(node, nodes.math_block)
        try:
            katex.render(node.astext(), display=display)
        except UnreadableFormulaError as error:
            formula = " ".join(node.astext().split())
            complaints.append(f"{place_of(node, source_root)}: {error}\n    in: {formula}")
    return complaints


def katex_of(app: Sphinx) -> Katex:
    """The renderer of a running build."""
    katex = build_of(app).katex
    if katex is None:
        raise FormulaError("no formula can be rendered before the builder is there")
    return katex


def _render(translator: Any, node: nodes.Element, *, display: bool) -> str:
    app: Sphinx = translator.builder.app
    katex = katex_of(app)
    symbols = symbols_on_page(app, translator.builder.current_docname)
    try:
        return katex.render(node.astext(), display=display, symbols=symbols)
    except UnreadableFormulaError:
        complaints = bad_formulas(node.document, katex, app.srcdir)
        raise FormulaError("\n".join(complaints)) from None


def with_punctuation(html: str, opening: str, closing: str) -> str:
    """Put the marks that touch a formula into its first and last box, and into the copy read aloud.

    A line may end between the boxes of a formula, and on both sides of each.
    """
    if opening:
        mark = f'<span class="touching">{opening}</span>'
        html = FIRST_BOX.sub(lambda box: box[0] + mark, html, count=1)
        html = html.replace("<math>", f"<math><mtext>{opening}</mtext>", 1)
    if closing:
        end = html.rindex("</span></span></span>")
        html = f'{html[:end]}<span class="touching">{closing}</span>{html[end:]}'
        html = html.replace("</math>", f"<mtext>{closing}</mtext></math>", 1)
    return html


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    html = _render(translator, node, display=False)
    html = with_punctuation(html, node.get("opening", ""), node.get("closing", ""))
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate"))
    translator.body.append(f"{html}</span>")
    raise nodes.SkipNode


def visit_display(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number where it has a label."""
    html = _render(translator, node, display=True)
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    translator.body.append(f'<div class="math-formula" tabindex="0">{html}</div>')
    if node["number"]:
        number = get_node_equation_number(translator, node)
        # The ledger says how the equation was checked.
        translator.body.append(f'<span class="eqno">{node.get("mark", "")}({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def stays_whole(tex: str) -> bool:
    """Whether a formula is short and holds no place where a line may end."""
    outside, inside = "", tex
    while inside != outside:
        outside, inside = inside, re.sub(r"\{[^{}]*\}", "", inside)
    return len(outside) <= LONGEST_WHOLE and not BREAK.search(outside)


def keep_with_punctuation(document: nodes.document) -> None:
    """Put a short formula and the marks that touch it into one box that no line end divides.

    A browser may end the line on both sides of a formula: the comma behind it would then begin the
    next line. A long formula takes the marks into its own first and last box.
    """
    for node in list(document.findall(nodes.math)):
        parent = node.parent
        place = parent.index(node)
        before = parent[place - 1] if place > 0 else None
        after = parent[place + 1] if place + 1 < len(parent) else None
        opening = OPENING.search(before) if isinstance(before, nodes.Text) else None
        closing = CLOSING.search(after) if isinstance(after, nodes.Text) else None
        if not (opening or closing):
            continue
        if closing and isinstance(after, nodes.Text):
            parent[place + 1] = nodes.Text(after[closing.end() :])
        if opening and isinstance(before, nodes.Text):
            parent[place - 1] = nodes.Text(before[: opening.start()])
        marks = (opening[0] if opening else "", closing[0] if closing else "")
        if stays_whole(node.astext()):
            box = nodes.inline("", marks[0], node, nodes.Text(marks[1]), classes=["whole"])
            parent[place] = box
        else:
            node["opening"], node["closing"] = marks


class KeepWithPunctuation(SphinxPostTransform):
    """Does it on every page."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        """Mend the whole page."""
        keep_with_punctuation(self.document)


def setup(app: Sphinx) -> None:
    """Register the renderer under the name `prerendered`."""
    app.add_post_transform(KeepWithPunctuation)
    app.add_html_math_renderer("prerendered", (visit_inline, None), (visit_display, None))

    def start(app: Sphinx) -> None:
        package = NODE_ROOM / "node_modules" / "katex" / "dist" / "katex.js"
        build_of(app).katex = Katex(package, KEPT / "formulas.sqlite")

    def stop(app: Sphinx, _error: Exception | None) -> None:
        katex_of(app).close()

    app.connect("builder-inited", start)
    app.connect("build-finished", stop)
