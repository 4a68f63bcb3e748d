"""A small site is built: the marks and the ledger come from the records, and only from them."""

import io
import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookcheck.equations.records import Record, write_record
from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM
from bookcheck.site.extension import write_all_pages

EXECUTED = Record("eq-score", "a = b")
BY_HAND = Record("eq-weight", "b = c", "It is a limit.")
CHAPTER = (
    "# A chapter\n\n3 of {value}`4 = 2 + 2`.\n\n"
    "$$\na = b\n$$ (eq-score)\n\n$$\nb = c\n$$ (eq-weight)\n"
)
LEDGER = "# Ledger\n\n```{equation-ledger}\n```\n"
INDEX = "# Book\n\n```{toctree}\nchapters/01-x\nchapters/ledger\n```\n"
EXTENSIONS = ["math", "ledger", "values"]


def build(folder, records, ledger=LEDGER):
    """Build the site and return its pages by name, and the warnings."""
    ensure_packages(NODE_ROOM)
    (folder / "chapters").mkdir(exist_ok=True)
    index = INDEX if ledger else INDEX.replace("chapters/ledger\n", "")
    (folder / "index.md").write_text(index, encoding="utf-8")
    (folder / "chapters" / "01-x.md").write_text(CHAPTER, encoding="utf-8")
    if ledger:
        (folder / "chapters" / "ledger.md").write_text(ledger, encoding="utf-8")
    for record in records:
        write_record(record, folder / "_build" / "equations")
    warnings = io.StringIO()
    output = folder / "_build" / "html"
    settings = {
        "extensions": ["myst_parser", *(f"bookcheck.site.{name}" for name in EXTENSIONS)],
        "html_math_renderer": "prerendered",
        "myst_enable_extensions": ["dollarmath"],
        "exclude_patterns": ["_build"],
        "html_theme": "basic",
    }
    with docutils_namespace():
        app = Sphinx(
            folder, None, output, folder / "_build" / "doctrees", "html", settings,
            status=None, warning=warnings, freshenv=False,
        )  # fmt: skip
        app.connect("env-updated", write_all_pages)
        app.build()
    pages = {
        p.relative_to(output).as_posix(): p.read_text(encoding="utf-8")
        for p in output.rglob("*.html")
    }
    assert warnings.getvalue() == ""
    return pages


def marks(pages):
    """The marks beside the equations of the chapter: title and text."""
    found = re.findall(
        r'<a class="equation-mark" href="ledger\.html" title="([^"]*)"[^>]*>(.*?)<',
        pages["chapters/01-x.html"],
    )
    assert pages["chapters/01-x.html"].count("equation-mark") == len(found)
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(tmp_path_factory.mktemp("book"), [EXECUTED, BY_HAND])


def test_a_record_that_matches_gives_a_mark(site):
    (title, sign), weight = marks(site)
    assert sign == "✓"
    assert title.startswith("Executed")
    assert weight == ("Checked by hand: It is a limit.", "by hand")


def test_the_keyboard_stops_at_one_mark_of_a_page(site):
    assert site["chapters/01-x.html"].count('tabindex="-1"') == 1


def test_the_ledger_counts_and_leads_to_every_equation(site):
    page = site["chapters/ledger.html"]
    assert "2 equations. In the last run of the tests 1 of them were executed" in page
    assert "and 1 were checked by hand. 1 numbers in its sentences are computed" in page
    for label in ("eq-score", "eq-weight"):
        assert f'href="01-x.html#equation-{label}"' in page
    assert re.search(r"A chapter</a>, 1 of 2 executed:", page)
    assert re.search(r"<li><p>.*#equation-eq-weight.* It is a limit\.</p>", page)


def test_without_records_nothing_is_said_of_checks(tmp_path):
    pages = build(tmp_path, [])
    assert marks(pages) == []
    page = pages["chapters/ledger.html"]
    assert "The book displays 2 equations. 1 numbers" in page
    assert 'href="01-x.html#equation-eq-score"' in page
    for words in ("xecuted", "not checked", "by hand", "0 of", "last run"):
        assert all(words not in text for text in pages.values()), words


@pytest.mark.parametrize("text", ["a = -b", "a = b + 0", ""])
def test_a_record_of_another_text_gives_no_mark(tmp_path, text):
    pages = build(tmp_path, [Record("eq-score", text), BY_HAND])
    assert [sign for _, sign in marks(pages)] == ["by hand"]
    assert "0 of them were executed" in pages["chapters/ledger.html"]


def test_records_reach_the_pages_of_an_unchanged_book_and_leave_them(tmp_path):
    assert marks(build(tmp_path, [])) == []
    assert len(marks(build(tmp_path, [EXECUTED]))) == 1
    (tmp_path / "_build" / "equations" / "eq-score.json").unlink()
    pages = build(tmp_path, [])
    assert marks(pages) == []
    assert "xecuted" not in pages["chapters/ledger.html"]


def test_a_book_without_a_ledger_has_no_marks(tmp_path):
    assert marks(build(tmp_path, [EXECUTED], ledger="")) == []
