"""The box at the top of a chapter: the answer, the minutes it takes, what it needs.

    :::{answer}
    :needs: [chapter 1](attention.ipynb)

    At most three sentences, true for a reader who stops here.
    :::

The minutes are computed from the notebook as it is stored.
"""

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from bookformat.notebooks import read
from bookformat.paths import DEEPER
from bookformat.reading_time import minutes_of


class Answer(SphinxDirective):
    """The directive `answer`."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"needs": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The answer as a box, with a line of facts below it."""
        box = nodes.admonition("", nodes.title("", _("The answer")), classes=["answer"])
        self.set_source_info(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        line = nodes.paragraph(classes=["answer-facts"])
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix == ".ipynb":
            name = _("Reading time") if path.parent.name == DEEPER else _("Main line")
            to_stop, to_end = minutes_of(read(path))
            said = _("%s: %d minutes.") % (name, round(to_end))
            if to_stop is not None:
                said += _(" To “You can stop here”: %d minutes.") % round(to_stop)
            line += nodes.Text(said)
        if "needs" in self.options:
            needs, _messages = self.state.inline_text(self.options["needs"], self.lineno)
            line += [nodes.Text(_(" Needs ")), *needs, nodes.Text(_("."))]
        box += line
        return [box]


def setup(app: Sphinx) -> None:
    """Register the directive and its look."""
    app.add_directive("answer", Answer)
    app.add_css_file("answer.css")
