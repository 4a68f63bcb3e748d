"""A notebook as text: what a diff shows, and what it leaves out."""

import subprocess
import sys

import nbformat
import pytest

from bookformat.contents import page_name
from bookformat.notebooks import chapter_notebooks, read
from bookformat.paths import ROOT
from bookformat.plain import plain_lines

CURVE = '<svg aria-label="A line that rises">\n<path d="M 0 {}"/>\n</svg>'


def notebook(height, words="Words."):
    data = {"image/svg+xml": CURVE.format(height), "text/plain": "figure"}
    drawn = nbformat.v4.new_output("display_data", data)
    printed = nbformat.v4.new_output("stream", text=f"{height}\n")
    cells = [
        nbformat.v4.new_markdown_cell(words),
        nbformat.v4.new_code_cell("draw(line)", outputs=[drawn, printed]),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def changed(first, second):
    pairs = zip(plain_lines(first), plain_lines(second), strict=True)
    return [new for old, new in pairs if old != new]


def test_a_changed_number_is_one_line_for_a_drawing_and_one_for_a_print():
    drawing, number = changed(notebook(1), notebook(2))
    assert drawing.startswith("[drawing ")
    assert drawing.endswith(": A line that rises]")
    assert number == "2"


def test_a_changed_sentence_is_one_line():
    assert changed(notebook(1), notebook(1, "Other words.")) == ["Other words."]


@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_no_chapter_shows_a_drawing(path):
    text = "\n".join(plain_lines(read(path)))
    assert "<path" not in text


def test_git_uses_it_where_it_is_told_to(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", *identity, *words]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout

    path = tmp_path / "a.ipynb"
    rules = (ROOT / ".gitattributes").read_text(encoding="utf-8")
    (tmp_path / ".gitattributes").write_text(rules, encoding="utf-8")
    git("init", "--quiet")
    nbformat.write(notebook(1), path)
    git("add", ".")
    nbformat.write(notebook(2), path)
    assert "<path" in git("diff"), "without the setting git compares the files"
    git("config", "diff.notebook.textconv", f"'{sys.executable}' -m bookformat.plain")
    found = git("diff")
    assert "<path" not in found
    assert "+2\n" in found
