"""What a link to a term, an equation or a source leads to, for a box beside the link.

For each page that has such places, a script in _static/tips holds those to which another page
leads, cut from the finished pages. `tips.js` loads it, and tippy.js, which draws the box, when a
reader comes to the first such link; so pages that are only read load neither. Both work from disk.
"""

import json
import posixpath
import re
import shutil
from collections import defaultdict
from pathlib import Path

from sphinx.application import Sphinx

from bookformat.paths import NODE_ROOM

FOLDER = "tips"
LIBRARIES = ("@popperjs/core/dist/umd/popper.min.js", "tippy.js/dist/tippy.umd.min.js")
LINK = re.compile(
    r'<a class="reference internal" href="([^"#]+\.html)#((?:term|equation)-[^"]+|id\d+)"'
)
PLACES = (
    re.compile(r'<dt id="(term-[^"]+)">.*?</dt>(?:<dt.*?</dt>)*<dd>(.*?)</dd>', re.DOTALL),
    re.compile(r'<div class="citation" id="(id\d+)"[^>]*>.*?(<p>.*?)</div>', re.DOTALL),
)
EQUATION = re.compile(r'<div class="math[^"]*" id="(equation-[^"]+)">')
EDGE_OF_BOX = re.compile(r"<(/?)div\b")
# In the box there is nothing to click or to reach, and no id for the second time.
LINKS_AND_IDS = re.compile(r'<a class="headerlink".*?</a>|</?a\b[^>]*>| (?:id|tabindex)="[^"]*"')


def end_of_box(text: str, start: int) -> int:
    """Where the `<div>` that begins at `start` ends."""
    depth = 0
    for edge in EDGE_OF_BOX.finditer(text, start):
        depth += -1 if edge[1] else 1
        if depth == 0:
            return text.index(">", edge.end()) + 1
    return len(text)


def places_of(text: str) -> dict[str, str]:
    """The terms, sources and equations of a page, by their anchors."""
    found = {anchor: shown for pattern in PLACES for anchor, shown in pattern.findall(text)}
    for equation in EQUATION.finditer(text):
        found[equation[1]] = text[equation.start() : end_of_box(text, equation.start())]
    return {anchor: LINKS_AND_IDS.sub("", shown) for anchor, shown in found.items()}


def write_tips(app: Sphinx, error: Exception | None) -> None:
    """Write the scripts, and put the library beside them."""
    if error is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    wanted: dict[str, set[str]] = defaultdict(set)
    pages = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }
    for page, text in pages.items():
        for address, anchor in LINK.findall(text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), address))
            wanted[target].add(anchor)
    folder = site / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        shutil.copy(NODE_ROOM / "node_modules" / library, folder)
    for page, anchors in wanted.items():
        places = places_of(pages.get(page, ""))
        shown = {anchor: places[anchor] for anchor in sorted(anchors & places.keys())}
        if shown:
            script = f"bookTips({json.dumps(page)}, {json.dumps(shown, ensure_ascii=False)});\n"
            (folder / page.replace("/", "-").replace(".html", ".js")).write_text(
                script, encoding="utf-8"
            )


def setup(app: Sphinx) -> None:
    """Connect the function."""
    app.connect("build-finished", write_tips)
