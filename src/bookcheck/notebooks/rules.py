"""What a stored chapter must look like, read from the file alone (running it is nbval's part).

`problems(path)` lists what is wrong, each with its cell, so that a failing test names the place.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bookcheck.notebooks.files import cell_places, read, stored_form
from bookcheck.notebooks.outputs import RELATIVE

LARGEST_FILE = 1_000_000
LARGEST_TOLERANCE = 0.05

_MACHINE_PATH = re.compile(
    r"(?<![\w:/.])(?:/(?:home|root|tmp|work|Users|opt|mnt|private)/|[A-Z]:\\)\S+"
)
_ADDRESS = re.compile(r"https?://(?!www\.w3\.org/)[^\s\"'<>)\]]+")
# In prose a link is fine; something the page would load is not.
_LOADED = re.compile(
    r"!\[[^\]]*\]\(\s*https?://[^)\s]+"
    r"|<(?:img|script|iframe|link|video|audio|source|embed|object)\b[^>]*https?://[^>\s]+"
    r"|url\(\s*['\"]?https?://[^)\s]+|@import\s+['\"]?https?://\S+",
    re.IGNORECASE,
)
_UNCHECKED_TAGS = {
    "nbval-skip",
    "nbval-ignore-output",
    "raises-exception",
    "nbval-raises-exception",
}
_OWN_HELPERS = {
    "matplotlib": "bookkit.figures",
    "pylab": "bookkit.figures",
    "seaborn": "bookkit.figures",
    "plotly": "bookkit.figures",
    "random": "bookkit.randomness",
    "secrets": "bookkit.randomness",
}
_TORCH_RANDOM = re.compile(
    r"rand\w*|normal|bernoulli|multinomial|poisson|manual_seed|seed|Generator"
)


# Programs that do not know the directive show such a block as code; between colons it stays text.
_PROSE_AS_CODE = re.compile(r"^`{3,}\{(?!code|math)[\w:-]+\}", re.MULTILINE)


class Problem(NamedTuple):
    """One thing wrong with a notebook."""

    path: Path
    cell: str
    message: str

    def __str__(self) -> str:
        place = ", ".join(filter(None, (self.path.name, self.cell)))
        return f"{place}: {self.message}"


def tolerance(cell: Any) -> float:
    """The relative tolerance for numbers in a cell's outputs; cells that train may widen it."""
    return float(cell.metadata.get("bookcheck", {}).get("tolerance", RELATIVE))


def problems(path: Path) -> list[Problem]:
    """Everything wrong with the stored notebook."""
    notebook = read(path)
    found: list[Problem] = []
    size = path.stat().st_size
    if size > LARGEST_FILE:
        found.append(
            Problem(path, "", f"{size:,} bytes, at most {LARGEST_FILE:,}; draw fewer points")
        )
    expected = 0
    places = cell_places(cell.cell_type for cell in notebook.cells)
    for place, cell in zip(places, notebook.cells, strict=True):
        if cell.cell_type == "markdown":
            messages = list(_prose(cell.source))
        elif cell.cell_type == "code":
            expected += 1
            messages = [*_execution(cell, expected), *_code(cell), *_outputs(cell)]
        else:
            messages = [f"is a {cell.cell_type} cell; use markdown or code"]
        found += [Problem(path, place, message) for message in messages]
    if not found and path.read_text(encoding="utf-8") != stored_form(notebook):
        name = f"deeper/{path.stem}" if path.parent.name == "deeper" else path.stem
        found.append(Problem(path, "", f"is not in stored form; run: make notebooks NB={name}"))
    return found


def _prose(source: str) -> Iterator[str]:
    for match in _PROSE_AS_CODE.finditer(source):
        yield f"hides prose in a block of code: {match.group()!r}; open and close it with colons"
    for match in _LOADED.finditer(source):
        yield f"the page would load {match.group()!r} from another host"
    for match in _MACHINE_PATH.finditer(source):
        yield f"names a path of one machine: {match.group()!r}"


def _execution(cell: Any, expected: int) -> Iterator[str]:
    if not cell.source.strip():
        yield "is empty"
    elif cell.execution_count is None:
        yield "was never executed, so its output is not compared; run: make notebooks"
    elif cell.execution_count != expected:
        yield (
            f"was executed as number {cell.execution_count}, in order it is {expected}; "
            "run: make notebooks"
        )


def _code(cell: Any) -> Iterator[str]:
    tags = _UNCHECKED_TAGS & set(cell.metadata.get("tags", []))
    if tags or re.search(r"#\s*(?:NBVAL|PYTEST_VALIDATE)_\w+", cell.source):
        yield f"switches its own check off ({', '.join(sorted(tags)) or 'a comment'})"
    if not 0 < tolerance(cell) <= LARGEST_TOLERANCE:
        yield f"asks for tolerance {tolerance(cell)}; at most {LARGEST_TOLERANCE}"
    for match in _ADDRESS.finditer(cell.source):
        yield f"code names another host: {match.group()!r}"
    for match in _MACHINE_PATH.finditer(cell.source):
        yield f"names a path of one machine: {match.group()!r}"
    try:
        tree = ast.parse(cell.source)
    except SyntaxError as error:
        yield f"is not plain Python ({error.msg}, line {error.lineno}); magics are not allowed"
        return
    yield from _foreign_helpers(tree)


def _foreign_helpers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            else:
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            for module in modules:
                own = _OWN_HELPERS.get(module.split(".")[0])
                if own:
                    yield f"imports {module}; use {own}"
                elif module.startswith(("numpy.random", "torch.random")):
                    yield f"imports {module}; use bookkit.randomness"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            if (owner in ("np", "numpy") and name == "random") or (
                owner == "torch" and _TORCH_RANDOM.fullmatch(name)
            ):
                yield f"uses {owner}.{name}; use bookkit.randomness"


def _outputs(cell: Any) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"stored an error: {output.ename}: {output.evalue}"
            continue
        if output.output_type == "stream":
            if output.name == "stderr":
                yield f"wrote to stderr: {output.text[:80]!r}"
            yield from _payload(output.text)
            continue
        for kind, payload in output.data.items():
            text = payload if isinstance(payload, str) else str(payload)
            if kind.startswith("image/"):
                yield from _picture(kind, text, cell)
            if not kind.startswith("image/p"):
                yield from _payload(text)


def _picture(kind: str, text: str, cell: Any) -> Iterator[str]:
    label = re.search(r'<svg\b[^>]*\baria-label="([^"]+)"', text)
    stored = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    alt = label.group(1) if label else stored
    if len(alt.split()) < 5:
        yield f"{kind} without an alt text that tells what it shows; use show(figure, alt=...)"


def _payload(text: str) -> Iterator[str]:
    for match in _ADDRESS.finditer(text):
        yield f"output names another host: {match.group()!r}"
    for match in _MACHINE_PATH.finditer(text):
        yield f"output names a path of one machine: {match.group()!r}"
