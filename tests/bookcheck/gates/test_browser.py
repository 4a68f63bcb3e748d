"""Faults planted in small pages, to see that the browser run finds and names each."""

import pytest

from bookcheck.gates.browser import EVERY, ONCE, PAIRS, find_chromium, visit_site

PAGE = """<!doctype html>
<html lang="en"><head><title>A page</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"></head>
<body><main><h1>A page</h1>{}</main></body></html>"""

FIGURE = '<svg class="book-figure" role="img" aria-label="A figure" viewBox="0 0 90 90">{}</svg>'
PANEL = FIGURE.replace("book-figure", "book-panel").replace("A figure", "A panel")
DARK = "<style>@media (prefers-color-scheme: dark) {{ {} }}</style>"
# Pale in one width of one scheme alone.
PALE = (
    "<style>@media (prefers-color-scheme: {0}) and ({1}-width: 600px) "
    '{{ .{0}-{1} {{ color: {2} }} }}</style><p class="{0}-{1}">pale</p>'
)
NAMELESS = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">'
# As Matplotlib writes a letter and a marker.
LETTER = '<defs><path id="a" d="M 0 0 L 640 0 L 640 640 z" transform="scale(0.015625)"/></defs>'
MARKER = '<defs><path id="b" d="M -3 0 L 3 0 L 0 3 z"/></defs>'
BOX = '<defs><path id="c" d="M -7 -7 L 7 -7 L 7 7 L -7 7 z"/></defs>'
HATCH = (
    '<defs><pattern id="d" patternUnits="userSpaceOnUse" width="9" height="9">'
    '<rect width="9" height="9" fill="none"/>'
    '<path d="M 0 0 L 9 9" style="fill: #bbb; stroke: #bbb"/></pattern></defs>'
)
CELL = '<path d="M 0 0 L 60 0 L 60 60 L 0 60 z" style="fill: #0b3760"/>'
SCRIPT_TEXT = """<p>Little.</p><p id="late"></p>
<script>document.getElementById("late").textContent = "Much more text. ".repeat(9)</script>"""
# Takes the scheme of the machine when it loads, and no other later.
OWN_MIND = """<script>Object.assign(document.documentElement.dataset, {
mode: "auto", theme: "dark" })</script>"""

SHADE = "background: linear-gradient(to left, #999, #fff 1rem)"

# Each fault: its kind, a part of a page that has it, and words that the report must hold.
FAULTS = {
    "external": (
        "external",
        '<img alt="x" src="https://example.com/x.png">',
        "https://example.com/x.png",
    ),
    "console": ("console", "<script>console.error('planted words')</script>", "planted words"),
    "exception": ("console", "<script>throw new Error('planted error')</script>", "planted error"),
    "missing": ("request", '<img alt="x" src="no-such-file.png">', "404 for"),
    "raw-tex": (
        "formula",
        "<p>The formula $\\frac{a}{b}$ is raw.</p>",
        "raw TeX in the text: The formula",
    ),
    "raw-symbol": ("formula", "<p>The angle \\theta is raw.</p>", "raw TeX in the text: The angle"),
    "unrendered": ("formula", '<p><span class="math">a_b</span></p>', "not rendered: a_b"),
    "red-formula": (
        "formula",
        '<p><span class="katex-error">x</span></p>',
        "KaTeX shows an error",
    ),
    "overflow": ("overflow", '<div style="width: 700px">wide</div>', "700"),
    "nameless": ("axe", NAMELESS, "image-alt"),
    "nameless-in-the-dark": (
        "axe",
        "<style>img { display: none }</style>" + DARK.format("img { display: block }") + NAMELESS,
        "image-alt",
    ),
    "nameless-without-scripts": (
        "axe",
        NAMELESS + "<script>document.querySelector('img').remove()</script>",
        "image-alt",
    ),
    "folded": (
        "axe",
        '<details><summary>More</summary><input type="text"></details>',
        "label",
    ),
    "hidden-stop": (
        "axe",
        '<span class="katex-html" aria-hidden="true"><a href="clean.html">x</a></span>',
        "aria-hidden-focus",
    ),
    "dark-only": (
        "contrast",
        DARK.format(".day { color: #eee; background: #fff }") + '<p class="day">pale</p>',
        "#eeeeee on #ffffff",
    ),
    "dark-phone": ("contrast", PALE.format("dark", "max", "#eed"), "#eeeedd on #ffffff"),
    "light-phone": ("contrast", PALE.format("light", "max", "#ede"), "#eeddee on #ffffff"),
    "dark-wide": ("contrast", PALE.format("dark", "min", "#dee"), "#ddeeee on #ffffff"),
    "light-wide": ("contrast", PALE.format("light", "min", "#ddd"), "#dddddd on #ffffff"),
    "dark-without-scripts": (
        "contrast",
        DARK.format(".mute { color: #eec }") + "<noscript><b class=mute>pale</b></noscript>",
        "#eeeecc on #ffffff",
    ),
    "overflow-without-scripts": (
        "overflow",
        '<noscript><div style="width: 700px">wide</div></noscript>',
        "700",
    ),
    "like-words": (
        "contrast",
        '<p>Go <a style="color: #222; text-decoration: none" href="clean.html">there</a>.</p>',
        "a link in #222222 among words in #000000 has contrast 1.32 to them and no line",
    ),
    "like-words-dark": (
        "contrast",
        DARK.format(".like { color: #222; text-decoration: none }")
        + '<p>Go <a class="like" href="clean.html">there</a>.</p>',
        "a link in #222222 among words",
    ),
    "skipped-level": ("heading", "<h3>Deep</h3>", "h3 comes after h1: Deep"),
    "two-titles": ("heading", "<h1>Again</h1>", "this one has 2"),
    "faint-code": (
        "contrast",
        '<pre>x = <span style="color: #999">"pale"</span></pre>',
        "#999999 on #ffffff",
    ),
    "faint-part": (
        "contrast",
        "<pre><b>x</b> <i><b>y</b></i></pre><style>i b { color: #989898 }</style>",
        "#989898 on #ffffff",
    ),
    "faint-formula": (
        "contrast",
        '<p><span class="katex-html" style="color: #979797">x</span></p>',
        "#979797 on #ffffff",
    ),
    "faint-shade": (
        "contrast",
        '<p style="opacity: 0.5"><span class="katex-html" aria-hidden="true">x</span></p>',
        "#808080 on #ffffff",
    ),
    "faint-code-dark": (
        "contrast",
        DARK.format("pre { background: #222; color: #eee } pre b { color: #444 }")
        + "<pre><b>x</b></pre>",
        "#444444 on #222222",
    ),
    "faint-line": (
        "figure",
        FIGURE.format('<path d="M 0 0 L 40 9 L 90 90" style="fill: none; stroke: #bbb"/>'),
        "a line #bbbbbb on #ffffff: contrast 1.92",
    ),
    "faint-dots": (
        "figure",
        FIGURE.format(MARKER + '<use href="#b" x="9" y="9" style="fill: #111; opacity: 0.3"/>'),
        "a mark #b8b8b8",
    ),
    "faint-bar": (
        "figure",
        FIGURE.format('<rect width="9" height="50" style="fill: var(--figure-none, #cde)"/>'),
        "a mark #ccddee",
    ),
    "faint-hatch": (
        "figure",
        FIGURE.format(HATCH + '<path d="M 9 9 L 60 9 L 60 60 z" style="fill: url(#d)"/>'),
        "a mark #bbbbbb on #ffffff",
    ),
    "faint-letters": (
        "figure",
        FIGURE.format(
            CELL + LETTER + '<g transform="translate(20 20)"><use href="#a" fill="#345"/></g>'
        ),
        "letters #334455 on #0b3760",
    ),
    "faint-words": (
        "figure",
        PANEL.format('<text y="20" fill="#ccc">m</text>'),
        "letters #cccccc",
    ),
    "faint-line-dark": (
        "figure",
        DARK.format(".night { background: #14181e; color: #eee }")
        + '<div class="night">'
        + FIGURE.format('<path d="M 0 0 L 40 9 L 90 90" style="fill: none; stroke: #333"/>')
        + "</div>",
        "a line #333333 on #14181e",
    ),
    "small-letters": (
        "letters",
        FIGURE.format(LETTER + '<g transform="scale(0.02 -0.02)"><use href="#a"/></g>'),
        'letters are 8.3 px high, 10.5 are needed, in "A figure"',
    ),
    "small-words": (
        "letters",
        PANEL.format('<text y="20" font-size="2">m</text><text y="40">n</text>'),
        'letters are 8.3 px high, 10.5 are needed, in "A panel"',
    ),
    "unseen-focus": (
        "focus",
        '<p>Go <a style="outline: none" href="clean.html">there</a>.</p>',
        "looks the same with the focus",
    ),
    "pale-focus": (
        "focus",
        '<p>Go <a style="outline: 2px solid #ddd" href="clean.html">there</a>.</p>',
        "its outline has contrast 1.36",
    ),
    "focus-outside": (
        "focus",
        '<a style="position: fixed; left: -900px" href="clean.html">there</a>',
        "out of sight",
    ),
    # Of stops that look alike one gets the focus; these two look alike until they have it.
    "unseen-focus-later": (
        "focus",
        "<style>.late:focus { outline: none }</style>"
        '<p>Go <a href="clean.html">here</a> or <a class="late" href="clean.html">there</a>.</p>',
        'looks the same with the focus: <a class="late"',
    ),
    "focus-outside-later": (
        "focus",
        "<style>p + p a { position: fixed; left: -900px }</style>"
        '<p><a href="clean.html">here</a></p><p><a href="clean.html">there</a></p>',
        "out of sight",
    ),
    "closed-box": (
        "scroll",
        f'<pre style="overflow: auto; width: 90px; {SHADE}">a line that is long</pre>',
        "the keyboard cannot reach it: <pre",
    ),
    "cut": (
        "cut",
        '<div tabindex="0" style="overflow: auto; width: 90px"><pre>a formula, long</pre></div>',
        "is cut, with no sign at its edge: <div",
    ),
    "cut-code": (
        "cut",
        f'<div class="cell_input"><pre tabindex="0" style="overflow: auto; {SHADE}">'
        f"{'x' * 200}</pre></div>",
        "a line of 200 columns is cut",
    ),
    "asleep": ("widget", '<div class="interactive" data-widget="x"></div>', "not ready"),
    "own-mind": ("scheme", OWN_MIND, "the machine is set to light and the page is dark"),
    # The parser gives the attributes to the page's own <html>: so a page of the book starts.
    "stays-light": (
        "scheme",
        '<html data-content_root="./" data-mode="auto" data-theme="light">',
        "the machine is set to dark and the page is light",
    ),
    "dark-script": (
        "console",
        "<script>if (matchMedia('(prefers-color-scheme: dark)').matches) planted()</script>",
        "planted is not defined",
    ),
    "dead-button": ("control", "<button>Play</button>", "does nothing without JavaScript"),
    "lost-way": (
        "control",
        '<nav style="visibility: hidden"><a href="clean.html">On</a></nav>',
        "no link of the navigation is visible",
    ),
    "script-text": ("script", SCRIPT_TEXT, "letters without JavaScript"),
}
IN_THE_DARK = {f"{width} dark{way}" for width in (1280, 390) for way in ("", ", no JavaScript")}
OFF = {"1280, no JavaScript", "390, no JavaScript"}
# These are wrong in some modes only, so they are opened in all, and in half of all as most pages of
# the book are; the others in one.
IN_MODES = {
    "overflow": {"390", "390, no JavaScript"},
    "cut-code": {"1280", "1280, no JavaScript"},
    "dark-only": IN_THE_DARK,
    # Axe looks at what it has not seen before.
    "nameless-in-the-dark": {"1280 dark"},
    "nameless-without-scripts": {"1280 light, no JavaScript"},
    "dark-phone": {"390 dark", "390 dark, no JavaScript"},
    "light-phone": {"390 light", "390 light, no JavaScript"},
    "dark-wide": {"1280 dark", "1280 dark, no JavaScript"},
    "light-wide": {"1280 light", "1280 light, no JavaScript"},
    "dark-without-scripts": {"1280 dark, no JavaScript", "390 dark, no JavaScript"},
    "overflow-without-scripts": {"390, no JavaScript"},
    "like-words-dark": IN_THE_DARK,
    "faint-code-dark": IN_THE_DARK,
    "faint-line-dark": IN_THE_DARK,
    "own-mind": {"1280 light", "390 light"},
    "stays-light": IN_THE_DARK,
    "dark-script": {"390 dark"},
    "dead-button": OFF,
    "lost-way": OFF,
    "script-text": OFF,
}
# What does not depend on the colours is told without a scheme.
OF_A_WIDTH = {"overflow", "scroll", "cut", "letters", "formula", "heading", "widget"}
# What would be told otherwise beside other faults has a page of its own; the others share one.
ALONE = {
    "asleep", "focus-outside-later", "nameless-in-the-dark", "nameless-without-scripts", "overflow",
    "overflow-without-scripts", "own-mind", "script-text", "stays-light", "unseen-focus-later",
}  # fmt: skip
# Axe's rules see these as well.
AXE_TOO = {
    "closed-box": "scrollable-region-focusable",
    "dark-only": "color-contrast",
    "dark-wide": "color-contrast",
    "light-phone": "color-contrast",
    "light-wide": "color-contrast",
    "skipped-level": "heading-order",
}
# What axe finds where a page is looked at in half of all modes.
AXE_IN_HALF = {
    "nameless-in-the-dark": {"390 dark"},
    "nameless-without-scripts": {"1280 dark, no JavaScript"},
}
# What must not be reported: money, code, grid lines, pale cells of a heat map, letters on them and
# on markers, markers on markers.
CLEAN = (
    "<p>It costs $5 and <code>$x$</code>.</p><h2>Second</h2><h3>Third</h3><h2>Fourth</h2>"
    "<noscript>This page says more to those who run scripts.</noscript>"
    "<pre>x = 1</pre><style>div:focus-within { outline: 2px solid #000 }</style>"
    '<div><a style="font-size: 0" href="clean.html">Card</a> A card.</div>'
    + FIGURE.format(
        '<path d="M 0 9 L 90 9" style="fill: none; stroke: currentColor; stroke-opacity: 0.2"/>'
        '<path d="M 60 0 L 90 0 L 90 60 L 60 60 z" style="fill: #f3f6fa"/>'
        '<path d="M 60 0 L 90 0 L 90 60 z" style="fill: #1f6fb2; fill-opacity: 0.2"/>'
        f'{CELL}{LETTER}<g transform="translate(20 20)"><use href="#a" fill="#fff"/></g>'
        f'{BOX}<use href="#c" x="70" y="75" style="fill: #1f6fb2"/>'
        f'<use href="#c" x="72" y="75" style="fill: #b65a00"/>'
        '<g transform="translate(68 72)"><use href="#a" fill="#fff"/></g>'
    )
)

pytestmark = [pytest.mark.browser, pytest.mark.long]


def page_of(name, plan):
    """Where a fault is planted that is looked at as a plan says."""
    folder = {EVERY: "every", PAIRS: "half", ONCE: "once"}[plan]
    return f"{folder}/{name if name in ALONE else 'together'}.html"


def planted_in(page):
    """The names of the faults of a page."""
    plans = {name: [EVERY, PAIRS] if name in IN_MODES else [ONCE] for name in FAULTS}
    return [name for name in FAULTS if page in (page_of(name, plan) for plan in plans[name])]


PLANS = (
    {"every/clean.html": EVERY}
    | {page_of(name, EVERY): EVERY for name in IN_MODES}
    | {page_of(name, PAIRS): PAIRS for name in IN_MODES}
    | {page_of(name, ONCE): ONCE for name in FAULTS if name not in IN_MODES}
)


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    for page in PLANS:
        body = "".join(FAULTS[name][1] for name in planted_in(page)) or CLEAN
        (site / page).parent.mkdir(exist_ok=True)
        (site / page).write_text(PAGE.format(body), encoding="utf-8")
    return visit_site(site, plans=PLANS)


def is_of(fault, name):
    """Whether a report is that of a planted fault."""
    kind, _, words = FAULTS[name]
    return fault.kind == kind and words in fault.detail


def modes_of(visit, name, plan):
    """In which modes a planted fault was told."""
    page = page_of(name, plan)
    return {fault.mode for fault in visit.faults if fault.page == page and is_of(fault, name)}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(visit, name):
    once = {"390"} if FAULTS[name][0] in OF_A_WIDTH else {"390 light"}
    plan = EVERY if name in IN_MODES else ONCE
    assert modes_of(visit, name, plan) == IN_MODES.get(name, once)


@pytest.mark.parametrize("name", IN_MODES)
def test_a_fault_of_some_modes_is_found_in_half_of_them(visit, name):
    """So are most pages of the book looked at."""
    looked_at = {
        mode
        for load in PAIRS
        for width, scheme in load.states
        for way in ["" if load.javascript else ", no JavaScript"]
        for mode in (f"{width} {scheme}{way}", f"{width}{way}")
    }
    wanted = AXE_IN_HALF.get(name, IN_MODES[name] & looked_at)
    assert wanted
    assert modes_of(visit, name, PAIRS) == wanted


@pytest.mark.parametrize("page", PLANS)
def test_what_is_told_is_what_was_planted(visit, page):
    names = planted_in(page)
    told = [fault for fault in visit.faults if fault.page == page]
    others = {fault.detail.partition(":")[0] for fault in told if fault.kind == "axe"}
    others -= {FAULTS[name][2] for name in names if FAULTS[name][0] == "axe"}
    assert others <= {AXE_TOO[name] for name in names if name in AXE_TOO}
    if PLANS[page] != PAIRS:
        assert others == {AXE_TOO[name] for name in names if name in AXE_TOO}
    for fault in told:
        if fault.detail.partition(":")[0] not in others:
            assert sum(is_of(fault, name) for name in names) == 1, fault
    assert all(str(fault).startswith(f"{page} [") for fault in told)


def test_every_page_is_reported_with_what_it_loads(visit):
    done = {page.page: page for page in visit.pages}
    assert set(done) == set(PLANS)
    assert done["every/clean.html"].faults == []
    assert len(done["every/overflow.html"].faults) == 2
    assert done["every/clean.html"].bytes == len(PAGE.format(CLEAN).encode())


def test_a_browser_without_windows_is_taken_first(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROMIUM", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("chromium", "chromium-headless-shell"):
        (tmp_path / name).touch(mode=0o755)
        assert find_chromium() == str(tmp_path / name)


def test_a_missing_browser_is_named_in_one_sentence(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "")
    monkeypatch.setattr("bookcheck.gates.browser.CHROMIUM_NAMES", ())
    monkeypatch.setattr("bookcheck.gates.browser.CHROMIUM_ON_MAC", "/nowhere")
    with pytest.raises(FileNotFoundError, match="install the package `chromium`"):
        find_chromium()
