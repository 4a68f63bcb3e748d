"""Small labelled tables: `show_table` prints numbers so that a reader sees what each one is."""

from collections.abc import Sequence
from html import escape
from typing import Any

from IPython.display import display


def show_table(
    values: Any,
    *,
    columns: Sequence[str],
    rows: Sequence[str] | None = None,
    digits: int = 3,
    corner: str = "",
    sortable: bool = False,
) -> None:
    """Display a table with named columns and, if given, named rows.

    `values` is a matrix or a list of rows; numbers are rounded to `digits` decimals, whole numbers
    and words stay as they are. Columns hold what their heading says, units included. A `sortable`
    table is sorted by a click on a heading, where the reader's browser runs scripts.
    """
    body = [[_cell(value, digits) for value in row] for row in values]
    for number, row in enumerate(body):
        if len(row) != len(columns):
            raise ValueError(
                f"row {number} has {len(row)} values for {len(columns)} columns {list(columns)}"
            )
    if rows is not None and len(rows) != len(body):
        raise ValueError(f"{len(rows)} row names for {len(body)} rows")
    head = [*([corner] if rows is not None else []), *columns]
    lines = [[*([rows[i]] if rows is not None else []), *row] for i, row in enumerate(body)]
    display(
        {
            "text/html": _html(head, lines, rows is not None, sortable),
            "text/plain": _plain(head, lines),
        },
        raw=True,
    )


def _cell(value: Any, digits: int) -> str:
    if hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _html(head: list[str], lines: list[list[str]], named: bool, sortable: bool) -> str:
    header = "".join(
        f'<th scope="col">{escape(name)}</th>' if name else "<td></td>" for name in head
    )
    body = ""
    for line in lines:
        cells = [f"<td>{escape(cell)}</td>" for cell in line]
        if named:
            cells[0] = f'<th scope="row">{escape(line[0])}</th>'
        body += f"<tr>{''.join(cells)}</tr>\n"
    kind = "book-table sortable" if sortable else "book-table"
    return (
        f'<table class="{kind}">\n<thead><tr>{header}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table>"
    )


def _plain(head: list[str], lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [head, *lines]
    )
