"""Symbols and words explain themselves: the table is read, formulas are marked, the box appears."""

import json
import re

import pytest
from docutils import nodes
from playwright.sync_api import expect

from bookcheck.notebooks.files import CHAPTERS
from bookcheck.site.symbols import (
    NotationError,
    Row,
    chapters_in,
    check_rows,
    first_sentence,
    search_names,
    symbols_in,
)

SYMBOLS = tuple(
    (tex, f"sy{number}")
    for number, tex in enumerate(
        [
            "N",
            "d",
            "d_k",
            "m",
            "n",
            "A",
            "q_m",
            r"\theta_i",
            r"\mathbf{R}_m",
            "W^Q",
            "S",
            "L",
            "L_0",
        ]
    )
)


def marks(html):
    """The symbols that are marked in a formula, in order of their TeX."""
    keys = re.findall(r'class="[^"]*\b(sy\d+)\b[^"]*"', html)
    return sorted(dict((key, tex) for tex, key in SYMBOLS)[key] for key in keys)


@pytest.mark.parametrize(
    ("tex", "found"),
    [
        (r"\frac{q_m}{\sqrt{d_k}}", ["d_k", "q_m"]),
        ("A_{mn} = N^2 d", ["A", "N", "d", "m", "n"]),
        (r"\mathbf{R}_{n-m} \mathbf{R}_m^\top", [r"\mathbf{R}_m"] * 2),
        (r"\theta_0 + \theta_{i}", [r"\theta_i"] * 2),
        ("d_k^2 d_{k}", ["d_k"] * 2),
        ("W^Q_j (W^Q)^\\top", ["W^Q"] * 2),
        (r"\begin{aligned} q_n &= L \\ &= L_0 \end{aligned}", ["L", "L_0", "q_m"]),
        (r"\sum_{n=0}^{N-1} x", ["N", "n"]),
        # Words, decorated letters, primes and other names are something else.
        (r"\operatorname{And}(x) + \text{d} + \mathrm{d}", []),
        (r"\hat{A} + \theta'_i + d^* + N_u + d_f + q_0 + q_j + q_{2i}", []),
        (r"\sqrt d", []),
        # Letters above a letter are a name, a power is none.
        ("W^{SAN} + W_j^{DN}", []),
        ("2^{N d} + x^{-A}", ["A", "N", "d"]),
    ],
)
def test_a_symbol_is_marked_where_it_stands_and_nowhere_else(katex, tex, found):
    assert marks(katex.render(tex, display=True, symbols=SYMBOLS)) == found


@pytest.mark.parametrize("tex", [r"\frac{q_m}{\sqrt{d_k}} + N", r"A_{mn}", r"\mathbf{R}_m x = 1"])
def test_a_marked_formula_reads_and_stands_as_before(katex, tex):
    before = katex.render(tex, display=True)
    after = katex.render(tex, display=True, symbols=SYMBOLS)
    assert after != before
    hidden, shown = after.split('<span class="katex-html"')
    assert hidden == before.split('<span class="katex-html"')[0], "screen readers get the same"
    shown_before = before.split('<span class="katex-html"')[1]
    assert re.sub("<[^>]*>", "", shown) == re.sub("<[^>]*>", "", shown_before)
    # The heights, as styles or as the classes that stand for them.
    heights = r"(?:height|vertical-align):[^;]*|\bk\d+\b"
    assert re.findall(heights, shown) == re.findall(heights, shown_before)


def test_the_column_of_chapters_is_read():
    assert chapters_in("all") is None
    assert chapters_in("1, 8–10, 13") == {1, 8, 9, 10, 13}
    for wrong in ("", "1-3", "some", "1,2"):
        with pytest.raises(NotationError, match="must be"):
            chapters_in(wrong)


def test_the_cell_of_a_symbol_is_read():
    assert symbols_in(r"q_m,\ k_n,\ v_n") == ["q_m", "k_n", "v_n"]
    assert symbols_in(r"R(\alpha)") == ["R"]


def row(number, symbol, chapters):
    return Row(number, [symbol], chapters, nodes.row())


def test_two_meanings_in_one_chapter_are_refused():
    check_rows([row(0, "J", frozenset({2})), row(1, "J", frozenset({8, 9}))])
    for other in (frozenset({2, 9}), None):
        with pytest.raises(NotationError, match="J has two meanings in one chapter"):
            check_rows([row(0, "J", frozenset({2})), row(1, "J", other)])


def test_symbols_have_names_that_can_be_typed():
    assert search_names(row(0, r"\theta_i", None)) == ["theta_i", "theta", "θ"]
    assert search_names(row(0, r"\mathbf{R}_m", None)) == ["R_m"]


def test_the_first_sentence_ends_where_it_ends():
    parts = [nodes.Text("It is "), nodes.math("", "1.5"), nodes.Text(" at most. Not more.")]
    shown = first_sentence(nodes.paragraph("", "", *parts))
    assert "".join(part.astext() for part in shown) == "It is 1.5 at most."


def test_every_number_in_the_table_is_a_chapter():
    text = (CHAPTERS / "notation.md").read_text(encoding="utf8")
    cells = re.findall(r"^\| \$.*\| ([^|]*?) \|$", text.partition("### Letters")[0], re.MULTILINE)
    chapters = {int(path.name[:2]) for path in CHAPTERS.glob("[0-9][0-9]-*.ipynb")}
    assert len(cells) > 20
    for cell in cells:
        assert (chapters_in(cell) or chapters) <= chapters


def read_meanings(site):
    text = (site / "_static" / "meanings.js").read_text(encoding="utf8")
    return json.loads(text.removeprefix("globalThis.bookMeanings = ").rstrip(";\n"))


def test_formulas_of_a_chapter_carry_the_symbols_that_hold_there(good_site):
    page = (good_site / "chapters" / "02-two.html").read_text(encoding="utf-8")
    # s is a slope in chapter 2 (row 2), a scale in chapter 4 (row 3); t is in no row.
    assert set(re.findall(r"\bsy\d+\b", page)) == {"sy0", "sy1", "sy2", "sy4"}
    assert not re.search(
        r"\bsy\d+\b", (good_site / "chapters" / "notation.html").read_text(encoding="utf-8")
    )


def test_one_script_holds_all_meanings(good_site):
    found = read_meanings(good_site)
    assert list(found["symbols"]) == ["sy0", "sy1", "sy2", "sy3", "sy4"]
    assert re.sub("<[^>]*>", "", found["symbols"]["sy2"]).endswith(" a slope")
    assert "head dimension: length of a key" in found["symbols"]["sy0"]
    definition = found["terms"]["term-head-dimension"]
    assert definition.startswith("<b>head dimension</b> The length <span class=")
    assert definition.endswith("of one query or key vector.")


def test_rows_have_anchors(good_site):
    page = (good_site / "chapters" / "notation.html").read_text(encoding="utf-8")
    assert re.findall(r'<tr[^>]* id="(symbol-\d)"', page) == [f"symbol-{n}" for n in range(5)]


TERM = "a[href$='#term-head-dimension']"


@pytest.mark.browser
def test_a_meaning_appears_and_goes(good_site, open_page):
    page = open_page(good_site / "chapters" / "02-two.html")
    box, term = page.locator("#meaning"), page.locator(TERM).first
    page.locator(".math-formula .sy0").first.hover(force=True)
    expect(box).to_contain_text("length of a key")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    term.hover()
    expect(box).to_contain_text("one query or key vector.")
    page.keyboard.press("Escape")
    page.locator(".math-formula .sy2").first.click()
    expect(box).to_contain_text("a slope")
    page.locator("article h1").click()
    expect(box).to_be_hidden()
    term.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(term).to_have_attribute("aria-describedby", "meaning")
    expect(box).to_contain_text("one query or key vector.")
    page.locator(".eqno").first.hover()
    page.locator(".eqno a").first.press("Shift")
    # The number of a formula tells all its symbols.
    expect(page.locator("#meaning > div")).to_have_count(4)
