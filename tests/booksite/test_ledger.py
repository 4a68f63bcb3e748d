"""A small site is built: the marks and the ledger come from the records, and only from them."""

import re

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookformat.records import Record, write_record

EXECUTED = Record("eq-score", "a = b")
IN_VALUES = Record("values-of-01-x-values-of-text-below-cell-1-", "8 = 2**3\n7 GB = x")
IN_SENTENCES = Record(
    "sentences-of-01-x",
    "So … with $, $ and $ and $.\td = 3\nSo $ with $, … and $ and $.\tg + 1\nSo …\te = 5",
)
PAGES = {
    "index": "# Book\n\n```{equation-counts}\n```\n\n"
    "```{toctree}\nchapters/01-x\nchapters/02-y\nchapters/ledger\n```\n",
    # The relation of the second page has the text of one that was executed on the first.
    "chapters/02-y": "# Another\n\nSo $d = 3$ again, and $x$. {value}`9 = 3**2`\n",
    "chapters/01-x": "# A chapter\n\n{value}`8 = 2**3` So $d = 3$ with $f = 7$, "
    "$g + 1$ and $g$ and $g$.\n\n"
    "$$\na = b\n$$ (eq-score)\n\n$$\nb = c\n$$ (eq-weight)\n",
    "chapters/ledger": "# Ledger\n\n```{equation-ledger}\n```\n",
}
SETTINGS = {
    "extensions": ["myst_parser", "booksite.math", "booksite.values", "booksite.ledger"],
    "html_math_renderer": "prerendered",
    "myst_enable_extensions": ["dollarmath"],
    "exclude_patterns": ["_build", "tests"],
    "html_theme": "basic",
}


def build(folder, *records):
    """Build the site; return the number of marks in its chapter, the ledger and the first page."""
    (folder / "chapters").mkdir(exist_ok=True)
    (folder / "tests" / "bookcheck").mkdir(parents=True, exist_ok=True)
    listed = folder / "tests" / "bookcheck" / "numbers.tsv"
    rows = ("Of two keys.\tword", "So $d = 3$ with $g$.\trelation formula", "Never.\tprose",
            "{value}`8 = 2**3` of two keys\tvalue word", "y = 2\tline")  # fmt: skip
    listed.write_text("".join(f"01-x\t{row}\n" for row in rows), encoding="utf-8")
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
        app.connect("env-updated", lambda _app, env: sorted(env.found_docs))
        app.build()
    chapter = (output / "chapters" / "01-x.html").read_text(encoding="utf-8")
    marks = re.findall(r'<a class="equation-mark" href="ledger\.html" [^>]*>✓</a>\(1\)', chapter)
    assert chapter.count("equation-mark") == len(marks)
    ledger = (output / "chapters" / "ledger.html").read_text(encoding="utf-8")
    return len(marks), ledger, (output / "index.html").read_text(encoding="utf-8")


def test_records_reach_the_pages_of_an_unchanged_book_and_leave_them(tmp_path):
    marks, ledger, first = build(tmp_path)
    assert marks == 0
    assert "The book displays 2 equations." in ledger
    for label in ("eq-score", "eq-weight"):
        assert f'href="01-x.html#equation-{label}"' in ledger
    for words in ("xecuted", "not checked", "last run"):
        assert words not in ledger
        assert words not in first
    marks, ledger, first = build(tmp_path, EXECUTED, IN_SENTENCES, IN_VALUES)
    assert marks == 1
    for page in (ledger, first):
        text = " ".join(page.split())
        assert "executed 1 of the 2 displayed equations from their own text" in text
        assert "and 1 of the 3 relations inside sentences." in text
        assert "The other 2 relations are only listed" in text
        assert "Of the 2 numbers in sentences that are written with their" in text
        assert "it computed 1. Other numbers, number words and units are only listed, and" in text
        assert "has 2 such numbers in 4 sentences, titles and rows of tables, and 1 lines" in text
        assert "so are the 3 formulas without a relation" in text
    assert "(relations in sentences: 1 of 2 executed)" in ledger
    assert "(relations in sentences: 0 of 1 executed)" in ledger
    # A record of another text gives no mark and no count.
    marks, ledger, _ = build(tmp_path, Record("eq-score", "a = -b"))
    assert marks == 0
    assert "The book displays 2 equations." in ledger
