"""The playground: a directive with what is read without it, and scripts where they can run.

As the editors of the workshop, a build has them only where BOOK_RUNNABLE is set (`make workshop`).
They are in _static/runnable/playground, and hide the directive's text and the figure
`fig-playground`, a still picture, once they run.

The directive `playground-picture` puts its text beside a small picture of the playground: the maps
of `fig-playground`, as the notebook stores them.
"""

import base64
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from bookformat.notebooks import read
from bookformat.paths import CHAPTERS
from booksite import runnable
from booksite.runnable import SCRIPTS, VARIABLE
from booksite.workshop import FIRST_WITH_WEIGHTS, bytes_to_load

CLASS = "playground"
# In the order in which they need each other.
FILES = ("drawing.js", "state.js", "controls.js", "heads.js", "page.js")

PAGE = f"{CHAPTERS.name}/workshop/{CLASS}"
FIGURE = "fig-playground"
MAPS = re.compile(r'data:image/png;base64,([^"]+)"')
LABEL = re.compile(r'aria-label="([^"]*)"')
PICTURE = f"{CLASS}.png"
# In pixels of the page; the stored maps have two dots for each.
SIDE = 236


def drawing_of(path: Path) -> str:
    """The SVG text of the still picture, which the notebook stores."""
    for cell in read(path).cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == FIGURE:
            return str(cell.outputs[0].data["image/svg+xml"])
    raise ValueError(f"{path} has no figure {FIGURE}")


def maps_of(path: Path) -> bytes:
    """The maps of the still picture, as a PNG file, upside down as the drawing has them."""
    maps = MAPS.search(drawing_of(path))
    if maps is None:
        raise ValueError(f"{FIGURE} of {path} has no maps")
    return base64.b64decode(maps[1])


def write_picture(app: Sphinx, error: Exception | None) -> None:
    """Write the small picture into the site."""
    path = Path(app.srcdir, f"{PAGE}.ipynb")
    if error is not None or app.builder.format != "html" or not path.is_file():
        return
    (Path(app.outdir) / "_static" / PICTURE).write_bytes(maps_of(path))


class PlaygroundPicture(SphinxDirective):
    """The directive `playground-picture`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Put the picture, which a browser loads late, beside the text."""
        path = Path(self.env.srcdir, f"{PAGE}.ipynb")
        self.env.note_dependency(str(path))
        label = LABEL.search(drawing_of(path))
        if label is None:
            raise ValueError(f"{FIGURE} of {path} has no description")
        up = "../" * self.env.docname.count("/")
        image = (
            f'<img class="dark-light" src="{up}_static/{PICTURE}" alt="{label[1]}" '
            f'width="{SIDE}" height="{SIDE}" loading="lazy">'
        )
        text = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, text)
        picture = nodes.raw("", f'<a href="{up}{PAGE}.html">{image}</a>', format="html")
        return [nodes.container("", picture, text, classes=[f"{CLASS}-picture"])]


def script_tags(up: str) -> str:
    """The links to the scripts, from a page whose site begins at `up`."""
    size = bytes_to_load(FIRST_WITH_WEIGHTS)
    tags = [
        f'<script defer src="{up}_static/{SCRIPTS}/{CLASS}/{name}" data-bytes="{size}"></script>'
        for name in FILES
    ]
    return runnable.script_tags(up) + "".join(tags)


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
    app.add_directive(f"{CLASS}-picture", PlaygroundPicture)
    app.connect("build-finished", write_picture)
    if os.environ.get(VARIABLE):
        app.add_post_transform(AddScripts)
