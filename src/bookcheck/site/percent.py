"""A number and its percent sign stand in one line, with one space between them."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

BEHIND_DIGIT = re.compile(r"(?<=\d) ?%")
AT_START = re.compile(r"^ ?%")
SIGN = "\u00a0%"
# Text that is not prose.
FIXED = (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw)


def keep_percent(document: nodes.document) -> None:
    """Join numbers, computed ones and formulas too, with the percent sign behind them."""
    before = ""
    for node in list(document.findall(nodes.Text)):
        text = str(node)
        kept = text
        if not isinstance(node.parent, FIXED):
            kept = BEHIND_DIGIT.sub(SIGN, text)
            if before[-1:].isdigit():
                kept = AT_START.sub(SIGN, kept)
        if kept != text:
            node.parent.replace(node, nodes.Text(kept))
        before = text


class KeepPercent(SphinxPostTransform):
    """Does it on every page."""

    default_priority = 890
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Mend the whole page."""
        keep_percent(self.document)


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(KeepPercent)
