"""The book's own search: sections, terms, symbols and functions, by scripts that work from disk.

Sphinx' search ranks pages, not sections, and fetches whole pages for its snippets. Here the build
writes one line a section, `_static/search-data.js`; MiniSearch ranks them in the reader's browser,
and `search.js` knows what readers call things.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.index_entries import split_index_msg

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import DEEPER, NODE_ROOM
from bookcheck.site.notation import symbols_in

DATA = "search-data.js"
LIBRARY = NODE_ROOM / "node_modules" / "minisearch" / "dist" / "umd" / "index.js"
SNIPPET = 160  # letters that a result shows
WORDS = 11  # further words of a section that find it; more would make the file heavy
WORD = re.compile(r"[^\W\d_][\w-]{3,}")
# What is no sentence of the section: formulas and code, drawings, notes of the build.
LEFT_OUT = (nodes.math, nodes.math_block, nodes.literal_block, nodes.raw, nodes.comment)
REFERENCE, NOTATION = "chapters/api", "chapters/notation"
# Pages that speak of everything: they come after the page whose subject it is.
BACK_MATTER = ("index", "chapters/sources", "chapters/errata", "chapters/bibliography")
KINDS = dict.fromkeys(BACK_MATTER, "back")
KINDS |= {REFERENCE: "reference", "chapters/questions": "question"}
# What a reader may type for a letter that the keyboard lacks.
GREEK = {"theta": "θ", "lambda": "λ", "epsilon": "ε", "alpha": "α", "Pi": "Π"}
EXERCISES = ("exercises", "check-your-understanding")


class Section(NamedTuple):
    """What a result leads to."""

    page: str
    anchor: str
    title: str
    chapter: str
    kind: str
    text: str


def sections_of(page: str, doctree: nodes.document, chapter: str) -> Iterator[Section]:
    """The sections of a page, each without those inside it."""
    for section in doctree.findall(nodes.section):
        title = next(iter(section.findall(nodes.title)), None)
        if title is None:
            continue
        inside = not isinstance(section.parent, nodes.document)
        anchor = section["ids"][0] if inside and section["ids"] else ""
        kind = kind_of(page, anchor)
        yield Section(page, anchor, title.astext(), chapter, kind, own_text(section))


def kind_of(page: str, anchor: str) -> str:
    """What a section is, by which results are weighted; no anchor: the page as a whole."""
    if page in KINDS:
        return KINDS[page]
    if f"/{DEEPER}/" in page:
        return "deeper"
    return "exercises" if anchor in EXERCISES else "section" if anchor else "page"


def own_text(section: nodes.section) -> str:
    """The sentences of a section, without its title, formulas, code and inner sections."""

    def words(node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return str(node)
        if isinstance(node, (nodes.section, nodes.title, *LEFT_OUT)):
            return ""
        end = "" if isinstance(node, nodes.Inline) else " "
        return "".join(map(words, node.children)) + end

    return " ".join("".join(map(words, section.children)).split())


def entries_of(env: BuildEnvironment) -> Iterator[Section]:
    """Terms of the glossary, symbols and functions: what the index of the book knows."""
    for page, entries in sorted(env.domaindata["index"]["entries"].items()):
        for kind, value, target, _main, _key in entries:
            for word in split_index_msg(kind, value)[:1]:
                kind_here = "reference" if page == REFERENCE else "entry"
                word = re.sub(r" \((?:class )?in .*\)", "", word)
                yield Section(page, target or "", word, env.titles[page].astext(), kind_here, "")
    if NOTATION in env.found_docs:
        table = next(env.get_doctree(NOTATION).findall(nodes.tbody))
        for formula in (found for row in table for found in row[0].findall(nodes.math)):
            for name in typed_names(formula.astext()):
                yield Section(NOTATION, "symbols", name, "Notation", "entry", "")


def typed_names(tex: str) -> list[str]:
    r"""What a reader may type to find symbols: \theta_i gives "theta_i", "theta" and "θ"."""
    names: list[str] = []
    for symbol in symbols_in(tex):
        word = re.sub(r"\\math[a-z]+\{(\w)\}", r"\1", symbol).replace("\\", "")
        base = re.split(r"[_^]", word)[0]
        names += [word, base, GREEK[base]] if base in GREEK else [word]
    return names


def record(section: Section) -> list[str]:
    """A section as it stands in the data: the snippet, and what else finds it."""
    snippet = section.text
    if len(snippet) > SNIPPET:
        snippet = snippet[:SNIPPET].rsplit(" ", 1)[0] + " …"
    shown = set(WORD.findall(snippet.lower()))
    others = dict.fromkeys(w for w in WORD.findall(section.text.lower()) if w not in shown)
    # Long words say most.
    words = sorted(others, key=lambda word: -len(word))[:WORDS]
    return [*section[:5], snippet, " ".join(words)]


def write_data(app: Sphinx, error: Exception | None) -> None:
    """Write the script that holds all sections beside the site's other scripts."""
    if error is not None or app.builder.format != "html":
        return
    sections: list[Section] = []
    for page in sorted(app.env.found_docs):
        sections += sections_of(page, app.env.get_doctree(page), app.env.titles[page].astext())
    records = [record(section) for section in (*sections, *entries_of(app.env))]
    text = json.dumps(records, ensure_ascii=False, separators=(",", ":"))
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
    app.connect("config-inited", add_library)
    app.connect("builder-inited", replace_search)
    app.connect("build-finished", write_data, priority=800)
