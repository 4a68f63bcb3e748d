"""The book's own search: sections, terms, symbols, models and functions, also from disk.

Sphinx' search ranks pages, not sections, and fetches whole pages for its snippets. Here the build
writes `_static/search-data.js`, with an entry for each section, and MiniSearch ranks them in the
reader's browser. An entry has the text of its section, so that a result can show the sentence with
the words that were searched. `search.js` knows what readers call things, and shows results while
they type: in the theme's dialog (Ctrl+K), which loads the data when it is first used, and on the
search page.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from docutils.utils.math.tex2unichar import mathalpha, mathbin
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.index_entries import split_index_msg

from bookformat.paths import DEEPER, EXPLAINED, NODE_ROOM
from booksite.node.packages import ensure_packages
from booksite.notation import symbols_in
from booksite.tables import TABLE

DATA = "search-data.js"
LIBRARY = NODE_ROOM / "node_modules" / "minisearch" / "dist" / "umd" / "index.js"
WORKSHOP = "chapters/workshop/"
TEXT = 395  # letters of a section that are kept; a result shows the part with the searched words
SUMMARY_TEXT = 130  # of a summary, which repeats what the sections before it say
WORDS = 18  # further words of a section that find it; more would make the file heavy
REPEATS = {"exercises", "summary", "back"}  # found by their text: they repeat what others say
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>")
WORD = re.compile(r"[^\W\d_][\w-]{2,}")
CHINESE = re.compile("[一-鿿]+")
BREAK = "[\\s，。：；、？！]"  # where a text may be cut
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
GLOSSARY = "chapters/glossary"
# Pages with tables whose rows are found one by one, because each row has a name with an anchor.
ROWS = {"chapters/deeper/configurations": "key", "chapters/symptoms": "symptom"}
# Pages that speak of everything: they come after the page whose subject it is.
BACK_MATTER = ("index", "chapters/sources", "chapters/errata", "chapters/bibliography")
KINDS = dict.fromkeys((*BACK_MATTER, "chapters/changelog", "chapters/ledger"), "back")
KINDS |= {REFERENCE: "reference", "chapters/questions": "question", "chapters/cheat-sheet": "sheet"}
# A name in code; names without an underscore are words of the sentences, or say little.
IDENTIFIER = re.compile(r"\b[a-z]+_[a-z0-9_]+\b")
SIGNS = {
    **mathalpha, **mathbin,
    "sqrt": "√", "top": "T", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "infty": "∞",
    "lvert": "|", "rvert": "|", "dots": "…", "ldots": "…", "cdots": "…", "lfloor": "⌊",
    "rfloor": "⌋", "sum": "Σ", "prod": "Π", "in": "∈", "to": "→", "times": "×",
    "left": "", "right": "", "bigl": "", "bigr": "", "quad": " ", "qquad": " ",
}  # fmt: skip
FUNCTIONS = ("ln", "log", "exp", "sin", "cos", "tan", "tanh", "min", "max", "det", "diag")
LONGEST_FORMULA = 60  # letters; a longer one is no part of a sentence that can be read
EXERCISES = ("exercises", "exercise", "check-your-understanding")
SUMMARY = "what-to-remember"
# What readers type for the subject of a section: a place of the book, as `cache#share` (how an
# anchor begins; none: the page itself), and names with ";" between them.
SUBJECTS = Path(__file__).with_name("subjects.tsv")


class Section(NamedTuple):
    """What a result leads to; names in its code, `unseen`, and what readers type find it too."""

    page: str
    anchor: str
    title: str
    kind: str
    text: str
    unseen: Iterable[str] = ()
    called: str = ""


def sections_of(page: str, doctree: nodes.document) -> Iterator[Section]:
    """The sections of a page, each without those inside it."""
    for section in doctree.findall(nodes.section):
        title = next(iter(section.findall(nodes.title)), None)
        # A list of symptoms is found by its rows, and a result that shows several would hide them.
        if title is None or (ROWS.get(page) == "symptom" and section.parent is not doctree):
            continue
        inside = not isinstance(section.parent, nodes.document)
        anchor = section["ids"][0] if inside and section["ids"] else ""
        kind = kind_of(page, anchor)
        own = [part for part in section.children if not isinstance(part, nodes.section)]
        code = [block.astext() for part in own for block in part.findall(nodes.literal_block)]
        displays = [block.astext() for part in own for block in part.findall(nodes.math_block)]
        unseen = IDENTIFIER.findall("\n".join(code))
        unseen += [word for tex in displays for word in formula_words(tex)]
        text = plain_text(section)
        answers = [part for part in own if isinstance(part, nodes.paragraph)]
        if kind == "question" and answers:
            # The next paragraph names the threads of a question, which nobody searches for.
            text = plain_text(answers[0])
        yield Section(page, anchor, plain_text(title), kind, text, unseen)


@cache
def subjects() -> dict[str, list[tuple[str, str]]]:
    """For each page, the beginnings of its anchors and what readers call these sections."""
    pages: dict[str, list[tuple[str, str]]] = {}
    for line in SUBJECTS.read_text(encoding="utf-8").splitlines():
        place, called = line.split("\t")
        page, _, beginning = place.partition("#")
        pages.setdefault(f"chapters/{page}", []).append((beginning, called.replace("; ", ";")))
    return pages


def with_subjects(sections: Iterable[Section]) -> Iterator[Section]:
    """The sections of a book, each with what readers call its subject."""
    known = subjects()
    for section in sections:
        for beginning, called in known.get(section.page, ()):
            anchor = section.anchor
            if anchor.startswith(beginning) if beginning else not anchor:
                section = section._replace(called=called)
        yield section


def title_alone(sections: Iterable[Section]) -> Iterator[Section]:
    """The page as a whole, by its title and without its text."""
    for section in sections:
        if not section.anchor:
            yield section._replace(text="", unseen=())


def kind_of(page: str, anchor: str) -> str:
    """What a section is, by which results are weighted; no anchor: the page as a whole."""
    if page.startswith((REFERENCE, EXPLAINED)):
        return "reference"
    if page in KINDS:
        return KINDS[page]
    if anchor in EXERCISES:
        return "exercises"
    if anchor == SUMMARY:
        return "summary"
    return "deeper" if f"/{DEEPER}/" in page else "section" if anchor else "page"


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
    r"""A formula in letters, "θ_i" for \theta_i; "…" for one that letters cannot show."""
    text = letters(tex)
    return "…" if re.search(r"[\\{}&]", text) or len(text) > LONGEST_FORMULA else text


def letters(tex: str) -> str:
    r"""A formula with signs in place of commands: "(a + b)/2" for \frac{a + b}{2}."""
    text = re.sub(r"\\(?:math|text|operatorname)\w*\*?\{([^{}]*)\}", r"\1", tex)
    text = re.sub(r"\\([,;!: ])", " ", text).replace("{,}", ",")

    def sign(name: re.Match[str]) -> str:
        if name[1] in FUNCTIONS:
            return f"{name[1]} "
        return str(SIGNS.get(name[1], name[0]))

    # From the innermost braces outwards.
    before = ""
    while before != text:
        before = text
        text = re.sub(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", fraction, text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", lambda root: f"√{in_brackets(root[1])}", text)
        text = re.sub(r"([_^])\{([^{}]*)\}", lambda to: to[1] + in_brackets(to[2]), text)
        text = re.sub(r"\\([A-Za-z]+)(?![{A-Za-z])", sign, text)
    return " ".join(text.split())


def in_brackets(text: str) -> str:
    """A part of a formula, in brackets if it is more than one name or number."""
    inside = text.strip()
    return inside if re.fullmatch(r"\w+", inside) else f"({inside})"


def fraction(found: re.Match[str]) -> str:
    """The two parts of a fraction on one line."""
    return f"{in_brackets(found[1])}/{in_brackets(found[2])}"


def formula_words(tex: str) -> Iterator[str]:
    """What a reader may type of a displayed formula: "softmax(QK^T/√d)V" has "qk^t" and "√d"."""
    text = re.sub(r"(?<=[A-Z]) +(?=[A-Z])", "", letters(tex)).lower()
    for word in re.findall(r"[^\W\d_][\w^]*|√\w+", text):
        if len(word) > 1:
            yield word
            yield from re.findall(r"^√[^\W_]+", word)


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
    for page, kind in ROWS.items():
        if page in env.found_docs:
            yield from named_rows(page, kind, env.get_doctree(page))


def named_rows(page: str, kind: str, doctree: nodes.document) -> Iterator[Section]:
    """The rows of tables whose first cell has names with anchors: one entry for each name."""
    for row in doctree.findall(nodes.row):
        first, *others = row.children
        names = [name for name in first.findall(nodes.inline) if name["ids"]]
        about = " · ".join(plain_text(cell) for cell in others)
        if len(names) > 1:
            about = f"{plain_text(first)}: {about}"
        for name in names:
            yield Section(page, name["ids"][0], plain_text(name), kind, about)


def homes_of(env: BuildEnvironment) -> Iterator[tuple[str, list[str]]]:
    """The terms of the glossary, each with the page and section that its entry names."""
    for item in env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        links = item[-1].findall(addnodes.pending_xref)
        sections = [link for link in links if link.get("refdomain") == "doc"]
        if sections:
            page, target = sections[-1]["reftarget"], sections[-1].get("reftargetid") or ""
            home = [page, anchor_of(target, env.get_doctree(page))]
            yield from ((term.astext(), home) for term in item.findall(nodes.term))


def anchor_of(target: str, doctree: nodes.document) -> str:
    """The anchor of the section that a link leads to, by any of its names, as its entry has it."""
    for section in doctree.findall(nodes.section):
        if target in (*section["ids"], section.get("slug")):
            return "" if section.parent is doctree else str(section["ids"][0])
    return target


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
        yield Section(MODELS, "", name, "model", text)


def typed_names(tex: str) -> list[str]:
    r"""What a reader may type to find symbols: \theta_i gives "theta_i", "theta" and "θ"."""
    names: list[str] = []
    for symbol in symbols_in(tex):
        word = re.sub(r"\\math[a-z]+\{(\w)\}", r"\1", symbol).replace("\\", "")
        base = re.split(r"[_^]", word)[0]
        names += [word, base, mathalpha[base]] if base in mathalpha else [word]
    return names


def record(section: Section, common: Counter[str]) -> list[str]:
    """A section as it is in the data: its text, the rarest of its other words, its names."""
    text = section.text
    rest = ""
    kept = SUMMARY_TEXT if section.kind == "summary" else TEXT
    if len(text) > kept:
        end = re.match(f".{{,{kept - 1}}}{BREAK}", text)
        text = (end[0] if end else text[:kept]).rstrip()
        rest = section.text[len(text) :]
        text = f"{text} …"
    words = "" if section.kind in REPEATS else further_words(section, text, rest, common)
    # Most anchors repeat the title, which search.js puts in place of the star.
    name = slug(section.title)
    anchor = section.anchor.replace(name, "*", 1) if name else section.anchor
    entry = [anchor, section.title, section.kind, text, words]
    return [*entry, section.called] if section.called else entry


def further_words(section: Section, text: str, rest: str, common: Counter[str]) -> str:
    """Words that find a section beside those of its text: the rarest of the rest, and its names."""
    shown = set(WORD.findall(text.lower()))
    others = words_in(rest) - shown
    # Names in code and formulas are exactly what is typed to find them, so none is left out.
    names = {*section.unseen} - shown - others
    rarest = sorted(others, key=lambda word: (common[word], word))[:WORDS]
    # Chinese stays whole: search.js cuts it, and it is short.
    return " ".join([*rarest, *sorted(names), *CHINESE.findall(rest)])


def slug(title: str) -> str:
    """The words of a title as most anchors have them; `slug` in search.js gives the same."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def words_in(text: str) -> set[str]:
    """Every word of a text, once."""
    return {*WORD.findall(CHINESE.sub(" ", text.lower()))}


def write_data(app: Sphinx, error: Exception | None) -> None:
    """Write the script that holds all sections, page by page, beside the site's other scripts."""
    if error is not None or app.builder.format != "html":
        return
    sections: list[Section] = []
    # Who looks for RMSNorm wants its chapter; the workshop's steps are found from its first page.
    steps = {page for page in app.env.found_docs if page.startswith(WORKSHOP)}
    steps -= {WORKSHOP + "begin", WORKSHOP + "playground"}
    for page in sorted(app.env.found_docs - steps):
        found = sections_of(page, app.env.get_doctree(page))
        # An explained source file is found by its name; what it says is in the reference.
        sections += title_alone(found) if page.startswith(EXPLAINED) else with_subjects(found)
    sections += entries_of(app.env)
    common = Counter(word for section in sections for word in words_in(section.text))
    pages: dict[str, list[Any]] = {}
    for section in sections:
        title = plain_text(app.env.titles[section.page])
        pages.setdefault(section.page, [title, []])[1].append(record(section, common))
    known = GLOSSARY in app.env.found_docs
    homes = dict(homes_of(app.env)) if known else {}
    data = {"bookSections": pages, "bookTerms": homes}
    lines = [f"globalThis.{name} = {as_script(value)};\n" for name, value in data.items()]
    (Path(app.outdir) / "_static" / DATA).write_text("".join(lines), encoding="utf-8")


def as_script(value: Any) -> str:
    """A value as JavaScript reads it, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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
