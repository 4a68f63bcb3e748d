"""What a stored chapter must look like, read from the file alone; nbval runs it.

`problems(path)` lists what is wrong, each with the file, the cell and what to do.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bookcheck.notebooks.outputs import RELATIVE
from bookformat.notebooks import cell_places, read, repeat_command, stored_form

LARGEST_FILE = 1_000_000
LARGEST_TOLERANCE = 0.05
# A screen of 1280 pixels shows so many letters of a listing; a longer line has to be scrolled.
LONGEST_LINE = 92

_MACHINE_PATH = re.compile(
    r"(?<![\w:/.])(?:/(?:home|root|tmp|work|Users|opt|mnt|private)/|[A-Z]:\\)\S+"
)
_ADDRESS = re.compile(r"https?://(?!www\.w3\.org/)[^\s\"'<>)\]]+")
# In prose a link is fine; something that the page would load is not.
_LOADED = re.compile(
    r"!\[[^\]]*\]\(\s*https?://[^)\s]+"
    r"|<(?:img|script|iframe|link|video|audio|source|embed|object)\b[^>]*https?://[^>\s]+"
    r"|url\(\s*['\"]?https?://[^)\s]+|@import\s+['\"]?https?://\S+",
    re.IGNORECASE,
)
# Programs that do not know the directive show such a block as code; between colons it stays text.
_PROSE_AS_CODE = re.compile(r"^`{3,}\{(?!code|math)[\w:-]+\}", re.MULTILINE)
_FORBIDDEN = {
    "prose": {
        _PROSE_AS_CODE: "hides prose in a block of code; open and close it with colons",
        _LOADED: "is loaded from another host; store a copy",
        _MACHINE_PATH: "is a path of one machine; leave it out",
    },
    "code": {
        _ADDRESS: "is on another host; store what the code needs in the repository",
        _MACHINE_PATH: "is a path of one machine; leave it out",
    },
    "output": {
        _ADDRESS: "is on another host; do not print it",
        _MACHINE_PATH: "is a path of one machine; do not print it",
        re.compile(r"<(?:style|script)\b"): "would act on the whole page; use bookkit's show",
    },
}


def tolerance(cell: Any) -> float:
    """The relative tolerance for numbers in a cell's outputs; cells that train may widen it."""
    return float(cell.metadata.get("bookcheck", {}).get("tolerance", RELATIVE))


def problems(path: Path) -> list[str]:
    """Everything wrong with the stored notebook."""
    notebook, run = read(path), repeat_command(path)
    found, count = [], 0
    if path.stat().st_size > LARGEST_FILE:
        found.append(f"has more than {LARGEST_FILE:,} bytes; draw fewer points")
    places = cell_places(cell.cell_type for cell in notebook.cells)
    for place, cell in zip(places, notebook.cells, strict=True):
        if cell.cell_type == "code":
            count += 1
            messages = [*_code(cell), *_outputs(cell)]
            if cell.execution_count != count:
                messages.append(f"was not executed in order; run: {run}")
        elif cell.cell_type == "markdown":
            messages = [*_forbidden("prose", cell.source)]
        else:
            messages = [f"is a {cell.cell_type} cell; use markdown or code"]
        found += [f"{place}: {message}" for message in messages]
    if not found and path.read_text(encoding="utf-8") != stored_form(notebook):
        found.append(f"is not in stored form; run: {run}")
    return [f"{path.name}, {message}" for message in found]


def _forbidden(kind: str, text: str) -> Iterator[str]:
    for pattern, advice in _FORBIDDEN[kind].items():
        yield from (f"{match.group()!r} {advice}" for match in pattern.finditer(text))


def _code(cell: Any) -> Iterator[str]:
    if not 0 < tolerance(cell) <= LARGEST_TOLERANCE:
        yield f"asks for tolerance {tolerance(cell)}; at most {LARGEST_TOLERANCE}"
    if not cell.source.strip():
        yield "is empty; delete it"
    if "hide-input" not in cell.metadata.get("tags", []):
        for line in cell.source.splitlines():
            if len(line) > LONGEST_LINE:
                yield (
                    f"shows a line of {len(line)} letters, and a screen {LONGEST_LINE}; "
                    f"divide it or give a part a name: {line.strip()}"
                )
    yield from _forbidden("code", cell.source)


def _outputs(cell: Any) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"stored an error: {output.ename}: {output.evalue}; correct the code"
        if output.get("name") == "stderr":
            yield f"wrote to stderr: {output.text[:80]!r}; correct what it warns of"
        for kind, data in {"text": output.get("text", ""), **output.get("data", {})}.items():
            yield from _forbidden("output", str(data))
            label = re.search(r'<svg\b[^>]*\baria-label="([^"]+)"', str(data))
            if kind.startswith("image/") and len(label.group(1).split() if label else ()) < 5:
                yield f"{kind} without an alt text that tells what it shows; use show(…, alt=…)"
