"""Every built page in Chromium, from disk: `make test-site`.

Each page is opened twice, with JavaScript on a wide light screen that then becomes a narrow dark
one, and without JavaScript on a narrow light screen. `faults_of` says what is looked at. Below it
a page with planted faults shows that each is seen, and three pages are compared with reference
pictures; after a change on purpose, `make test-site RENEW=yes` stores them again.
"""

import functools
import html
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import pytest
from PIL import Image

from bookcheck.notebooks.outputs import changed_share
from bookformat.paths import BUILD, NODE_ROOM
from booksite.node.packages import ensure_packages

SITE = BUILD / "html"
PAGES = sorted(
    (p for p in SITE.rglob("*.html") if "/_" not in f"/{p.relative_to(SITE).as_posix()}"),
    key=lambda path: (-path.stat().st_size, path),
)
# On these pages axe looks at all parts by all rules. On the others it leaves out the insides of
# formulas, code, tables and figures and the contents at the side, which are alike everywhere and
# most of a page, and asks on the narrow dark screen only for what depends on colour and width.
WHOLE = {"index.html", "images.html"}
LEAST_SHARE_OF_LETTERS = 0.97
# So many elements a browser lays out at once, at most: what blocks a slow machine. The longest
# listing has 4,100; before parts of a page waited for their turn, whole pages had 18,000.
LARGEST_PART = 4200
WIDE, NARROW = 1280, 390
# So long lines of code are seen whole where the window is wide; a Chinese letter counts as two.
COLUMNS = 92

# Nothing moves, all folds are open, and what is out of sight is laid out too.
PREPARE = """() => {
  const still = new CSSStyleSheet();
  still.replaceSync(`*, *::before, *::after { animation: none !important;
    transition: none !important; content-visibility: visible !important }`);
  document.adoptedStyleSheets.push(still);
  for (const fold of document.querySelectorAll("details")) fold.open = true;
}"""
OVERFLOW = """() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const wide = [...document.querySelectorAll("main *")].filter(
    (element) => element.getBoundingClientRect().right > clientWidth);
  const first = wide[0]?.outerHTML.slice(0, 100);
  return [`is ${scrollWidth} px wide in a window of ${clientWidth} px, see ${first}`];
}"""
# What nobody can read: a link that goes on beyond the window, in nothing that scrolls.
CUT = """() => {
  const scrolls = (one) => one &&
    (/auto|scroll/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  return [...document.querySelectorAll("main a")].filter((one) =>
    one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 &&
    !scrolls(one.parentElement)
  ).map((one) => `a link is cut by the window: ${one.textContent.trim().slice(0, 60)}`);
}"""
# Listings that a reader sees without opening anything, and whose lines are short enough.
LISTINGS = """(columns) => {
  const isChinese = (letter) => /[\u3000-\u303f\u4e00-\u9fff\uff01-\uff60]/.test(letter);
  const width = (line) => [...line].reduce((sum, one) => sum + (isChinese(one) ? 2 : 1), 0);
  const isSeen = (one) => one.checkVisibility() &&
    !one.closest("details, .admonition, .annotated, .cell_output, dl");
  const isShort = (one) => Math.max(...one.textContent.split("\\n").map(width)) <= columns;
  const isCut = (one) => one.scrollWidth > one.clientWidth + 1;
  return [...document.querySelectorAll("main pre")]
    .filter((one) => isSeen(one) && isCut(one) && isShort(one))
    .map((one) => `lines of at most ${columns} letters are cut: ${one.textContent.slice(0, 60)}`);
}"""
FORMULAS = r"""() => {
  const words = (element) => element.textContent.trim().slice(0, 80);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const raw = /\$\$|\\[([]|\\[A-Za-z]{2,}|(?<![\w$])\$[^\s$][^$]*\$(?!\w)/;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    const skipped = "code, pre, script, style, noscript, textarea, .katex";
    if (raw.test(data) && !parentElement.closest(skipped)) found.push(data.trim().slice(0, 80));
  }
  return [
    ...all(".katex-error").map((one) => `KaTeX shows an error: ${words(one)}`),
    ...all(".math:not(:has(.katex-html))").map((one) => `a formula is not set: ${words(one)}`),
    ...found.map((text) => `TeX stands in the text: ${text}`),
  ];
}"""
# The parts of the page that are laid out each by itself, and what is in none of them.
PARTS = """(largest) => {
  const sizes = new Map([[document.body, 0]]);
  const count = (one, part) => {
    const waits = "laid" in one.dataset || getComputedStyle(one).contentVisibility === "auto";
    const mine = waits ? one : part;
    sizes.set(mine, sizes.get(mine) + 1 || 1);
    if (one.matches("details:not([open])")) return;
    for (const child of one.children) if (child.dataset) count(child, mine);
  };
  count(document.body, document.body);
  return [...sizes].filter(([, size]) => size > largest).map(([part, size]) =>
    `${size} elements are laid out at once: ${part.cloneNode().outerHTML.slice(0, 80)}`);
}"""
# What a reader sees of the text, apart from what only JavaScript draws.
LETTERS = """() => {
  const count = (element) => element.innerText.replace(/\\s+/g, "").length;
  const drawn = document.querySelectorAll(
    "main :is(.interactive, .quiz, .read-model.live, noscript)");
  return count(document.querySelector("main")) -
    [...drawn].filter((one) => one.checkVisibility()).reduce((sum, one) => sum + count(one), 0);
}"""
DEAD_BUTTONS = """() => [...document.querySelectorAll("button, [role=button], input[type=text]")]
  .filter((control) => control.checkVisibility() && !control.closest("form[action]"))
  .map((control) => `does nothing without JavaScript: ${control.outerHTML.slice(0, 100)}`)"""
ADDRESSES = """() => [...document.querySelectorAll("[href], [src]")].map(
  (one) => new URL(one.getAttribute("href") ?? one.getAttribute("src"), document.baseURI).href)"""
LIGHTEN = """() => {
  const stops = ":has(a, button, [tabindex])";
  document.querySelector(".bd-sidebar-primary")?.replaceChildren();
  const alike = `.katex:not(${stops}), .book-table tr:nth-child(n + 4):not(${stops})`;
  for (const part of document.querySelectorAll(alike)) part.remove();
  for (const code of document.querySelectorAll(`pre:not(${stops})`)) {
    code.textContent = code.textContent;
  }
  for (const part of document.querySelectorAll("svg.book-figure > *")) part.remove();
}"""
# Style sheets and scripts have followed a change of the window.
SETTLED = """() => new Promise(
  (done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"""
AXE = """async (rules) => {
  const options = { resultTypes: ["violations"], preload: false, selectors: false, ...rules };
  const { violations } = await axe.run(document, options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ any, all, none, html }) =>
    `axe ${id}: ${[...any, ...all, ...none][0]?.message} ${html.slice(0, 100)}`));
}"""


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core."""
    ensure_packages(NODE_ROOM)
    return (NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@functools.cache
def anchors_of(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    return {html.unescape(name) for name in re.findall(r'\s(?:id|name)="([^"]*)"', text)}


def broken_links(addresses):
    """Name the addresses on this machine that lead to no file or to no place in a page."""
    for address in dict.fromkeys(addresses):
        parts = urlsplit(address)
        if parts.scheme != "file":
            continue
        target, anchor = Path(url2pathname(parts.path)), unquote(parts.fragment)
        if not target.is_file():
            yield f"links to {target}, which does not exist"
        elif anchor and target.suffix == ".html" and anchor not in anchors_of(target):
            yield f"links to {target.name}#{anchor}, and there is no such place"


def change(page, width, scheme):
    """Change the width and the machine's colours."""
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(SETTLED)


def faults_of(path, open_page, axe):
    """Return what is wrong with a page, each fault with the window in which it was seen."""
    faults = []

    def add(window, found):
        faults.extend(f"{window}: {fault}" for fault in found)

    page = open_page(path, WIDE)
    page.evaluate("document.fonts.ready.then(() => {})")
    add("wide", page.evaluate(PARTS, LARGEST_PART))
    page.evaluate(PREPARE)
    add("wide", page.evaluate(LISTINGS, COLUMNS))
    for place in page.locator(".interactive[data-widget], .quiz").all():
        place.evaluate("(place) => place.scrollIntoView()")
        page.wait_for_function("(place) => 'ready' in place.dataset", arg=place.element_handle())
    add("links", broken_links(page.evaluate(ADDRESSES)))
    add("formulas", page.evaluate(FORMULAS))
    add("wide", page.evaluate(OVERFLOW))
    change(page, NARROW, "light")
    add("narrow", [*page.evaluate(OVERFLOW), *page.evaluate(CUT)])
    letters = page.evaluate(LETTERS)
    add("errors", page.errors)
    rules = {}
    if path.name not in WHOLE:
        page.evaluate(LIGHTEN)
        rules = {"runOnly": ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]}
    page.evaluate(axe)
    change(page, NARROW, "dark")
    add("narrow, dark", page.evaluate(AXE, rules))
    change(page, WIDE, "light")
    add("wide, light", page.evaluate(AXE, {}))

    plain = open_page(path, NARROW, javascript=False)
    plain.evaluate(PREPARE)
    without = "without JavaScript"
    add(without, [*plain.evaluate(OVERFLOW), *plain.evaluate(DEAD_BUTTONS), *plain.errors])
    kept = plain.evaluate(LETTERS)
    if kept < LEAST_SHARE_OF_LETTERS * letters:
        add(without, [f"shows {kept} letters, {letters} with it"])

    for one in (page, plain):
        one.errors.clear()
    return faults


@pytest.mark.built
def test_there_is_a_site():
    assert len(PAGES) > 50, f"{SITE} is not the built site: run make book"


@pytest.mark.built
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_page(path, open_page, axe):
    assert faults_of(path, open_page, axe) == []


# Planted faults

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"></head>
<body><main><h1 id="top">A page</h1>{}</main></body></html>"""
FAULTS = {
    "file": ('<a href="gone.html">x</a>', "links to .*gone.html, which does not exist"),
    "anchor": ('<a href="#gone">x</a>', "links to page.html#gone, and there is no such place"),
    "host": ('<img alt="x" src="https://example.com/x.png">', "asks another host: https://example"),
    "missing": ('<img alt="x" src="gone.png">', "ERR_FILE_NOT_FOUND: file:.*gone.png"),
    "console": ("<script>console.error('planted')</script>", "errors: planted"),
    "exception": ("<script>throw new Error('thrown')</script>", "errors: thrown"),
    "script text": (
        "<p id=p></p><script>p.textContent = 'Much text. '.repeat(99)</script>",
        r"shows \d+ letters, \d+ with it",
    ),
    "dead button": ("<button>Go</button>", "without JavaScript: does nothing"),
    "error of KaTeX": ('<p class="katex-error">x</p>', "KaTeX shows an error: x"),
    "formula": ('<p class="math">a_b</p>', "a formula is not set: a_b"),
    "TeX": (r"<p>The angle \theta is raw.</p>", "TeX stands in the text: The angle"),
    "dollars": ("<p>The length $a + b$ is raw.</p>", "TeX stands in the text: The length"),
    "wide": (
        "<style>@media (width > 900px) { .w { width: 1500px } }</style><p class=w>wide</p>",
        "^wide: is 15.. px wide in a window of 1280",
    ),
    "cut link": (
        '<p style="overflow: hidden"><a href="#top" style="margin-left: 380px">a long way</a></p>',
        "^narrow: a link is cut by the window: a long way",
    ),
    "cut listing": (
        f'<pre style="overflow: auto; width: 20rem">{"x" * 92}</pre>',
        "^wide: lines of at most 92 letters are cut: xxx",
    ),
    "narrow": ('<p style="width: 500px">wide</p>', "^narrow: is 5.. px wide in a window of 390"),
    "at once": (f"<p>{'<i></i>' * 4200}</p>", "wide: 42.. elements are laid out at once: <body"),
    "no name": ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "light: axe image-alt"),
    "levels": ("<h3>Deep</h3>", "axe heading-order"),
    "folded": ("<details><summary>More</summary><input></details>", "axe label"),
    "pale in the light": (
        "<style>@media (prefers-color-scheme: light) { .a { color: #ddd } }</style>"
        '<p class="a">pale</p>',
        "^wide, light: axe color-contrast.*class=.a",
    ),
    "pale in the dark": (
        "<style>@media (prefers-color-scheme: dark) { .b { color: #ddd } }</style>"
        '<p class="b">pale</p>',
        "^narrow, dark: axe color-contrast.*class=.b",
    ),
}  # fmt: skip


@pytest.mark.browser
def test_planted_faults_are_seen(open_page, axe, tmp_path):
    path = tmp_path / "page.html"
    bodies = "\n".join(body for body, _ in FAULTS.values())
    path.write_text(PAGE.format(bodies), encoding="utf-8")
    found = faults_of(path, open_page, axe)
    for name, (_, said) in FAULTS.items():
        assert any(re.search(said, fault) for fault in found), (name, found)


# Pictures of first screens, a quarter as large, in the site's own letters

REFERENCES = Path(__file__).with_name("references")
SCREENS = {
    "index.html": (WIDE, "light"),
    "chapters/attention.html": (NARROW, "dark"),
    "chapters/notation.html": (WIDE, "light"),
}
# A dot counts as different from this step on (of 255); so many dots may be different.
LARGEST_STEP, LARGEST_SHARE = 40, 0.02


def first_screen(page, file):
    page.evaluate("document.fonts.ready.then(() => {})")
    page.screenshot(path=file, animations="disabled")
    with Image.open(file) as picture:
        size = (picture.width // 4, picture.height // 4)
        small = picture.convert("RGB").resize(size, Image.Resampling.BOX)
    return small.quantize(64, dither=Image.Dither.NONE)


@pytest.mark.built
@pytest.mark.parametrize("name", SCREENS)
def test_first_screen(name, open_page, tmp_path, request):
    width, scheme = SCREENS[name]
    seen = first_screen(open_page(SITE / name, width, scheme=scheme), tmp_path / "screen.png")
    reference = REFERENCES / f"{Path(name).stem}.png"
    if request.config.getoption("--renew"):
        seen.save(reference, optimize=True)
    with Image.open(reference) as stored:
        share = changed_share(seen, stored, LARGEST_STEP)
    assert share <= LARGEST_SHARE, (
        f"the first screen, {tmp_path}/screen.png, differs from {reference}; if it is as it should "
        "be, store it: make test-site RENEW=yes"
    )
