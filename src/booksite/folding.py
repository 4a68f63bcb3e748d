"""Solutions, and every block of class `dropdown`, fold as `<details>`: no JavaScript needed."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import solution_node

# The title of a solution repeats that of its exercise with straight apostrophes.
APOSTROPHE = re.compile(r"(?<=\w)'")

# What sphinx-proof writes before the first word of a proof, in every language.
PROOF = "Proof. "
# Around the name of an exercise, by sphinx-exercise.
BRACKETS = (" (", ")")


class details(nodes.General, nodes.Element):  # noqa: N801 - as docutils does
    """A block that is closed until the reader opens it."""


class summary(nodes.General, nodes.TextElement):  # noqa: N801
    """The title of such a block."""


class FoldBlocks(SphinxPostTransform):
    """Turn blocks into folds."""

    # After every extension has given its blocks their titles and numbers.
    default_priority = 900
    formats = ("html",)

    def run(self, **_options: Any) -> None:
        """Replace each block that folds; its title has no links, which would not open it."""
        for block in list(self.document.findall(nodes.Admonition)):
            assert isinstance(block, nodes.Element)
            put_brackets(block)
            if "dropdown" not in block["classes"] and not isinstance(block, solution_node):
                name_proof(block)
                continue
            title = block[0]
            if isinstance(title, nodes.title):
                block.remove(title)
                for link in list(title.findall(nodes.reference)):
                    link.replace_self(link.children)
            else:
                word, rest = str(title[0]).split(". ", 1)
                title[0] = nodes.Text(rest)
                title = nodes.title("", str(_(word)))
            for words in list(title.findall(nodes.Text)):
                if not isinstance(words.parent, nodes.literal):
                    words.parent.replace(words, nodes.Text(APOSTROPHE.sub("’", words)))
            head = summary("", "", *title.children, classes=["admonition-title"])
            classes = [*block["classes"], "admonition"]
            block.replace_self(
                details("", head, *block.children, ids=block["ids"], classes=classes)
            )


def put_brackets(block: nodes.Element) -> None:
    """Put the name of an exercise into the brackets of the site's language."""
    if block.children and isinstance(block[0], nodes.title):
        for words in [*block[0].findall(nodes.Text)]:
            if words in BRACKETS:
                words.parent.replace(words, nodes.Text(str(_(str(words)))))


def name_proof(block: nodes.Element) -> None:
    """Say "Proof" in the language of the site, where a proof does not fold."""
    if "proof" not in block["classes"]:
        return
    first = next(block.findall(nodes.Text), None)
    if first is not None and first.startswith(PROOF):
        translated = str(_(PROOF))
        rest = first.removeprefix(PROOF)
        first.parent.replace(first, nodes.Text(translated + rest))


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
