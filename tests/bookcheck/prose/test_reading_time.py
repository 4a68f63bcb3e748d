"""Every chapter says its answer first, and its main line takes at most twenty minutes."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bookcheck.notebooks.files import main_line, page_name, stored_form
from bookcheck.prose.answers import answer_of, answer_problem, sentences
from bookcheck.prose.reading_time import LONGEST, ReadingTime, main_text, reading_time

# Chapters of the first edition that are still to be shortened; the list may only shrink.
TOO_LONG: set[str] = set()
# Chapters that do not yet say their answer first; the list may only shrink.
NO_ANSWER = TOO_LONG


@pytest.mark.parametrize("path", main_line(), ids=page_name)
def test_the_main_line_takes_at_most_twenty_minutes(path):
    minutes = reading_time(path).minutes
    if page_name(path) in TOO_LONG:
        assert minutes > LONGEST, f"{minutes} minutes: take {page_name(path)} out of TOO_LONG"
    else:
        assert minutes <= LONGEST, f"{minutes} minutes: move depth to chapters/deeper"


@pytest.mark.parametrize("path", main_line(), ids=page_name)
def test_the_first_cell_has_the_answer(path):
    answer = answer_of(path)
    if page_name(path) in NO_ANSWER:
        assert answer is None, f"take {page_name(path)} out of NO_ANSWER"
    else:
        assert answer is not None, "write :::{answer} into the first cell"
        assert answer_problem(answer) is None


def written(folder, *cells):
    path = folder / "01-x.ipynb"
    path.write_text(stored_form(new_notebook(cells=list(cells))), encoding="utf-8")
    return path


def test_what_is_read_is_counted_and_what_stands_apart_is_not(tmp_path):
    table = new_output("display_data", {"text/html": "<table></table>"})
    path = written(
        tmp_path,
        new_markdown_cell(
            "# Two words\n\nSix $x$ with {value}`3 = x` more words.\n\n$$\nx\n$$ (a)"
        ),
        new_code_cell("import torch\n\nx = 1\ny = 2", outputs=[table], execution_count=1),
        new_code_cell("z = 3", metadata={"tags": ["hide-input"]}, execution_count=2),
        new_markdown_cell("```{margin}\nNot this.\n```\n\n| a |\n|---|\n| b |"),
        new_markdown_cell("## Exercises\n\nNot these words.\n\n$$\ny\n$$ (b)"),
        new_code_cell("w = 4", execution_count=3),
        new_markdown_cell("### A part of it\n\nNot these either."),
        new_markdown_cell("## What to remember\n\nThis."),
    )
    # The formula's label counts as a word.
    expected = ReadingTime(words=2 + 6 + 2 + 4, formulas=1, code_lines=2, pictures=2)
    assert reading_time(path) == expected


def test_minutes_are_rounded_as_the_page_prints_them():
    assert ReadingTime(words=4000).minutes == 20
    assert ReadingTime(formulas=5, code_lines=24, pictures=3).minutes == 3


def test_folds_inside_blocks_are_left_out():
    note = "::::{note}\nb\n```{dropdown} More\nc\n```\n::::\n"
    text = f"a\n{note}````{{prf:lemma}}\n:class: dropdown\nd\n````"
    assert main_text(text).split() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("One.", 1),
        ("One without a stop", 1),
        ("It is $x. y. z$ of 0.5. Why? *So.*", 3),
        ("Vaswani et al. say so.", 1),
        ("One. Two! Three? Four.", 4),
    ],
)
def test_sentences_are_counted(text, count):
    assert sentences(text) == count
    assert (answer_problem(text) is None) == (1 <= count <= 3)
