r"""Where a sentence has a relation: the words before and behind it.

`tests/equations/relations.tsv` has every relation of every sentence, in the pages' order: page,
place, formula, and `executed` or the reason why it is not. The place is the few words on both sides
of it, in which ``…`` stands for the relation and ``$`` for every other formula::

    many-heads    For … the product $    d_k < d    a condition

A reason holds at this place alone. The same relation in another sentence has a row of its own, and
where that says `executed`, it must hold there; so must one that has no row. A relation that became
another one, two that were exchanged, one that is gone, or one with other words beside it: each
differs from the table, and a test says so. The table proves nothing. What is true of a page's
values could stand at a wrong place, and there the table notices it.

python -m bookcheck.equations.places              what differs from the table
python -m bookcheck.equations.places --list attention    write the relations of a page anew

Written anew, a relation keeps its reason if it has the same text, at the same place or as the only
one that changed its place. Every other one is `executed`: write a reason there by hand if nothing
can execute it. `python -m bookcheck.numbers --list` does the same for its pages.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bookformat.formulas import InlineFormula, inline_relations
from bookformat.paths import CHECKS, rows_of

TABLE = CHECKS / "relations.tsv"
COMMAND = "python -m bookcheck.equations.places --list"
EXECUTED = "executed"
# How many words on each side are the place.
WORDS = 4


class Row(NamedTuple):
    """A relation of a page: its place, its text, and `executed` or why it is not."""

    place: str
    text: str
    said: str = EXECUTED

    def __str__(self) -> str:
        return f"${self.text}$ at “{self.place}”"


def place_of(formula: InlineFormula) -> str:
    """The words beside a formula, as the table has them."""
    before = formula.before.split()[-WORDS:]
    after = formula.after.split()[:WORDS]
    return " ".join([*before, "…", *after])


def row_of(formula: InlineFormula) -> Row:
    """A formula as a row that nothing is said about yet."""
    return Row(place_of(formula), formula.text)


Table = dict[str, list[Row]]


@functools.cache
def listed(table: Path = TABLE) -> Table:
    """The rows of each page."""
    found: Table = {}
    for page, place, text, said in rows_of(table):
        found.setdefault(page, []).append(Row(place, text, said))
    return found


def reasons(rows: Sequence[Row]) -> dict[tuple[str, str], str]:
    """Why relations are not executed, by place and text."""
    return {row[:2]: row.said for row in rows if row.said != EXECUTED}


def differences(formulas: Sequence[InlineFormula], rows: Sequence[Row]) -> Iterator[str]:
    """What a page has otherwise than the table, with its place."""
    printed = [row_of(one) for one in formulas]
    known = [Row(*row[:2]) for row in rows]
    matcher = difflib.SequenceMatcher(None, known, printed, autojunk=False)
    for _, first, end, start, stop in matcher.get_opcodes() if known != printed else ():
        gone = known[first:end]
        new = printed[start:stop]
        if gone == new:
            continue
        for place, row in enumerate(new):
            was = f", which was {gone[place]}" if len(gone) == len(new) else ""
            yield f"{formulas[start + place].place}: {row}{was}"
        if len(gone) != len(new):
            yield from (f"no longer here: {row}" for row in gone)


def problems(page: str, formulas: Sequence[InlineFormula], rows: Sequence[Row]) -> list[str]:
    """What differs from the table, each with what to do."""
    found = [
        f"{page}: {one}: correct it, or, if this is meant and true, {COMMAND} {page}"
        for one in differences(formulas, rows)
    ]
    said = defaultdict(set)
    for row in rows:
        said[row[:2]].add(row.said)
    return found + [
        f"{page}: {Row(*key)} stands in tests/equations/relations.tsv with {sorted(several)}: say "
        "one of them in each of its rows, or give their sentences other words"
        for key, several in said.items()
        if len(several) > 1
    ]


def rows_anew(formulas: Sequence[InlineFormula], rows: Sequence[Row]) -> list[Row]:
    """The rows of a page as it is now; what is said of a relation stays with it."""
    known = {row[:2]: row.said for row in rows}
    printed = [row_of(one) for one in formulas]
    gone: dict[str, set[str]] = defaultdict(set)
    moved = Counter(row.text for row in printed if row[:2] not in known)
    here = {row[:2] for row in printed}
    for row in rows:
        if row[:2] not in here:
            gone[row.text].add(row.said)
    counted = Counter(row.text for row in rows if row[:2] not in here)
    found = []
    for row in printed:
        said = known.get(row[:2])
        # One relation whose words changed, and no other of this text that could be meant.
        if said is None and moved[row.text] == counted[row.text] == 1:
            (said,) = gone[row.text]
        found.append(row._replace(said=said or EXECUTED))
    return found


def write(table: Mapping[str, Sequence[Row]]) -> None:
    """Store the table: pages in the book's order, relations in the page's order."""
    lines = [
        "\t".join((page, *row)) + "\n" for page in inline_relations() for row in table.get(page, ())
    ]
    TABLE.write_text("".join(lines), encoding="utf-8")


def list_anew(pages: Sequence[str]) -> list[str]:
    """Write the rows of some pages anew; what changed, with what is now said of it."""
    table = dict(listed())
    told = []
    for page in pages:
        old = table.get(page, [])
        new = rows_anew(inline_relations()[page], old)
        left = Counter(old)
        for row in new:
            if left[row]:
                left[row] -= 1
            else:
                told.append(f"{page}: {row}: {row.said}")
        told += [f"{page}: no longer here: {row}" for row in left.elements()]
        table[page] = new
    write(table)
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the relations of the pages' sentences with the table, or write them into it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="names of pages, such as attention")
    parser.add_argument("--list", action="store_true", help="write what the pages have now")
    options = parser.parse_args(arguments)
    if unknown := [page for page in options.pages if page not in inline_relations()]:
        parser.error(f"there is no page {unknown[0]!r}; a page is named like deeper/clocks")
    pages = options.pages or list(inline_relations())
    if options.list:
        print("\n".join(list_anew(pages)))
        return 0
    told = [
        one
        for page in pages
        for one in problems(page, inline_relations()[page], listed().get(page, []))
    ]
    print("\n".join(told))
    return bool(told)


if __name__ == "__main__":
    sys.exit(main())
