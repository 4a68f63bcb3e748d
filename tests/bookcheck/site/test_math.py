"""KaTeX at build time."""

import json
import re

import pytest
from sphinx.util.parallel import ParallelTasks

from bookcheck.site.math import UnreadableFormulaError
from bookcheck.site.source_place import describe_place


def test_a_formula_becomes_html_and_mathml(katex):
    html = katex.render(r"\frac{QK^\top}{\sqrt{d_k}}", display=True)
    assert 'class="katex-display"' in html
    assert "<math" in html


def test_the_process_serves_again_after_a_bad_formula(katex):
    with pytest.raises(UnreadableFormulaError, match="KaTeX parse error"):
        katex.render(r"\frac{a", display=False)
    assert "katex" in katex.render("a", display=False)


def test_each_worker_has_its_own_process(katex):
    """Two workers that asked one process would read the answers of each other."""
    katex.render("a", display=False)

    def work(letters):
        return [katex.render(f"{letter}_{n}", display=False) for letter in letters for n in "12"]

    found = {}
    workers = ParallelTasks(2)
    for letters in ("bcdef", "ghijk"):
        workers.add_task(work, letters, found.__setitem__)
    workers.join()
    for letters, answers in found.items():
        asked = [letter for letter in letters for _ in "12"]
        assert all(f">{letter}</mi>" in html for letter, html in zip(asked, answers, strict=True))
    assert sorted(found) == ["bcdef", "ghijk"]
    assert "katex" in katex.render("z", display=False), "the first process still answers"


@pytest.mark.parametrize("tex", [r"\mathbbm{1}", r"\label{a}", r"\nosuchcommand", "a_b_c", "ж"])
def test_what_katex_would_show_wrongly_is_refused(katex, tex):
    with pytest.raises(UnreadableFormulaError):
        katex.render(tex, display=True)


def test_rows_that_number_themselves_are_refused(katex):
    with pytest.raises(UnreadableFormulaError, match=r"write align\*"):
        katex.render(r"\begin{align} a &= b \end{align}", display=True)
    assert katex.render(r"\begin{align*} a &= b \end{align*}", display=True)


def test_places_are_named_as_jupyter_shows_cells(tmp_path):
    path = tmp_path / "a.ipynb"
    cells = [{"cell_type": kind, "source": []} for kind in ("markdown", "code", "markdown")]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    named = [describe_place(str(path), 10_000 * cell + 9, tmp_path) for cell in (1, 2, 3)]
    assert named == [
        "a.ipynb, text above cell [1], line 8",
        "a.ipynb, cell [1], line 8",
        "a.ipynb, text below cell [1], line 8",
    ]
    assert describe_place("/b/index.md", 7, "/b") == "index.md, line 7"
    assert describe_place("/elsewhere/x.md", None, "/b") == "x.md"


def test_a_comma_stays_with_its_short_formula(good_site):
    page = (good_site / "chapters" / "interactive.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="whole"><span class="math .*?</span>\.</span>', page)
