"""The book's two addresses, and what other programs show beside a link to a page.

The addresses of the repository and of the site come from _config.yml (`repository: url:` and
`html: baseurl:`) or, where these are set, from the environment variables BOOK_REPOSITORY_URL and
BOOK_SITE_URL, so a fork publishes with its own addresses and no edit. Sphinx writes the canonical
links; the picture needs the site's whole address.
"""

import os
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

LONGEST_DESCRIPTION = 200
REPOSITORY_VARIABLE = "BOOK_REPOSITORY_URL"
SITE_VARIABLE = "BOOK_SITE_URL"


def take_addresses(_app: Sphinx, config: Config) -> None:
    """Let the environment's addresses, where they are set, replace those of the settings."""
    config.html_theme_options["repository_url"] = os.environ.get(
        REPOSITORY_VARIABLE
    ) or config.html_theme_options.get("repository_url", "")
    address = os.environ.get(SITE_VARIABLE) or config.html_baseurl
    config.html_baseurl = f"{address.rstrip('/')}/" if address else ""


def opening(doctree: nodes.document) -> str:
    """The first paragraph of a page, shortened: of a chapter, its question."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split())
            if len(text) <= LONGEST_DESCRIPTION:
                return text
            return text[:LONGEST_DESCRIPTION].rpartition(" ")[0] + " …"
    return ""


def add_tags(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Describe the page in its head."""
    if doctree is None:
        return
    description = opening(doctree)
    tags = {
        "description": description,
        "og:title": app.env.titles[pagename].astext(),
        "og:description": description,
    }
    if app.config.html_baseurl:
        tags["og:image"] = f"{app.config.html_baseurl}_static/card.png"
    for name, text in tags.items():
        kind = "property" if name.startswith("og:") else "name"
        context["metatags"] += f'\n<meta {kind}="{name}" content="{escape(text)}" />'


def setup(app: Sphinx) -> None:
    """Connect both."""
    # Before other parts read the addresses.
    app.connect("config-inited", take_addresses, priority=300)
    app.connect("html-page-context", add_tags)
