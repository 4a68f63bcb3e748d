"""Code as the page shows it: few colours, and few elements.

Pygments puts every name, comma and sign into an element of its own. Three of four say nothing: they
have the colour of plain text, or should have. What stays is what helps to read (words of the
language, texts, numbers, comments, names that are defined) and the names of the book's roles.
"""

import re

from bookcheck.site.roles import CLASSES

# Names, punctuation, signs, spaces.
PLAIN = {"n", "p", "o", "w", "nn", "bp"}
CODE = re.compile(r"(<pre\b[^>]*>)(.*?)(</pre>)", re.DOTALL)
SPAN = re.compile(r'<span class="(\w+)">([^<]*)</span>')


def lighter_span(found: re.Match[str]) -> str:
    """An element of highlighted code, or its text alone."""
    kind, text = found[1], found[2]
    role = CLASSES.get(text)
    if kind == "n" and role:
        return f'<span class="{role}">{text}</span>'
    return text if kind in PLAIN else found[0]


def lighter_code(page: str) -> str:
    """A page whose code has elements only where they say something."""

    def lighter(block: re.Match[str]) -> str:
        inside = block[2].replace("<span></span>", "")
        return block[1] + SPAN.sub(lighter_span, inside) + block[3]

    return CODE.sub(lighter, page)
