"""Solutions, and every block of class `dropdown`, fold as `<details>`: no JavaScript needed."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import solution_node

# The title of a solution repeats that of its exercise with straight apostrophes.
APOSTROPHE = re.compile(r"(?<=\w)'")


class details(nodes.General, nodes.Element):  # noqa: N801 - as docutils does
    """A block that is closed until the reader opens it."""


class summary(nodes.General, nodes.TextElement):  # noqa: N801
    """The title of such a block."""


class FoldBlocks(SphinxPostTransform):
    """Turn blocks into folds."""

    # After every extension has given its blocks their titles and numbers.
    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace each block that folds; its title has no links, which would not open it."""
        for block in list(self.document.findall(nodes.Admonition)):
            assert isinstance(block, nodes.Element)
            if "dropdown" not in block["classes"] and not isinstance(block, solution_node):
                continue
            title = block[0]
            if isinstance(title, nodes.title):
                block.remove(title)
                for link in list(title.findall(nodes.reference)):
                    link.replace_self(link.children)
            else:  # sphinx-proof writes "Proof. " before the first word of a proof
                word, rest = str(title[0]).split(". ", 1)
                title[0] = nodes.Text(rest)
                title = nodes.title("", word)
            for words in list(title.findall(nodes.Text)):
                if not isinstance(words.parent, nodes.literal):
                    words.parent.replace(words, nodes.Text(APOSTROPHE.sub("’", words)))
            head = summary("", "", *title.children, classes=["admonition-title"])
            classes = [*block["classes"], "admonition"]
            block.replace_self(
                details("", head, *block.children, ids=block["ids"], classes=classes)
            )


def visit(translator: Any, node: nodes.Element) -> None:
    """Write the start of an element that has the name of its node."""
    translator.body.append(translator.starttag(node, node.tagname, ""))


def depart(translator: Any, node: nodes.Element) -> None:
    """Write its end."""
    translator.body.append(f"</{node.tagname}>\n")


def setup(app: Sphinx) -> None:
    """Register both elements and the transform."""
    app.add_node(details, html=(visit, depart))
    app.add_node(summary, html=(visit, depart))
    app.add_post_transform(FoldBlocks)
