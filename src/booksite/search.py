"""The book's own search: sections, terms, symbols, models and functions, also from disk.

Sphinx' search ranks pages, not sections, and fetches whole pages for its snippets. Here the build
writes `_static/search-data.js`, with an entry for each section, and MiniSearch ranks them in the
reader's browser. `search.js` knows what readers call things, and shows results while they type: in
the theme's dialog (Ctrl+K), which loads the data when it is first used, and on the search page.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from docutils.utils.math.tex2unichar import mathalpha, mathbin
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.index_entries import split_index_msg

from bookformat.paths import DEEPER, NODE_ROOM
from booksite.node.packages import ensure_packages
from booksite.notation import symbols_in
from booksite.tables import TABLE

DATA = "search-data.js"
LIBRARY = NODE_ROOM / "node_modules" / "minisearch" / "dist" / "umd" / "index.js"
SNIPPET = 150  # letters that a result shows
WORDS = 14  # further words of a section that find it; more would make the file heavy
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>")
WORD = re.compile(r"[^\W\d_][\w-]{2,}")
CHINESE = re.compile("[一-鿿]+")
END = re.compile(f".{{,{SNIPPET - 1}}}[\\s，。：；、？！]")  # where a snippet may be cut
# What is no sentence of a section: displays, code, drawings, inner sections, and what has an entry
# of its own, a function of the library or a term of the glossary.
LEFT_OUT = (
    nodes.math_block, nodes.literal_block, nodes.raw, nodes.comment,
    nodes.section, nodes.title, addnodes.desc, addnodes.glossary,
)  # fmt: skip
# References of these domains show numbers and authors that only the whole book gives.
NUMBERED = {"cite", "math", "prf"}
REFERENCE = "chapters/api"
NOTATION = "chapters/notation"
MODELS = "chapters/models"
# Pages that speak of everything: they come after the page whose subject it is.
BACK_MATTER = ("index", "chapters/sources", "chapters/errata", "chapters/bibliography")
KINDS = dict.fromkeys((*BACK_MATTER, "chapters/changelog"), "back")
KINDS |= {REFERENCE: "reference", "chapters/questions": "question"}
# A name in code; names without an underscore are words of the sentences, or say little.
IDENTIFIER = re.compile(r"\b[a-z]+_[a-z_]+\b")
SIGNS = {**mathalpha, **mathbin, "sqrt": "√"}
EXERCISES = ("exercises", "check-your-understanding")


class Section(NamedTuple):
    """What a result leads to; `unseen` are names in its code, which find it too."""

    page: str
    anchor: str
    title: str
    kind: str
    text: str
    unseen: Iterable[str] = ()


def sections_of(page: str, doctree: nodes.document) -> Iterator[Section]:
    """The sections of a page, each without those inside it."""
    for section in doctree.findall(nodes.section):
        title = next(iter(section.findall(nodes.title)), None)
        if title is None:
            continue
        inside = not isinstance(section.parent, nodes.document)
        anchor = section["ids"][0] if inside and section["ids"] else ""
        kind = kind_of(page, anchor)
        own = [part for part in section.children if not isinstance(part, nodes.section)]
        code = [block.astext() for part in own for block in part.findall(nodes.literal_block)]
        unseen = IDENTIFIER.findall("\n".join(code))
        yield Section(page, anchor, plain_text(title), kind, plain_text(section), unseen)


def kind_of(page: str, anchor: str) -> str:
    """What a section is, by which results are weighted; no anchor: the page as a whole."""
    if page.startswith(REFERENCE):
        return "reference"
    if page in KINDS:
        return KINDS[page]
    if f"/{DEEPER}/" in page:
        return "deeper"
    return "exercises" if anchor in EXERCISES else "section" if anchor else "page"


def plain_text(part: nodes.Element) -> str:
    """The sentences of a part of a page, without what is left out."""

    def words(node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return str(node)
        if isinstance(node, nodes.math):
            return plain_formula(node.astext())
        if isinstance(node, LEFT_OUT):
            return ""
        if isinstance(node, addnodes.pending_xref) and (
            node.get("refdomain") in NUMBERED or node.get("reftype") == "numref"
        ):
            return "…"
        end = "" if isinstance(node, nodes.Inline) else " "
        return "".join(map(words, node.children)) + end

    return " ".join("".join(map(words, part.children)).split())


def plain_formula(tex: str) -> str:
    r"""A short formula in letters, "θ_i" for \theta_i; "…" for one that needs more than letters."""
    text = re.sub(r"\\(?:math|text|operatorname)\w*\{([^{}]*)\}", r"\1", tex)
    text = re.sub(r"\\([A-Za-z]+)", lambda name: SIGNS.get(name[1], name[0]), text)
    text = re.sub(r"([_^√])\{(\w+)\}", r"\1\2", text).replace("{,}", ",")
    return "…" if re.search(r"[\\{}]", text) or len(text) > 24 else text


def table_rows(text: str) -> list[list[str]]:
    """The cells of a computed table as plain text; no rows for other HTML."""
    rows = ROW.findall(text) if TABLE in text else []
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in CELL.findall(row)] for row in rows
    ]


def entries_of(env: BuildEnvironment) -> Iterator[Section]:
    """Terms, symbols, models and functions: what the index and the tables of the book know."""
    for page, entries in sorted(env.domaindata["index"]["entries"].items()):
        about = dict(explanations(env.get_doctree(page)))
        for kind, value, target, _main, _key in entries:
            for word in split_index_msg(kind, value)[:1]:
                kind_here = "reference" if page.startswith(REFERENCE) else "entry"
                word = re.sub(r" \((?:class )?in .*\)", "", word)
                yield Section(page, target or "", word, kind_here, about.get(target, ""))
    if NOTATION in env.found_docs:
        table = next(env.get_doctree(NOTATION).findall(nodes.tbody))
        for row in table:
            for formula in row[0].findall(nodes.math):
                for name in typed_names(formula.astext()):
                    yield Section(NOTATION, "symbols", name, "entry", plain_text(row[1]))
    if MODELS in env.found_docs:
        yield from models_of(env.get_doctree(MODELS))


def explanations(doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """What a page says of the terms and functions that it defines, by their anchors."""
    for item in doctree.findall(nodes.definition_list_item):
        for term in item.findall(nodes.term):
            yield from ((anchor, plain_text(item[-1])) for anchor in term["ids"])
    for described in doctree.findall(addnodes.desc):
        first = next(iter(described[-1].findall(nodes.paragraph)), nodes.paragraph())
        yield from ((anchor, plain_text(first)) for anchor in described[0]["ids"])


def models_of(doctree: nodes.document) -> Iterator[Section]:
    """The rows of the first computed table: published models and their settings."""
    tables = (table_rows(raw.astext()) for raw in doctree.findall(nodes.raw))
    head, *rows = next(filter(None, tables), [[]])
    for name, *cells in rows:
        known = zip(head[1:], cells, strict=True)
        text = ", ".join(f"{column} {value}" for column, value in known if value != "–")
        yield Section(MODELS, "", name, "entry", text)


def typed_names(tex: str) -> list[str]:
    r"""What a reader may type to find symbols: \theta_i gives "theta_i", "theta" and "θ"."""
    names: list[str] = []
    for symbol in symbols_in(tex):
        word = re.sub(r"\\math[a-z]+\{(\w)\}", r"\1", symbol).replace("\\", "")
        base = re.split(r"[_^]", word)[0]
        names += [word, base, mathalpha[base]] if base in mathalpha else [word]
    return names


def record(section: Section, common: Counter[str]) -> list[str]:
    """A section as it is in the data: the snippet, and the rarest of its other words."""
    snippet = section.text
    rest = section.text
    if len(snippet) > SNIPPET:
        end = END.match(snippet)
        snippet = (end[0] if end else snippet[:SNIPPET]).rstrip()
        rest = rest[len(snippet) :]
        snippet = f"{snippet} …"
    shown = set(WORD.findall(snippet.lower()))
    others = sorted(words_of(section) - shown, key=lambda word: (common[word], word))[:WORDS]
    # Chinese stays whole: search.js cuts it, and it is short.
    words = " ".join(others + CHINESE.findall(rest))
    return [section.anchor, section.title, section.kind, snippet, words]


def words_of(section: Section) -> set[str]:
    """Every word that could find a section, once."""
    return {*WORD.findall(CHINESE.sub(" ", section.text.lower())), *section.unseen}


def write_data(app: Sphinx, error: Exception | None) -> None:
    """Write the script that holds all sections, page by page, beside the site's other scripts."""
    if error is not None or app.builder.format != "html":
        return
    sections: list[Section] = []
    for page in sorted(app.env.found_docs):
        sections += sections_of(page, app.env.get_doctree(page))
    sections += entries_of(app.env)
    common = Counter(word for section in sections for word in words_of(section))
    pages: dict[str, list[Any]] = {}
    for section in sections:
        title = plain_text(app.env.titles[section.page])
        pages.setdefault(section.page, [title, []])[1].append(record(section, common))
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / DATA
    path.write_text(f"globalThis.bookSections = {text};\n", encoding="utf-8")


def add_library(app: Sphinx, config: Config) -> None:
    """Serve MiniSearch from the site itself."""
    ensure_packages(NODE_ROOM)
    folder = Path(app.outdir).parent / "minisearch"
    folder.mkdir(parents=True, exist_ok=True)
    text = LIBRARY.read_text(encoding="utf-8")
    # Its comments are half of it.
    text = re.sub(r"/\*\*(?!\*).*?\*/\n?|^\s*//[^\n]*\n", "", text, flags=re.DOTALL | re.MULTILINE)
    (folder / "minisearch.js").write_text(text, encoding="utf-8")
    config.html_static_path.append(str(folder))


def replace_search(app: Sphinx) -> None:
    """No index of Sphinx' own is made or shipped; its search page stays, with our scripts."""
    app.builder.search = False  # type: ignore[attr-defined]  # only builders of HTML have it
    app.config.html_additional_pages = {"search": "search.html"}


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.add_js_file("search.js", loading_method="defer")
    app.connect("config-inited", add_library)
    app.connect("builder-inited", replace_search)
    app.connect("build-finished", write_data, priority=800)
