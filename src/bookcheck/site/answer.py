"""The box at the top of a chapter: the answer, the minutes it takes, what it needs.

    :::{answer}
    :needs: [chapter 1](01-attention.ipynb)

    At most three sentences, true for a reader who stops here.
    :::

The minutes are computed from the notebook as it is stored.
"""

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from bookcheck.paths import DEEPER
from bookcheck.prose.answers import answer_problem
from bookcheck.prose.reading_time import reading_time

logger = logging.getLogger(__name__)


def facts(page: str, minutes: int) -> str:
    """How long a page takes."""
    name = "Reading time" if f"{DEEPER}/" in page else "Main line"
    return f"{name}: {minutes} {'minute' if minutes == 1 else 'minutes'}."


class Answer(SphinxDirective):
    """The directive `answer`."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"needs": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The answer as a box, with a line of facts below it."""
        text = "\n".join(self.content)
        problem = answer_problem(text)
        if problem:
            logger.warning("answer: %s", problem, location=self.get_location())
        box = nodes.admonition(classes=["answer"])
        self.set_source_info(box)
        box += nodes.title("", "The answer")
        self.state.nested_parse(self.content, self.content_offset, box)
        box += self.line_of_facts()
        return [box]

    def line_of_facts(self) -> nodes.paragraph:
        """How long the page takes, and what it needs."""
        line = nodes.paragraph(classes=["answer-facts"])
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix == ".ipynb":
            line += nodes.Text(facts(self.env.docname, reading_time(path).minutes) + " ")
        if "needs" in self.options:
            line += nodes.Text("Needs ")
            line += self.inline(self.options["needs"])
            line += nodes.Text(".")
        return line

    def inline(self, text: str) -> list[nodes.Node]:
        """A line of Markdown as nodes."""
        holder = nodes.container()
        self.state.nested_parse(StringList([text], self.env.docname), self.content_offset, holder)
        return list(holder.children[0].children)


def setup(app: Sphinx) -> None:
    """Register the directive and its look."""
    app.add_directive("answer", Answer)
    app.add_css_file("answer.css")
