"""How heavy a page is as a host sends it, compressed: its text before figures, and all it loads."""

import gzip
import re

# A text with many formulas stays below the first; no page, figures included, is above the second.
LARGEST_TEXT = 100_000
LARGEST_PAGE = 200_000
# Everything a page makes the browser load, fonts and scripts included, uncompressed.
LARGEST_LOAD = 3_000_000

# Elements of a page of the main line: each costs a slow phone time before it can be read.
LARGEST_TREE = 15_000
MAIN_LINE = re.compile(r"chapters/\d\d-[^/]*\.html")
ELEMENT = re.compile(r"<[a-zA-Z]")

FIGURE = re.compile(r'<svg class="book-(?:figure|panel)\b.*?</svg>', re.DOTALL)
DRAWN_IMAGE = re.compile(r'"data:image/[^"]*"')


def compressed(html: str) -> int:
    """Return the bytes of a text as a host sends it."""
    return len(gzip.compress(html.encode(), compresslevel=6, mtime=0))


def text_weight(html: str) -> int:
    """Return the compressed bytes of a page's HTML without its figures."""
    return compressed(DRAWN_IMAGE.sub('""', FIGURE.sub("", html)))


def too_heavy(html: str, loaded: int) -> list[str]:
    """Return what is too heavy in a page that loads `loaded` bytes, itself included."""
    faults = []
    text, page = text_weight(html), compressed(html)
    if text > LARGEST_TEXT:
        faults.append(f"the text without figures has {text:,} bytes, at most {LARGEST_TEXT:,}")
    if page > LARGEST_PAGE:
        faults.append(f"the page has {page:,} bytes, at most {LARGEST_PAGE:,}")
    if loaded > LARGEST_LOAD:
        faults.append(f"the page loads {loaded:,} bytes, at most {LARGEST_LOAD:,}")
    return faults


def too_many_elements(page: str, html: str) -> list[str]:
    """Return whether a page of the main line has too many elements."""
    count = len(ELEMENT.findall(html))
    if not MAIN_LINE.fullmatch(page) or count <= LARGEST_TREE:
        return []
    return [f"the page has {count:,} elements, at most {LARGEST_TREE:,}"]
