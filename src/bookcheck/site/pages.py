"""What each page loads, which buttons it shows, and repairs to the theme's HTML."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from jinja2 import FileSystemBytecodeCache
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM
from bookcheck.site.policy import secure, stopped_by_policy
from bookcheck.site.schemes import link_sheet

logger = logging.getLogger(__name__)

UNUSED_FILES = ("scripts/fontawesome.js", "scripts/fontawesome.js.LICENSE.txt")


def add_katex_files(app: Sphinx, config: Config) -> None:
    """Serve KaTeX's style sheet and its woff2 fonts from the site itself."""
    ensure_packages(NODE_ROOM)
    distribution = NODE_ROOM / "node_modules" / "katex" / "dist"
    folder = Path(app.outdir).parent / "katex" / "katex"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "fonts").mkdir(parents=True)
    style = (distribution / "katex.min.css").read_text(encoding="utf8")
    # Browsers that read woff2 never ask for the two older formats.
    style = re.sub(r',url\(fonts/[^)]+\.(?:woff|ttf)\) format\("[^"]+"\)', "", style)
    (folder / "katex.css").write_text(style, encoding="utf8")
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


# What to change in the theme's HTML, and why.
REPAIRS = (
    # 1.5 MB that redraw the icons the web font already shows.
    (r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>', ""),
    # A label that differs from the words on the button confuses those who speak to their machine.
    (r'(<button class="btn search-button-field [^>]*?) aria-label="Search"', r"\1"),
    (r' aria-label="Toggle hidden content"', ""),
    # The sidebar's title and search stand outside every landmark.
    (
        r'<div id="pst-primary-sidebar"',
        '<div id="pst-primary-sidebar" role="region" aria-label="Book"',
    ),
    # What may scroll sideways is reached by the keyboard; scripts take back what does not scroll.
    (r"<pre>", '<pre tabindex="0">'),
    (
        r'<div class="(figure-box|math-formula|output text_html|pst-scrollable-table-container)">',
        r'<div class="\1" tabindex="0">',
    ),
    # Roles that do not belong on these elements.
    (r' role="doc-biblioentry"', ' role="listitem"'),
    # A script sets this; without JavaScript the theme knows no scheme "auto" and shows no colours.
    (r'(<html[^>]*) data-theme="auto"', r"\1"),
    # The page names its width three times.
    (r'(<meta name="viewport" [^>]*/>)(?=[\s\S]*?<meta name="viewport")', ""),
)


def repair_html(html: str) -> str:
    """Return a page's HTML without the theme's needless script and accessibility faults."""
    for pattern, replacement in REPAIRS:
        html = re.sub(pattern, replacement, html)
    return html


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
        page = link_sheet(secure(repair_html(page)))
        for fault in stopped_by_policy(page):
            logger.warning("%s: %s", context.get("pagename", template), fault, type="policy")
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


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    # Jupyter Book always sets this option of an extension that the book does not load.
    app.add_config_value("comments_config", {}, "")
    app.add_post_transform(UniqueIds)
    app.connect("config-inited", add_katex_files)
    app.connect("config-inited", set_repository_buttons)
    app.connect("builder-inited", repair_pages)
    app.connect("build-finished", remove_unused_files)
