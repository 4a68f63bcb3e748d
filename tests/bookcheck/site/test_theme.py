"""Light and dark for readers without JavaScript, and repairs that still find what they repair."""

from bookcheck.site.theme import (
    link_sheet,
    missed_repairs,
    repair,
    rules_of,
    sheet_without_scripts,
)

SHEET = """
@import "other.css";
/* html[data-theme="dark"] .commented { color: red } */
html[data-theme=dark] { --ink: #eee; --sign: "}" }
html[data-theme="light"], html:not([data-theme="dark"]) { --ink: #111 }
.plain { color: blue }
@font-face { font-family: x }
@media (min-width: 9px) {
  .plain { color: green }
  .a, html[data-theme="dark"] .b { color: white }
}
"""


def test_rules_of_a_scheme_are_asked_of_pages_that_name_none():
    assert rules_of(SHEET, "dark").split("\n") == [
        'html:not([data-theme]) { --ink: #eee; --sign: "}" }',
        "@media (min-width: 9px) {",
        ".a, html:not([data-theme]) .b { color: white }",
        "}",
        "",
    ]


def test_the_sheet_asks_the_system_and_paper_is_light():
    assert sheet_without_scripts([SHEET, "html[data-theme='light'] p { color: #222 }"]) == (
        "@media print, (prefers-color-scheme: light) {\n"
        'html:not([data-theme]), html:not([data-theme="dark"]) { --ink: #111 }\n'
        "html:not([data-theme]) p { color: #222 }\n"
        "}\n"
        "@media screen and (prefers-color-scheme: dark) {\n" + rules_of(SHEET, "dark") + "}\n"
    )


def test_a_page_loads_it_where_scripts_do_not_run():
    page = '<html lang="en" data-content_root="../"><head></head><body></body></html>'
    link = '<noscript><link rel="stylesheet" href="../_static/without-scripts.css" /></noscript>'
    assert f"{link}\n  </head>" in link_sheet(page)
    assert link_sheet("<p>a part of a page</p>") == "<p>a part of a page</p>"


def test_a_theme_that_no_longer_writes_what_is_repaired_is_named():
    """A new version of the theme may word its page otherwise; nobody would see the fault return."""
    _, idle = repair('<html data-theme="auto"><div id="pst-primary-sidebar">')
    missed = list(missed_repairs("index", idle))
    assert any("fontawesome" in words for words in missed)
    assert not any("pst-primary-sidebar" in words for words in missed)
    assert not any("doc-biblioentry" in words for words in missed), "not every page has one"
    assert not any("Activate the search" in words for words in missed)
    assert any("Activate the search" in words for words in missed_repairs("search", idle))


def test_words_for_a_formatter_are_not_shown():
    page, _ = repair('<code>}  <span class="c1"># fmt: skip</span>\nx <span class="c1"># a</span>')
    assert page == '<code>}\nx <span class="c1"># a</span>'
