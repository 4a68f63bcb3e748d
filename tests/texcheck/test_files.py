"""The formulas of files: where they are, what their macros stand for, what the command says."""

import json
import subprocess
import sys

import pytest

import texcheck
from texcheck.__main__ import main
from texcheck.sources import displays_of, formulas_in

PAPER = r"""\documentclass{article}
\newcommand{\norm}[1]{\left\lVert #1 \right\rVert}
\newcommand{\pair}[2][x]{(#1, #2)}
\def\half#1{\frac{#1}{2}}
\DeclareMathOperator{\trace}{tr}
% $$ a = commented $$
\begin{equation} \label{eq:length}
  \norm{x}^2 = x^\top x
\end{equation}
and \[ \frac13 - \frac14 = \frac{1}{12} \]
\begin{align}
  c^2 &= a^2 \\
  &= \half{b} + \oops \label{eq:wrong}
\end{align}
$$ \trace A = \pair{1}_2 $$
"""
PAGE = """# Page

> $$ a = 1 $$ (eq-quoted)

`$$ code $$`

```python
$$ more code $$
```

```{math}
:label: eq-fenced
b = 2
```

$$
c = 3
$$
:eqlabel:`eq_d2l`
"""


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "paper.tex"
    path.write_text(PAPER, encoding="utf-8")
    return path


def test_displays_of_a_paper(paper):
    found = [(one.line, one.label) for one in displays_of(paper)]
    assert found == [(7, "eq:length"), (10, ""), (11, "eq:wrong"), (15, "")]
    texts = formulas_in(paper)
    assert r"\left\lVert x \right\rVert^2 = x^\top x" in texts["eq:length"]
    assert texts["eq:length"] == texts["line 7"]
    assert texts["line 15"].strip() == r"\operatorname{tr} A = (x, 1)_2"
    assert r"\frac{b}{2}" in texts["eq:wrong"]


def test_displays_of_a_page_and_of_a_notebook(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    found = [(one.text.strip(), one.line, one.label) for one in displays_of(page)]
    assert found == [("a = 1", 3, "eq-quoted"), ("b = 2", 13, "eq-fenced"), ("c = 3", 17, "eq_d2l")]
    cells = [
        {"cell_type": "code", "source": ["x = '$$ y $$'"]},
        {"cell_type": "markdown", "source": ["text\n", "\n", "$$ a = 1 $$\n"]},
    ]
    notebook = tmp_path / "book.ipynb"
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert list(formulas_in(notebook)) == ["cell 2, line 3"]


def test_an_error_names_the_line_of_the_file(paper, capsys):
    assert main(["check", str(paper)]) == 0
    said = capsys.readouterr().out
    assert "paper.tex, line 7: read: symbols x" in said
    assert "paper.tex, line 10: holds" in said
    assert r"paper.tex, line 13: not read: what does \oops mean?" in said
    assert "2 read, 1 holds, 1 not read" in said


def test_symbols_write_the_skeleton_of_a_file_of_checks(paper, tmp_path, capsys):
    checks = tmp_path / "checks.py"
    assert main(["symbols", str(paper), "--write", str(checks)]) == 0
    assert "3 of 4 displays are read" in capsys.readouterr().out
    text = checks.read_text(encoding="utf-8")
    compile(text, "checks.py", "exec")
    assert '@BOOK.test("eq:length")' in text
    assert "# not read: paper.tex, line 13" in text
    assert main(["symbols", str(paper), "--write", str(checks)]) == 2
    assert "is kept" in capsys.readouterr().err


CHECKS = """
import numpy as np
from texcheck import Formulas
from texcheck.sources import formulas_in

BOOK = Formulas(formulas_in({path!r}))

@BOOK.test("eq:length")
def test_length(rng):
    return {{"x": rng.normal(size=3)}}

@BOOK.test("line 15")
def test_trace(rng):
    return {{"A": rng.normal(size=(2, 2)), "x": 2}}
"""


def test_a_file_of_checks(paper, tmp_path, capsys):
    checks = tmp_path / "checks.py"
    checks.write_text(CHECKS.format(path=str(paper)), encoding="utf-8")
    assert main(["check", str(paper), str(checks)]) == 1
    said = capsys.readouterr().out
    assert "paper.tex, line 7: holds" in said
    assert "paper.tex, line 15: fails: line 15 (paper.tex, line 15)" in said
    assert "paper.tex, line 10: no check" in said
    checks.write_text(checks.read_text(encoding="utf-8").replace("line 15", "line 990"))
    assert main(["check", str(paper), str(checks)]) == 1
    assert "line 990: missing" in capsys.readouterr().out
    checks.write_text(CHECKS.format(path=str(paper)).replace("rng.normal(size=3)", "..."))
    main(["check", str(paper), str(checks)])
    assert "line 7: not filled in: say in the check what 'x' is" in capsys.readouterr().out
    checks.write_text("import no_such_module")
    assert main(["check", str(paper), str(checks)]) == 2
    assert "checks.py cannot be run: ModuleNotFoundError" in capsys.readouterr().err


def test_a_bracket_of_markdown_is_no_display(tmp_path):
    page = tmp_path / "page.md"
    text = (
        "An array In\\[B, D\\] and\n\\[ a = 1 \\]\n> \\[\n> b = 2\n> \\]\n\\[see\\] $$ c = 3 $$\n"
    )
    page.write_text(text, encoding="utf-8")
    assert [one.text.strip() for one in displays_of(page)] == ["a = 1", "b = 2", "c = 3"]
    paper = tmp_path / "paper.tex"
    paper.write_text(r"and so \[ a = 1 \] holds", encoding="utf-8")
    assert [one.text.strip() for one in displays_of(paper)] == ["a = 1"]


UNFILLED = """
from texcheck import Formulas
BOOK = Formulas({{"line 3": "p(2) = 1"}})


@BOOK.test("line 3")
def test_function(rng):
    return {{"p": lambda *arguments: {value}}}
"""


def test_a_function_that_is_not_filled_in_is_named(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n$$ p(2) = 1 $$\n", encoding="utf-8")
    checks = tmp_path / "checks.py"
    checks.write_text(UNFILLED.format(value="..."), encoding="utf-8")
    main(["check", str(page), str(checks)])
    assert "line 3: not filled in: say in the check what 'p' is" in capsys.readouterr().out
    with pytest.raises(texcheck.LatexError, match="the function 'p' is still to be filled in"):
        texcheck.check("p(2) = 1", {"p": lambda x: ...})
    with pytest.raises(TypeError, match="the value of 'p' is still to be filled in"):
        texcheck.check("p = 1", {"p": ...})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tex", r"\newcommand{\a}{\a} $$ \a = 1 $$", "what does"),
        ("a.tex", r"\newcommand{\a}[1]{#1} $$ \a $$", "what does"),
        ("a.tex", r"\newcommand{\a}{ $$ x = { $$", "never closed"),
        ("a.md", "$$ $$ $$", "nothing"),
        ("a.ipynb", "[1]", "is no notebook"),
        ("a.ipynb", "{", "is no notebook"),
        ("a.txt", "x", "can be read"),
        ("a.md", "", "nothing"),
    ],
)
def test_bad_input_is_a_message(name, content, said, tmp_path, capsys):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert main(["check", str(path)]) in (0, 2)
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


def test_a_file_that_is_not_there(capsys):
    assert main(["check", "no-such-file.tex"]) == 2
    assert "No such file" in capsys.readouterr().err


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"texcheck {texcheck.__version__}"


def test_the_plugin_loads_nothing_that_it_does_not_need():
    code = "import sys, texcheck.plugin; print({'numpy', 'scipy', 'lark'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("first", ["texcheck.check", "texcheck.formulas", "texcheck"])
def test_check_is_the_function_whatever_is_imported_first(first):
    code = f"import {first}; from texcheck import check, evaluate; print(check.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "check"


def test_a_display_that_no_reader_knows_is_named_and_not_left_out(tmp_path, capsys):
    paper = tmp_path / "paper.tex"
    paper.write_text(
        "\\begin{dmath}\na &= b\n\\end{dmath}\n"
        "\\begin{IEEEeqnarray}{rCl}\na & = & b\n\\end{IEEEeqnarray}\n$$ a = a + 0 $$\n",
        encoding="utf-8",
    )
    main(["symbols", str(paper)])
    said = capsys.readouterr().out
    assert "line 1: environment 'dmath' is not known" in said
    assert "line 4: environment 'IEEEeqnarray' is not known" in said
    assert "1 of 3 displays are read" in said
