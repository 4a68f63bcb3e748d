"""Every chapter says its answer first, and how long its main line takes to read."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bookformat.contents import page_name
from bookformat.myst import SENTENCE_END, blocks_of
from bookformat.notebooks import cells_of, chapter_notebooks
from bookformat.reading_time import Minutes, main_line_seconds, minutes_of, table

# A list of errata answers no question, and a step of the workshop asks the reader to write.
ANSWERING = [
    path for path in chapter_notebooks() if path.stem != "errata" and path.parent.name != "workshop"
]


@pytest.mark.parametrize("path", ANSWERING, ids=page_name)
def test_the_first_cell_has_the_answer_in_at_most_three_sentences(path):
    (box,) = [block for block in blocks_of(cells_of(path)[0].source) if block.kind == "answer"]
    assert box.text, f"{path.name}: write the answer into :::{{answer}}"
    assert len(SENTENCE_END.split(box.text)) <= 3, f"{path.name}: say the answer shorter"


def test_what_is_read_is_counted_and_what_folds_or_comes_after_is_not():
    table = new_output("display_data", {"text/html": "<table></table>"})
    cells = [
        new_markdown_cell(
            "# Two words\n\nSix $x$ with {value}`3 = x` more words.\n\n$$\nx\n$$ (a)"
        ),
        new_code_cell("import torch\n\nx = 1\ny = 2", outputs=[table], execution_count=1),
        new_code_cell("z = 3", metadata={"tags": ["hide-input"]}, execution_count=2),
        new_markdown_cell(
            "```{prf:proof}\nNot this.\n```\n\n| a |\n|---|\n| b |\n\n"
            "## Exercises\n\nNot these words.\n\n$$\ny\n$$ (b)"
        ),
        new_code_cell("w = 4", execution_count=3),
        new_markdown_cell("### A part of it\n\nNot these either."),
        new_markdown_cell("## What to remember\n\nThis."),
    ]
    # The formula's label counts as a word.
    words, formulas, code_lines, pictures = 2 + 6 + 2 + 4, 1, 2, 2
    expected = words * 60 / 170 + formulas * 15 + code_lines * 3 + pictures * 25
    assert main_line_seconds(cells) == pytest.approx(expected)
    assert minutes_of(new_notebook(cells=cells)) == (None, pytest.approx(expected / 60))


def test_code_to_take_away_counts_half():
    code = new_code_cell("x = 1\ny = 2", execution_count=1)
    include = ":::{literalinclude} ../src/one_file/llama.py\n:pyobject: Attention.split\n:::"
    heading = new_markdown_cell("## 12: code to take away")
    part = new_markdown_cell(f"### 3\n\n{include}")
    after = new_markdown_cell("## 4")
    # Code, take away; a line of the heading has four words.
    words = 4 * 60 / 170
    seconds = main_line_seconds([code, heading, part, code, after, code])
    assert seconds == pytest.approx(2 * 3 + words + (3 + 2) * 1.5 + 2 * 3)
    one = new_markdown_cell(f"{include}\n\n## 12: code to take away\n\n{include}")
    assert main_line_seconds([one]) == pytest.approx(3 * 3 + words + 3 * 1.5)


def test_the_time_to_the_line_where_a_reader_may_stop():
    formula = "$$\nx\n$$\n\n"
    cells = [
        new_markdown_cell(formula),
        new_markdown_cell(f"{formula}**You can stop here**: it is done.\n\n{formula}"),
        new_markdown_cell(formula),
    ]
    found = minutes_of(new_notebook(cells=cells))
    assert found.to_stop == 2 * 15 / 60
    assert found.to_end == pytest.approx((4 * 15 + 7 * 60 / 170) / 60)
    translated = new_notebook(cells=[], metadata={"minutes": list(found)})
    assert minutes_of(translated) == found


def test_a_page_that_is_longer_than_the_guide_is_marked_and_nothing_fails():
    text = table(
        {"01-a": Minutes(None, 18.0), "02-b": Minutes(12.04, 17.0), "03-c": Minutes(1, 19)}
    )
    head, first, second, third, _ = text.splitlines()
    assert "(guide: 12 and 18)" in head
    assert first.split() == ["01-a", "–", "18.0"]
    assert second.split() == ["02-b", "12.0", "+", "17.0"]
    assert third.split() == ["03-c", "1.0", "19.0", "+"]


def test_source_code_that_a_page_includes_is_counted():
    path = "../src/one_file/llama.py"
    cell = new_markdown_cell(f":::{{literalinclude}} {path}\n:pyobject: Attention.split\n:::")
    assert main_line_seconds([cell]) == 3 * 3
    between = "start-at: def split\n:end-before: def forward"
    part = cell.source.replace("pyobject: Attention.split", between)
    assert main_line_seconds([new_markdown_cell(part)]) == 3 * 3
    cell.source = cell.source.replace("split", "cut")
    with pytest.raises(ValueError, match=r"llama\.py has no 'Attention\.cut'"):
        main_line_seconds([cell])


def test_folds_inside_blocks_are_left_out():
    note = "::::{note}\nb\n```{dropdown} More\nc\n```\n::::\n"
    text = f"a\n{note}````{{prf:lemma}}\n:class: dropdown\nd\n````"
    assert main_line_seconds([new_markdown_cell(text)]) == 2 * 60 / 170
