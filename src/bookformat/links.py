"""Where the links of pages lead: pages, sections, terms, equations and sources that must exist.

The site's build finds the same, after minutes; here an author sees it at once, also where a heading
that other pages lead to has another name.
"""

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from docutils import nodes
from myst_parser.mdit_to_docutils.base import default_slugify

from bookformat.contents import book_pages
from bookformat.formulas import collect
from bookformat.myst import tokens_of
from bookformat.notebooks import cells_of, page_text
from bookformat.paths import CHAPTERS

# What [words](target) leads to, inside the book.
LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\((?!https?:|mailto:)([^()\s]+)\)")
ROLE = re.compile(r"\{(eq|term|cite:[tp])\}`([^`]+)`")
KINDS = {"eq": "equation", "term": "term", "cite": "source"}
# {term}`several heads <head>` shows other words than it names.
NAMED = re.compile(r".*<([^<>]+)>", re.DOTALL)
# Names that a page gives to a place by itself: (name)= above it, {#name} behind it, or an option of
# a directive. They are names in the whole book: a link to them can leave out the page.
GIVEN_NAME = re.compile(
    r"^\((?P<above>[\w-]+)\)=$|\{#(?P<behind>[\w-]+)\}|^:(?:label|name): *(?P<option>[\w-]+)$",
    re.MULTILINE,
)
# An entry of the glossary may have several names, one a line.
TERM = re.compile(r"^(\S.*)\n(?=(?:\S.*\n)*  \S)", re.MULTILINE)
SOURCE = re.compile(r"^@\w+\{([^,\s]+),", re.MULTILINE)


def headings_of(page: Path) -> Iterator[str]:
    """The headings of a page, as they are written."""
    # Cell by cell, as the formulas are read: each text is parsed once.
    for cell in cells_of(page):
        tokens = tokens_of(cell.source) if cell.kind == "markdown" else ()
        for mark, words in itertools.pairwise(tokens):
            if mark.type == "heading_open":
                yield words.content


def title_of(heading: str) -> str:
    """The words of a heading, as its name in links is made from them."""
    (token,) = (one for one in tokens_of(heading) if one.type == "inline")
    parts = token.children or ()
    return "".join(part.content for part in parts if part.type in ("text", "code_inline"))


def anchor_of(heading: str) -> str:
    """The name that Sphinx gives to the section of a heading, from its words and formulas."""
    (token,) = (one for one in tokens_of(heading) if one.type == "inline")
    kinds = ("text", "code_inline", "math_inline")
    words = "".join(part.content for part in token.children or () if part.type in kinds)
    return str(nodes.make_id(nodes.fully_normalize_name(words)))


def given_names(page: Path) -> set[str]:
    """The names that a page gives to places by itself."""
    found = GIVEN_NAME.finditer(page_text(page))
    return {one["above"] or one["behind"] or one["option"] for one in found}


def names_of(page: Path) -> set[str]:
    """The names of all places of a page that a link can lead to."""
    found = given_names(page)
    slugs: Counter[str] = Counter()
    for heading in headings_of(page):
        slug = default_slugify(title_of(heading))
        # The second heading with the same words ends in -1.
        found.add(f"{slug}-{slugs[slug]}" if slugs[slug] else slug)
        slugs[slug] += 1
    return found


def like(name: str, names: Iterable[str]) -> str:
    """The nearest names that there are, for a message."""
    near = difflib.get_close_matches(name, sorted(names), cutoff=0.5)
    return f"; there is {', '.join(near)}" if near else ""


def broken_links(folder: Path = CHAPTERS) -> list[str]:
    """The links of all pages of a folder that lead to nothing, each with what is near it."""
    # The opening page is beside the chapters.
    pages = [folder.parent / "index.md", *book_pages(folder)]
    names = {page.resolve(): names_of(page) for page in pages}
    everywhere = {name for page in pages for name in given_names(page)}
    glossary = folder / "glossary.md"
    bibliography = folder / "references.bib"
    known = {
        "equation": {equation.label for equation in collect(folder) if equation.label},
        "term": set(TERM.findall(glossary.read_text(encoding="utf-8"))),
        "source": set(SOURCE.findall(bibliography.read_text(encoding="utf-8"))),
    }
    found = []
    for page in pages:
        for cell in cells_of(page):
            text = cell.source if cell.kind == "markdown" else cell.caption
            file = page.relative_to(folder.parent).as_posix()
            place = f"{file}, {cell.place}" if cell.place else file
            missing = [*broken_in(text, page, names, everywhere), *unknown_in(text, known)]
            found += [f"{place}: {one}" for one in missing]
    return found


def broken_in(
    text: str, page: Path, names: dict[Path, set[str]], everywhere: set[str]
) -> Iterator[str]:
    """The links of a text whose page or section does not exist."""
    for target in LINK.findall(text):
        file, _, section = target.partition("#")
        path = (page.parent / file).resolve() if file else page.resolve()
        if not file and section in everywhere:
            continue
        if path.suffix not in (".ipynb", ".md"):
            continue  # a file to download
        if path not in names:
            files = [one.name for one in names]
            yield f"no page {file}{like(path.name, files)}"
        elif section and section not in names[path]:
            yield f"no section #{section} in {path.name}{like(section, names[path])}"


def unknown_in(text: str, known: dict[str, set[str]]) -> Iterator[str]:
    """The equations, terms and sources that a text names and that do not exist."""
    for role, content in ROLE.findall(text):
        kind = KINDS[role.partition(":")[0]]
        named = NAMED.match(content)
        words = " ".join((named[1] if named else content).split())
        for name in words.split(",") if kind == "source" else [words]:
            if name not in known[kind]:
                yield f"no {kind} {name!r}{like(name, known[kind])}"
