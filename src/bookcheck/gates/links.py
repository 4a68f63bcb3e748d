"""Links inside a built site: every address and anchor exists.

Links to other hosts are asked after by `make links`, Sphinx's own link check.
"""

import html
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESS = re.compile(r"""\s(?:xlink:)?(?:href|src)=(?:"([^"]*)"|'([^']*)')""")
ANCHOR = re.compile(r"""\s(?:id|name)=(?:"([^"]*)"|'([^']*)')""")
CONTENT_ROOT = re.compile(r'data-content_root="(/[^"]*)"')
INVISIBLE = re.compile(r"<script\b.*?</script>|<!--.*?-->", re.DOTALL)


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    return [html.unescape(double or single) for double, single in pattern.findall(text)]


def page_files(site: Path) -> list[Path]:
    """The pages of the site, without the parts of the theme."""
    return [
        path
        for path in sorted(site.rglob("*.html"))
        if not path.relative_to(site).parts[0].startswith("_")
    ]


def broken_links(site: Path) -> Iterator[tuple[str, str]]:
    """Yield (page, what is wrong) for each address inside the site that leads nowhere."""
    texts = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in page_files(site)
    }
    anchors = {page: set(_found(ANCHOR, text)) for page, text in texts.items()}
    for page, text in texts.items():
        # The page for missing addresses has links from the host's root: the site may lie deeper.
        root = CONTENT_ROOT.search(text)
        for address in dict.fromkeys(_found(ADDRESS, INVISIBLE.sub("", text))):
            inside = address
            if root and address.startswith(root[1]):
                inside = f"/{address.removeprefix(root[1])}"
            problem = _problem(site, page, inside, anchors)
            if problem:
                yield page, f"{address}: {problem}"


def _problem(site: Path, page: str, address: str, anchors: Mapping[str, set[str]]) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    target = page
    if parts.path:
        folder = "" if parts.path.startswith("/") else posixpath.dirname(page)
        target = posixpath.normpath(posixpath.join(folder, unquote(parts.path).lstrip("/")))
    if target.startswith(".."):
        return "leads out of the site"
    if (site / target).is_dir():
        target = posixpath.join(target, "index.html")
    if not (site / target).is_file():
        return f"there is no file {target}"
    if parts.fragment and target in anchors and unquote(parts.fragment) not in anchors[target]:
        return f"{target} has no anchor {unquote(parts.fragment)}"
    return ""
