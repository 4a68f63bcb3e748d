"""The package by itself: installed, on the command line, in a second book's tests."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import texcheck
from texcheck.__main__ import main

# The sources, also where an installed wheel is tested.
HOME = Path(__file__).parents[2] / "src" / "texcheck"
TINY_BOOK = r"""
import math, re
from texcheck import Formulas
PAGE = "# Triangles\n\n\\[ c^2 = a^2 + b^2 \\label{pythagoras} \\]\n"
TEXTS = {name: text for text, name in re.findall(r"\\\[ (.*) \\label{(\w+)} \\\]", PAGE)}
BOOK = Formulas(TEXTS, vectors="row")
@BOOK.test("pythagoras")
def test_pythagoras(rng):
    a, b = rng.uniform(1, 2, size=2)
    return {"a": a, "b": b, "c": math.hypot(a, b)}
"""


def pytest_on(folder, **texts):
    """What pytest says of some files of tests, named by their texts."""
    for name, text in texts.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    options = ["-q", "-p", "no:cacheprovider", "--disable-plugin-autoload", "-p", "texcheck.plugin"]
    # Where CI is set, pytest says every message a second time, in its summary.
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--misprints", "--rootdir", "."],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr


def test_a_tiny_book_in_ten_lines(tmp_path):
    assert len(TINY_BOOK.split("\n")) <= 12
    assert "1 passed" in pytest_on(tmp_path, tiny=TINY_BOOK)


def test_a_false_formula_and_a_blunt_binding_fail(tmp_path):
    false = TINY_BOOK.replace("+ b", "- b")
    blunt = TINY_BOOK.replace("rng.uniform(1, 2, size=2)", "0.0, rng.uniform(1, 2)")
    excused = blunt.replace('("pythagoras")', '("pythagoras", fixed={"a": "why", "c": "why"})')
    said = pytest_on(tmp_path, false=false, blunt=blunt, excused=excused)
    # Each file fails for a reason of its own.
    assert "3 failed" in said
    assert "c^2 = a^2 - b^2 fails" in said
    assert said.count("a is 0 on every input") == 1
    assert said.count("survived: pythagoras: off by one") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        (["c^2 = a^2 + b^2", "--with", "a = 3", "b = 4", "c = 5"], 0, "holds: 25 against 25"),
        (["c^2 = a^2 - b^2", "--with", "a = 3", "b = 4", "c = 5"], 1, "fails: 25 against -7"),
        ([r"x x^\top", "--with", "x = [1, 2, 3]", "--vectors", "row"], 0, "14.0"),
        ([r"x^\top x", "--with", "x = [1, 2]"], 0, "5.0"),
        (
            [r"x_n = n + 1", "--with", "x = [1, 2]", "n = range(2)", "--first-index", "0"],
            0,
            "holds",
        ),
        (["c = a + b", "--with", "a = 3", "b = 4"], 2, "unknown symbol c"),
        (["c = 1", "--with", "c"], 2, "write symbol = value"),
        (["c = = 1", "--with", "c = 1"], 2, "cannot stand here"),
    ],
)
def test_the_command_line(arguments, status, shown, capsys):
    assert main(arguments) == status
    said = capsys.readouterr()
    assert shown in said.out + said.err


def test_nothing_of_this_book_is_imported():
    code = (
        "import sys, texcheck.formulas, texcheck.mutate, texcheck.__main__\n"
        "print([name for name in sys.modules if name.partition('.')[0] in "
        "('bookformat', 'booksite', 'bookcheck', 'bookkit', 'attention_to_rope', 'torch')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_own_metadata():
    """What `pip install ./src/texcheck` reads: files that exist, and three packages."""
    with (HOME / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    needed = {line.partition(">")[0] for line in settings["project"]["dependencies"]}
    assert needed == {"numpy", "scipy", "lark"}
    data = settings["tool"]["setuptools"]["package-data"]["texcheck"]
    assert all((HOME / name).exists() for name in data)
    assert settings["project"]["version"] == texcheck.__version__
    assert f"## {texcheck.__version__}\n" in (HOME / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "MIT License" in (HOME / settings["project"]["license-files"][0]).read_text("utf-8")
    assert settings["project"]["scripts"]["texcheck"] == "texcheck.__main__:main"


def test_every_folder_of_modules_is_packaged():
    with (HOME / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    modules = [path.relative_to(HOME.parent) for path in HOME.rglob("*.py")]
    folders = {path.parent for path in modules if "build" not in path.parts}
    packages = {".".join(folder.parts) for folder in folders}
    assert set(settings["tool"]["setuptools"]["packages"]) == packages
