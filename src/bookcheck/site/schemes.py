"""Light and dark without JavaScript.

The theme's rules ask for an attribute that only a script sets, `html[data-theme="dark"]`. A page
without scripts loads one more style sheet: the same rules, asked of the reader's system.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

SHEET = "_static/without-scripts.css"
# Paper is light.
MEDIA = {
    "light": "print, (prefers-color-scheme: light)",
    "dark": "screen and (prefers-color-scheme: dark)",
}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
TOKEN = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{};]|[^{};"']+""", re.DOTALL)
LINK = re.compile(r'<link\b[^>]*rel="stylesheet"[^>]*>')
ADDRESS = re.compile(r'\bhref="([^"?]*)')


def blocks(css: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before each pair of outer braces, and what stands in it."""
    depth, before, inside = 0, "", ""
    for token in TOKEN.findall(COMMENT.sub("", css)):
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
    page = (site / f"{app.config.root_doc}.html").read_text(encoding="utf8")
    addresses = [found[1] for link in LINK.findall(page) if (found := ADDRESS.search(link))]
    others = [address for address in addresses if not address.endswith(SHEET)]
    sheets = [(site / address).read_text(encoding="utf8") for address in others]
    css = sheet_without_scripts(sheets)
    if "url(" in css:
        logger.warning("a rule with url() would be moved to another folder: %s", SHEET)
    (site / SHEET).write_text(css, encoding="utf8")


def setup(app: Sphinx) -> None:
    """Write the style sheet when all others are written."""
    # The theme writes the colours of code when the build is finished.
    app.connect("build-finished", write_sheet, priority=800)
