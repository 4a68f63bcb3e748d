"""A second, tiny book uses the evaluator, its misprints and pytest, with nothing of this one."""

import math
import subprocess
import sys

import pytest

from bookcheck import warm
from texcheck.formulas import Formulas

TINY_BOOK = r"""
import math, re
from texcheck.formulas import Formulas
PAGE = "# Triangles\n\n\\[ c^2 = a^2 + b^2 \\label{pythagoras} \\]\n"
BOOK = Formulas({name: text for text, name in re.findall(r"\\\[ (.*) \\label{(\w+)} \\\]", PAGE)})

@BOOK.test("pythagoras")
def test_pythagoras(rng):
    a, b = rng.uniform(1, 2, size=2)
    return {"a": a, "b": b, "c": math.hypot(a, b)}
"""


def test_a_tiny_book_in_ten_lines(tmp_path):
    (tmp_path / "test_tiny.py").write_text(TINY_BOOK, encoding="utf-8")
    options = ["-q", "--disable-plugin-autoload", "-p", "no:cacheprovider", "--rootdir", tmp_path]
    done = warm.run("pytest", *options, "test_tiny.py", folder=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def bound(rng):
    a, b = rng.uniform(1, 2, size=2)
    return {"a": a, "b": b, "c": math.hypot(a, b)}


def test_a_false_formula_is_refuted():
    book = Formulas({"wrong": r"c^2 = a^2 - b^2"})
    with pytest.raises(AssertionError, match=r"wrong: c\^2 = .* fails"):
        book.test("wrong")(bound)()


def test_a_blunt_binding_is_told_which_misprints_it_misses():
    book = Formulas({"blunt": r"c^2 = a^2 + b^2"})
    blunt = book.test("blunt")(lambda rng: {"a": 0.0, "b": 1.0, "c": 1.0})
    with pytest.raises(AssertionError, match="misprints are not noticed: off by one") as complaint:
        blunt()
    changes = str(complaint.value).split("noticed: ")[1].split("; ")
    excused = dict.fromkeys(changes, "a is 0 here")
    book.test("blunt", equivalent=excused)(lambda rng: {"a": 0.0, "b": 1.0, "c": 1.0})()


def test_nothing_of_this_book_is_imported():
    code = (
        "import sys, texcheck.formulas\n"
        "print([name for name in sys.modules if name.partition('.')[0] in "
        "('bookcheck', 'bookkit', 'attention_to_rope') "
        "and not name.startswith('texcheck') and name != 'bookcheck'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
