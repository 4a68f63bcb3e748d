"""SVG figures of notebooks become part of the page, so that they follow its colours.

An SVG behind `<img>` sees neither the page's text colour nor its CSS variables. A test asks every
figure for its description (`notebooks.rules`).
"""

import math
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from bookcheck.site.source_place import place_of

logger = logging.getLogger(__name__)

REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')
WIDTH = re.compile(r'viewBox="\S+ \S+ (\S+) ')
TEXT = re.compile(r"<text\b.*?</text>", re.DOTALL)
SIZE = re.compile(r"font-size: ([\d.]+)px")
# Where the screen is narrower than a figure, its letters are this high and the figure scrolls.
SMALLEST_LETTER = 11  # pixels


class FigureError(ValueError):
    """What keeps an SVG from being part of a page."""


def least_width(text: str) -> int | None:
    """Return the width in pixels at which an SVG's smallest letters can be read."""
    width = WIDTH.search(text)
    # An exponent is smaller than its line, and may be.
    letters = [max(map(float, SIZE.findall(line)), default=0.0) for line in TEXT.findall(text)]
    if width is None or not any(letters):
        return None
    return math.ceil(SMALLEST_LETTER / min(filter(None, letters)) * float(width[1]))


def inline_svg(text: str, *, prefix: str) -> str:
    """Return SVG text fit for a page, in a box that may scroll; its ids start with `prefix`."""
    if re.search(r"<(style|script)\b", text):
        raise FigureError(
            "the SVG holds a <style> or <script>, which would act on the whole page; "
            "draw it with bookkit.figures.show"
        )
    width = least_width(text)
    style = f' style="--least-width: {width}px"' if width else ""
    drawing = text.strip().replace("<svg", f'<svg class="book-figure"{style}', 1)
    drawing = REFERENCE.sub(lambda found: found[1] + prefix, drawing)
    return f'<div class="figure-box" tabindex="0">{drawing}</div>'


class InlineFigures(SphinxPostTransform):
    """Put the SVG outputs of code cells into the page, in place of links to files."""

    default_priority = 600
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replace each SVG image that a notebook produced."""
        output_folder = Path(self.app.outdir).parent / "jupyter_execute"
        count = 0
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir) / image["uri"]
            if path.suffix != ".svg" or not path.resolve().is_relative_to(output_folder.resolve()):
                continue
            count += 1
            text, prefix = path.read_text(encoding="utf8"), f"figure-{count}-"
            try:
                drawing = inline_svg(text, prefix=prefix)
                image.replace_self(nodes.raw("", drawing, format="html"))
            except FigureError as problem:
                place = place_of(image, self.app.srcdir)
                logger.warning("%s: %s", place, problem, type="figure", once=True)


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(InlineFigures)
