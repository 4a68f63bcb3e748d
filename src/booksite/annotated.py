"""Source files with their explanation beside the code.

A page with the directive ``{annotated}`` shows the file that it names, below `src`:

    ```{annotated} attention_to_rope/rope.py
    ```

`annotated_rows` cuts the file. A text may name an equation of the book by its label, `eq-rotation`:
it leads to the equation, and the equation leads back to the function. For a file that is made to be
copied, which names nothing of the book, the directive says it, in lines `rotate: eq-rotation`.

A name of the file, or one that it imports from another explained file, leads to its place. A
listing of a chapter that shows a part of such a file leads to that part, and below a chapter's code
to take away are links to the pages that name the chapter.
"""

import ast
import functools
import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from bookformat.paths import EXPLAINED, SOURCES
from booksite.annotated_rows import CHAPTERS_NAMED, EQUATIONS, Row, rows_of
from booksite.languages import title_in_contents
from booksite.reference import EQUATION, EXAMPLE, markdown_of

INDEX = f"{EXPLAINED}index"
# The anchor of a chapter's section with code, in every language.
TAKE_AWAY = "code-to-take-away"
LITERAL = re.compile(r"(?<![`\w}])`([\w.]+)`(?!`)")
DIRECTIVE = re.compile(r"^```\{annotated\} (\S+)$", re.MULTILINE)


class Part(nodes.General, nodes.Element):
    """A box of a page, written as a `div`."""


def visit_part(translator: Any, node: Part) -> None:
    """Begin the box."""
    translator.body.append(translator.starttag(node, "div"))


def depart_part(translator: Any, _node: Part) -> None:
    """End it."""
    translator.body.append("</div>\n")


@functools.cache
def rows_in(path: Path, _changed: float) -> list[Row]:
    """The rows of a file, as it was when it was last changed."""
    return rows_of(path.read_text(encoding="utf-8"))


def rows_now(path: Path) -> list[Row]:
    """The rows of a file."""
    return rows_in(path, path.stat().st_mtime)


def label_of(file: str, name: str) -> str:
    """The label of a function or class: "source-rope-rotate", "source-rope-_rotary_table".

    Labels have small letters only, and a file may have both `sinusoidal` and `Sinusoidal`.
    """
    small = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    return f"source-{Path(file).stem}-{small}"


def explained_files(folder: Path) -> set[str]:
    """The files that the pages of a folder explain."""
    texts = [page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md"))]
    return {file for text in texts for file in DIRECTIVE.findall(text)}


def known_names(file: str, explained: set[str]) -> dict[str, str]:
    """The names that texts of a file may link, with their labels: its own, and imported ones."""
    path = SOURCES / file
    found: dict[str, str] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            other = f"{statement.module.replace('.', '/')}.py"
            if other in explained:
                there = {row.name for row in rows_now(SOURCES / other)}
                names = [one.name for one in statement.names if one.name in there]
                found |= {name: label_of(other, name) for name in names}
    own = [row.name for row in rows_now(path) if row.name and not row.is_heading]
    return found | {name: label_of(file, name) for name in own}


class Annotated(SphinxDirective):
    """The directive `annotated`."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Sections with a title for each name, and in them the rows."""
        self.file = self.arguments[0]
        path = SOURCES / self.file
        self.env.note_dependency(str(path))
        self.path = path
        self.names = known_names(self.file, explained_files(Path(self.page_path()).parent))
        self.equations: dict[str, tuple[str, str]] = {}
        self.computed = dict(line.split(": ", 1) for line in self.content)
        found: list[nodes.Node] = []
        # What a row goes into: the page, a heading, a function or class, a method.
        levels: list[tuple[int, nodes.Element]] = []
        has_headings = any(row.is_heading for row in rows_now(path))
        for row in rows_now(path):
            if row.name:
                level = self.level_of(row, has_headings=has_headings)
                section = self.section(row)
                while levels and levels[-1][0] >= level:
                    levels.pop()
                if levels:
                    levels[-1][1].append(section)
                else:
                    found.append(section)
                levels.append((level, section))
            target = levels[-1][1] if levels else found
            target.append(self.beside(row, levels[-1][1]["ids"][0] if levels else ""))
        if self.computed:
            raise self.error(f"{self.file} has no {', '.join(self.computed)}")
        self.env.metadata[self.env.docname][EQUATIONS] = self.equations
        return found

    def page_path(self) -> str:
        """The file of the page."""
        return str(self.env.doc2path(self.env.docname))

    def level_of(self, row: Row, *, has_headings: bool) -> int:
        """How deep a title is: 0 for a heading of the file, then functions, then methods."""
        if row.is_heading:
            return 0
        return int(has_headings) + int("." in row.name)

    def section(self, row: Row) -> nodes.section:
        """A section with a title, which links can lead to."""
        title = nodes.title("", row.name[0].upper() + row.name[1:])
        if not row.is_heading:
            title = nodes.title("", "", nodes.literal(row.name, row.name))
        anchor = nodes.make_id(row.name) if row.is_heading else row.name
        section = nodes.section("", title, ids=[anchor], names=[label_of(self.file, row.name)])
        self.state.document.note_explicit_target(section)
        return section

    def beside(self, row: Row, anchor: str) -> nodes.Node:
        """A text with its code at the side."""
        said = row.text
        if computed := self.computed.pop(row.name, ""):
            said += f"\n\nSee {' and '.join(f'`{label}`' for label in computed.split())}."
        for label in EQUATION.findall(said):
            self.equations.setdefault(label, (anchor, anchor or self.path.name))
        # An example is code too: it stands where the docstring has it, behind the first lines.
        examples = EXAMPLE.findall(said)
        text = Part(classes=["annotated-text"])
        lines = self.linked(markdown_of(EXAMPLE.sub("", said))).splitlines()
        self.state.nested_parse(StringList(lines, source=str(self.path)), 0, text)
        if not row.pieces:
            return Part("", text, classes=["annotated", "without-code"])
        code = Part(classes=["annotated-code"])
        listings = [listing(piece.code, piece.line) for piece in row.pieces]
        tried = [nodes.literal_block(one, one, language="pycon") for one in examples]
        code += [*listings[:1], *tried, *listings[1:]]
        return Part("", text, code, classes=["annotated"])

    def linked(self, text: str) -> str:
        """A text in which names of the code lead to their places."""

        def link(found: re.Match[str]) -> str:
            label = self.names.get(found[1])
            return f"[{found[0]}](#{label})" if label else found[0]

        return LITERAL.sub(link, text)


def listing(code: str, line: int) -> nodes.literal_block:
    """Some lines of Python, each with its number in the file and a place that links can lead to."""
    numbers = {"linenostart": line, "linespans": "line"}
    return nodes.literal_block(code, code, language="python", linenos=True, highlight_args=numbers)


def link_listings(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Below each listing of a file that is explained, lead to the explanation."""
    standard = app.env.domains["std"]
    assert isinstance(standard, StandardDomain)
    for block in list(doctree.findall(nodes.literal_block)):
        source = block.get("source")
        _before, slash, file = str(source).partition(f"/{SOURCES.name}/")
        if not source or not slash or not (SOURCES / file).is_file():
            continue
        name = first_name(SOURCES / file, block.astext())
        place = standard.anonlabels.get(label_of(file, name))
        if place is None:
            continue
        address = app.builder.get_relative_uri(page, place[0]) + f"#{place[1]}"
        link = nodes.reference("", _("Explained line by line"), refuri=address, internal=True)
        block.parent.insert(
            block.parent.index(block) + 1, nodes.paragraph("", "", link, classes=["explained"])
        )


def first_name(path: Path, shown: str) -> str:
    """The function or class in which a listing begins, or the first one in it."""
    text = path.read_text(encoding="utf-8")
    line = text[: max(text.find(shown), 0)].count("\n") + 1
    names = [(row.pieces[0].line, row.name) for row in rows_now(path) if row.name and row.pieces]
    above = [name for first, name in names if first <= line]
    return above[-1] if above else names[0][1]


def link_equations(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Beside an equation that a text names, lead to the code that computes it."""
    places: dict[str, tuple[str, str, str]] = {}
    for other in app.env.toctree_includes.get(INDEX, []):
        for label, (anchor, name) in app.env.metadata[other].get(EQUATIONS, {}).items():
            places.setdefault(label, (other, anchor, name))
    for node in doctree.findall(nodes.math_block):
        if place := places.get(str(node.get("label"))):
            other, anchor, name = place
            address = app.builder.get_relative_uri(page, other) + (f"#{anchor}" if anchor else "")
            said = html.escape(_("The code that computes it: %s") % name)
            node["code"] = (
                f'<a class="equation-code" href="{address}" title="{said}">{_("code")}</a>'
            )


def note_chapters(app: Sphinx, doctree: nodes.document) -> None:
    """Keep which chapters a page of rows names."""
    page = app.env.docname
    if page.startswith(EXPLAINED) and page != INDEX:
        links = doctree.findall(addnodes.pending_xref)
        named = [link["reftarget"] for link in links if link.get("refdomain") == "doc"]
        app.env.metadata[page][CHAPTERS_NAMED] = named


def link_chapters(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Below the code that a chapter offers, lead to the source files that do the same in full."""
    named = [
        other
        for other in app.env.toctree_includes.get(INDEX, [])
        if page in app.env.metadata[other].get(CHAPTERS_NAMED, [])
    ]
    sections = [
        one for one in doctree.findall(nodes.section) if one["ids"][0].startswith(TAKE_AWAY)
    ]
    for section in sections if named else ():
        line = nodes.paragraph(
            "", _("Source files, explained line by line: "), classes=["explained"]
        )
        for number, other in enumerate(named):
            title = title_in_contents(app.env.titles[other].astext())
            address = app.builder.get_relative_uri(page, other)
            line += [nodes.Text(" · ")] if number else []
            line += nodes.reference("", title, refuri=address, internal=True)
        section += line


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.add_node(Part, html=(visit_part, depart_part))
    app.add_directive("annotated", Annotated)
    app.connect("doctree-resolved", link_listings)
    app.connect("doctree-resolved", link_equations)
    app.connect("doctree-read", note_chapters)
    app.connect("doctree-resolved", link_chapters)
    app.add_css_file("annotated.css")
