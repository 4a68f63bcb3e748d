"""What symbols and words mean, shown where a reader points at them.

The table "Symbols" of the notation page is the one list of symbols: what each is, and in which
chapters it is that. A formula of such a chapter gets a class on each symbol (`sy` and the row's
number), and the words of the row stand in one script for the whole site, `_static/meanings.js`,
which `book.js` loads when a reader first points at something. The script also holds the first
sentence of each entry of the glossary. Every row has an anchor and an entry in the search.
"""

import functools
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.transforms import SphinxTransform

from bookcheck.site.roles import SYMBOLS, bare_symbols
from bookcheck.site.state import build_of

NOTATION = "chapters/notation"
GLOSSARY = "chapters/glossary"
COLUMNS = ["Symbol", "Meaning", "In code", "Chapters"]
FILE = "meanings.js"
CHAPTER = re.compile(r"chapters/(?:deeper/)?(\d\d)-")
SENTENCE = re.compile(r"[.?!](?=\s|$)")
# What a reader may type for a letter that the keyboard lacks.
GREEK = {"theta": "θ", "lambda": "λ", "epsilon": "ε", "alpha": "α", "Pi": "Π"}


class NotationError(SphinxError):
    """The list of symbols cannot be read."""

    category = "Notation"


class Row(NamedTuple):
    """A row of the table: the symbols it explains, and where they have this meaning."""

    number: int
    symbols: list[str]
    chapters: frozenset[int] | None
    node: nodes.row

    def holds_in(self, chapter: int) -> bool:
        """Whether the symbols have this meaning in a chapter."""
        return self.chapters is None or chapter in self.chapters

    @property
    def anchor(self) -> str:
        """The name by which a link reaches the row."""
        return f"symbol-{self.number}"


def chapters_in(text: str) -> frozenset[int] | None:
    """Read "all" (None) or a list such as "1, 8–10"."""
    if text == "all":
        return None
    if not re.fullmatch(r"\d+(?:–\d+)?(?:, \d+(?:–\d+)?)*", text):
        raise NotationError(f'chapters must be "all" or a list such as "1, 8–10", got {text!r}')
    found: set[int] = set()
    for part in text.split(", "):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def symbols_in(tex: str) -> list[str]:
    r"""Split "m,\ n" into its symbols; of "R(\alpha)" the function's letter is the symbol."""
    return [re.sub(r"\(.*\)$", "", part).strip() for part in re.split(r",\\ ", tex)]


def rows_of(document: nodes.document) -> list[Row]:
    """Return the rows of the tables that have the columns of COLUMNS."""
    found: list[Row] = []
    for table in document.findall(nodes.table):
        heading = next(table.findall(nodes.thead), None)
        if heading is None or [entry.astext() for entry in heading.children[0]] != COLUMNS:
            continue
        for row in next(table.findall(nodes.tbody)):
            symbol, _meaning, _code, chapters = row.children
            symbols = [s for math in symbol.findall(nodes.math) for s in symbols_in(math.astext())]
            where = chapters_in(chapters.astext())
            found.append(Row(len(found), symbols, where, row))
    check_rows(found)
    return found


def check_rows(rows: list[Row]) -> None:
    """A symbol may stand in two rows only where no chapter is in both."""
    seen: dict[str, list[Row]] = {}
    for row in rows:
        for symbol in row.symbols:
            for other in seen.setdefault(symbol, []):
                if row.chapters is None or other.chapters is None or row.chapters & other.chapters:
                    raise NotationError(f"{symbol} has two meanings in one chapter")
            seen[symbol].append(row)


def notation_rows(env: BuildEnvironment) -> list[Row]:
    """The rows of the book that is being built; none where it has no notation page."""
    if NOTATION not in env.found_docs:
        return []
    build = build_of(env.app)
    if build.notation is None:
        build.notation = rows_of(env.get_doctree(NOTATION))
    return build.notation


def symbols_on_page(app: Sphinx, docname: str) -> tuple[tuple[str, str], ...]:
    """The symbols to mark in the formulas of a page, each with its classes."""
    chapter = CHAPTER.match(docname)
    if chapter is None or app.builder.name != "html":
        return ()
    number = int(chapter[1])
    explained = [
        (symbol, " ".join(filter(None, (f"sy{row.number}", SYMBOLS.get(symbol)))))
        for row in notation_rows(app.env)
        if row.holds_in(number)
        for symbol in row.symbols
    ]
    return (*explained, *bare_symbols(number))


class SymbolAnchors(SphinxTransform):
    """Give each row of the notation an anchor, and the names by which the search finds it."""

    # Before Sphinx collects the entries of the index (850).
    default_priority = 800

    def apply(self, **_: Any) -> None:
        """Put an index node before the table; its entries lead to the rows."""
        if self.env.docname != NOTATION:
            return
        for row in rows_of(self.document):
            row.node["ids"].append(row.anchor)
            table = row.node.parent.parent.parent
            entries = [("single", name, row.anchor, "main", None) for name in search_names(row)]
            table.parent.insert(table.parent.index(table), addnodes.index(entries=entries))


def search_names(row: Row) -> list[str]:
    r"""What a reader may type to find a symbol: \theta_i gives "theta_i", "theta" and "θ"."""
    names: dict[str, None] = {}
    for symbol in row.symbols:
        word = re.sub(r"\\math[a-z]+\{(\w)\}", r"\1", symbol).replace("\\", "")
        names[word] = None
        base = re.split(r"[_^]", word)[0]
        if base in GREEK:
            names |= {base: None, GREEK[base]: None}
    return list(names)


def to_html(node: nodes.Node, app: Sphinx) -> str:
    """Write text, formulas and code of a node; links become their words."""
    if isinstance(node, nodes.Text):
        return escape(str(node), quote=False)
    if isinstance(node, nodes.math):
        katex = build_of(app).katex
        assert katex is not None
        return katex.render(node.astext(), display=False)
    inside = "".join(to_html(child, app) for child in node.children)
    tags = {nodes.literal: "code", nodes.emphasis: "em", nodes.strong: "strong"}
    tag = next((tag for kind, tag in tags.items() if isinstance(node, kind)), None)
    return f"<{tag}>{inside}</{tag}>" if tag else inside


def first_sentence(paragraph: nodes.Element) -> Iterator[nodes.Node]:
    """Yield the nodes of a paragraph up to the end of its first sentence."""
    for child in paragraph.children:
        end = SENTENCE.search(child) if isinstance(child, nodes.Text) else None
        if end:
            yield nodes.Text(str(child)[: end.end()])
            return
        yield child


def glossary_terms(document: nodes.document) -> Iterator[tuple[str, str, nodes.paragraph]]:
    """Yield id, word and first paragraph of each entry of the glossary."""
    for item in document.findall(nodes.definition_list_item):
        paragraph = next(item.findall(nodes.paragraph))
        for term in item.findall(nodes.term):
            word = "".join(
                child.astext() for child in term if not isinstance(child, addnodes.index)
            )
            for identifier in term["ids"]:
                yield identifier, word, paragraph


def meanings(app: Sphinx) -> dict[str, dict[str, str]]:
    """All meanings as HTML, by class for symbols and by anchor for terms."""
    write = functools.partial(to_html, app=app)
    symbols = {}
    for row in notation_rows(app.env):
        symbol, meaning, *_ = row.node.children
        name = ", ".join(write(math) for math in symbol.findall(nodes.math))
        symbols[f"sy{row.number}"] = f"<b>{name}</b> {write(meaning)}"
    terms = {}
    if GLOSSARY in app.env.found_docs:
        for identifier, word, paragraph in glossary_terms(app.env.get_doctree(GLOSSARY)):
            text = "".join(map(write, first_sentence(paragraph)))
            terms[identifier] = f"<b>{escape(word)}</b> {text}"
    return {"symbols": symbols, "terms": terms}


def write_meanings(app: Sphinx, error: Exception | None) -> None:
    """Write the script that holds all meanings; a script, since a page on disk may not fetch."""
    if error is None and app.builder.name == "html":
        text = json.dumps(meanings(app), ensure_ascii=False)
        path = Path(app.outdir) / "_static" / FILE
        path.write_text(f"globalThis.bookMeanings = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.add_transform(SymbolAnchors)
    # Before the node process of the formulas ends.
    app.connect("build-finished", write_meanings, priority=400)
