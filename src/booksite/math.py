"""Formulas become HTML at build time; one that KaTeX cannot read stops the build.

The page then needs no JavaScript and no other host to show a formula.
"""

import functools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number

from bookformat.paths import NODE_ROOM
from booksite.node.packages import NODE, ensure_packages
from booksite.source_place import place_of

SERVER = Path(__file__).with_name("katex_lines.cjs")
PACKAGE = NODE_ROOM / "node_modules" / "katex" / "dist" / "katex.js"
LONGEST_UNBROKEN = 25  # characters of a formula that no line end divides, nor the comma behind it
# KaTeX would number the rows of these by itself, beside the book's own number.
SELF_NUMBERED = re.compile(r"\\begin\{(align|alignat|gather|equation|CD)\}")


class FormulaError(SphinxError):
    """A formula that KaTeX cannot read."""

    category = "Formula error"


@functools.cache
def katex() -> subprocess.Popen[str]:
    """A Node.js process that turns lines of TeX into HTML until the build ends."""
    ensure_packages(NODE_ROOM)
    pipe = subprocess.PIPE
    return subprocess.Popen([NODE, SERVER, PACKAGE], stdin=pipe, stdout=pipe, encoding="utf8")


@functools.cache
def render(tex: str, *, display: bool) -> str:
    """Return the HTML of a formula, or raise FormulaError."""
    if numbered := SELF_NUMBERED.search(tex):
        name = numbered[1]
        raise FormulaError(
            f"{name} numbers its own rows: write {name}* and label the whole formula"
        )
    process = katex()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
    process.stdin.flush()
    answer: dict[str, str] = json.loads(process.stdout.readline())
    if "error" in answer:
        raise FormulaError(answer["error"])
    return answer["html"]


def rendered(translator: Any, node: nodes.Element, *, display: bool) -> str:
    """The HTML of a formula; one that cannot be read stops the build."""
    try:
        return render(node.astext(), display=display)
    except FormulaError as error:
        place = place_of(node, translator.builder.srcdir)
        text = " ".join(node.astext().split())
        raise FormulaError(f"{place}: {error}\n    in: {text}") from None


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    html = rendered(translator, node, display=False)
    kind = "math notranslate" + " short" * (len(node.astext()) <= LONGEST_UNBROKEN)
    translator.body.append(translator.starttag(node, "span", "", CLASS=kind))
    translator.body.append(f"{html}\u2060</span>")
    raise nodes.SkipNode


def visit_display(translator: Any, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number where it has a label."""
    html = rendered(translator, node, display=True)
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    translator.body.append(f'<div class="math-formula" tabindex="0">{html}</div>')
    if node["number"]:
        number = get_node_equation_number(translator, node)
        # The ledger says how the equation was checked, the annotated source what computes it.
        beside = node.get("code", "") + node.get("mark", "")
        translator.body.append(f'<span class="eqno">{beside}({number})')
        translator.add_permalink_ref(node, _("Link to this equation"))
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer under the name `prerendered`."""
    app.add_html_math_renderer("prerendered", (visit_inline, None), (visit_display, None))
