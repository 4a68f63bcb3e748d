"""Tables of outputs: words at the left, true minus signs, commas, indices, paths that break."""

import itertools
import re

from docutils import nodes
from sphinx.application import Sphinx

TABLE = '<table class="book-table'
CELL = re.compile(r"<t[hd]\b.*?</t[hd]>", re.DOTALL)
NUMBER = re.compile(r"<[^>]*>[-−+(]?\d")
INDEX = re.compile(r"\b([A-Za-z])_([A-Za-z0-9])\b")
UPPER = re.compile(r"\b([A-Z])\^([A-Z])\b")
PATH = re.compile(r"(?<=\w)[/:@](?=\w)(?!s\b)")  # of paths, and not in tokens/s
# The sign of a number that readers see: not inside a tag, and not of -1e3, which is code.
MINUS = re.compile(r"(?<=[>\s(=])-(?=\d)(?![\d.]+e)(?=[^<>]*<)")
# In a table also that of a name, as in n - m, (-sin) and -|n - m|, but not an option such as -m.
MINUS_OF_NAME = re.compile(r"(?<=\w )-(?= \w)|(?<=\()-(?=[a-z])|(?<= )-(?=\||inf\b)")
LONG = re.compile(r"(?<=>)((?:\d+ × )?)(\d{5,})(?=</t[dh]>)")


def mark_words(table: str) -> str:
    """Give the cells of columns without numbers the class `word`."""
    width = len(CELL.findall(table.partition("</tr>")[0]))
    cells = CELL.findall(table)[width:]
    places = itertools.count()
    words = [not any(map(NUMBER.match, cells[column::width])) for column in range(width)]
    mark = [' class="word">' if word else ">" for word in words]
    return CELL.sub(lambda cell: cell[0].replace(">", mark[next(places) % width], 1), table)


def true_minus(cell: re.Match[str]) -> str:
    """Write true minus signs into a cell, but not into code."""
    if "<code" in cell[0]:
        return cell[0]
    return MINUS_OF_NAME.sub("−", MINUS.sub("−", cell[0]))


def in_thousands(number: re.Match[str]) -> str:
    """A whole number of five digits or more, 131,072, as in the text."""
    return f"{number[1]}{int(number[2]):,}"


def rewrite_tables(_app: Sphinx, document: nodes.document, _page: str) -> None:
    """Rewrite the HTML that the notebook stores."""
    for raw in list(document.findall(nodes.raw)):
        if TABLE in raw.astext():
            table = INDEX.sub(r"<i>\1</i><sub>\2</sub>", raw.astext())
            table = UPPER.sub(r"<i>\1</i><sup>\2</sup>", table)
            table = CELL.sub(true_minus, table)
            table = LONG.sub(in_thousands, table)
            table = PATH.sub(r"\g<0><wbr>", table)  # where a long path may break
            raw.replace_self(nodes.raw("", mark_words(table), format="html"))


def setup(app: Sphinx) -> None:
    """Connect the function."""
    app.connect("doctree-resolved", rewrite_tables)
