"""A theorem's box holds its formula.

A displayed formula with a label stands behind the theorem's block in the source, where every tool
reads it; on the page it belongs to the statement.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

STATEMENTS = {"theorem", "lemma", "proposition", "corollary", "definition"}


def is_statement(node: nodes.Node) -> bool:
    """Whether a block states something that a formula may complete."""
    return (
        isinstance(node, nodes.Element)
        and "proof" in node.get("classes", ())
        and bool(STATEMENTS & {*node["classes"]})
    )


def hold_formulas(document: nodes.document) -> None:
    """Move the formulas that follow a statement directly into its box."""
    for box in list(document.findall(is_statement)):
        parent = box.parent
        content = next(box.findall(nodes.section), box)
        place = parent.index(box) + 1
        while place < len(parent) and isinstance(parent[place], nodes.math_block):
            formula = parent[place]
            parent.remove(formula)
            content += formula


class HoldFormulas(SphinxPostTransform):
    """Does it on every page."""

    default_priority = 880
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Move them."""
        hold_formulas(self.document)


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(HoldFormulas)
