"""KaTeX at build time."""

import pytest

from bookcheck.site.maths import Katex, UnreadableFormulaError
from bookcheck.site.node import ROOT, ensure_packages
from bookcheck.site.place import describe_place


@pytest.fixture(scope="module")
def katex():
    ensure_packages(ROOT)
    renderer = Katex(ROOT / "node_modules" / "katex" / "dist" / "katex.js")
    yield renderer
    renderer.close()


def test_a_formula_becomes_html_and_mathml(katex):
    html = katex.render(r"\frac{QK^\top}{\sqrt{d_k}}", display=True)
    assert 'class="katex-display"' in html
    assert "<math" in html


def test_the_process_serves_again_after_a_bad_formula(katex):
    with pytest.raises(UnreadableFormulaError, match="KaTeX parse error"):
        katex.render(r"\frac{a", display=False)
    assert "katex" in katex.render("a", display=False)


@pytest.mark.parametrize("tex", [r"\mathbbm{1}", r"\label{a}", r"\nosuchcommand", "a_b_c", "ж"])
def test_what_katex_would_show_wrongly_is_refused(katex, tex):
    with pytest.raises(UnreadableFormulaError):
        katex.render(tex, display=True)


def test_rows_that_number_themselves_are_refused(katex):
    with pytest.raises(UnreadableFormulaError, match=r"write align\*"):
        katex.render(r"\begin{align} a &= b \end{align}", display=True)
    assert katex.render(r"\begin{align*} a &= b \end{align*}", display=True)


def test_places_are_named_as_a_writer_counts():
    assert (
        describe_place("/b/chapters/a.ipynb", 120009, "/b") == "chapters/a.ipynb, cell 12, line 8"
    )
    assert describe_place("/b/index.md", 7, "/b") == "index.md, line 7"
    assert describe_place("/elsewhere/x.md", None, "/b") == "x.md"
