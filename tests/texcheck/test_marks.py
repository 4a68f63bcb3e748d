"""The marks in Sphinx and the magic in Jupyter."""

import json
import re

import pytest

from texcheck import magic

CONF = """
extensions = ["texcheck.sphinx", "sphinx.ext.mathjax"]
html_theme = "basic"
texcheck_record = "record.json"
"""
INDEX = """Title
=====

.. math:: c^2 = a^2
   + b^2

.. math:: c = 1
"""


def test_sphinx_marks_what_held(tmp_path):
    testing = pytest.importorskip("sphinx.testing.util")
    (tmp_path / "conf.py").write_text(CONF, encoding="utf-8")
    (tmp_path / "index.rst").write_text(INDEX, encoding="utf-8")
    record = {"held": ["c^2 = a^2 + b^2"]}
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    app = testing.SphinxTestApp("html", srcdir=tmp_path)
    try:
        app.build()
        page = (app.outdir / "index.html").read_text(encoding="utf-8")
    finally:
        app.cleanup()
    assert len(re.findall('class="equation-mark"', page)) == 1
    assert page.index("a^2") < page.index("equation-mark") < page.index("c = 1")


def test_the_magic_takes_values_of_the_line_and_of_the_notebook():
    assert "holds: 25 against 25" in magic.texcheck("a = 3, b = 4", "c^2 = a^2 + b^2", {"c": 5})
    assert "holds" in magic.texcheck("", r"\alpha \mathbf{x} = [2, 4]", {"alpha": 0.5, "x": [4, 8]})
    said = magic.texcheck("--vectors row x = [1, 2]", r"x x^\top = 5")
    assert "holds" in said
    assert "refused: unknown symbol c" in magic.texcheck("a = 3", "c = a")
    assert "refused" in magic.texcheck("a = ", "a = 1")
