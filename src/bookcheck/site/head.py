"""What others need to show and find the pages: descriptions, pictures, canonical links, a sitemap.

The two addresses, of the repository and of the site, come from _config.yml (`repository: url:` and
`html: baseurl:`) or, where these are set, from the environment variables BOOK_REPOSITORY_URL and
BOOK_SITE_URL: so a fork publishes with its own addresses and no edit. Without the site's address
there is no canonical link, no sitemap and no picture, since all of them need a whole address.
"""

import os
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape as escape_xml

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError

LONGEST_DESCRIPTION = 200
# The picture that other programs show beside a link: one for all pages, drawn once.
CARD = "_static/card.png"
CARD_SIZE = ("1200", "630")


REPOSITORY_VARIABLE = "BOOK_REPOSITORY_URL"
SITE_VARIABLE = "BOOK_SITE_URL"


def take_addresses(_app: Sphinx, config: Config) -> None:
    """Let the environment's addresses, where they are set, stand for those of the settings."""
    repository, site = os.environ.get(REPOSITORY_VARIABLE), os.environ.get(SITE_VARIABLE)
    if repository:
        config.html_theme_options["repository_url"] = repository
    if site:
        config.html_baseurl = site


def check_address(_app: Sphinx, config: Config) -> None:
    """The address must be a whole one, and ends with a slash, so that names can be joined to it."""
    address = config.html_baseurl
    if not address:
        return
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(
            f"html: baseurl: in _config.yml, or {SITE_VARIABLE}, must be like "
            f"https://owner.github.io/name/, got {address!r}"
        )
    config.html_baseurl = address.rstrip("/") + "/"


def page_address(config: Config, docname: str) -> str:
    """The address of a page, or an empty text where the site's address is not known."""
    return urljoin(config.html_baseurl, f"{docname}.html") if config.html_baseurl else ""


def opening(doctree: nodes.document) -> str:
    """The first paragraph of a page: of a chapter, its question."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            return " ".join(paragraph.astext().split())
    return ""


def shortened(text: str, length: int = LONGEST_DESCRIPTION) -> str:
    """A text of at most `length` characters that ends with a whole word."""
    if len(text) <= length:
        return text
    return text[: length - 1].rpartition(" ")[0] + "…"


def head_tags(title: str, description: str, address: str, card: str, site_name: str) -> str:
    """The tags by which other programs show a link to the page."""
    tags = [("name", "description", description)] if description else []
    tags += [
        ("property", "og:type", "article"),
        ("property", "og:site_name", site_name),
        ("property", "og:title", title),
    ]
    if description:
        tags.append(("property", "og:description", description))
    if address:
        tags += [
            ("property", "og:url", address),
            ("property", "og:image", card),
            ("property", "og:image:width", CARD_SIZE[0]),
            ("property", "og:image:height", CARD_SIZE[1]),
            ("property", "og:image:alt", f"{title}. {description}".strip()),
            ("name", "twitter:card", "summary_large_image"),
        ]
    return "\n".join(f'<meta {kind}="{key}" content="{escape(v)}" />' for kind, key, v in tags)


def add_tags(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Put the tags into the head of every page that is written by people."""
    if doctree is None:
        return
    config = app.config
    tags = head_tags(
        app.env.titles[pagename].astext(),
        shortened(opening(doctree)),
        page_address(config, pagename),
        config.html_baseurl + CARD,
        config.project,
    )
    context["metatags"] = f"{context.get('metatags', '')}\n{tags}\n"


def sitemap(config: Config, env: BuildEnvironment) -> str:
    """All pages of the book, for search engines."""
    addresses = [page_address(config, docname) for docname in sorted(env.found_docs)]
    lines = [f"<url><loc>{escape_xml(address)}</loc></url>" for address in addresses]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        + "\n".join(lines)
        + "\n</urlset>\n"
    )


def write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """Write sitemap.xml where the site's address is known; take an old one away where it is not."""
    if error is not None or app.builder.name != "html":
        return
    path = Path(app.outdir) / "sitemap.xml"
    path.unlink(missing_ok=True)
    if app.config.html_baseurl:
        path.write_text(sitemap(app.config, app.env), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    # Before other parts read the addresses.
    app.connect("config-inited", take_addresses, priority=300)
    app.connect("config-inited", check_address, priority=310)
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", write_sitemap)
