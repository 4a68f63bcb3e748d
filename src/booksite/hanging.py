"""Lines of code that do not fit go on below themselves, further in than they began.

On the pages of source files and of the reference nothing scrolls, so long lines wrap. Each line
becomes a box that knows its indentation, and the style sheet hangs what goes on in it.
"""

import re
from typing import Any

from sphinx.application import Sphinx

from bookformat.paths import EXPLAINED

REFERENCE = "chapters/api"
NUMBERED = re.compile(r'(<span id="line-\d+")(><span class="linenos">[^<]*</span>)( +)')
BLOCK = r'(<div class="highlight-{}\b[^>]*><div class="highlight"><pre[^>]*>)(.*?)(</pre>)'
EXAMPLES = re.compile(BLOCK.format("pycon"), re.DOTALL)
SIGNATURES = re.compile(BLOCK.format("python"), re.DOTALL)
TAGS = re.compile(r"<[^>]*>")


def indent(width: int) -> str:
    """The attribute that says how far a line is indented; none where it is not."""
    return f' style="--indent: {width}ch"' if width else ""


def numbered(found: re.Match[str]) -> str:
    """The beginning of a line that has a number, with its indentation."""
    return f"{found[1]}{indent(len(found[3]))}{found[2]}{found[3]}"


def width_of(line: str) -> int:
    """How many spaces a line of HTML begins with."""
    text = TAGS.sub("", line)
    return len(text) - len(text.lstrip(" "))


def in_boxes(found: re.Match[str]) -> str:
    """A listing with a box for each of its lines."""
    lines = found[2].removesuffix("\n").split("\n")
    boxes = [f'<span class="line"{indent(width_of(one))}>{one}\n</span>' for one in lines]
    return f"{found[1]}{''.join(boxes)}{found[3]}"


def hang_lines(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Rewrite the listings of a page that has such lines."""
    if page.startswith(EXPLAINED):
        context["body"] = EXAMPLES.sub(in_boxes, NUMBERED.sub(numbered, context["body"]))
    elif page.startswith(REFERENCE):
        context["body"] = SIGNATURES.sub(in_boxes, context["body"])


def setup(app: Sphinx) -> None:
    """Connect the function."""
    app.connect("html-page-context", hang_lines)
