"""python -m bookkit.workshop: it makes the reader's file, checks it and never changes it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bookkit.workshop import __main__ as command
from bookkit.workshop import skeleton, solution
from bookkit.workshop.probes import WEIGHTS

SOLUTION = Path(solution.__file__).read_text(encoding="utf-8")


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the command in an empty folder: its exit status and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["workshop", *arguments])
        status = 0
        try:
            command.main()
        except SystemExit as end:
            status = end.code
        return status, capfd.readouterr().out

    return run


def test_it_makes_the_file_once_and_says_what_comes_next(tmp_path, run):
    _, text = run()
    assert "my_model.py is made" in text
    assert "Next: step 1, softmax" in text
    file = tmp_path / "my_model.py"
    mine = file.read_text() + "# mine\n"
    file.write_text(mine)
    status, text = run("check", "1")
    assert status == 1
    assert "softmax: It is not written yet." in text
    assert file.read_text() == mine


def test_it_checks_and_goes_on(tmp_path, run):
    file = tmp_path / "my_model.py"
    file.write_text(SOLUTION.replace("columns <= rows", "columns < rows"))
    status, text = run("check")
    assert status == 1
    assert "✗ causal_mask: Not right yet: a token may not look at itself." in text
    _, text = run("hint", "3", "3")
    assert "Look at the comparison: is the token itself allowed?" in text
    status, text = run("check", "2")
    assert status == 0
    assert "Next: step 3, mask" in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Your code has no function of this name."),
        ("x = 1", "Your code has no function of this name."),
        ("def Softmax(x):\n    return x", "no function of this name. It has `Softmax`."),
    ],
)
def test_a_function_that_is_not_there_is_not_right(tmp_path, run, text, says):
    (tmp_path / "my_model.py").write_text(text)
    status, printed = run("check", "1")
    assert status == 1
    assert "· softmax: " in printed
    assert says in printed
    assert "Right" not in printed


def test_it_shows_the_solution_of_one_step(tmp_path, run):
    _, text = run("solution", "5")
    assert text.startswith("def rms_norm(")
    assert "def swiglu" not in text
    assert not (tmp_path / "my_model.py").exists()


def test_a_file_that_is_no_python_is_told_with_its_line(tmp_path, run):
    (tmp_path / "my_model.py").write_text("import numpy\ndef softmax(x)\n")
    status, _ = run("check", "1")
    assert status == "my_model.py, line 2: expected ':'"


def test_the_model_writes(tmp_path, run):
    (tmp_path / "my_model.py").write_text(SOLUTION)
    _, text = run("write", "import ", "--count", "12", "--temperature", "0")
    assert text.startswith("import ")
    assert len(text) == len("import ") + 12 + 1


def test_the_file_writes_alone_beside_the_weights(tmp_path):
    file = tmp_path / "my_model.py"
    heading = re.compile(r"^(?=# -+ (?:step \d+|afterwards): )", re.MULTILINE)
    head, *empty = heading.split(Path(skeleton.__file__).read_text(encoding="utf-8"))
    written = heading.split(SOLUTION)[1:]
    file.write_text(head + "".join([*written, "\n\n", empty[-1]]))
    command = [sys.executable, "-I", file, "import numpy as "]
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "put the trained weights beside this file" in without.stderr
    shutil.copy(WEIGHTS, tmp_path)
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.startswith("import numpy as ")
    assert len(text) > 200
    options = ["--temperature", "0", "--bytes", "20"]
    short = [
        subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert short[0] == short[1]
    assert len(short[0]) == len("import numpy as ") + 20 + len("\n")
    file.write_text(head + "".join([*written[:10], *empty[10:]]))
    unfinished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Still empty: step 11: generate" in unfinished.stderr
