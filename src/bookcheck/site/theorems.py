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


def next_formula(parent: nodes.Element, place: int) -> list[nodes.Node]:
    """The displayed formula at a place, after the target of its label; nothing if there is none."""
    following = list(parent.children[place : place + 2])
    if following and isinstance(following[0], nodes.math_block):
        return following[:1]
    if len(following) == 2 and isinstance(following[1], nodes.math_block):
        return following if isinstance(following[0], nodes.target) else []
    return []


def hold_formulas(document: nodes.document) -> None:
    """Move the formulas that follow a statement directly into its box."""
    for box in list(document.findall(is_statement)):
        parent = box.parent
        content = next(box.findall(nodes.section), box)
        place = parent.index(box) + 1
        while formula := next_formula(parent, place):
            for node in formula:
                parent.remove(node)
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
