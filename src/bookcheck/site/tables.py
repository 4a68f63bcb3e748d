"""Tables as print shows them: words left, numbers at their points, a true minus, symbols as symbols.

Outputs of notebooks store plain text, which the tests compare. The page's tables are made from it
here: `-0.710` becomes −0.710, `131072` 131,072, the heading `d_k` an italic letter with its index.
A number with fewer decimals than others of its column gets blank places of the same width behind
it, so that all points stand below each other.
"""

import re
from html import unescape

from bookcheck.site.roles import CLASSES

TABLE = re.compile(r'<table class="book-table[^"]*">.*?</table>', re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.DOTALL)
NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?\s*[%×]?|[-−]?inf|nan")
# What stands for a missing number.
MISSING = {"", "–", "—"}
DECIMALS = re.compile(r"\.(\d+)")
# A whole number of five digits or more; a year has four.
LONG = re.compile(r"(?<![\d.,\w])\d{5,}(?![\d\w])")
# A hyphen before a digit, where no letter or digit stands before it, or between two spaces.
HYPHEN = re.compile(r"(?<![\w)\]])-(?=[\d.∞τ]|inf)|(?<= )-(?= )")
POWER = re.compile(r"(\d+|[a-zA-Zα-ωθτ])\^(-?[\w.]+(?:/[\w.]+)?|\([^)]*\))")
INDEXED = re.compile(r"(?<![\w^])([A-Za-zα-ω])_([A-Za-z0-9]+)(?!\w)")
# A letter alone is a symbol; the article is not, and x may be a sign.
LETTER = re.compile(r"(?<![\w.<>/&;'’-])([b-hj-zA-HJ-Z])(?![\w.'’;-])")
BLANK_DIGIT, BLANK_POINT = "\u2007", "\u2008"


def is_number(text: str) -> bool:
    """Whether a cell holds one number."""
    return bool(NUMBER.fullmatch(text.strip()))


def is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers, and nothing else but gaps."""
    filled = [cell for cell in cells if cell.strip() not in MISSING]
    return bool(filled) and all(map(is_number, filled))


def decimals(text: str) -> int:
    """How many digits stand behind the point."""
    found = DECIMALS.search(text)
    return len(found[1]) if found else 0


def grouped(text: str) -> str:
    """Long whole numbers with a comma after each three digits, from the right."""
    return LONG.sub(lambda found: f"{int(found[0]):,}" if found[0][0] != "0" else found[0], text)


def typeset(text: str) -> str:
    """A cell's text with true minus signs and grouped digits."""
    return grouped(HYPHEN.sub("−", text))


def padded(text: str, places: int) -> str:
    """A number followed by blank places, as wide as the digits it lacks."""
    own = decimals(text)
    if own == places or not is_number(text):
        return text
    return text + (BLANK_POINT if own == 0 else "") + BLANK_DIGIT * (places - own)


def symbols(text: str) -> str:
    """The name of a column or row with its symbols set as such: d_k, 2^-τ, N."""
    if text in CLASSES:
        inside = f"<i>{text}</i>" if len(text) == 1 else text
        return f'<span class="{CLASSES[text]}">{inside}</span>'
    marked = POWER.sub(lambda m: f"{m[1]}<sup>{m[2].strip('()').replace('-', '−')}</sup>", text)
    marked = INDEXED.sub(r"<i>\1</i><sub>\2</sub>", marked)
    return LETTER.sub(r"<i>\1</i>", marked)


def aligned_table(table: str) -> str:
    """One table, made fit for reading."""
    rows = [CELL.findall(row) for row in ROW.findall(table)]
    head, body = rows[0], rows[1:]
    columns = [
        [unescape(row[place][2]) for row in body if place < len(row)] for place in range(len(head))
    ]
    numeric = [is_numeric(column) for column in columns]
    places = [max(map(decimals, column), default=0) for column in columns]
    number = -1

    def write_row(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        column = -1

        def write_cell(cell: re.Match[str]) -> str:
            nonlocal column
            column += 1
            tag, attributes, text = cell.groups()
            if tag == "td" and number and numeric[column]:
                text = padded(typeset(text), places[column])
            elif tag == "td":
                text = typeset(text)
            else:
                text = symbols(typeset(text))
            kind = ' class="number"' if numeric[column] else ""
            return f"<{tag}{attributes}{kind}>{text}</{tag}>"

        return CELL.sub(write_cell, found[0])

    return ROW.sub(write_row, table)


def aligned_tables(page: str) -> str:
    """A page whose tables of outputs are made fit for reading."""
    return TABLE.sub(lambda found: aligned_table(found[0]), page)
