"""The reference of the library: made from its source files.

A page that holds the directive ``{api}`` alone on two lines becomes the reference. Every name is an
object of Sphinx's Python domain, so that the search finds it; Sphinx's own extension `viewcode`
shows the sources.
"""

import ast
import functools
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

from bookcheck.site.library import PACKAGE, Definition, Entry, library

PLACEHOLDER = "```{api}\n```"


def docstring_as_markdown(text: str) -> str:
    """The docstring with its examples fenced: Markdown reads `>>>` as three quotations."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>>") and not inside:
            lines += ["```pycon"]
            inside = True
        elif inside and not line.strip():
            lines += ["```"]
            inside = False
        lines.append(line)
    return "\n".join([*lines, *(["```"] if inside else [])])


def reference_markdown() -> str:
    """The page as MyST text: an index of names by module, then every module with its entries."""
    entries = list(library().entries())
    modules = {name: [e for e in entries if e.module == name] for name in library().descriptions()}
    parts = ["## All names", ""]
    for module, about in library().descriptions().items():
        names = " · ".join(f"{{py:obj}}`{e.name} <{e.full_name}>`" for e in modules[module])
        parts += [f"**{module}**: {about}\\\n{names}", ""] if names else []
    for module, about in library().descriptions().items():
        parts += [f"## {module}", "", about, ""] if modules[module] else []
        for entry in modules[module]:
            parts += entry_markdown(entry)
    return "\n".join(parts)


def entry_markdown(entry: Entry) -> list[str]:
    """A name with its signature, docstring and methods."""
    kind = "class" if isinstance(entry.node, ast.ClassDef) else "function"
    lines = [
        f"```{{py:currentmodule}} {entry.full_name.rpartition('.')[0]}\n```",
        f"`````{{py:{kind}}} {entry.name}",
        *described(entry.module, entry.node),
    ]
    for method in library().methods(entry.node):
        lines += [
            f"````{{py:method}} {method.name}",
            *described(entry.module, method),
            "````",
            "",
        ]
    return [*lines, "`````", ""]


def described(module: str, node: Definition) -> list[str]:
    """How to call it, one parameter a line where they are many, and its docstring."""
    text = docstring_as_markdown(ast.get_docstring(node) or "")
    return ["```python", library().header(module, node), "```", "", text, ""]


def write_reference(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Put the reference in the place of its directive, before the page is read."""
    if PLACEHOLDER in source[0]:
        source[0] = source[0].replace(PLACEHOLDER, reference_markdown())


@functools.cache
def source_of(_app: Sphinx, module: str) -> tuple[str, dict[str, Any]] | None:
    """The text of a module for `viewcode`, which would import it to find its file."""
    text = library().texts.get(module.removeprefix(f"{PACKAGE}."))
    if text is None:
        return None
    analyzer = ModuleAnalyzer.for_string(text, module)
    return text, analyzer.find_tags()


def defining_module(_app: Sphinx, module: str, name: str) -> str:
    """Where an exported name is defined, for `viewcode`."""
    place = library().find(f"{module}.{name.partition('.')[0]}")
    return f"{PACKAGE}.{place[0]}" if place else module


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.setup_extension("sphinx.ext.viewcode")
    app.connect("viewcode-find-source", source_of)
    app.connect("viewcode-follow-imported", defining_module)
    app.connect("source-read", write_reference)
    app.add_css_file("api.css")
