"""Old links: a page for addresses that do not exist, and one for each page that was renamed.

The table of renamed pages is _moved.yml. A host serves 404.html at whatever depth an address was
asked for, so its links start at the site's root: "/", or the path of the site's address.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from bookcheck.site.address import page_address
from bookcheck.site.policy import CHARSET, META

logger = logging.getLogger(__name__)

TABLE = "_moved.yml"
MISSING = "404"
MISSING_BODY = """<h1>This page does not exist</h1>
<p>The address may be misspelt, or the page was renamed. These lead on:</p>
<ul>
<li><a href="index.html">the opening page</a>, with all chapters at its side,</li>
<li><a href="search.html">the search</a>, which also knows the names of symbols and functions,</li>
<li><a href="genindex.html">the index</a>.</li>
</ul>"""
RELATIVE = re.compile(r'(\s(?:href|src)=")(?!#|/|[a-z]+:)([^"]*)"')


def moved_pages(source: Path) -> dict[str, str]:
    """Read the table: old name → new name."""
    path = source / TABLE
    if not path.is_file():
        return {}
    table = yaml.safe_load(path.read_text(encoding="utf8")) or {}
    return {str(old): str(new) for old, new in table.items()}


def faults_of_table(table: Mapping[str, str], pages: set[str]) -> Iterator[str]:
    """Yield what is wrong: a page that is not there, or one that still is."""
    for old, new in table.items():
        if old in pages:
            yield f"{old} has moved to {new}, and is still a page of the book"
        if new not in pages:
            yield f"{old} has moved to {new}, which is no page of the book"


def check_table(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, which stops a strict build."""
    for fault in faults_of_table(moved_pages(Path(app.srcdir)), set(env.found_docs)):
        logger.warning("%s: %s", TABLE, fault, type="moved")


def moved_page(old: str, new: str, title: str, address: str = "") -> str:
    """The page that stands at an old address and leads to the new one."""
    target = posixpath.relpath(f"{new}.html", posixpath.dirname(old) or ".")
    root = "../" * old.count("/")
    return f"""<!DOCTYPE html>
<html lang="en">
  <head>
    {CHARSET}
    {META}
    <meta name="viewport" content="width=device-width, initial-scale=1"/>
    <meta name="robots" content="noindex"/>
    <title>Moved: {escape(title)}</title>
    <link rel="canonical" href="{escape(address or target)}" />
    <noscript><meta http-equiv="refresh" content="0; url={escape(target)}"/></noscript>
    <script defer src="{root}_static/moved.js"></script>
  </head>
  <body>
    <main><h1>This page has moved</h1><p><a href="{escape(target)}">{escape(title)}</a></p></main>
  </body>
</html>
"""


def write_moved_pages(app: Sphinx, error: Exception | None) -> None:
    """Write a page at each old address."""
    if error is not None or app.builder.name != "html":
        return
    for old, new in moved_pages(Path(app.srcdir)).items():
        if new in app.env.titles and old not in app.env.found_docs:
            path = Path(app.outdir) / f"{old}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            title = app.env.titles[new].astext()
            page = moved_page(old, new, title, page_address(app.config, new))
            path.write_text(page, encoding="utf8")


def missing_page(_app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page for addresses that do not exist."""
    yield MISSING, {"title": "Page not found", "body": MISSING_BODY}, "page.html"


def from_root(html: str, prefix: str) -> str:
    """Return a page of the site's root folder with links that work at any depth."""
    html = RELATIVE.sub(lambda found: f'{found[1]}{prefix}{found[2]}"', html)
    html = re.sub(r'<link rel="canonical"[^>]*>\s*', "", html)
    return html.replace('data-content_root="./"', f'data-content_root="{prefix}"')


def root_missing_page(app: Sphinx, error: Exception | None) -> None:
    """Let the links of 404.html start at the site's root."""
    if error is not None or app.builder.name != "html":
        return
    prefix = urlsplit(app.config.html_baseurl or "/").path or "/"
    path = Path(app.outdir) / f"{MISSING}.html"
    path.write_text(from_root(path.read_text(encoding="utf8"), prefix), encoding="utf8")


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.connect("env-check-consistency", check_table)
    app.connect("html-collect-pages", missing_page)
    app.connect("build-finished", root_missing_page)
    app.connect("build-finished", write_moved_pages)
