"""The playground: a directive with what is read without it, and scripts where they can run.

As the editors of the workshop, a build has them only where BOOK_RUNNABLE is set (`make workshop`).
They are in _static/runnable/playground, and hide the directive's text and the figure
`fig-playground`, a still picture, once they run.

The directive `playground-picture` puts its text beside a small picture of the playground: the maps
of `fig-playground`, as the notebook stores them, in the colours of the light and the dark page.
"""

import base64
import os
import re
import struct
import zlib
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from bookformat.notebooks import read
from bookformat.paths import CHAPTERS, STATIC
from booksite.runnable import SCRIPTS, VARIABLE
from booksite.workshop import FIRST_WITH_WEIGHTS, bytes_to_load

CLASS = "playground"
# In the order in which they need each other.
FILES = ("drawing.js", "state.js", "controls.js", "heads.js", "page.js")

PAGE = f"{CHAPTERS.name}/workshop/{CLASS}"
FIGURE = "fig-playground"
MAPS = re.compile(r'data:image/png;base64,([^"]+)"')
LABEL = re.compile(r'aria-label="([^"]*)"')
BLUE = re.compile(r"--figure-blue: #(\w{6});")
MODES = ("light", "dark")
# In pixels of the page; the stored maps have two dots for each.
SIDE = 236


def drawing_of(path: Path) -> str:
    """The SVG text of the still picture, which the notebook stores."""
    for cell in read(path).cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == FIGURE:
            return str(cell.outputs[0].data["image/svg+xml"])
    raise ValueError(f"{path} has no figure {FIGURE}")


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def distance(one: int, other: int) -> int:
    """How far two bytes are apart."""
    return abs(one - other)


def opacities(png: bytes) -> list[bytearray]:
    """How opaque each dot of a PNG file with four bytes a dot is, row by row."""
    width, _height, *form = struct.unpack(">IIBBBBB", png[16:29])
    if form != [8, 6, 0, 0, 0]:
        raise ValueError(f"the maps of {FIGURE} are stored in another form: {form}")
    packed, place = b"", 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            packed += png[place + 8 : place + 8 + size]
        place += size + 12
    data = zlib.decompress(packed)
    above, rows = bytearray(width), []
    for start in range(0, len(data), 4 * width + 1):
        # Each row says how its bytes were predicted: by those before, above, or both.
        way, row = data[start], bytearray(data[start + 4 : start + 4 * width + 1 : 4])
        for x in range(width):
            left = row[x - 1] if x else 0
            corner = above[x - 1] if x else 0
            likely = left + above[x] - corner
            paeth = min((left, above[x], corner), key=partial(distance, likely))
            row[x] = (row[x] + (0, left, above[x], (left + above[x]) // 2, paeth)[way]) % 256
        rows.append(row)
        above = row
    return rows


def one_colour(rows: list[bytearray], colour: bytes) -> bytes:
    """A PNG file in one colour, with sixteen steps from clear to opaque."""
    steps = [bytes((value + 8) // 17 for value in row) for row in rows]
    lines = b"".join(
        b"\0" + bytes(16 * one + other for one, other in zip(row[::2], row[1::2], strict=True))
        for row in steps
    )
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 4, 3, 0, 0, 0)
    clear = bytes(17 * step for step in range(16))
    parts = {b"IHDR": head, b"PLTE": 16 * colour, b"tRNS": clear}
    parts |= {b"IDAT": zlib.compress(lines, 9), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts.items())


def write_pictures(app: Sphinx, error: Exception | None) -> None:
    """Write the picture of each mode into the site."""
    path = Path(app.srcdir, f"{PAGE}.ipynb")
    if error is not None or app.builder.format != "html" or not path.is_file():
        return
    maps = MAPS.search(drawing_of(path))
    assert maps is not None, f"{FIGURE} has no maps"
    rows = opacities(base64.b64decode(maps[1]))[::-1]  # the drawing turns them over
    colours = BLUE.findall((STATIC / "book.css").read_text(encoding="utf-8"))
    for mode, colour in zip(MODES, colours, strict=True):
        picture = one_colour(rows, bytes.fromhex(colour))
        (Path(app.outdir) / "_static" / f"{CLASS}-{mode}.png").write_bytes(picture)


class PlaygroundPicture(SphinxDirective):
    """The directive `playground-picture`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Put the pictures beside the text; the page shows one, which a browser loads late."""
        path = Path(self.env.srcdir, f"{PAGE}.ipynb")
        self.env.note_dependency(str(path))
        label = LABEL.search(drawing_of(path))
        assert label is not None, f"{FIGURE} has no description"
        up = "../" * self.env.docname.count("/")
        said = f'width="{SIDE}" height="{SIDE}" loading="lazy" alt="{label[1]}"'
        images = "".join(
            f'<img class="only-{mode}" src="{up}_static/{CLASS}-{mode}.png" {said}>'
            for mode in MODES
        )
        text = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, text)
        picture = nodes.raw("", f'<a href="{up}{PAGE}.html">{images}</a>', format="html")
        return [nodes.container("", picture, text, classes=[f"{CLASS}-picture"])]


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
    app.add_directive(f"{CLASS}-picture", PlaygroundPicture)
    app.connect("build-finished", write_pictures)
    if os.environ.get(VARIABLE):
        app.add_post_transform(AddScripts)
