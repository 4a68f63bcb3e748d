"""The theme made ours: what each page loads, which buttons it shows, repairs to its HTML.

What the theme writes into its pages (small scripts, a style sheet, a click handler) moves into
files of the site, as the policy asks. Light and dark work without JavaScript: the theme's rules ask
for an attribute that only a script sets, `html[data-theme="dark"]`, so a page without scripts loads
one more style sheet with the same rules, asked of the reader's system.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from jinja2 import FileSystemBytecodeCache
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM
from bookcheck.site.policy import CHARSET, META, stopped_by_policy

logger = logging.getLogger(__name__)

UNUSED_FILES = (
    "scripts/fontawesome.js",
    "scripts/fontawesome.js.LICENSE.txt",
    # Of Sphinx' own search.
    "searchtools.js",
    "language_data.js",
)


def add_katex_files(app: Sphinx, config: Config) -> None:
    """Serve KaTeX's style sheet and its woff2 fonts from the site itself."""
    ensure_packages(NODE_ROOM)
    distribution = NODE_ROOM / "node_modules" / "katex" / "dist"
    folder = Path(app.outdir).parent / "katex" / "katex"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "fonts").mkdir(parents=True)
    style = (distribution / "katex.min.css").read_text(encoding="utf-8")
    # Browsers that read woff2 never ask for the two older formats.
    style = re.sub(r',url\(fonts/[^)]+\.(?:woff|ttf)\) format\("[^"]+"\)', "", style)
    (folder / "katex.css").write_text(style, encoding="utf-8")
    for font in sorted((distribution / "fonts").glob("*.woff2")):
        shutil.copyfile(font, folder / "fonts" / font.name)
    config.html_static_path.append(str(folder.parent))
    app.add_css_file("katex/katex.css")


def set_repository_buttons(_app: Sphinx, config: Config) -> None:
    """Show the buttons that need the repository's address only where it is known."""
    options = config.html_theme_options
    known = bool(options.get("repository_url"))
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = known
    if not known:
        options.pop("repository_url", None)
    # The theme's would open the sources; the box under the title opens the reader's notebooks.
    options["launch_buttons"] = {}


def link_script(app: Sphinx, script: str, *, where: type[nodes.Node]) -> None:
    """Link a script into the pages that hold a node of a kind, and into no other."""

    def add(
        app: Sphinx,
        _pagename: str,
        _template: str,
        _context: dict[str, Any],
        doctree: nodes.document | None,
    ) -> None:
        if doctree is not None and next(doctree.findall(where), None) is not None:
            app.add_js_file(script, loading_method="defer")

    app.connect("html-page-context", add)


class UniqueIds(SphinxPostTransform):
    """Give a second id of the same name a number: unlabelled proofs and solutions all share one."""

    default_priority = 950

    def run(self, **_: Any) -> None:
        """Rename the later ones; nothing refers to them, since a reference needs a label."""
        seen: Counter[str] = Counter()
        for element in self.document.findall(nodes.Element):
            for place, name in enumerate(element["ids"]):
                seen[name] += 1
                if seen[name] > 1:
                    element["ids"][place] = f"{name}-{seen[name]}"


class Repair(NamedTuple):
    """A change to the theme's HTML; `where` says which pages must hold what it changes."""

    pattern: str
    replacement: str
    where: str = "all pages"


# A page may lack a table or a bibliography: these are missed where no page of the book has one.
SOME = "some pages"
SEARCH = "search"
SPHINX_SEARCH = (
    r'<script src="[^"]*searchtools\.js[^"]*"></script>\s*<script src="[^"]*language_data\.js'
    r'[^"]*"></script>\s*<script src="[^"]*searchindex\.js[^"]*"></script>'
)

REPAIRS = (
    # 1.5 MB that redraw the icons the web font already shows.
    Repair(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>', ""),
    # A label that differs from the words on the button confuses those who speak to their machine.
    Repair(r'(<button class="btn search-button-field [^>]*?) aria-label="Search"', r"\1"),
    Repair(r' aria-label="Toggle hidden content"', "", SOME),
    # The sidebar's title and search stand outside every landmark.
    Repair(
        r'<div id="pst-primary-sidebar"',
        '<div id="pst-primary-sidebar" role="region" aria-label="Book"',
    ),
    # What may scroll sideways is reached by the keyboard; scripts take back what does not scroll.
    Repair(r"<pre>", '<pre tabindex="0">', SOME),
    Repair(
        r'<div class="(figure-box|math-formula|output text_html|pst-scrollable-table-container)">',
        r'<div class="\1" tabindex="0">',
        SOME,
    ),
    # A switch in the sidebar that says nothing to those who hear it.
    Repair(
        r'<summary><span class="toctree-toggle" role="presentation">',
        '<summary aria-label="Deeper pages"><span class="toctree-toggle" role="presentation">',
        SOME,
    ),
    # Roles that do not belong on these elements.
    Repair(r' role="doc-biblioentry"', ' role="listitem"', SOME),
    # A script sets this; without JavaScript the theme knows no scheme "auto" and shows no colours.
    Repair(r'(<html[^>]*) data-theme="auto"', r"\1"),
    # The page names its width three times.
    Repair(r'(<meta name="viewport" [^>]*/>)(?=[\s\S]*?<meta name="viewport")', ""),
    # The reader's choice of colours, early.js.
    Repair(
        r'<script data-cfasync="false">\s*document\.documentElement\.dataset\.mode = '
        r"[\s\S]*?</script>",
        '<script src="{root}_static/early.js"></script>',
    ),
    # book.css hides these where no script has said which mode it is.
    Repair(r"<noscript>\s*<style>\s*\.pst-js-only \{[^}]*\}\s*</style>\s*</noscript>", ""),
    # Only a menu of versions reads the page's name, and the book has one version.
    Repair(r"<script>DOCUMENTATION_OPTIONS\.pagename = '[^']*';</script>", ""),
    # False is what an option is that nobody sets.
    Repair(r"<script>DOCUMENTATION_OPTIONS\.search_as_you_type = false;</script>", ""),
    # book.js sets the focus of the search page, and prints.
    # The book's own search, search.py, in place of Sphinx', and only where one searches: the theme
    # would load 300 kB before the text of every page.
    Repair(
        rf'{SPHINX_SEARCH}(?=[\s\S]*id="search-results")',
        '<script src="{root}_static/minisearch.js"></script>\n'
        '  <script src="{root}_static/search-data.js"></script>\n'
        '  <script src="{root}_static/search.js"></script>',
        SEARCH,
    ),
    Repair(SPHINX_SEARCH, "", SOME),
    Repair(r"<script>\s*// Activate the search field on page load[\s\S]*?</script>", "", SEARCH),
    # The opening page is named after the book.
    Repair(r"<title>([^<]+) &#8212; \1</title>", r"<title>\1</title>", SOME),
    Repair(
        r'(bd-sidenav__home-link">\s*<li class="[^"]*">\s*<a class="[^"]*" href="[^"]*">)[^<]*',
        r"\1Opening page",
        SOME,
    ),
    # book.js shows which section is read; the theme's script keeps an old one.
    Repair(r'id="pst-page-toc-nav"', 'id="page-contents"', SOME),
    # On paper a chapter has its number.
    Repair(
        r'(<div id="jb-print-docs-body" class="onlyprint">\s*<h1>)'
        r'(?=[\s\S]*?<h1>(<span class="section-number">[^<]*</span>))',
        r"\1\2",
        SOME,
    ),
    # What folds the code of a figure is a word below the figure.
    Repair(r"Show code cell source", "Code", SOME),
    Repair(r"Hide code cell source", "Hide code", SOME),
    Repair(r"Show code cell content", "Code and result", SOME),
    Repair(r"Hide code cell content", "Hide code and result", SOME),
    # What a formatter is told is not for readers.
    Repair(r' *<span class="c1"># (?:fmt: skip|noqa\b[^<]*)</span>', "", SOME),
    # A reference to an equation brings its own parentheses.
    Repair(
        r'\((<a class="reference internal" href="[^"]*#equation-[^"]*">\([\d.]+\)</a>)\)',
        r"\1",
        SOME,
    ),
    Repair(r' onclick="window\.print\(\)"', " data-print", SOME),
    # It prints; the PDF of the whole book is offered on the opening page.
    Repair(
        r'<span class="btn__text-container">\.pdf</span>',
        '<span class="btn__text-container">Print</span>',
        SOME,
    ),
)


def repair(html: str) -> tuple[str, list[Repair]]:
    """Return a page without the theme's faults and with the policy; and what found no match."""
    root = re.search(r'<html[^>]* data-content_root="([^"]*)"', html)
    idle = []
    for one in REPAIRS:
        replacement = one.replacement.replace("{root}", root[1] if root else "")
        html, count = re.subn(one.pattern, replacement, html)
        if not count:
            idle.append(one)
    # Nothing before it may load, or the policy comes too late.
    return html.replace(CHARSET, f"{CHARSET}\n    {META}", 1), idle


def missed_repairs(page: str, idle: Iterable[Repair]) -> Iterator[str]:
    """Name the repairs that should have found something on a page: the theme has changed."""
    for one in idle:
        if one.where in ("all pages", page):
            yield f"the theme no longer writes {one.pattern}: see whether its fault is gone"


def repair_pages(app: Sphinx) -> None:
    """Repair each page as it is written, and name what the policy would stop in it."""
    templates = getattr(app.builder, "templates", None)
    if templates is None:
        return
    # The theme's templates are compiled once, not at every build.
    compiled = Path(app.outdir).parent / "templates"
    compiled.mkdir(parents=True, exist_ok=True)
    templates.environment.bytecode_cache = FileSystemBytecodeCache(str(compiled))
    render = templates.render

    def render_repaired(template: str, context: dict[str, Any]) -> str:
        page: str = render(template, context)
        # The theme also renders parts of pages, to see whether they are empty.
        if not template.endswith(".html") or "<html" not in page:
            return page
        name = context.get("pagename", template)
        page, idle = repair(page)
        for words in missed_repairs(name, idle):
            logger.warning("%s: %s", name, words, type="theme")
        page = link_sheet(page)
        for fault in stopped_by_policy(page):
            logger.warning("%s: %s", name, fault, type="policy")
        return page

    templates.render = render_repaired


def remove_unused_files(app: Sphinx, error: Exception | None) -> None:
    """Delete what no page asks for."""
    if error is not None:
        return
    static = Path(app.outdir) / "_static"
    for name in UNUSED_FILES:
        (static / name).unlink(missing_ok=True)
    for source_map in static.rglob("*.map"):
        source_map.unlink()


# The theme asks every box with code or an output for its width, and so makes the browser lay out
# the whole page before it can be read; book.js asks each when it comes into sight.
THEME_SCRIPT = "scripts/pydata-sphinx-theme.js"
ASKS_FOR_WIDTHS = re.compile(
    r"\{(\w)\.tabIndex=\1\.scrollWidth>\1\.clientWidth"
    r"\|\|\1\.scrollHeight>\1\.clientHeight\?0:-1\}"
)


def without_widths(script: str) -> str:
    """Return the theme's script, which no longer asks boxes for their widths."""
    return ASKS_FOR_WIDTHS.sub("{}", script)


def quiet_theme(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the theme's script in the site, and say if it asks in another way."""
    path = Path(app.outdir) / "_static" / THEME_SCRIPT
    if error is not None or not path.is_file():
        return
    script = without_widths(path.read_text(encoding="utf-8"))
    path.write_text(script, encoding="utf-8")
    if "scrollWidth" in script:
        logger.warning("%s asks for widths in a new way: see quiet_theme", path, type="theme")


SHEET = "_static/without-scripts.css"
# Paper is light.
MEDIA = {
    "light": "print, (prefers-color-scheme: light)",
    "dark": "screen and (prefers-color-scheme: dark)",
}
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CSS_TOKEN = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{};]|[^{};"']+""", re.DOTALL)
SHEET_LINK = re.compile(r'<link\b[^>]*rel="stylesheet"[^>]*>')
SHEET_ADDRESS = re.compile(r'\bhref="([^"?]*)')


def blocks(css: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before each pair of outer braces, and what stands in it."""
    depth, before, inside = 0, "", ""
    for token in CSS_TOKEN.findall(CSS_COMMENT.sub("", css)):
        if token == "}":
            depth -= 1
            if depth == 0:
                yield before.strip(), inside.strip()
                before = inside = ""
                continue
        if depth:
            inside += token
        elif token == ";":
            before = ""
        elif token != "{":
            before += token
        if token == "{":
            depth += 1


def rules_of(css: str, scheme: str) -> str:
    """Return the rules of a style sheet for one scheme, for pages that name no scheme."""
    asks = re.compile(rf"""(?<!:not\()\[data-theme=["']?{scheme}["']?\]""")
    rules = ""
    for before, inside in blocks(css):
        if before.startswith(("@media", "@supports")):
            inner = rules_of(inside, scheme)
            if inner:
                rules += f"{before} {{\n{inner}}}\n"
        elif asks.search(before):
            rules += f"{asks.sub(':not([data-theme])', before)} {{ {inside} }}\n"
    return rules


def sheet_without_scripts(sheets: list[str]) -> str:
    """Return the style sheet for readers without JavaScript, from those of a page in order."""
    parts = {scheme: "".join(rules_of(css, scheme) for css in sheets) for scheme in MEDIA}
    return "".join(f"@media {MEDIA[scheme]} {{\n{rules}}}\n" for scheme, rules in parts.items())


def link_sheet(html: str) -> str:
    """Return a page that loads the style sheet where scripts do not run."""
    root = re.search(r'<html[^>]* data-content_root="([^"]*)"', html)
    if root is None:
        return html
    link = f'<noscript><link rel="stylesheet" href="{root[1]}{SHEET}" /></noscript>'
    return html.replace("</head>", f"  {link}\n  </head>", 1)


def write_sheet(app: Sphinx, error: Exception | None) -> None:
    """Write the style sheet beside those that the pages load."""
    site = Path(app.outdir)
    if error is not None or app.builder.name != "html":
        return
    page = (site / f"{app.config.root_doc}.html").read_text(encoding="utf-8")
    addresses = [
        found[1] for link in SHEET_LINK.findall(page) if (found := SHEET_ADDRESS.search(link))
    ]
    others = [address for address in addresses if not address.endswith(SHEET)]
    sheets = [(site / address).read_text(encoding="utf-8") for address in others]
    css = sheet_without_scripts(sheets)
    if "url(" in css:
        logger.warning("a rule with url() would be moved to another folder: %s", SHEET)
    (site / SHEET).write_text(css, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    # Jupyter Book always sets this option of an extension that the book does not load.
    app.add_config_value("comments_config", {}, "")
    app.add_post_transform(UniqueIds)
    app.connect("config-inited", add_katex_files)
    app.connect("config-inited", set_repository_buttons)
    app.connect("builder-inited", repair_pages)
    app.connect("build-finished", remove_unused_files)
    app.connect("build-finished", quiet_theme)
    # The theme writes the colours of code when the build is finished.
    app.connect("build-finished", write_sheet, priority=800)
