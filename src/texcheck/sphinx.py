r"""A Sphinx extension, also for MyST and Jupyter Book: a mark beside each executed formula.

``extensions = ["texcheck.sphinx"]`` in ``conf.py``, and where the record is::

    texcheck_record = "_build/texcheck.json"

``texcheck check FILE CHECKS.py --record _build/texcheck.json`` writes it: the texts of the formulas
that held. A mark is shown while the page prints that text; ``texcheck_mark`` and ``texcheck_title``
change what it looks like and says. A book with other records gives ``mark_of``, a function of the
application, the page's name and the node, which returns the mark's HTML or nothing, to ``connect``.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

TITLE = "Executed: this formula was evaluated, as printed, on numbers"
Mark = Callable[[Sphinx, str, nodes.Element], str | None]


def plain(text: str) -> str:
    """A formula without spaces, by which it is found again."""
    return "".join(text.split())


def mark_html(title: str, sign: str = "✓", address: str = "") -> str:
    """The mark, a link where there is an address."""
    said = html.escape(title)
    # The keyboard goes past it: a page may have hundreds.
    if address:
        return (
            f'<a class="equation-mark" href="{html.escape(address)}" title="{said}" '
            f'aria-label="{said}" tabindex="-1">{sign}</a>'
        )
    return (
        f'<span class="equation-mark" title="{said}" role="img" aria-label="{said}">{sign}</span>'
    )


def recorded_mark(app: Sphinx, _page: str, node: nodes.Element) -> str | None:
    """The mark of a formula that the record names."""
    path = Path(app.confdir, app.config.texcheck_record)
    if not path.is_file():
        return None
    held = {plain(text) for text in json.loads(path.read_text(encoding="utf-8"))["held"]}
    if plain(node.astext()) not in held:
        return None
    return mark_html(app.config.texcheck_title, app.config.texcheck_mark)


def connect(app: Sphinx, mark_of: Mark) -> None:
    """Give every displayed formula its mark when a page is written, as ``node["mark"]``."""

    def add_marks(app: Sphinx, doctree: nodes.document, page: str) -> None:
        for node in doctree.findall(nodes.math_block):
            mark = mark_of(app, page, node)
            if mark:
                node["mark"] = mark

    app.connect("doctree-resolved", add_marks)


def show_marks(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Put each mark behind its formula."""
    if app.builder.format != "html":
        return
    for node in list(doctree.findall(nodes.math_block)):
        if node.get("mark"):
            raw = nodes.raw("", f'<div class="texcheck-mark">{node["mark"]}</div>', format="html")
            node.parent.insert(node.parent.index(node) + 1, raw)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the settings and the marks."""
    app.add_config_value("texcheck_record", "_build/texcheck.json", "html")
    app.add_config_value("texcheck_mark", "✓", "html")
    app.add_config_value("texcheck_title", TITLE, "html")
    connect(app, recorded_mark)
    app.connect("doctree-resolved", show_marks, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
