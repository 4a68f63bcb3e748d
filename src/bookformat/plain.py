"""A notebook as plain text, for `git diff`: sources and printed outputs, one line for a drawing.

A changed number moves the curves of a drawing, which is a hundred lines of SVG. Here it is its
description with a checksum, so that a diff says that it changed. CONTRIBUTING.md says how to let
git use this.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bookformat.notebooks import read

SVG = "image/svg+xml"
DESCRIPTION = re.compile(r'aria-label="([^"]*)"')


def output_lines(output: Any) -> Iterator[str]:
    """What a cell printed or showed."""
    data = output.get("data", {})
    if SVG in data:
        found = DESCRIPTION.search(data[SVG])
        checksum = hashlib.sha256(data[SVG].encode()).hexdigest()[:8]
        yield f"[drawing {checksum}: {found[1] if found else 'without a description'}]"
        return
    text = output.get("text") or data.get("text/html") or data.get("text/plain") or ""
    # A table is stored as one line; a row a line is easier to compare.
    yield from text.replace("</tr>", "</tr>\n").splitlines()


def plain_lines(notebook: Any) -> Iterator[str]:
    """The cells in order, each below a line that says what it is."""
    for cell in notebook.cells:
        yield f"%% {cell.cell_type} {cell.metadata or ''}".rstrip()
        yield from cell.source.splitlines()
        for output in cell.get("outputs", ()):
            yield f"%% output {output.output_type}"
            yield from output_lines(output)
        yield ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(plain_lines(read(Path(sys.argv[1])))) + "\n")
