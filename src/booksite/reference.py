"""The reference of the library.

A page with the directive ``{api}`` describes the modules that it names; where it names none, it is
an index of all names, and a strict build finds a name that no page describes. griffe reads the
source files and imports nothing, so a build needs no PyTorch. Every name is an object of Sphinx's
Python domain, so that the search finds it; Sphinx's own extension `viewcode` shows the sources.
"""

import ast
import functools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from sphinx.application import Sphinx
from sphinx.ext.viewcode import OUTPUT_DIRNAME
from sphinx.pycode import ModuleAnalyzer

from bookformat.paths import SOURCES
from booksite.again import writes_all
from booksite.reader import is_newer

PACKAGE = "attention_to_rope"
# So many characters of code fit into a line of a page.
WIDTH = 66
DIRECTIVE = re.compile(r"```\{api\}\n((?:\w[\w. ]*\n)?)```")
# What only tools read
NOTE = re.compile("  # (type|pragma): .*")
# Markdown would read `>>>` as three quotations.
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
# A docstring names an equation of the book by its label, in the marks of code.
EQUATION = re.compile(r"(?<!\})`(eq-[\w-]+)`")
# A docstring writes d_k, θ_i, W^Q, 2^k and shapes such as (N, h · d_k) as people do, which a page
# sets as mathematics. Code, formulas, links and longer names stay as they are.
SET_ALREADY = r"(?s:```.*?```)|`[^`]*`|\$[^$]*\$|\[[^\]]*\]\([^)]*\)"
TERM = r"−?\d*(?:[A-Za-zα-ω](?:_\w{1,3})?|(?<=\d))"
PART = rf"(?:…|{TERM}(?: ?[-+−·*/] ?(?:{TERM}|\d+))*|\d+)"
SYMBOL = re.compile(
    rf"{SET_ALREADY}|(?<!\w)(?P<shape>\((?:{PART}, )*{PART}(?:,|, {PART})\))"
    r"|(?<![\w^])(?P<letter>[A-Za-zα-ω]_\w{1,3}|(?:[A-Za-zα-ω]|\d+)\^−?\w{1,3})(?![\w^(])"
)
SMALL = re.compile(r"([_^])(−?\w+)")
SIGNS = str.maketrans({"·": r"\cdot ", "*": r"\cdot ", "−": "-", "…": r"\ldots"})


@functools.cache
def library() -> Any:
    """The package as its source files say it."""
    return griffe.load(PACKAGE, search_paths=[SOURCES], allow_inspection=False)


def modules() -> list[Any]:
    """The modules for readers, by name."""
    found = []
    waiting = [library()]
    while waiting:
        inner = [one for one in waiting.pop().modules.values() if not one.is_alias]
        waiting += inner
        found += [module for module in inner if not module.is_init_module]
    return sorted(found, key=short)


def entries(module: Any) -> list[Any]:
    """What the package exports of a module; of one that it does not name, all that is public."""
    own = [
        one
        for name, one in sorted(module.members.items())
        if not one.is_alias
        and (one.is_function or one.is_class)
        and name[0] != "_"
        # A kernel for a GPU exists only where Triton does, and nobody calls it.
        and not (one.is_function and any("triton" in str(by.value) for by in one.decorators))
    ]
    names = {name for name, one in library().members.items() if one.is_alias}
    exported = [one for one in own if one.name in names]
    return exported or [one for one in own if one.name != "main" and one.docstring]


def short(module: Any) -> str:
    """The name of a module inside the package."""
    return str(module.path.removeprefix(f"{PACKAGE}."))


def index_markdown() -> str:
    """Every name as a link, by module, as MyST text."""
    parts = ["## All names", ""]
    for module in modules():
        names = [f"{{py:obj}}`{one.name} <{one.path}>`" for one in entries(module)]
        parts += [f"**{short(module)}**: {module.docstring.lines[0]}\\\n{' · '.join(names)}", ""]
    return "\n".join(parts)


def modules_markdown(chosen: list[Any]) -> str:
    """Modules with their entries, as MyST text."""
    parts: list[str] = []
    for module in filter(entries, chosen):
        parts += [f"## {short(module)}", "", module.docstring.lines[0], ""]
        parts += [f"```{{py:currentmodule}} {module.path}\n```"]
        parts += [line for one in entries(module) for line in described(one, "`````")]
    return "\n".join(parts)


def described(one: Any, fence: str) -> Iterator[str]:
    """A name with how to call it, its docstring and its methods."""
    kind = "class" if one.is_class else "method" if one.parent.is_class else "function"
    yield f"\n{fence}{{py:{kind}}} {one.name}"
    yield f"```python\n{header(one)}\n```\n"
    yield markdown_of(one.docstring.value)
    for method in one.functions.values() if one.is_class else ():
        if method.is_public and not method.is_special and method.docstring:
            yield from described(method, "````")
    yield f"{fence}\n"


def markdown_of(docstring: str) -> str:
    """A docstring as MyST text: examples are fenced, labels of equations are links."""
    text = EXAMPLE.sub(r"```pycon\n\g<0>\n```", docstring)
    return SYMBOL.sub(with_mathematics, EQUATION.sub(r"equation {eq}`\1`", text))


def with_mathematics(found: re.Match[str]) -> str:
    """A letter with an index or a power, or a shape, as a formula; what is set already as it is."""
    said = found["letter"] or found["shape"]
    if not said or not re.search("[A-Za-zα-ω]|\\^", said):
        return found[0]
    return f"${SMALL.sub(small, said).translate(SIGNS)}$"


def small(found: re.Match[str]) -> str:
    """An index or a power; an index that is a word is upright."""
    mark, said = found.groups()
    word = mark == "_" and len(said) > 1 and said.isalpha()
    return f"{mark}\\text{{{said}}}" if word else f"{mark}{{{said}}}"


def header(one: Any) -> str:
    """How to call it, as its file writes it up to the body; of a class also its start or fields."""
    text = textwrap.dedent(one.source)
    (node,) = ast.parse(text).body
    shown: list[Any] = [node]
    if isinstance(node, ast.ClassDef):
        starts = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        shown += starts or [n for n in node.body if isinstance(n, ast.AnnAssign)]
    lines: list[str] = []
    for part in shown:
        end = part.body[0].lineno - 1 if hasattr(part, "body") else part.end_lineno
        written = NOTE.sub("", text).splitlines()[part.lineno - 1 : max(end, part.lineno)]
        # Our formatter writes parameters one by one where they do not fit on one line of a file.
        together = isinstance(part, ast.FunctionDef) and len(written) <= 3
        wide = len(written) == 3 or max(map(len, written)) > WIDTH
        lines += one_per_line(written) if together and wide else written
    return "\n".join(lines).rstrip()


def one_per_line(written: list[str]) -> Iterator[str]:
    """The head of a function with each parameter on a line of its own."""
    margin = re.match(" *", written[0])[0]  # type: ignore[index]
    start, _, rest = " ".join(map(str.strip, written)).partition("(")
    yield f"{margin}{start}("
    depth = 1
    parameter = ""
    for place, sign in enumerate(rest):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 or (depth == 1 and sign == ","):
            if parameter.strip():
                yield f"{margin}    {parameter.strip()},"
            parameter = ""
        else:
            parameter += sign
        if depth == 0:
            yield f"{margin}{rest[place:]}"
            return


def write_reference(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Replace the directive by the reference, before the page is read."""
    if found := DIRECTIVE.search(source[0]):
        known = {short(module): module for module in modules()}
        here = [known[name] for name in found[1].split()]
        for module in here or known.values():
            app.env.note_dependency(str(module.filepath))  # read it again when this file changes
        source[0] = source[0].replace(found[0], modules_markdown(here) or index_markdown())


@functools.cache
def source_of(_app: Sphinx, module: str) -> tuple[str, dict[str, Any]] | None:
    """The text of a module for `viewcode`, which would import it to find its file."""
    known = next((one for one in modules() if one.path == module), None)
    if known is None:
        return None
    text = known.filepath.read_text(encoding="utf-8")
    return text, ModuleAnalyzer.for_string(text, module).find_tags()


def keep_sources(app: Sphinx) -> list[Any]:
    """Let `viewcode` leave the pages of source files that have not changed as they are.

    It looks for this only where it finds the files itself, by an import. An entry that is False has
    no page to be written, and stays in the list of modules. The stored environment still has them,
    because it was stored before.
    """
    entries: dict[str, Any] = getattr(app.env, "_viewcode_modules", {})
    if not writes_all(app):
        for module in modules():
            page = Path(app.outdir, OUTPUT_DIRNAME, *module.path.split(".")).with_suffix(".html")
            if module.path in entries and is_newer(page, module.filepath):
                entries[module.path] = False
    return []


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.setup_extension("sphinx.ext.viewcode")
    app.config.viewcode_follow_imported_members = False  # it would import them
    app.connect("viewcode-find-source", source_of)
    app.connect("source-read", write_reference)
    app.connect("html-collect-pages", keep_sources, priority=100)  # before viewcode's own
    app.add_css_file("api.css")
