"""Tables of outputs: columns of numbers at the right, with true minus signs, and true indices."""

import itertools
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

TABLE = '<table class="book-table'
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<(t[hd])\b([^>]*)>(.*?)</\1>", re.DOTALL)
INDEX = re.compile(r"\b([A-Za-z])_([A-Za-z0-9])\b")
NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?\s*[%×]?|[-−]?inf|nan")


def mark_numbers(table: str) -> str:
    """Give columns that are mostly numbers the class `number`, and set d_k as a formula."""
    rows = [[cell[2] for cell in CELL.findall(row)] for row in ROW.findall(table)]
    numeric = [
        2 * sum(bool(NUMBER.fullmatch(text)) for text in column) > len(column)
        for column in zip(*rows[1:], strict=True)
    ]
    columns = itertools.cycle(numeric)

    def mark(cell: re.Match[str]) -> str:
        tag, attributes, text = cell.groups()
        text = INDEX.sub(r"<i>\1</i><sub>\2</sub>", text)
        if next(columns):
            attributes, text = f'{attributes} class="number"', re.sub("^-", "−", text)
        return f"<{tag}{attributes}>{text}</{tag}>"

    return CELL.sub(mark, table)


class MarkNumbers(SphinxPostTransform):
    """Mark the numbers in the tables of a page."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Rewrite the HTML that the notebook stores."""
        for raw in list(self.document.findall(nodes.raw)):
            if TABLE in raw.astext():
                raw.replace_self(nodes.raw("", mark_numbers(raw.astext()), format="html"))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(MarkNumbers)
