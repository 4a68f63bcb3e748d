"""Formulas become HTML at build time; one that KaTeX cannot read stops the build.

The page then needs no JavaScript and no other host to show a formula.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.math import get_node_equation_number

from bookcheck.node.packages import NODE
from bookcheck.paths import NODE_ROOM
from bookcheck.site.source_place import place_of
from bookcheck.site.state import Renderer, Symbols, build_of
from bookcheck.site.symbols import symbols_on_page

SERVER = Path(__file__).with_name("katex_lines.cjs")
PACKAGE = NODE_ROOM / "node_modules" / "katex" / "dist" / "katex.js"
# KaTeX would number the rows of these by itself, beside the book's own number.
SELF_NUMBERED = re.compile(r"\\begin\{(align|alignat|gather|equation|CD)\}")
OPENING, CLOSING = re.compile(r"[(\[‘“]+$"), re.compile(r"^[,.;:!?)\]’”]+")
LONGEST_WHOLE = 25  # characters of TeX


class FormulaError(SphinxError):
    """A formula that KaTeX cannot read."""

    category = "Formula error"


class UnreadableFormulaError(ValueError):
    """KaTeX's own words about one formula."""


class Katex:
    """A node process that turns TeX into HTML, started at the first formula."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self.package = package
        self.process: subprocess.Popen[str] | None = None
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
            answer = self._ask({"tex": tex, "display": display, "symbols": symbols})
            if "error" in answer:
                raise UnreadableFormulaError(answer["error"])
            self.rendered[key] = answer["html"]
        return self.rendered[key]

    def _ask(self, request: dict[str, Any]) -> dict[str, str]:
        # Each worker of a parallel build has its own node: two that ask one mix the answers.
        if self.process is None or self.owner != os.getpid():
            self.owner = os.getpid()
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


def bad_formulas(document: nodes.document, katex: Renderer, source_root: str | Path) -> list[str]:
    """Return one line for each formula of a document that KaTeX cannot read."""
    complaints = []
    for node in document.findall(lambda n: isinstance(n, nodes.math | nodes.math_block)):
        try:
            katex.render(node.astext(), display=isinstance(node, nodes.math_block))
        except UnreadableFormulaError as error:
            formula = " ".join(node.astext().split())
            complaints.append(f"{place_of(node, source_root)}: {error}\n    in: {formula}")
    return complaints


def _render(translator: Any, node: nodes.Element, *, display: bool) -> str:
    app: Sphinx = translator.builder.app
    katex = build_of(app).katex
    assert katex is not None
    symbols = symbols_on_page(app, translator.builder.current_docname)
    try:
        return katex.render(node.astext(), display=display, symbols=symbols)
    except UnreadableFormulaError:
        raise FormulaError("\n".join(bad_formulas(node.document, katex, app.srcdir))) from None


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    html = _render(translator, node, display=False)
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


class KeepPunctuation(SphinxPostTransform):
    """Put a short formula and the marks that touch it into one box that no line end divides.

    A browser may end the line on both sides of a formula: a comma would begin the next line.
    """

    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Box the short formulas of a page."""
        for node in list(self.document.findall(nodes.math)):
            parent, place = node.parent, node.parent.index(node)
            if len(node.astext()) > LONGEST_WHOLE:
                continue
            marks = ["", ""]
            for side, (at, pattern) in enumerate([(place - 1, OPENING), (place + 1, CLOSING)]):
                text = parent[at] if 0 <= at < len(parent) else None
                if isinstance(text, nodes.Text) and (found := pattern.search(text)):
                    marks[side] = found[0]
                    parent[at] = nodes.Text(pattern.sub("", text))
            if any(marks):
                parent[place] = nodes.inline(
                    "", marks[0], node, nodes.Text(marks[1]), classes=["whole"]
                )


def setup(app: Sphinx) -> None:
    """Register the renderer under the name `prerendered`."""
    app.add_post_transform(KeepPunctuation)
    app.add_html_math_renderer("prerendered", (visit_inline, None), (visit_display, None))
    katex = build_of(app).katex = Katex()
    app.connect("build-finished", lambda *_: katex.close())
