"""A theorem's box holds its formula.

A displayed formula with a label is behind the theorem's block in the source, where every tool
reads it; on the page it belongs to the statement.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

STATEMENTS = {"theorem", "lemma", "proposition", "corollary", "definition"}


class HoldFormulas(SphinxPostTransform):
    """Move the formulas that follow a statement directly, with their labels, into its box."""

    default_priority = 880
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Look at every statement of a page."""
        for box in list(self.document.findall(nodes.Element)):
            classes = {*box["classes"]}
            if "proof" not in classes or not classes & STATEMENTS:
                continue
            content = next(box.findall(nodes.section), box)
            parent, place = box.parent, box.parent.index(box) + 1
            while len(parent) > place:
                label = isinstance(parent[place], nodes.target) and len(parent) > place + 1
                formula = parent[place + label]
                if not isinstance(formula, nodes.math_block):
                    break
                content += [parent.pop(place) for _ in range(1 + label)]


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(HoldFormulas)
