"""The playground: a directive with what is read without it, and scripts where they can run.

As the editors of the workshop, a build has them only where BOOK_RUNNABLE is set (`make workshop`).
They are in _static/runnable/playground, and hide the directive's text and the figure
`fig-playground`, a still picture, once they run.
"""

import os
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from booksite.runnable import SCRIPTS, VARIABLE
from booksite.workshop import FIRST_WITH_WEIGHTS, bytes_to_load

CLASS = "playground"
# In the order in which they need each other.
FILES = ("drawing.js", "state.js", "controls.js", "heads.js", "page.js")


def script_tags(up: str) -> str:
    """The links to the scripts, from a page whose site begins at `up`."""
    size = bytes_to_load(FIRST_WITH_WEIGHTS)
    tags = [
        f'<script defer src="{up}_static/{SCRIPTS}/{CLASS}/{name}" data-bytes="{size}"></script>'
        for name in FILES
    ]
    return "".join(tags)


class Playground(SphinxDirective):
    """The directive `playground`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Show the text; a later step adds the scripts."""
        place = nodes.container(classes=[CLASS])
        self.state.nested_parse(self.content, self.content_offset, place)
        return [place]


class AddScripts(SphinxPostTransform):
    """Put the scripts below the text. A page that was read for another build has none of them."""

    default_priority = 902
    formats = ("html",)

    def run(self, **_others: Any) -> None:
        """Look for the place."""
        for place in self.document.findall(nodes.container):
            if CLASS in place["classes"]:
                up = "../" * self.env.docname.count("/")
                index = place.parent.index(place)
                place.parent.insert(index + 1, nodes.raw("", script_tags(up), format="html"))
                return


def setup(app: Sphinx) -> None:
    """Register the directive, and the scripts where the build is to have them."""
    app.add_directive(CLASS, Playground)
    if os.environ.get(VARIABLE):
        app.add_post_transform(AddScripts)
