"""Solutions, and every block of class `dropdown`, fold as `<details>`: no JavaScript needed."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import solution_node

TITLE = re.compile(r'<p class="admonition-title"([^>]*)>(.*?)</p>', re.DOTALL)
# A proof has no title of its own: its first paragraph starts with the word.
FIRST_WORD = re.compile(r"<p>(\w+)\.\s")
LINK = re.compile(r"</?a\b[^>]*>")


class folded(nodes.General, nodes.Element):  # noqa: N801 - as docutils does
    """A wrapper around an admonition that is closed until the reader opens it."""


class FoldBlocks(SphinxPostTransform):
    """Wrap what folds."""

    # After every extension has given its blocks their titles and numbers.
    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Wrap each block in place; its own ids stay on the block."""
        for block in list(self.document.findall(nodes.Admonition)):
            assert isinstance(block, nodes.Element)
            if "dropdown" in block["classes"] or isinstance(block, solution_node):
                wrapper = folded()
                block.replace_self(wrapper)
                wrapper += block


def fold(html: str) -> str:
    """Return an admonition's HTML as `<details>`, its title as `<summary>` without links."""
    start = html.find("<div")
    if not TITLE.search(html):
        html = FIRST_WORD.sub(r'<p class="admonition-title">\1</p><p>', html, count=1)
    if start < 0 or not TITLE.search(html):
        raise ValueError(f"a block that folds needs a title, got: {html[:120]}")
    html = f"<details{html[start + len('<div') : html.rfind('</div>')]}</details>\n"

    def summary(title: re.Match[str]) -> str:
        return f'<summary class="admonition-title"{title[1]}>{LINK.sub("", title[2])}</summary>'

    return TITLE.sub(summary, html, count=1)


def visit_folded(translator: Any, node: folded) -> None:
    """Remember where the block starts."""
    node["start"] = len(translator.body)


def depart_folded(translator: Any, node: folded) -> None:
    """Rewrite what the block's own extension wrote."""
    html = "".join(translator.body[node["start"] :])
    del translator.body[node["start"] :]
    translator.body.append(fold(html))


def setup(app: Sphinx) -> None:
    """Register the wrapper and its transform."""
    app.add_node(folded, html=(visit_folded, depart_folded))
    app.add_post_transform(FoldBlocks)
