"""Each rule of a stored chapter sees the fault it is there for."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from bookcheck.notebooks.files import chapter_notebooks, page_name, stored_form
from bookcheck.notebooks.rules import LARGEST_FILE, problems
from bookkit.figures import figure, svg


@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_the_chapter_keeps_the_rules(path):
    found = problems(path)
    assert not found, "\n".join(found)


def code(source="1 + 1", count=1, outputs=None, **metadata):
    return new_code_cell(source, execution_count=count, outputs=outputs or [], metadata=metadata)


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(**data):
    return new_output("display_data", data={k.replace("__", "/"): v for k, v in data.items()})


@pytest.fixture
def found(tmp_path):
    def inspect(*cells, canonical=True):
        path = tmp_path / "chapter.ipynb"
        notebook = new_notebook(cells=list(cells))
        path.write_text(
            stored_form(notebook) if canonical else nbformat.writes(notebook), encoding="utf-8"
        )
        return problems(path)

    return inspect


def test_a_good_notebook_has_no_problem(found):
    drawing, _ = figure(2, 2)
    picture = svg(drawing, "an empty square with two axes")
    cells = [
        new_markdown_cell("# Title\n\nSee [the paper](https://arxiv.org/abs/1706.03762)."),
        code("import torch\nprint(torch.eye(2))", 1, [printed("tensor")]),
        code("show()", 2, [shown(image__svg_xml=picture)]),
    ]
    cells[2].outputs[0]["data"] = {"image/svg+xml": picture}
    assert found(*cells) == []


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ([code(count=2), code("2", 1)], "cell [1]: was not executed in order"),
        ([code(count=None)], "was not executed"),
        ([code("  ")], "is empty"),
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
        ([code(outputs=[shown(text__html='<img src="https://a.example/b.png">')])], "a.example"),
        ([new_markdown_cell("![a](https://a.example/b.png)")], "a.example"),
        ([new_markdown_cell("```{quiz}\nWhy?\n```")], "'```{quiz}' hides prose in a block of code"),
        ([new_markdown_cell('<script src="https://a.example/b.js"></script>')], "a.example"),
        ([code(outputs=[shown(image__png="aGVsbG8=")])], "alt text"),
        ([code(outputs=[shown(**{"image/svg+xml": "<svg></svg>"})])], "alt text"),
        ([code(bookcheck={"tolerance": 0.9})], "0.9"),
        ([code(outputs=[printed("x" * LARGEST_FILE)])], "more than 1,000,000 bytes"),
    ],
)
def test_a_planted_fault_is_caught(found, cells, named):
    problems_found = found(*cells, canonical="executed" not in named)
    assert len(problems_found) >= 1
    assert any(named in problem for problem in problems_found), problems_found
    assert all("chapter.ipynb" in problem for problem in problems_found)


def test_a_file_not_in_stored_form_is_caught(found):
    assert "make notebooks" in found(code(), canonical=False)[0]
