"""Words of the glossary become links where a chapter first uses them, by the build.

Only running text of chapters is looked at: no heading, code, formula, link, box, table, quiz or
exercise. A word that the chapter links by hand ({term}) is left alone. The links look like those.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from bookcheck.site.symbols import CHAPTER, GLOSSARY

# Words that mean something else in most sentences: a link would mislead. They are linked by hand.
EVERYDAY = {"base", "gap", "key", "memory", "rank", "reach", "value"}
# Within these nodes nothing is linked.
CLOSED = (
    nodes.Admonition,
    nodes.Titular,
    nodes.TextElement,
    nodes.table,
    nodes.figure,
    nodes.container,
    nodes.footnote,
    nodes.sidebar,
    nodes.topic,
)
# What is in italics is a word of an example, or the question of a chapter.
OPEN = (nodes.paragraph, nodes.strong)


def pattern_of(words: Mapping[str, Any]) -> re.Pattern[str] | None:
    """One expression for all words, the longest first; a plural s is allowed."""
    chosen = sorted((word for word in words if word not in EVERYDAY), key=len, reverse=True)
    if not chosen:
        return None
    either = "|".join(
        # The first letter may be large where a sentence starts; a name keeps its own letters.
        (rf"(?i:{re.escape(word[0])}){re.escape(word[1:])}" if word.islower() else re.escape(word))
        for word in chosen
    )
    return re.compile(rf"(?<![\w-])(?P<word>{either})(?:s|es)?(?![\w-])")


def running_text(document: nodes.document) -> Iterator[nodes.Text]:
    """The texts of sentences in which a word may be linked."""
    for text in list(document.findall(nodes.Text)):
        if open_to_links(text):
            yield text


def open_to_links(text: nodes.Text) -> bool:
    """Whether all that surrounds a text, up to its section, may hold a link."""
    node = text.parent
    inside_paragraph = False
    while node is not None and not isinstance(node, (nodes.section, nodes.document)):
        inside_paragraph = inside_paragraph or isinstance(node, nodes.paragraph)
        if not isinstance(node, OPEN) and isinstance(node, CLOSED):
            return False
        if type(node).__module__.partition(".")[0] not in ("docutils", "sphinx"):
            return False  # exercises, proofs, quizzes: nodes of extensions
        node = node.parent
    return inside_paragraph


def linked_words(document: nodes.document) -> set[str]:
    """The targets of the glossary's links that stand in the document already."""
    return {
        node["refuri"].partition("#")[2] or node.get("refid", "")
        for node in document.findall(nodes.reference)
        if "refuri" in node and "#term-" in node["refuri"]
    }


def link_terms(document: nodes.document, words: Mapping[str, nodes.reference]) -> list[str]:
    """Put each word's link around its first use; return the words that were linked."""
    left = dict(words)
    done: list[str] = []
    pattern = pattern_of(left)
    for text in running_text(document):
        if pattern is None:
            break
        pieces: list[nodes.Node] = []
        whole, place = str(text), 0
        for found in pattern.finditer(whole):
            name = found["word"] if found["word"] in left else found["word"].lower()
            link = left.pop(name, None)
            if link is None:
                continue
            done.append(name)
            link += nodes.inline("", found.group(), classes=["xref", "std", "std-term"])
            pieces += [nodes.Text(whole[place : found.start()]), link]
            place = found.end()
        if pieces:
            parent = text.parent
            parent.replace(text, [*pieces, nodes.Text(whole[place:])])
            pattern = pattern_of(left)
    return done


class LinkTerms(SphinxPostTransform):
    """Link the words of the glossary in a chapter."""

    # After the references of the text are resolved (10).
    default_priority = 20
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Link what the chapter does not link itself."""
        docname = self.env.docname
        if CHAPTER.match(docname) is None:
            return
        present = linked_words(self.document)
        words = {
            word: make_refnode(self.app.builder, docname, GLOSSARY, anchor, [])
            for word, _, kind, page, anchor, _ in self.env.get_domain("std").get_objects()
            if kind == "term" and page == GLOSSARY and anchor not in present
        }
        link_terms(self.document, words)


def setup(app: Any) -> None:
    """Register the transform."""
    app.add_post_transform(LinkTerms)
