"""Tables as print shows them: words left, numbers at their points, true minus signs, symbols.

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
# A whole number of five digits or more; a year has four. In a table where one number has a comma,
# so has every number that can.
# The digits of a commit, an issue or a name are no number.
LONG = re.compile(r"(?<![\d.,\w@#:/-])[1-9]\d{4,}(?![\d\w])")
LONG_BESIDE_OTHERS = re.compile(r"(?<![\d.,\w@#:/-])[1-9]\d{3,}(?![\d\w])")
YEAR = re.compile(r"(?:19|20)\d\d")
GROUPED = re.compile(r"\d,\d{3}")
EXPONENT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([-+]?)0*(\d+)")
# A hyphen before a digit, where no letter or digit stands before it, or between two spaces.
HYPHEN = re.compile(r"(?<![\w)\]])-(?=[\d.∞τ]|inf)|(?<= )-(?= )")
POWER = re.compile(r"(\d+|[a-zA-Zα-ωθτ])\^(-?[\w.]+(?:/[\w.]+)?|\([^)]*\))")
INDEXED = re.compile(r"(?<![\w^])([A-Za-zα-ω])_([A-Za-z0-9]+)(?!\w)")
# A letter alone is a symbol; the article is not, and x may be a sign.
LETTER = re.compile(r"(?<![\w.<>/&;'’-])([b-hj-zA-HJ-Z])(?![\w.'’;-])")
# A vector, which stays in one line.
VECTOR = re.compile(r"\([-−+\d., ]+\)")
# A cell of more letters is a text: on a narrow screen it breaks, but not after every word.
LONGEST_NAME = 16
# An equation, or a short term in brackets, in a heading.
UNBROKEN = re.compile(r"\S+ [=×] \S+|\([^()]{1,8}\)")
BLANK_DIGIT, BLANK_POINT = "\u2007", "\u2008"


def is_number(text: str) -> bool:
    """Whether a cell holds one number."""
    return bool(NUMBER.fullmatch(text.strip()))


def is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers: of what is filled in, at least three of four."""
    filled = [cell for cell in cells if cell.strip() not in MISSING]
    return bool(filled) and 4 * sum(map(is_number, filled)) >= 3 * len(filled)


def are_years(cells: list[str]) -> bool:
    """Whether a column holds years, which have no comma."""
    return all(YEAR.fullmatch(cell) for cell in cells if cell.strip() not in MISSING)


def decimals(text: str) -> int:
    """How many digits stand behind the point."""
    found = DECIMALS.search(text)
    return len(found[1]) if found else 0


def grouped(text: str, long: re.Pattern[str] = LONG) -> str:
    """Long whole numbers with a comma after each three digits, from the right."""
    return long.sub(lambda found: f"{int(found[0]):,}", text)


def typeset(text: str) -> str:
    """A cell's text with true minus signs, grouped digits, and vectors in one line."""
    text = grouped(HYPHEN.sub("−", text))
    return VECTOR.sub(lambda found: found[0].replace(" ", "\u00a0"), text)


def with_power(text: str) -> str:
    """A number as 9.2·10⁻⁷ in place of 9.2e-07, and as 4.7 in place of 4.7e+00."""

    def write(found: re.Match[str]) -> str:
        if found[3] == "0":
            return found[1]
        sign = "−" if found[2] == "-" else ""
        return f"{found[1]}·10<sup>{sign}{found[3]}</sup>"

    return EXPONENT.sub(write, text)


def padded(text: str, places: int) -> str:
    """A number followed by blank places, as wide as the digits it lacks."""
    own = decimals(text)
    if own >= places or not is_number(text):
        return text
    return text + (BLANK_POINT if own == 0 else "") + BLANK_DIGIT * (places - own)


def symbols(text: str) -> str:
    """The name of a column or row with its symbols set as such: d_k, 2^-τ, N."""
    if text in CLASSES:
        inside = f"<i>{text}</i>" if len(text) == 1 else text
        return f'<span class="{CLASSES[text]}">{inside}</span>'
    text = UNBROKEN.sub(lambda found: found[0].replace(" ", "\u00a0"), text)
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
    places = [
        0 if any(map(EXPONENT.search, column)) else max(map(decimals, column), default=0)
        for column in columns
    ]
    grouping = [any(GROUPED.search(typeset(cell)) for cell in column) for column in columns]
    commas = [
        own or (any(grouping) and numbers and not are_years(column))
        for own, numbers, column in zip(grouping, numeric, columns, strict=True)
    ]
    number = -1

    def write_row(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        column = -1

        def write_cell(cell: re.Match[str]) -> str:
            nonlocal column
            column += 1
            tag, attributes, text = cell.groups()
            if tag == "td":
                text = typeset(text)
                text = grouped(text, LONG_BESIDE_OTHERS) if commas[column] else text
                text = padded(text, places[column]) if numeric[column] else text
                text = with_power(text)
            else:
                text = symbols(typeset(text))
            if numeric[column]:
                kind = ' class="number"'
            else:
                kind = ' class="words"' if len(unescape(cell[3])) > LONGEST_NAME else ""
            return f"<{tag}{attributes}{kind}>{text}</{tag}>"

        return CELL.sub(write_cell, found[0])

    return ROW.sub(write_row, table)


def aligned_tables(page: str) -> str:
    """A page whose tables of outputs are made fit for reading."""
    return TABLE.sub(lambda found: aligned_table(found[0]), page)
