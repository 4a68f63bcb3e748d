"""The texts in a script of the site: what interactive figures and pages with scripts say.

A reader sees what a script tags with `phrase`, which the Chinese site replaces, and other texts:
units, ticks of an axis, names of models, a formula with its numbers (`n − m = ${n - m}`). So each
text of an interactive figure counts, a template with what it computes, unless its place says that
it is for the program: beside ===, an index, a key, a value of an attribute such as `class`, the
name of an element, of an event or of a colour. Other scripts are full of words in lower case that
are keys, those of configurations above all; of these, only what is tagged counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pygments.lexers import JavascriptLexer
from pygments.token import Comment, String

# A text of this form may be a name for the program: a key, a selector, an attribute.
NAME = re.compile(r"[a-z_\d.#:/%\[\]=-]*|currentColor")
# What stands between texts, and the path of a drawing.
NO_WORDS = re.compile(r"[\s,;:/|._()-]*|M(?:\$\{.*?\}|[MLHVhvlZ\d\s.-])+")
STRICT = "use strict"
INTERPOLATION = "${"
# Functions and methods whose first text is for the program.
FUNCTION_NAMES = """
    bar box colour define element handle paint tag toggle worded
    addEventListener closest createElement createElementNS endsWith get getAttribute getElementById
    getPropertyValue has hasAttribute import includes join matches normalize querySelector
    querySelectorAll removeAttribute removeEventListener replace replaceAll set setAttribute
    setProperty side split startsWith take toLocaleString URL
"""
# Keys and attributes whose texts are for the program.
ATTRIBUTE_NAMES = """
    ariaHidden aria-hidden aria-live aria-pressed class className cssText fill kind log mask mode
    name prompt role rootMargin stroke stroke-dasharray stroke-linecap style text-anchor touchAction
    type value viewBox way
"""
FUNCTIONS = frozenset(FUNCTION_NAMES.split())
ATTRIBUTES = frozenset(ATTRIBUTE_NAMES.split())
COMPARISONS = frozenset({"===", "!==", "==", "case", "in"})
TAG = "phrase"


class Part(NamedTuple):
    """A token of a script, or a whole text of it without its quotes."""

    is_text: bool
    content: str


def texts_of_script(code: str, is_figure: bool) -> Iterator[str]:
    """The texts of a script that a reader may see, in their order."""
    parts = [Part(False, ""), Part(False, ""), *parts_of(code), Part(False, "")]
    for index in range(2, len(parts) - 1):
        part = parts[index]
        if not part.is_text or part.content == STRICT or NO_WORDS.fullmatch(part.content):
            continue
        if parts[index - 1].content == TAG:
            yield part.content
        elif is_figure or not NAME.fullmatch(part.content):
            word = parts[index - 2].content
            before = parts[index - 1].content
            behind = parts[index + 1].content
            if not for_program(part.content, word=word, before=before, behind=behind):
                yield part.content


def for_program(text: str, word: str, before: str, behind: str) -> bool:
    """Whether a text's place says that no reader sees it: two parts before it, one behind it."""
    if before in COMPARISONS or behind in COMPARISONS:
        return True
    if before in ("{", ",") and behind == ":":
        return NAME.fullmatch(text) is not None  # a key; names of models are keys and texts
    if before == "[" and behind == "]":
        return re.fullmatch(r"[\w)\]]+", word) is not None  # an index
    if before == "(":
        return word in FUNCTIONS
    return before in (":", "=") and word in ATTRIBUTES


def parts_of(code: str) -> Iterator[Part]:
    """The tokens of a script without its comments, each template as one text."""
    template = ""
    open_parts: list[str] = []  # ` of the template and of those in it, ${ of what they compute
    for kind, token in JavascriptLexer().get_tokens(code):
        if token == "`" and kind in String.Backtick:
            template += token
            if open_parts and open_parts[-1] == "`":
                open_parts.pop()
            else:
                open_parts.append("`")
            if not open_parts:
                yield Part(True, template[1:-1])
                template = ""
        elif open_parts:
            template += token
            if kind in String.Interpol and token == INTERPOLATION:
                open_parts.append(token)
            elif kind in String.Interpol and open_parts[-1] == INTERPOLATION:
                open_parts.pop()
        elif kind in String.Regex:
            yield Part(False, token)
        elif kind in String:
            yield Part(True, token[1:-1])
        elif kind not in Comment and not token.isspace():
            yield Part(False, token)
