"""A small site is built: the marks and the ledger come from the records, and only from them."""

import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookcheck.equations.records import Record, write_record
from bookcheck.site.extension import write_all_pages

EXECUTED = Record("eq-score", "a = b")
BY_HAND = Record("eq-weight", "b = c", "It is a limit.")
IN_SENTENCES = Record("sentences-of-01-x", "d = 3\ne = 5")
PAGES = {
    "index": "# Book\n\n```{toctree}\nchapters/01-x\nchapters/ledger\n```\n",
    "chapters/01-x": "# A chapter\n\n3 of {value}`4 = 2 + 2`. So $d = 3$ with $f = 7$.\n\n"
    "$$\na = b\n$$ (eq-score)\n\n$$\nb = c\n$$ (eq-weight)\n",
    "chapters/ledger": "# Ledger\n\n```{equation-ledger}\n```\n",
}
SETTINGS = {
    "extensions": ["myst_parser", *(f"bookcheck.site.{n}" for n in ("math", "ledger", "values"))],
    "html_math_renderer": "prerendered",
    "myst_enable_extensions": ["dollarmath"],
    "exclude_patterns": ["_build"],
    "html_theme": "basic",
}


def build(folder, *records):
    """Build the site; return the marks of its chapter, each title and text, and the ledger."""
    (folder / "chapters").mkdir(exist_ok=True)
    for name, text in PAGES.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    for record in records:
        write_record(record, folder / "_build" / "equations")
    output = folder / "_build" / "html"
    with docutils_namespace():
        app = Sphinx(
            folder, None, output, folder / "_build" / "doctrees", "html", SETTINGS,
            status=None, warningiserror=True, freshenv=False,
        )  # fmt: skip
        app.connect("env-updated", write_all_pages)
        app.build()
    chapter = (output / "chapters" / "01-x.html").read_text(encoding="utf-8")
    mark = r'<a class="equation-mark" href="ledger\.html" title="([^"]*)"[^>]*>(.*?)<'
    found = re.findall(mark, chapter)
    assert chapter.count("equation-mark") == len(found)
    # The keyboard stops at one mark of a page.
    assert chapter.count('tabindex="-1"') == max(len(found) - 1, 0)
    return found, (output / "chapters" / "ledger.html").read_text(encoding="utf-8")


def test_records_reach_the_pages_of_an_unchanged_book_and_leave_them(tmp_path):
    marks, ledger = build(tmp_path)
    assert marks == []
    assert "The book displays 2 equations. 1 numbers in its sentences are computed" in ledger
    for label in ("eq-score", "eq-weight"):
        assert f'href="01-x.html#equation-{label}"' in ledger
    for words in ("xecuted", "not checked", "by hand", "last run"):
        assert words not in ledger
    marks, ledger = build(tmp_path, EXECUTED, BY_HAND, IN_SENTENCES)
    (title, sign), weight = marks
    assert (title.split(":")[0], sign) == ("Executed", "✓")
    assert weight == ("Checked by hand: It is a limit.", "by hand")
    assert "The last run of the tests executed 1 of them from their own text" in ledger
    assert "and checked 1 by hand." in ledger
    assert "executed 1 of the 2 relations inside sentences" in ledger
    assert re.search(r"#equation-eq-weight.* \[by hand: It is a limit\.\]", ledger)
    (tmp_path / "_build" / "equations" / "eq-score.json").unlink()
    assert [sign for _, sign in build(tmp_path)[0]] == ["by hand"]


@pytest.mark.parametrize("text", ["a = -b", "a = b + 0", ""])
def test_a_record_of_another_text_gives_no_mark(tmp_path, text):
    marks, ledger = build(tmp_path, Record("eq-score", text), BY_HAND)
    assert [sign for _, sign in marks] == ["by hand"]
    assert "executed 0 of them" in ledger
