"""Typed numbers and formulas: tied to their sentences, and a change of any is seen."""

import itertools
import re

import pytest

from bookcheck.paths import READ
from bookcheck.prose.cells import Cell, cells_of
from bookcheck.prose.digits import NOT_PROSE, blanked
from bookcheck.prose.typed import (
    counts_on,
    main,
    pages,
    read_lines,
    texts_of,
    typed_on,
    unread,
)

PAGES = pages()
PLANTED = ["deeper/11-implementing-rope", "deeper/16-speed-of-memory"]


@pytest.mark.parametrize("page", PAGES)
def test_every_typed_number_and_formula_was_read(page):
    found = unread(page, typed_on(cells_of(PAGES[page])), read_lines(page))
    advice = f"read the sentences, then: python -m bookcheck.prose.typed --read {page}"
    assert not found, "\n".join([*found, advice])


def test_no_file_is_left_of_a_page_that_is_gone():
    files = {path.relative_to(READ).with_suffix("").as_posix() for path in READ.rglob("*.txt")}
    assert files <= {*PAGES}


def lines(text):
    return typed_on([Cell("markdown", text)])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It has 64 rows.", "It has 64 rows."),
        ("We see on all of the 64 rows that it is so.", "… all of the 64 rows that it"),
        ("A b c d 0 e f g h i j k l 1.", "… b c d 0 e f g … j k l 1."),
        ("Twelve keys, a quarter of them.", "Twelve keys, a quarter of them."),
        ("It takes twenty-four.", "It takes twenty-four."),
        ("In 2017, chapter 3, float32.", "In 2017, chapter 3, float32."),
        ("The key $k_n \\mathbf{R}_n$ turns.", "The key $k_n \\mathbf{R}_n$ turns."),
        ("It is {value}`0.3 = x` of 7.", "… is {value} of 7."),
        ("| a | 17 |", "a 17"),
        (":::{quiz}\nOf 3?\n:::", "Of 3?"),
        ("```{figure} a\n```\n\nIt is 3.\n\n```\nx = 4\n```", "It is 3."),
        (":::{prf:theorem} Of 3 values\n:label: a-7\n:::", "Of 3 values"),
        ("[The 3](a-7.ipynb) and `x[8]`.", "[The 3] and `x[8]`."),
    ],
)
def test_numbers_and_formulas_stand_with_their_words(text, line):
    assert lines(text) == [line]


@pytest.mark.parametrize(
    "text",
    [
        "No number, and no formula.",
        "% 7 in a comment",
        "```python\nx = 7\n```",
        "$$\nx = 7\n$$ (eq-7)",
        "(label-7)=",
        "{eq}`eq-7` of {cite:p}`su2021`",
        "2. A list counts itself",
    ],
)
def test_what_is_computed_or_names_a_place_is_left_out(text):
    assert lines(text) == []


def test_captions_and_alt_texts_are_read():
    cell = Cell("code", "show(x, alt=f'Three bars of {n}, to 2.5')", "All 9.")
    assert typed_on([cell]) == ["All 9.", "Three bars of … , to 2.5"]
    prose = Cell("markdown", "Of $d = 64$ and $x$, $3$ or 4, {value}`5 = y`.")
    assert counts_on([cell, prose]) == (4, 3, 1)


def planted(text):
    """The text with one fault each: a number, a number word or a formula changed or exchanged."""
    prose = blanked(text, *NOT_PROSE)
    list_number = re.compile(r"^ *\d+[.)] ", re.MULTILINE)
    for found in re.finditer(r"\d", blanked(prose, list_number)):
        yield changed(text, found.span(), str((int(found.group()) + 1) % 10))
    for found in re.finditer(
        r"(?<![\w-])(?:two|three|four|eight|twelve|half|twice)(?![\w-])", prose
    ):
        yield changed(text, found.span(), "third")
    bare = re.compile(r"(?<![\w.,])\d+(?![\w.,])")
    numbers = list(bare.finditer(blanked(prose, list_number)))
    for one, other in itertools.pairwise(numbers):
        if one.group() != other.group():
            yield changed(changed(text, other.span(), one.group()), one.span(), other.group())
    shown = blanked(text, *NOT_PROSE[:3], *NOT_PROSE[4:5])
    formulas = list(re.finditer(r"\$[^$]+\$", shown))
    for one, other in itertools.pairwise(formulas):
        if one.group() != other.group():
            yield changed(changed(text, other.span(), one.group()), one.span(), other.group())
            yield changed(text, one.span(), other.group())


def changed(text, span, new):
    return text[: span[0]] + new + text[span[1] :]


@pytest.mark.parametrize("page", PLANTED)
def test_every_planted_fault_is_seen(page):
    texts = [text for cell in cells_of(PAGES[page]) for text in texts_of(cell)]
    faults = [(text, fault) for text in texts for fault in planted(text)]
    assert len(faults) > 50
    unseen = [fault for text, fault in faults if lines(text) == lines(fault)]
    assert not unseen, f"{len(unseen)} of {len(faults)}: {unseen[0]}"


def test_an_expression_moved_to_another_sentence_is_seen():
    text = "It takes $4 N^2$ steps. Of $N$ keys it is one."
    moved = "It takes $N$ steps. Of $4 N^2$ keys it is one."
    assert unread("01-x", lines(text), lines(text)) == []
    assert len(unread("01-x", lines(moved), lines(text))) == 4


def test_what_was_read_is_written(tmp_path, capsys):
    page = tmp_path / "01-x.md"
    page.write_text("It has 64 rows.", encoding="utf-8")
    known = {"01-x": page}
    assert main([], known, tmp_path) == 1
    assert "01-x: nobody has read “It has 64 rows.”" in capsys.readouterr().out
    assert main(["--read", "01-x"], known, tmp_path) == 0
    assert main([], known, tmp_path) == 0
    page.write_text("It has 65 rows.", encoding="utf-8")
    assert main([], known, tmp_path) == 1
    page.write_text("It has rows.", encoding="utf-8")
    assert main([], known, tmp_path) == 1
    assert "read, and gone or elsewhere now: “It has 64 rows.”" in capsys.readouterr().out
    assert main(["--read"], known, tmp_path) == 0
    assert not (tmp_path / "01-x.txt").exists()
    with pytest.raises(SystemExit):
        main(["02-y"], known, tmp_path)
