"""The page for addresses that do not exist, 404.html.

A host serves it at whatever depth an address was asked for, so its links start at the site's root:
"/", or the path of the site's address.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx

NAME = "404"
BODY = """<h1>This page does not exist</h1>
<p>The address may be misspelt, or the page was renamed. These lead on:</p>
<ul>
<li><a href="index.html">the opening page</a>, with all chapters at its side,</li>
<li><a href="search.html">the search</a>, which also knows the names of symbols and functions,</li>
<li><a href="genindex.html">the index</a>.</li>
</ul>"""
RELATIVE = re.compile(r'(\s(?:href|src)=")(?!#|/|[a-z]+:)([^"]*)"')


def add_page(_app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Let the build write the page like all others."""
    yield NAME, {"title": "Page not found", "body": BODY}, "page.html"


def from_root(html: str, prefix: str) -> str:
    """Return a page of the site's root folder with links that work at any depth."""
    html = RELATIVE.sub(lambda found: f'{found[1]}{prefix}{found[2]}"', html)
    html = re.sub(r'<link rel="canonical"[^>]*>\s*', "", html)
    return html.replace('data-content_root="./"', f'data-content_root="{prefix}"')


def start_at_root(app: Sphinx, error: Exception | None) -> None:
    """Let the links of the page start at the site's root."""
    if error is None and app.builder.name == "html":
        prefix = urlsplit(app.config.html_baseurl or "/").path or "/"
        path = Path(app.outdir) / f"{NAME}.html"
        path.write_text(from_root(path.read_text(encoding="utf-8"), prefix), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", start_at_root)
