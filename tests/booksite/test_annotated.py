"""Source files beside their explanation: how a file is cut, and what a page of it holds."""

import ast
import io
import json
import re
import tokenize

import pytest

from bookformat.paths import CHAPTERS, SOURCES
from booksite.annotated import explained_files, first_name, known_names, label_of
from booksite.annotated_rows import Piece, rows_of

SOURCE = '''"""A file.

It has two lines.
"""

import math

# ------------------------------------------------ step 1: double
#
# What comes first.


# The smaller one.
def double(x: float) -> float:
    """Twice x.

    >>> double(1)
    2
    """
    y = x  # a shape
    # Why it is
    # added.
    y = y + x

    def inner() -> None:
        """Stays in the code."""

    return y


class Thing:
    """A thing."""

    def __init__(self) -> None:
        # At the start.
        self.size = 1

    @overload
    def grow(self) -> None: ...
    @overload
    def grow(self, by: int) -> None: ...
    def grow(self, by: int = 1) -> None:
        """It grows."""
        # fmt: off
        text = """
        # no comment
        """


LAST = math.pi
'''
FILES = sorted(explained_files(CHAPTERS / "source"))


def test_a_file_is_cut_at_its_definitions_and_comments():
    rows = rows_of(SOURCE)
    assert [row.name for row in rows] == [
        "", "step 1: double", "double", "", "Thing", "", "Thing.grow", "",
    ]  # fmt: skip
    module, heading, double, added, thing, start, grow, last = rows
    assert module.text == "A file.\n\nIt has two lines."
    assert module.pieces == (Piece(6, "import math"),)
    assert heading.is_heading
    assert heading.text == "What comes first."
    assert heading.pieces == ()
    assert double.text == "The smaller one.\n\nTwice x.\n\n>>> double(1)\n2"
    assert double.pieces == (
        Piece(14, "def double(x: float) -> float:"),
        Piece(20, "    y = x  # a shape"),
    )
    assert added.text == "Why it is\nadded."
    assert added.pieces[0].line == 23
    assert '"""Stays in the code."""' in added.pieces[0].code
    # What makes an object needs no title.
    assert thing.pieces == (
        Piece(31, "class Thing:"),
        Piece(34, "    def __init__(self) -> None:"),
    )
    assert start.pieces == (Piece(36, "        self.size = 1"),)
    # Overloads belong to the function, and a method begins at the left.
    assert grow.pieces[0].line == 38
    assert grow.pieces[0].code.startswith("@overload\ndef grow(self)")
    assert grow.text == "It grows."
    assert "# no comment" in grow.pieces[1].code
    assert last.pieces == (Piece(50, "LAST = math.pi"),)


@pytest.mark.parametrize("file", FILES)
def test_each_line_of_a_real_file_is_code_once_or_a_text(file):
    source = (SOURCES / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    shown = {}
    for row in rows_of(source):
        for piece in row.pieces:
            for number, line in enumerate(piece.code.splitlines(), piece.line):
                assert number not in shown
                shown[number] = line
                assert lines[number - 1].endswith(line)
    tree = ast.parse(source)
    said = set()
    for part in (tree, *ast.walk(tree)):
        if isinstance(part, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            part
        ):
            said |= {*range(part.body[0].lineno, part.body[0].end_lineno + 1)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            said.add(token.start[0])
    unseen = [n for n, line in enumerate(lines, 1) if line.strip() and n not in shown]
    assert set(unseen) <= said


@pytest.mark.parametrize("file", FILES)
def test_what_students_read_is_explained(file):
    """Every class and function has a text, but what only refuses arguments."""
    rows = rows_of((SOURCES / file).read_text(encoding="utf-8"))
    silent = [
        row.name
        for row in rows
        if row.name
        and not row.text
        and not row.is_heading
        and not row.name.rpartition(".")[2].startswith("_check")
    ]
    assert silent == []


def test_names_of_other_explained_files_are_known():
    names = known_names("attention_to_rope/heads.py", {"attention_to_rope/masks.py"})
    assert names["causal_mask"] == "source-masks-causal_mask"
    assert names["MultiHeadAttention.forward"] == "source-heads-_multi_head_attention.forward"
    assert "attention" not in names  # its file is not among them
    both = {label_of("positions.py", name) for name in ("Sinusoidal", "sinusoidal")}
    assert len(both) == 2


def test_a_listing_belongs_to_the_function_in_which_it_begins():
    path = SOURCES / "attention_to_rope" / "rope.py"
    assert first_name(path, path.read_text(encoding="utf-8")) == "RotaryTable"
    assert first_name(path, "def rotate_back(") == "rotate_back"
    assert first_name(path, "    x_a, x_b = _pairs(x, layout)") == "rotate"


def test_a_page_leads_to_the_equation_and_back(good_site):
    folder = good_site / "chapters" / "source"
    page = (folder / "axes.html").read_text(encoding="utf-8")
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count('<div class="annotated-text">') == page.count('<div class="annotated-code">')
    assert '<section id="axial_table">' in page
    assert re.search(r'<span id="line-\d+"><span class="linenos">', page)
    assert re.search(r'style="--indent: 4ch"><span class="linenos">[ \d]+</span>    <span', page)
    assert re.search(r'<span class="line"><span></span><span class="gp">', page)
    assert "&gt;&gt;&gt; " in page.replace('<span class="gp">', "")
    assert 'href="index.html#equation-eq-axes"' in page
    code, listing = re.findall(r'href="axes\.html#axial_table"[^>]*>([^<]*)<', index)
    assert (code, listing) == ("code", "Explained line by line")
    chapter = (good_site / "chapters" / "two.html").read_text(encoding="utf-8")
    assert re.search(r'class="explained">[^<]*<a [^>]*href="source/axes\.html">Axes</a>', chapter)
    data = (good_site / "_static" / "search-data.js").read_text(encoding="utf-8")
    pages = json.loads(data.partition(" = ")[2].partition(";\n")[0])
    assert pages["chapters/source/axes"] == ["Axes", [["", "Axes", "reference", "", ""]]]
