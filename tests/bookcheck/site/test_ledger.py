"""A small site is built: the marks and the ledger come from the records, and only from them."""

import re

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookcheck.equations.records import Record, write_record
from bookcheck.site.extension import write_all_pages

EXECUTED = Record("eq-score", "a = b")
BY_HAND = Record("eq-weight", "b = c", "It is a limit.")
IN_SENTENCES = Record("sentences-of-01-x", "d = 3\ne = 5")
PAGES = {
    "index": "# Book\n\n```{toctree}\nchapters/01-x\nchapters/ledger\n```\n",
    "chapters/01-x": "# A chapter\n\nSo $d = 3$ with $f = 7$.\n\n"
    "$$\na = b\n$$ (eq-score)\n\n$$\nb = c\n$$ (eq-weight)\n",
    "chapters/ledger": "# Ledger\n\n```{equation-ledger}\n```\n",
}
SETTINGS = {
    "extensions": ["myst_parser", "bookcheck.site.math", "bookcheck.site.ledger"],
    "html_math_renderer": "prerendered",
    "myst_enable_extensions": ["dollarmath"],
    "exclude_patterns": ["_build"],
    "html_theme": "basic",
}


def build(folder, *records):
    """Build the site; return the number of marks in its chapter, and the ledger."""
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
    marks = re.findall(r'<a class="equation-mark" href="ledger\.html" [^>]*>✓</a>\(1\)', chapter)
    assert chapter.count("equation-mark") == len(marks)
    return len(marks), (output / "chapters" / "ledger.html").read_text(encoding="utf-8")


def test_records_reach_the_pages_of_an_unchanged_book_and_leave_them(tmp_path):
    marks, ledger = build(tmp_path)
    assert marks == 0
    assert "The book displays 2 equations." in ledger
    for label in ("eq-score", "eq-weight"):
        assert f'href="01-x.html#equation-{label}"' in ledger
    for words in ("xecuted", "not checked", "by hand", "last run"):
        assert words not in ledger
    marks, ledger = build(tmp_path, EXECUTED, BY_HAND, IN_SENTENCES)
    assert marks == 1
    assert "The last run of the tests executed 1 of them from their own text" in ledger
    assert "and checked 1 by hand." in ledger
    assert "executed 1 of the 2 relations inside sentences" in ledger
    assert re.search(r"#equation-eq-weight.* \[by hand: It is a limit\.\]", ledger)
    # A record of another text gives no mark.
    marks, ledger = build(tmp_path, Record("eq-score", "a = -b"))
    assert marks == 0
    assert "executed 0 of them" in ledger
