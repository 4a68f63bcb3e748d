"""A chapter that drifted turns the run red, and the message names notebook, cell and value."""

import io
import itertools
import json
import re
from collections import Counter
from contextlib import redirect_stdout
from types import SimpleNamespace

import pytest

from bookcheck import warm
from bookcheck.notebooks.execute import execute, main
from bookcheck.notebooks.plugin import pytest_collection_modifyitems
from bookcheck.paths import ROOT

FIGURE = """from bookkit.figures import figure, show
drawing, axes = figure(2, 2)
axes.plot([0, 1], [0, 1])
show(drawing, alt="a straight line that rises")"""
TABLE = """from bookkit.tables import show_table
show_table([[1, 0.25]], columns=["tokens", "weight"])"""
CELLS = [FIGURE, TABLE, "print('the score is', 0.125)", "40 + 2", "x = 3", "print('a word')"]
DRIFTS = [
    ("a straight line that rises", "a straight line that falls", "Cell 1"),
    ("0.250", "0.260", "0.260"),
    ("0.125\\n", "0.135\\n", "0.135"),
    ('"42"', '"43"', "43"),
    ("a word\\n", "a wold\\n", "a wold"),
]
QUOTED = '{value}`13 = reported("RULER", "tasks")`'
RIGHT = "It is {value}`0.333 = x / 9`, {value}`3.00 = __import__('torch').tensor(3.0)` or " + QUOTED
# The first packages come with the library, the others only with the book's own environment.
LEANING = ["import torch, scipy, bookkit.figures, ipykernel"]
LEANING += ["import bookcheck", "import lark", "import nbval"]
WRONG = "It is {value}`0.334 = x / 9`, {value}`1 = no_such_name` or " + QUOTED.replace("13", "31")


def notebook_text(cells):
    return json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "execution_count": None,
                    "id": f"cell-{number}",
                    "metadata": {},
                    "outputs": [],
                    "source": source,
                }
                for number, source in enumerate(cells)
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


@pytest.fixture(scope="module")
def chapter(tmp_path_factory, forked_kernels):
    path = tmp_path_factory.mktemp("book") / "chapter.ipynb"
    path.write_text(notebook_text(CELLS), encoding="utf-8")
    assert execute(path)
    return path


def drifted(path):
    """Stored outputs that the cells do not give: one other in each, and one where there is none."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        stored = json.dumps(cell["outputs"])
        for old, new, _ in DRIFTS:
            stored = stored.replace(old, new)
        cell["outputs"] = json.loads(stored)
    notebook["cells"][4]["outputs"] = notebook["cells"][5]["outputs"]
    return json.dumps(notebook)


def with_prose(path, *sources, caption=""):
    """Put Markdown cells after the code of a stored notebook, and a caption on its figure."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for number, source in enumerate(sources):
        cell = {"cell_type": "markdown", "id": f"prose-{number}", "metadata": {}, "source": source}
        notebook["cells"].append(cell)
    if caption:
        notebook["cells"][0]["metadata"] = {"mystnb": {"figure": {"caption": caption}}}
    return json.dumps(notebook)


@pytest.fixture(scope="module")
def output(chapter, tmp_path_factory):
    """What one run says of the chapter and of changed copies."""
    folder = tmp_path_factory.mktemp("copies")
    texts = {
        "untouched": chapter.read_text(encoding="utf-8"),
        "drifted": drifted(chapter),
        "right": with_prose(chapter, RIGHT, caption="{value}`2 = len(axes.lines) + 1`"),
        "wrong": with_prose(chapter, RIGHT, WRONG, caption="{value}`3 = len(axes.lines) + 1`"),
        "leaning": notebook_text(LEANING),
    }
    for name, text in texts.items():
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    settings = ["-c", str(ROOT / "pyproject.toml"), "-n", "0", "-p", "no:cacheprovider", "-v"]
    # In this process, whose kernels are forks already: another would import torch anew.
    said = io.StringIO()
    with redirect_stdout(said):
        status = pytest.main([*settings, *(str(folder / f"{name}.ipynb") for name in texts)])
    assert status == pytest.ExitCode.TESTS_FAILED, said.getvalue()
    return said.getvalue()


@pytest.fixture(scope="module")
def verdicts(output):
    """Of each notebook in turn, its verdicts: pytest does not name files of another folder."""
    given = iter(re.findall(r"::.* ([A-Z]+) +\[ *\d+%\]$", output, re.MULTILINE))
    counts = {"untouched": 6, "drifted": 6, "right": 8, "wrong": 9, "leaning": 4}
    found = {name: Counter(itertools.islice(given, count)) for name, count in counts.items()}
    assert not list(given), output
    return found


def test_executing_twice_gives_the_same_bytes(chapter):
    before = chapter.read_bytes()
    assert not execute(chapter)
    assert chapter.read_bytes() == before


def test_every_planted_drift_is_caught_and_an_untouched_chapter_is_green(output, verdicts):
    assert verdicts["untouched"] == {"PASSED": 6}
    assert "seconds per notebook" in output
    assert verdicts["drifted"] == {"FAILED": 6}
    for _, _, named in DRIFTS:
        assert named in output
    assert "the cell now gives 0 (none)" in output


def test_a_failing_cell_leaves_the_file_as_it_was(tmp_path, capsys):
    path = tmp_path / "broken.ipynb"
    path.write_text(notebook_text(["1 / 0"]), encoding="utf-8")
    before = path.read_bytes()
    assert main([str(path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_an_unknown_chapter_is_named():
    with pytest.raises(SystemExit, match="no chapter '99-nothing'"):
        main(["99-nothing"])


def test_a_wrong_value_of_the_prose_is_refuted(output, verdicts):
    assert verdicts["right"] == {"PASSED": 8}
    assert verdicts["wrong"] == {"PASSED": 7, "FAILED": 2}
    assert "cell [1]:\n{value}`3 = len(axes.lines) + 1` prints '3', computed 2 (2)" in output
    assert (
        "text below cell [6]:\n{value}`0.334 = x / 9` prints '0.334', computed 0.3333333333333333"
        in output
    )
    assert "fails: NameError" in output
    assert """{value}`31 = reported("RULER", "tasks")` prints '31', computed 13""" in output


@pytest.mark.skipif(not warm.possible(), reason="only forked kernels refuse packages")
def test_a_chapter_that_needs_the_books_own_packages_is_red(verdicts):
    assert verdicts["leaning"] == {"PASSED": 1, "FAILED": 3}


def test_values_are_written_into_the_text(chapter, tmp_path, capsys):
    path = tmp_path / "values.ipynb"
    wrong = "It is {value}`0.000 = x / 9` and {value}`? = 'a' + 'b'`."
    path.write_text(
        with_prose(chapter, wrong, caption="{value}`0 = len(axes.lines) + 1`"), encoding="utf-8"
    )
    assert main([str(path), "--values"]) == 0
    assert "0.000 = x / 9 gives 0.3333333333333333" in capsys.readouterr().out
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["cells"][-1]["source"] == [
        "It is {value}`0.333 = x / 9` and {value}`ab = 'a' + 'b'`."
    ]
    caption = notebook["cells"][0]["metadata"]["mystnb"]["figure"]["caption"]
    assert caption == "{value}`2 = len(axes.lines) + 1`"


def test_what_takes_long_begins_first():
    places = [
        "tests/equations/test_a.py",
        "tests/test_b.py",
        "tests/equations/test_c.py",
        "d.ipynb",
    ]
    items = [
        SimpleNamespace(path=ROOT / place, get_closest_marker={"long": long}.get)
        for place, long in zip(places, [False, False, True, False], strict=True)
    ]
    pytest_collection_modifyitems(items)
    assert [item.path.stem for item in items] == ["d", "test_c", "test_b", "test_a"]
