"""A small site is built: the ledger, the marks and the counts come from the records."""

import dataclasses
import io
import json
import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookcheck.equations.records import Outcome
from bookcheck.site.ledger import read_checks

CHECK_FILE = "tests/equations/test_01_attention.py"
EXECUTED = Outcome(
    "eq-score", "01-x.md", "a = b", True, None, ["attention_to_rope.attention"], 12, 1, 2e-16,
    CHECK_FILE,
)  # fmt: skip
BY_HAND = dataclasses.replace(
    EXECUTED, label="eq-weight", text="b = c", executed=False, reason="It is a limit.", library=[]
)
CHAPTER = (
    "# A chapter\n\n3 of {value}`4 = 2 + 2`: $a = c$.\n\n"
    "$$\na = b\n$$ (eq-score)\n\n$$\nb = c\n$$ (eq-weight)\n"
)
LEDGER = "# Ledger\n\n```{equation-ledger}\n```\n"
INDEX = """# Book

{equation-count}`executed` of {equation-count}`total`, {equation-count}`by-hand` by hand;
{equation-count}`values` computed

```{toctree}
chapters/01-x
chapters/ledger
```
"""


def build(folder, outcomes, index=INDEX, ledger=LEDGER):
    """Build the site and return its pages by name, and the warnings."""
    (folder / "chapters").mkdir(exist_ok=True)
    (folder / "index.md").write_text(index, encoding="utf-8")
    (folder / "chapters" / "01-x.md").write_text(CHAPTER, encoding="utf-8")
    if ledger:
        (folder / "chapters" / "ledger.md").write_text(ledger, encoding="utf-8")
    records = folder / "_build" / "equations"
    records.mkdir(parents=True, exist_ok=True)
    for outcome in outcomes:
        (records / f"{outcome.label}.json").write_text(
            json.dumps(dataclasses.asdict(outcome)), encoding="utf-8"
        )
    warnings = io.StringIO()
    output = folder / "_build" / "html"
    settings = {
        "extensions": [
            "myst_parser",
            "bookcheck.site.math",
            "bookcheck.site.ledger",
            "bookcheck.site.values",
        ],
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
        app.build()
    pages = {
        p.relative_to(output).as_posix(): p.read_text(encoding="utf-8")
        for p in output.rglob("*.html")
    }
    return pages, warnings.getvalue()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(tmp_path_factory.mktemp("book"), [EXECUTED, BY_HAND])


def test_nothing_warns(site):
    assert site[1] == ""


def test_the_counts_stand_on_the_opening_page(site):
    assert "1 of 2, 1 by hand;\n1 computed" in site[0]["index.html"]


def test_the_overview_counts_the_equations_of_each_chapter(site):
    page = site[0]["chapters/ledger.html"]
    assert "2 equations. 1 are executed from their own text, 1 are checked by hand" in page
    assert "1 formulas with a relation; there is no record of their checks yet" in page
    assert "1 numbers in sentences are computed" in page
    cells = re.findall(r"<td><p>(.*?)</p></td>", page)
    assert "A chapter" in cells[0]
    assert 'href="../ledger/01-x.html"' in cells[0]
    assert cells[1:] == ["2", "1", "1", "2e-16"]


def test_each_equation_has_a_row(site):
    page = site[0]["ledger/01-x.html"]
    assert "<h1>Equations: A chapter</h1>" in page
    assert 'href="../chapters/ledger.html"' in page
    assert 'id="ledger-eq-score"' in page
    assert "Executed from its text on 12 inputs, largest deviation 2e-16." in page
    assert "attention_to_rope.attention" in page
    assert "Checked by hand on 12 inputs: It is a limit." in page
    assert 'href="../chapters/01-x.html#equation-eq-score"' in page
    assert page.index("ledger-eq-score") < page.index("ledger-eq-weight")


def test_each_equation_carries_a_mark(site):
    page = site[0]["chapters/01-x.html"]
    assert 'href="../ledger/01-x.html#ledger-eq-score"' in page
    marks = re.findall(r'<span class="eqno">(<a class="equation-mark".*?</a>)\(\d\)', page)
    assert [re.sub("<.*?>", "", mark) for mark in marks] == ["✓", "✓ by hand"]
    assert 'aria-label="Executed from its text on 12 inputs, largest deviation 2e-16."' in marks[0]
    assert 'title="Checked by hand on 12 inputs: It is a limit."' in marks[1]


def test_the_keyboard_stops_at_one_mark_of_a_page(site):
    marks = re.findall(r'<a class="equation-mark".*?>', site[0]["chapters/01-x.html"])
    assert ['tabindex="-1"' in mark for mark in marks] == [False, True]


def test_each_row_holds_its_check_and_the_page_what_checks_share(site):
    page = re.sub(r"</?span[^>]*>", "", site[0]["ledger/01-x.html"])
    score, weight = page.index("ledger-eq-score"), page.index("ledger-eq-weight")
    assert score < page.index("def test_score(") < weight < page.index("def test_weight(")
    assert page.index("def test_weight(") < page.index("import numpy") < page.index("def tokens(")
    assert "def test_average(" not in page


def test_a_file_of_checks_is_taken_apart():
    helper = "def half(x):\n    return x / 2"
    check = '@equation("eq-a", library=half)\ndef test_a(rng):\n    return half(rng)'
    other = '@other("eq-b")\ndef test_b(rng):\n    return half(rng)'
    found = read_checks(f"{check}\n\n\n{helper}\n\n\n{other}\n")
    assert found.checks == {"eq-a": check}
    assert found.shared == f"{helper}\n\n\n{other}"


def test_a_record_whose_check_is_gone_is_not_shown(tmp_path):
    gone = dataclasses.replace(EXECUTED, file="tests/equations/test_02_why_sqrt_d.py")
    pages, _ = build(tmp_path, [gone, BY_HAND])
    assert pages["ledger/01-x.html"].count("Not checked: no current record") == 1


def test_without_records_the_page_says_how_to_make_them(tmp_path):
    pages, warnings = build(tmp_path, [])
    assert warnings == ""
    assert (
        "no record of the checks of the 2 displayed equations yet" in pages["chapters/ledger.html"]
    )
    assert "python -m bookcheck.equations" in pages["chapters/ledger.html"]
    assert pages["chapters/01-x.html"].count("not checked") == 2


def test_a_record_of_an_older_text_is_not_shown(tmp_path):
    pages, _ = build(tmp_path, [dataclasses.replace(EXECUTED, text="a = -b"), BY_HAND])
    assert "0 of 2" in pages["index.html"]
    assert "Not checked" in pages["ledger/01-x.html"]
    assert "1 have no current record" in pages["chapters/ledger.html"]


def test_a_new_record_reaches_the_pages_of_an_unchanged_book(tmp_path):
    build(tmp_path, [BY_HAND])
    pages, _ = build(tmp_path, [EXECUTED, BY_HAND])
    assert "Executed from its text" in pages["chapters/01-x.html"]
    assert "1 of 2" in pages["index.html"]


def test_a_book_without_a_ledger_has_no_marks(tmp_path):
    index = INDEX.replace("chapters/ledger\n", "")
    pages, warnings = build(tmp_path, [EXECUTED], index, ledger="")
    assert warnings == ""
    assert "equation-mark" not in pages["chapters/01-x.html"]


def test_an_unknown_count_is_an_error(tmp_path):
    index = INDEX.replace("`executed`", "`guessed`")
    _, warnings = build(tmp_path, [EXECUTED], index)
    assert "equation-count knows total, checked, executed, by-hand, inline" in warnings
    assert "got 'guessed'" in warnings
