"""A chapter that drifted turns the run red, and the message names notebook, cell and value."""

import json
import subprocess
import sys

import pytest

from bookcheck.notebooks.execute import execute, main
from bookcheck.paths import ROOT

FIGURE = """from bookkit.figures import figure, show
drawing, axes = figure(2, 2)
axes.plot([0, 1], [0, 1])
show(drawing, alt="a straight line that rises")"""
TABLE = """from bookkit.tables import show_table
show_table([[1, 0.25]], columns=["tokens", "weight"])"""
CELLS = [FIGURE, TABLE, "print('the score is', 0.125)", "40 + 2", "x = 3", "print('a word')"]


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
def chapter(tmp_path_factory):
    path = tmp_path_factory.mktemp("book") / "chapter.ipynb"
    path.write_text(notebook_text(CELLS))
    assert execute(path)
    return path


def run(path):
    settings = ["-c", str(ROOT / "pyproject.toml"), "-n", "0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *settings, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_executing_twice_gives_the_same_bytes(chapter):
    before = chapter.read_bytes()
    assert not execute(chapter)
    assert chapter.read_bytes() == before


def test_every_planted_drift_is_caught_and_an_untouched_chapter_is_green(chapter, tmp_path):
    text = chapter.read_text()
    code, output = run(chapter)
    assert code == 0, output
    assert "seconds per notebook" in output

    faults = [
        ("a straight line that rises", "a straight line that falls", "Cell 0"),
        ("0.250", "0.260", "0.260"),
        ("0.125\\n", "0.135\\n", "0.135"),
        ('"42"', '"43"', "43"),
        ("a word\\n", "a wold\\n", "a wold"),
    ]
    drifted = json.loads(text)
    for cell in drifted["cells"]:
        stored = json.dumps(cell["outputs"])
        for old, new, _ in faults:
            stored = stored.replace(old, new)
        cell["outputs"] = json.loads(stored)
    drifted["cells"][4]["outputs"] = drifted["cells"][5]["outputs"]
    path = tmp_path / "drifted.ipynb"
    path.write_text(json.dumps(drifted))
    code, output = run(path)
    assert code == 1
    assert "6 failed" in output
    for _, _, named in faults:
        assert named in output
    assert "the cell now gives 0 (none)" in output


def test_a_failing_cell_leaves_the_file_as_it_was(tmp_path, capsys):
    path = tmp_path / "broken.ipynb"
    path.write_text(notebook_text(["1 / 0"]))
    before = path.read_bytes()
    assert main([str(path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_an_unknown_chapter_is_named():
    with pytest.raises(SystemExit, match="no chapter '99-nothing'"):
        main(["99-nothing"])
