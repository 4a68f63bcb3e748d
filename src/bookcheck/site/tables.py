"""Tables of outputs have true minus signs and true indices; the stored ones stay plain."""

import re

from docutils import nodes
from sphinx.application import Sphinx

TABLE = '<table class="book-table'
# A line does not end in a short bracket of numbers, or between a sign and its number.
WHOLE = re.compile(r"\([-−\d][^()]{,20}\)|± [\d.]+")
INDEX = re.compile(r"\b([A-Za-z])_([A-Za-z0-9])\b")
MINUS = re.compile(r"(?<=<td>)-(?=\d)")


def set_signs(_app: Sphinx, document: nodes.document, _page: str) -> None:
    """Rewrite the HTML that the notebook stores."""
    for raw in list(document.findall(nodes.raw)):
        if TABLE in raw.astext():
            table = MINUS.sub("−", INDEX.sub(r"<i>\1</i><sub>\2</sub>", raw.astext()))
            table = WHOLE.sub(lambda found: found[0].replace(" ", "\xa0"), table)
            raw.replace_self(nodes.raw("", table, format="html"))


def setup(app: Sphinx) -> None:
    """Connect the function."""
    app.connect("doctree-resolved", set_signs)
