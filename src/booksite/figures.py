"""SVG figures of notebooks become part of the page, so that they follow its colours.

An SVG behind `<img>` sees neither the page's text colour nor its CSS variables. A test asks every
figure for its description, and that it has no style or script of its own (`notebooks.rules`).
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _

from booksite.tables import MINUS

REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')
TEXT = re.compile(r"<text\b.*?</text>", re.DOTALL)
GROUP = re.compile(r"\s*<(?P<end>/?)g\b(?P<said>[^>]*?)(?P<empty>/?)>")
LETTER = re.compile(r'<tspan x="([^"]+)" (y="[^"]+" style="[^"]*")>([^<]+)</tspan>')


def join_letters(label: re.Match[str]) -> str:
    """Join the letters of words, which matplotlib places one by one as in its own font."""
    words: list[list[str]] = []
    for x, look, letter in sorted(LETTER.findall(label[0]), key=lambda found: float(found[0])):
        if words and words[-1][1] == look and (words[-1][2] + letter).isalnum():
            words[-1][2] += letter
        else:
            words.append([x, look, letter])
    parts = "".join(
        f'<tspan x="{x}" {look}>{word}</tspan>' for x, look, word in words if word.strip()
    )
    return re.sub(r">.*<", f">{parts}<", label[0], count=1, flags=re.DOTALL) if words else label[0]


def drop_empty_groups(drawing: str) -> str:
    """Leave out groups that say nothing of what they hold, as matplotlib makes for each part."""
    open_groups: list[bool] = []  # whether each group that is open was kept

    def keep_or_drop(tag: re.Match[str]) -> str:
        if tag["end"]:
            kept = open_groups.pop()
        else:
            kept = bool(tag["said"].strip())
            if not tag["empty"]:
                open_groups.append(kept)
        return tag[0] if kept else ""

    return GROUP.sub(keep_or_drop, drawing)


def inline_svg(text: str, *, prefix: str) -> str:
    """Return SVG text fit for a page, in a box that may scroll; its ids start with `prefix`."""
    drawing = TEXT.sub(lambda label: MINUS.sub("−", join_letters(label)), text.strip())
    drawing = drop_empty_groups(drawing)
    drawing = drawing.replace("<svg", '<svg class="book-figure"', 1)
    drawing = REFERENCE.sub(lambda found: found[1] + prefix, drawing)
    # Shown on narrow screens; enlarge.js listens.
    button = f'<button type="button" class="enlarge">{_("Full screen")}</button>'
    return f'<div class="figure-box" tabindex="0">{drawing}</div>{button}'


def put_into_page(app: Sphinx, document: nodes.document, _page: str) -> None:
    """Replace each SVG image that a notebook produced by its drawing."""
    output_folder = Path(app.outdir).parent / "jupyter_execute"
    count = 0
    for image in list(document.findall(nodes.image)):
        path = Path(app.srcdir) / image["uri"]
        if path.suffix != ".svg" or not path.resolve().is_relative_to(output_folder.resolve()):
            continue
        count += 1
        drawing = inline_svg(path.read_text(encoding="utf8"), prefix=f"figure-{count}-")
        image.replace_self(nodes.raw("", drawing, format="html"))


def setup(app: Sphinx) -> None:
    """Connect the function."""
    app.connect("doctree-resolved", put_into_page)
