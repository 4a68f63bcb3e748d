"""Each rule of a stored chapter sees the fault it is there for."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from bookcheck.notebooks.rules import LARGEST_FILE, problems
from bookformat.contents import page_name
from bookformat.notebooks import chapter_notebooks


@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_the_chapter_keeps_the_rules(path):
    found = problems(path)
    assert not found, "\n".join(found)


def code(source="1 + 1", count=1, outputs=None, **metadata):
    return new_code_cell(source, execution_count=count, outputs=outputs or [], metadata=metadata)


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(kind, data):
    return new_output("display_data", {kind: data})


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ([code(count=2), code("2", 1)], "cell [1]: was not executed in order"),
        ([code(count=None)], "was not executed"),
        ([code()], "is not in stored form; run: make notebooks"),
        ([code("  ")], "is empty"),
        ([code("x = 1  # " + "y" * 84)], "shows a line of 93 letters, and a screen 92"),
        ([new_raw_cell("raw")], "raw cell"),
        ([code(outputs=[printed("careful", "stderr")])], "wrote to stderr: 'careful'"),
        (
            [code(outputs=[new_output("error", ename="ValueError", evalue="odd", traceback=[])])],
            "ValueError: odd",
        ),
        ([code(outputs=[printed("saved to /home/me/x")])], "/home/me/x"),
        ([code("open('/tmp/x')")], "/tmp/x"),
        ([new_markdown_cell("see /root/notes.txt")], "/root/notes.txt"),
        ([code("get('https://example.org/data')")], "https://example.org/data"),
        ([code(outputs=[shown("text/html", '<img src="https://a.example/b.png">')])], "a.example"),
        ([new_markdown_cell("![a](https://a.example/b.png)")], "a.example"),
        ([new_markdown_cell("```{quiz}\nWhy?\n```")], "'```{quiz}' hides prose in a block of code"),
        ([new_markdown_cell('<script src="https://a.example/b.js"></script>')], "a.example"),
        ([code(outputs=[shown("image/png", "aGVsbG8=")])], "alt text"),
        ([code(outputs=[shown("image/svg+xml", "<svg></svg>")])], "alt text"),
        ([code(outputs=[shown("image/svg+xml", "<svg><style>")])], "'<style' would act on the"),
        ([code(bookcheck={"tolerance": 0.9})], "0.9"),
        ([code(outputs=[printed("x" * LARGEST_FILE)])], "more than 1,000,000 bytes"),
    ],
)
def test_a_planted_fault_is_caught(tmp_path, cells, named):
    nbformat.write(new_notebook(cells=cells), tmp_path / "chapter.ipynb")
    found = problems(tmp_path / "chapter.ipynb")
    assert any(named in problem for problem in found), found
    assert all("chapter.ipynb" in problem for problem in found)


def test_a_folded_line_may_be_longer(tmp_path):
    cells = [code("x = 1  # " + "y" * 84, tags=["hide-input"])]
    nbformat.write(new_notebook(cells=cells), tmp_path / "chapter.ipynb")
    assert not any("shows a line" in problem for problem in problems(tmp_path / "chapter.ipynb"))
