"""No page asks another host for anything: read in the built HTML, CSS and JavaScript.

A link that a reader may follow is fine; what a browser loads by itself must come from the site.
`python -m bookcheck.gates.offline _build/html` prints one line for each fault.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

EXTERNAL = re.compile(r"\s*(?:(?:https?|wss?|ftp):)?//", re.IGNORECASE)
LOADING_ATTRIBUTES = {"src", "srcset", "poster", "data", "background", "action", "formaction"}
# On <link>: these name a page for people or machines to visit, and load nothing.
VISITED_RELATIONS = {
    "alternate", "author", "bookmark", "canonical", "help", "index", "license", "next", "prev",
    "search",
}  # fmt: skip
CSS_ADDRESS = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))//[^\n]*", re.DOTALL | re.MULTILINE)
SCRIPT_ADDRESS = re.compile(
    r"(?:https?|wss?)://[^\s\"'`<>)\\]+|(?<=[\"'`])//[\w-]+(?:\.[\w-]+)+[^\"'`]*"
)
# Addresses in scripts that no code requests: a name space, and a page named in an error message.
HARMLESS = ("http://www.w3.org/", "https://pydata-sphinx-theme.readthedocs.io/")


def external_in_css(text: str) -> list[str]:
    """Return the addresses on other hosts that a style sheet loads."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [address for address in CSS_ADDRESS.findall(text) if EXTERNAL.match(address)]


def external_in_script(text: str) -> list[str]:
    """Return the addresses on other hosts that stand in a script, comments apart."""
    found = SCRIPT_ADDRESS.findall(COMMENT.sub("", text))
    return [address for address in found if not address.startswith(HARMLESS)]


class _Page(HTMLParser):
    """Collects the addresses on other hosts that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Look at everything that makes a browser load."""
        if tag in ("script", "style"):
            self.inside = tag
        values = {name: value or "" for name, value in attributes}
        if tag == "script" and values.get("type") in ("application/json", "application/ld+json"):
            self.inside = ""
        for name, value in values.items():
            loads = name in LOADING_ATTRIBUTES or (
                name in ("href", "xlink:href")
                and tag not in ("a", "area", "base")
                and not (tag == "link" and set(values.get("rel", "").split()) <= VISITED_RELATIONS)
            )
            candidates = value.split(",") if name == "srcset" else [value]
            if loads and any(EXTERNAL.match(candidate) for candidate in candidates):
                self.faults.append(f'<{tag} {name}="{value}">')
            if name == "style":
                self.faults += [
                    f"style of <{tag}>: {address}" for address in external_in_css(value)
                ]
            if name.startswith("on"):
                self.faults += [f"{name} of <{tag}>: {a}" for a in external_in_script(value)]
        refresh = tag == "meta" and values.get("http-equiv", "").lower() == "refresh"
        if refresh and EXTERNAL.match(values.get("content", "").partition("url=")[2]):
            self.faults.append(f'<meta http-equiv="refresh" content="{values["content"]}">')
        if tag == "base" and EXTERNAL.match(values.get("href", "")):
            self.faults.append(f'<base href="{values["href"]}">')

    def handle_data(self, data: str) -> None:
        """Look into scripts and style sheets that stand in the page."""
        if self.inside == "script":
            self.faults += [f"<script>: {address}" for address in external_in_script(data)]
        elif self.inside == "style":
            self.faults += [f"<style>: {address}" for address in external_in_css(data)]

    def handle_endtag(self, tag: str) -> None:
        """Leave a script or style sheet."""
        if tag == self.inside:
            self.inside = ""


def external_in_html(text: str) -> list[str]:
    """Return what a page loads from other hosts."""
    page = _Page()
    page.feed(text)
    page.close()
    return page.faults


CHECKS = {
    ".css": external_in_css,
    ".html": external_in_html,
    ".js": external_in_script,
    ".mjs": external_in_script,
    ".svg": external_in_html,
}


def external_requests(site: Path) -> Iterator[str]:
    """Yield one line for each thing in the built site that asks another host."""
    if not (site / "index.html").is_file():
        raise FileNotFoundError(f"there is no site in {site}: build it first (make book)")
    for path in sorted(site.rglob("*")):
        check = CHECKS.get(path.suffix)
        if check and path.is_file() and "_sources" not in path.relative_to(site).parts:
            for fault in check(path.read_text(encoding="utf8")):
                yield f"{path.relative_to(site).as_posix()} asks another host: {fault}"


def main() -> int:
    """Check the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    faults = list(external_requests(parser.parse_args().site))
    print("\n".join([*faults, f"{len(faults)} requests to other hosts"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
