"""What the site's pages do not show is taken out of what others made, when the site has been built.

Of style sheets, the rules for classes that no page and no script names; of the icon font, the
icons that no page shows; of the faces, letters that no page has. A letter of the Latin alphabet may
come from a reader, so the faces of Latin keep all of theirs. The theme's script does not measure
boxes on load.
"""

import html
import logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from fontTools import subset
from sphinx.application import Sphinx

# It tells of each table of each face.
logging.getLogger("fontTools").setLevel(logging.WARNING)

# What the theme's style sheet says of an icon: its names, and its place in the icon font.
ICON_RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\(\w+)"\}')
ICON = re.compile(r"\bfa-[\w-]+")

# On load the theme asks for the width of every box that may scroll, which makes a phone lay out the
# whole page at once; book.js asks each box when it has been laid out.
MEASURING = re.compile(r'"complete"===document\.readyState\?(\w+)\(\):[^;]+\("load",\1\)')

# A figure inside a page (figures.py), and what it says in letters.
FIGURE = re.compile(r'<svg class="book-figure".*?</svg>', re.DOTALL)
LETTERS = re.compile(r">([^<>]+)<")

# Style sheets that others made, below _static.
SHEETS = (
    "basic.css", "copybutton.css", "exercise.css", "fonts/fonts.css", "mystnb.*.css", "proof.css",
    "pygments.css", "styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css",
)  # fmt: skip
CLASSES = re.compile(r'\bclass="([^"]*)"')
SCRIPT = re.compile(r"<script\b[^>]*>(.+?)</script>", re.DOTALL)
WORD = re.compile(r"[\w-]+")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{};]+)\{([^{}]*)\}")
COMMA = re.compile(r",(?![^()]*\))")
NAMED = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
# What a selector asks of others may be absent: `:not(.wide)`.
BRACKETS = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")

FACE_RULE = re.compile(r"@font-face\s*\{[^}]*?url\(([^)]+\.woff2)\)[^}]*\}")
RANGE = re.compile(r"unicode-range:\s*([^;}]+)")
# The faces of letters that a reader may type.
TYPED = re.compile(r"-latin-\d")
# Scripts with words that this site does not show.
OF_MANY_LANGUAGES = {"copybutton.js"}
# What the book's style sheets switch on, and what browsers do by themselves.
FEATURES = ["calt", "ccmp", "kern", "liga", "lnum", "locl", "mark", "mkmk", "tnum"]


def keep_letters(path: Path, codes: set[int], *, features: list[str] | None = None) -> None:
    """Leave in a font file only the letters of these code points, and of its features these."""
    options = subset.Options(flavor="woff2")
    options.drop_tables = [*options.drop_tables, "FFTM"]  # dates of the font's editor
    if features is not None:
        options.layout_features = features
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=sorted(codes or font.getBestCmap()))
    subsetter.subset(font)
    subset.save_font(font, path, options)


def without_unused(style: str, words: set[str]) -> str:
    """A style sheet without the selectors that name a class which is none of these words.

    A script may add the end of a name: of "bs-tooltip-" it makes "bs-tooltip-top".
    """
    begun = tuple(word for word in words if word.endswith("-") and word[0].isalpha())

    def is_used(selector: str) -> bool:
        names = NAMED.findall(BRACKETS.sub("", selector))
        return all(name in words or name.startswith(begun) for name in names)

    def kept(rule: re.Match[str]) -> str:
        if rule[1].lstrip().startswith("@"):
            return rule[0]
        used = [selector for selector in COMMA.split(rule[1]) if is_used(selector)]
        return f"{','.join(used)}{{{rule[2]}}}" if used else ""

    return RULE.sub(kept, COMMENT.sub("", style))


def codes_of(rule: str) -> Iterable[range]:
    """The code points that a face is for, of its rule: U+0, U+100-2BA."""
    found = RANGE.search(rule)
    for part in found[1].split(",") if found else ["0-10FFFF"]:
        first, _, last = part.strip().removeprefix("U+").partition("-")
        yield range(int(first, 16), int(last or first, 16) + 1)


def lighten_faces(folder: Path, letters: set[int], drawn: set[int]) -> Callable[[str], str]:
    """Take letters out of the font files, and return what takes their rules out of a style sheet.

    `letters` are those of all pages, `drawn` those of figures, which have a face of their own.
    """

    def kept(rule: re.Match[str]) -> str:
        path = folder / rule[1]
        is_drawn = path.name.startswith("dejavu-sans-")
        if path.name.startswith("KaTeX_") or (TYPED.search(path.name) and not is_drawn):
            return rule[0]
        own = drawn if is_drawn else letters
        shown = {code for one in codes_of(rule[0]) for code in own if code in one}
        if not shown:
            path.unlink()
            return ""
        keep_letters(path, shown)
        return rule[0]

    return lambda style: FACE_RULE.sub(kept, style)


def lighten(app: Sphinx, error: Exception | None) -> None:
    """Keep of icons, rules and letters what pages show, and do not measure boxes on load."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    theme = static / "scripts" / "pydata-sphinx-theme.js"
    theme.write_text(MEASURING.sub("0", theme.read_text(encoding="utf-8")), encoding="utf-8")
    words: set[str] = set()
    shown: set[str] = set()
    letters: set[str] = set()
    drawn: set[str] = set()
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        words.update(*map(str.split, set(CLASSES.findall(text))))
        words.update(*map(WORD.findall, set(SCRIPT.findall(text))))
        shown.update(ICON.findall(text))
        letters.update(text)
        for drawing in FIGURE.findall(text):
            drawn.update(*LETTERS.findall(html.unescape(drawing)))
    for script in static.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        words.update(WORD.findall(text))
        if script.name not in OF_MANY_LANGUAGES:
            letters.update(text)
        if script == theme:
            shown.update(ICON.findall(text))
    codes = lighten_icons(static, shown)
    for path in (static / "vendor" / "fontawesome" / "webfonts").glob("*.woff2"):
        keep_letters(path, codes)
    sheet = static / "fonts" / "fonts.css"
    without_faces = lighten_faces(sheet.parent, set(map(ord, letters)), set(map(ord, drawn)))
    sheet.write_text(without_faces(sheet.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (path for name in SHEETS for path in static.glob(name)):
        style = path.read_text(encoding="utf-8")
        path.write_text(without_unused(style, words), encoding="utf-8")


def lighten_icons(static: Path, shown: set[str]) -> set[int]:
    """Take the rules of other icons out of the theme's style sheet; return the letters of these."""
    sheet = static / "styles" / "pydata-sphinx-theme.css"
    style = sheet.read_text(encoding="utf-8")
    codes = {
        int(code, 16) for names, code in ICON_RULE.findall(style) if shown & {*ICON.findall(names)}
    }
    kept = ICON_RULE.sub(lambda rule: rule[0] if shown & {*ICON.findall(rule[1])} else "", style)
    sheet.write_text(kept, encoding="utf-8")
    return codes


def setup(app: Sphinx) -> None:
    """Connect it, behind what writes into the site at the end."""
    app.connect("build-finished", lighten, priority=950)
