"""The theme, set up for this book: templates, fonts, and the book's two addresses.

The folder `templates` overrides parts of the theme. KaTeX's style sheet and the fonts come from
npm by pinned name and are served from the site itself; a browser loads a font file only where a
page has one of its letters.
"""

import html
import os
import re
import shutil
from pathlib import Path
from typing import Any

from fontTools import subset
from sphinx.application import Sphinx
from sphinx.config import Config

from bookformat.paths import NODE_ROOM
from booksite.node.packages import ensure_packages

HERE = Path(__file__).parent
# Addresses in place of `repository: url:` and `html: baseurl:` of _config.yml.
REPOSITORY_VARIABLE = "BOOK_REPOSITORY_URL"
SITE_VARIABLE = "BOOK_SITE_URL"
STYLE_SHEETS = (
    "katex/dist/katex.min.css",
    "@fontsource/source-serif-4/400.css",
    "@fontsource/source-serif-4/400-italic.css",
    "@fontsource/source-serif-4/600.css",
    "@fontsource/inter/400.css",
    "@fontsource/inter/600.css",
    "@fontsource/source-code-pro/400.css",
    # Matplotlib measured the labels of figures in this face, so they are shown in it.
    "@fontsource/dejavu-sans/400.css",
    "@fontsource/dejavu-sans/400-italic.css",
    "@fontsource/dejavu-sans/700.css",
)
# Browsers that read woff2 never ask for the older formats.
OLDER_FORMAT = re.compile(r",\s*url\([^)]+\.(?:woff|ttf)\)\s*format\([^)]+\)")
FONT = re.compile(r"url\((?:\./)?(\w+)/([^)]+)\)")

# What the theme's style sheet says of an icon: its names, and its place in the icon font.
ICON_RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\(\w+)"\}')
ICON = re.compile(r"\bfa-[\w-]+")

# A figure inside a page (figures.py), and what it says in letters.
FIGURE = re.compile(r'<svg class="book-figure".*?</svg>', re.DOTALL)
LETTERS = re.compile(r">([^<>]+)<")

# The faces that the beginning of a page is set in. They are asked for before the page is drawn
# (early.js), because letters that come late move what is below them. Each with what asks for it.
FACES = {
    "source-serif-4-latin-400-normal": "",
    "source-serif-4-latin-400-italic": r"<(?:em|i|cite)\b",
    "source-serif-4-latin-600-normal": r"<(?:strong|b|dt)\b",
    "source-serif-4-latin-ext-400-normal": r"[Ā-ʺ]",
    "inter-latin-400-normal": "",
    "inter-latin-600-normal": "",
    "source-code-pro-latin-400-normal": r"<(?:code|pre)\b",
    "KaTeX_Main-Regular": r'class="katex"',
    "KaTeX_Math-Italic": r"\bmathnormal\b",
    "KaTeX_Main-Bold": r"\b(?:mathbf|textbf)\b",
    "KaTeX_Math-BoldItalic": r"\bboldsymbol\b",
    "KaTeX_AMS-Regular": r"\b(?:amsrm|mathbb|textbb)\b",
    "KaTeX_Caligraphic-Regular": r"\bmathcal\b",
    "KaTeX_Size1-Regular": r"\b(?:delimsizing size1|small-op|delim-size1)\b",
    "KaTeX_Size2-Regular": r"\b(?:delimsizing size2|large-op)\b",
    "KaTeX_Size3-Regular": r"\bdelimsizing size3\b",
    "KaTeX_Size4-Regular": r"\b(?:delimsizing size4|delim-size4)\b",
}
# Letters that no first screen exceeds, with those of formulas, which are written twice.
BEGINNING = 6000
TAG_OR_TEXT = re.compile(r"<[^>]*>|[^<]+")

# On load the theme asks for the width of every box that may scroll, which makes a phone lay out the
# whole page at once; book.js asks each box when it has been laid out.
MEASURING = re.compile(r'"complete"===document\.readyState\?(\w+)\(\):[^;]+\("load",\1\)')


def add_fonts(app: Sphinx, config: Config) -> None:
    """Write one style sheet with all fonts, and copy the font files that it names."""
    ensure_packages(NODE_ROOM)
    folder = Path(app.outdir).parent / "fonts" / "fonts"
    folder.mkdir(parents=True, exist_ok=True)
    style = ""
    for name in STYLE_SHEETS:
        source = NODE_ROOM / "node_modules" / name
        text = OLDER_FORMAT.sub("", source.read_text(encoding="utf-8"))
        for place, file in FONT.findall(text):
            shutil.copyfile(source.parent / place / file, folder / file)
        style += FONT.sub(r"url(\2)", text) + "\n"
    (folder / "fonts.css").write_text(style, encoding="utf-8")
    config.html_static_path += [str(folder.parent), str(HERE / "static")]
    config.templates_path.insert(0, str(HERE / "templates"))
    app.add_css_file("fonts/fonts.css")


def keep_letters(path: Path, codes: set[int]) -> None:
    """Leave in a font file only the letters of these code points."""
    options = subset.Options(flavor="woff2")
    options.drop_tables = [*options.drop_tables, "FFTM"]  # dates of the font's editor
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=sorted(codes))
    subsetter.subset(font)
    subset.save_font(font, path, options)


def beginning_of(body: str) -> str:
    """The HTML of a page up to where its first screen surely ends."""
    letters = 0
    for part in TAG_OR_TEXT.finditer(body):
        if not part[0].startswith("<"):
            letters += len(part[0].strip())
        if letters > BEGINNING:
            return body[: part.end()]
    return body


def name_faces(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Tell the template the faces that the beginning of the page is set in."""
    beginning = beginning_of(context.get("body", ""))
    context["faces"] = " ".join(name for name, use in FACES.items() if re.search(use, beginning))


def lighten_theme(app: Sphinx, error: Exception | None) -> None:
    """Keep what pages show of icons and of the figures' face, and do not measure boxes on load."""
    if error is not None or app.builder.name != "html":
        return
    static = Path(app.outdir) / "_static"
    sheet = static / "styles" / "pydata-sphinx-theme.css"
    style = sheet.read_text(encoding="utf-8")
    codes = {
        name: int(code, 16)
        for names, code in ICON_RULE.findall(style)
        for name in ICON.findall(names)
    }
    script = static / "scripts" / "pydata-sphinx-theme.js"
    script.write_text(MEASURING.sub("0", script.read_text(encoding="utf-8")), encoding="utf-8")
    shown: set[str] = set()
    letters: set[str] = set()
    for page in (*Path(app.outdir).rglob("*.html"), script):
        text = page.read_text(encoding="utf-8")
        shown.update(ICON.findall(text))
        for drawing in FIGURE.findall(text):
            letters.update(*LETTERS.findall(html.unescape(drawing)))
    kept = ICON_RULE.sub(lambda rule: rule[0] if shown & {*ICON.findall(rule[1])} else "", style)
    sheet.write_text(kept, encoding="utf-8")
    for path in (static / "vendor" / "fontawesome" / "webfonts").glob("*.woff2"):
        keep_letters(path, {codes[name] for name in shown & codes.keys()})
    for path in (static / "fonts").glob("dejavu-sans-*.woff2"):
        keep_letters(path, set(map(ord, letters)))


def take_addresses(_app: Sphinx, config: Config) -> None:
    """Let the environment's addresses, where they are set, replace those of the settings.

    So a fork publishes with its own addresses and no edit. Buttons that need the repository's
    address are shown only where it is known.
    """
    options = config.html_theme_options
    repository = os.environ.get(REPOSITORY_VARIABLE) or options.pop("repository_url", "")
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = bool(repository)
    if repository:
        options["repository_url"] = repository.rstrip("/")
    # The theme's would open the sources; the box under the title opens the reader's notebooks.
    options["launch_buttons"] = {}
    site = os.environ.get(SITE_VARIABLE) or config.html_baseurl
    config.html_baseurl = f"{site.rstrip('/')}/" if site else ""
    config.html_context["site_address"] = config.html_baseurl


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    # Jupyter Book always sets this option of an extension that the book does not load.
    app.add_config_value("comments_config", {}, "")
    app.connect("config-inited", add_fonts)
    app.connect("build-finished", lighten_theme)
    app.connect("html-page-context", name_faces, priority=900)
    # Before other parts read the addresses.
    app.connect("config-inited", take_addresses, priority=300)
