"""Links of a built site: inside it every address and anchor exists; outside it, advice.

`python -m bookcheck.gates.links _build/html` asks the other hosts whether their pages still exist.
It is no part of the tests: a page of somebody else may be away for an hour.
"""

import argparse
import html
import posixpath
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESS = re.compile(r"""\s(?:xlink:)?(?:href|src)=(?:"([^"]*)"|'([^']*)')""")
LINK = re.compile(r"""<a\b[^>]*?\shref=(?:"([^"]*)"|'([^']*)')""")
ANCHOR = re.compile(r"""\s(?:id|name)=(?:"([^"]*)"|'([^']*)')""")
CONTENT_ROOT = re.compile(r'data-content_root="(/[^"]*)"')
INVISIBLE = re.compile(r"<script\b.*?</script>|<!--.*?-->", re.DOTALL)
SECONDS_TO_ANSWER = 20
REQUESTS_AT_ONCE = 8
GONE = (404, 410)


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
    texts = {path.relative_to(site).as_posix(): path.read_text("utf8") for path in page_files(site)}
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


def external_links(site: Path) -> dict[str, list[str]]:
    """Return the addresses outside the site that readers may follow, each with its pages."""
    found: dict[str, list[str]] = {}
    for path in page_files(site):
        page = path.relative_to(site).as_posix()
        for address in dict.fromkeys(_found(LINK, INVISIBLE.sub("", path.read_text("utf8")))):
            if urlsplit(address).scheme in ("http", "https"):
                found.setdefault(address.partition("#")[0], []).append(page)
    return found


def ask(address: str) -> int | str:
    """Return the status that a host answers with, or in words why there is no answer."""
    status: int | str = ""
    for method in ("HEAD", "GET"):  # some hosts refuse HEAD
        request = urllib.request.Request(
            address, method=method, headers={"User-Agent": "Mozilla/5.0 (link check of a book)"}
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS_TO_ANSWER) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            status = error.code
        except (OSError, ValueError) as error:
            return f"no answer ({getattr(error, 'reason', error)})"
    return status


def ask_all(addresses: Iterable[str]) -> dict[str, int | str]:
    """Ask the hosts, some at a time."""
    addresses = list(addresses)
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        return dict(zip(addresses, pool.map(ask, addresses), strict=True))


def advice(answers: Mapping[str, int | str], pages: Mapping[str, list[str]]) -> tuple[str, int]:
    """Return what to tell, and how many links are dead for certain."""
    hosts = len({urlsplit(address).netloc for address in answers})
    if not answers:
        return "The site has no link to another host.", 0
    if all(isinstance(answer, str) for answer in answers.values()):
        return (
            f"None of the {hosts} hosts answered: this machine seems to have no internet. "
            f"The {len(answers)} links to them were not checked; "
            "run `make links` where there is a connection.",
            0,
        )
    lines, dead = [], 0
    for address, answer in answers.items():
        if isinstance(answer, int) and answer < 400:
            continue
        gone = answer in GONE
        dead += gone
        word = "dead" if gone else "unsure"
        lines.append(f"{word}: {address} ({answer}), on {', '.join(pages[address])}")
    lines.sort()
    lines.append(
        f"{len(answers)} links to {hosts} hosts: {dead} dead, {len(lines) - dead} unsure "
        "(look at those by hand: some hosts answer browsers only)"
    )
    return "\n".join(lines), dead


def main() -> int:
    """Ask about the links of the site named on the command line; end with 1 if one is dead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    pages = external_links(parser.parse_args().site)
    words, dead = advice(ask_all(pages), pages)
    print(words)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
