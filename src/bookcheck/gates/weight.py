"""How heavy a page is, uncompressed: its text before figures, and everything it loads."""

import re

# A text with many formulas stays below the first; no page, with all it loads, is above the second.
LARGEST_TEXT = 1_000_000
LARGEST_PAGE = 3_000_000

FIGURE = re.compile(r'<svg class="book-(?:figure|panel)\b.*?</svg>', re.DOTALL)
DRAWN_IMAGE = re.compile(r'"data:image/[^"]*"')


def text_weight(html: str) -> int:
    """Return the bytes of a page's HTML without its figures."""
    return len(DRAWN_IMAGE.sub('""', FIGURE.sub("", html)).encode())


def too_heavy(html: str, loaded: int) -> list[str]:
    """Return what is too heavy in a page that loads `loaded` bytes, itself included."""
    faults = []
    text = text_weight(html)
    if text > LARGEST_TEXT:
        faults.append(f"the text without figures has {text:,} bytes, at most {LARGEST_TEXT:,}")
    if loaded > LARGEST_PAGE:
        faults.append(f"the page loads {loaded:,} bytes, at most {LARGEST_PAGE:,}")
    return faults
