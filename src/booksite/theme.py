"""The theme, set up for this book: templates, fonts, and the book's two addresses.

The folder `templates` overrides parts of the theme. KaTeX's style sheet and the fonts come from
npm by pinned name and are served from the site itself; a browser loads a font file only where a
page has one of its letters.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from bookformat.paths import NODE_ROOM
from booksite.lighten import FEATURES, keep_letters
from booksite.node.packages import ensure_packages
from booksite.reader import is_newer

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
# Latin faces have the raised ¹, ² and ³ only, so that the two digits of 10¹⁰ were of two fonts. All
# raised digits are left to the font that has the others.
LATIN = "U+0000-00FF"
LATIN_WITHOUT_RAISED = "U+0000-00B1,U+00B4-00B8,U+00BA-00FF"

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
# Figures stand further down; their faces are asked for with those of the rest.
FACES_OF_FIGURES = {
    "dejavu-sans-latin-400-normal": r'class="book-figure"',
    "dejavu-sans-latin-400-italic": r"<t(?:span|ext)\b[^>]*\b(?:oblique|italic)\b",
}
FAMILIES = {
    "source-serif-4": "Source Serif 4",
    "inter": "Inter",
    "source-code-pro": "Source Code Pro",
    "dejavu-sans": "DejaVu Sans",
}
# Style sheets and scripts of one kind of content, each with what a page must hold to load them.
ONLY_FOR = {
    r"(?:clipboard|copybutton)": "<pre",
    r"pygments": 'class="highlight',
    r"mystnb": r'class="[^"]*\bcell',
    r"proof": r"\bproof\b",
    r"exercise\.": r"\bexercise\b",
    r"annotated": r"annotated|equation-code|explained|download",
    r"api\.": r'class="py\b',
    r"enlarge": "figure-box",
    r"sort\.": "sortable",
}
# Letters that no first screen exceeds, with those of formulas, which are written twice.
BEGINNING = 6000
TAG_OR_TEXT = re.compile(r"<[^>]*>|[^<]+")


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
            bring(source.parent / place / file, folder / file)
        style += FONT.sub(r"url(\2)", text.replace(LATIN, LATIN_WITHOUT_RAISED)) + "\n"
    (folder / "fonts.css").write_text(style, encoding="utf-8")
    config.html_static_path += [str(folder.parent), str(HERE / "static")]
    config.templates_path.insert(0, str(HERE / "templates"))
    app.add_css_file("fonts/fonts.css")


def bring(source: Path, target: Path) -> None:
    """Copy a font file, of the text's faces without features that the book does not use."""
    if source.name.startswith(("KaTeX_", "dejavu-sans-")):
        shutil.copyfile(source, target)
    elif not is_newer(target, source):
        shutil.copyfile(source, target)
        keep_letters(target, set(), features=FEATURES)


def beginning_of(body: str) -> str:
    """The HTML of a page up to where its first screen surely ends."""
    letters = 0
    for part in TAG_OR_TEXT.finditer(body):
        if not part[0].startswith("<"):
            letters += len(part[0].strip())
        if letters > BEGINNING:
            return body[: part.end()]
    return body


def css_font(name: str) -> str:
    """A face as a style sheet names it: of "KaTeX_Main-Bold" it is normal bold 1em 'KaTeX_Main'."""
    if name.startswith("KaTeX_"):
        family, _, kind = name.partition("-")
        weight = "bold" if kind.startswith("Bold") else "400"
        style = "italic" if kind.endswith("Italic") else "normal"
    else:
        family, weight, style = name.rsplit("-", 2)
        family = FAMILIES[family.removesuffix("-ext").removesuffix("-latin")]
    return f"{style} {weight} 1em '{family}'"


def name_faces(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Tell the template the faces of the page's beginning, and all of them."""
    # Sphinx writes the index from its entries, whose first letters are strong.
    body = "<strong>" if "genindexentries" in context else context.get("body", "")
    beginning = beginning_of(body)
    early = [name for name, use in FACES.items() if re.search(use, beginning)]
    used = [name for name, use in (FACES | FACES_OF_FIGURES).items() if re.search(use, body)]
    context["faces"] = " ".join(early)
    context["all_faces"] = ", ".join(dict.fromkeys(map(css_font, used)))


def leave_out(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Tell the template the style sheets and scripts for which the page has nothing."""
    body = context.get("body", "")
    absent = [name for name, content in ONLY_FOR.items() if not re.search(content, body)]
    nothing_for = re.compile(rf"_static/(?:{'|'.join(absent)})")
    files = [*context.get("css_files", []), *context.get("script_files", [])]
    names = [str(getattr(file, "filename", file)) for file in files]
    context["left_out"] = [name for name in names if absent and nothing_for.match(name)]


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
    app.connect("html-page-context", name_faces, priority=900)
    app.connect("html-page-context", leave_out, priority=900)
    # Before other parts read the addresses.
    app.connect("config-inited", take_addresses, priority=300)
