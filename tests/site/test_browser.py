"""The built site in Chromium, and faults planted in small pages to see that each is found."""

import pytest

from bookcheck.site.browser import check_site, find_chromium, pages_of
from bookcheck.site.node import ROOT

PAGE = """<!doctype html>
<html lang="en"><head><title>A page</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"></head>
<body><main><h1>A page</h1>{}</main></body></html>"""

# Each page with its fault, and what the check must say about it.
FAULTS = {
    "external": ('<img alt="x" src="https://example.com/x.png">', "https://example.com/x.png"),
    "console": ("<script>console.error('planted')</script>", "planted"),
    "exception": ("<script>throw new Error('planted')</script>", "planted"),
    "missing": ('<img alt="x" src="no-such-file.png">', "404 for"),
    "raw-tex": ("<p>The formula $\\frac{a}{b}$ is raw.</p>", "raw TeX"),
    "raw-symbol": ("<p>The angle \\theta is raw.</p>", "raw TeX"),
    "unrendered": ('<p><span class="math">a_b</span></p>', "not rendered: a_b"),
    "red-formula": ('<p><span class="katex-error">x</span></p>', "KaTeX shows an error"),
    "overflow": ('<div style="width: 700px">wide</div>', "700"),
    "nameless": ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">', "image-alt"),
    "folded": ('<details><summary>More</summary><input type="text"></details>', "label"),
    "dark-only": (
        "<style>@media (prefers-color-scheme: dark) { p { color: #eee; background: #fff } }</style>"
        "<p>pale</p>",
        "color-contrast",
    ),
}
KINDS = {
    "exception": "console",
    "missing": "request",
    "raw-tex": "formula",
    "raw-symbol": "formula",
    "unrendered": "formula",
    "red-formula": "formula",
    "nameless": "axe",
    "folded": "axe",
    "dark-only": "axe",
}
# These two are wrong in some modes only, so they are opened in all; the others in one.
IN_MODES = {"overflow": {"390 light", "390 dark"}, "dark-only": {"1280 dark", "390 dark"}}

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    (site / "clean.html").write_text(PAGE.format("<p>It costs $5 and <code>$x$</code>.</p>"))
    for name, (body, _) in FAULTS.items():
        (site / f"{name}.html").write_text(PAGE.format(body))
    everywhere = [f"{name}.html" for name in IN_MODES]
    once = [page for page in pages_of(site) if page not in everywhere]
    return check_site(site, pages=everywhere) + check_site(
        site, pages=once, widths=[390], schemes=["light"]
    )


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(planted, name):
    found = [fault for fault in planted if fault.page == f"{name}.html"]
    assert {fault.kind for fault in found} == {KINDS.get(name, name)}
    assert {fault.mode for fault in found} == IN_MODES.get(name, {"390 light"})
    assert all(FAULTS[name][1] in fault.detail for fault in found)
    assert str(found[0]).startswith(f"{name}.html [")


def test_a_clean_page_has_no_fault(planted):
    assert [fault for fault in planted if fault.page == "clean.html"] == []


def test_a_missing_browser_is_named_in_one_sentence(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "")
    monkeypatch.setattr("bookcheck.site.browser.CHROMIUM_NAMES", ())
    monkeypatch.setattr("bookcheck.site.browser.CHROMIUM_ON_MAC", "/nowhere")
    with pytest.raises(FileNotFoundError, match="install the package `chromium`"):
        find_chromium()


def test_every_page_of_the_book():
    site = ROOT / "_build" / "html"
    assert "index.html" in pages_of(site), "build the site first: make book"
    faults = check_site(site)
    assert not faults, f"{len(faults)} faults\n" + "\n".join(map(str, faults))
