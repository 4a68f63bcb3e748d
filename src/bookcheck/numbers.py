"""Every sentence of a page and every line of its code is listed, whole and in its place.

A number of a sentence is best a {value}, which the tests compute with its unit; a display is
executed, and a relation where it can be. The words beside them make the statement: *never
negative*, *grows with*, *each row*. No program computes words, and a list of the words that matter
(more, fewer, even, upper, …) would miss the next one. So the list `tests/bookcheck/numbers.tsv` has
the text of the pages in their order: each sentence, title, row of a table, caption, question and
answer of a quiz, and displayed equation, with the formulas of a sentence, the text and the
expression of each {value}, the target of each reference and link, the number of each point of a
list, emphasis, and which choice of a quiz is right. Left out are the numbers of chapters in links,
which `renumber` writes.

Between them stands each line of code, as it is: of cells, also of folded ones that draw figures,
of listings, and of files that a page shows or describes. For words are wrong as soon as what stands
beside them is: a caption that names a colour, a comment beside another line, a number on a tick.
Which lines have something to do with a text, no program can tell.

What else speaks to a reader is listed like pages, by its name. Of an interactive figure
`widgets/rotation` each line is listed; of other scripts below `_static` those with texts, with what
opens them (`bookcheck.scripts`); and so of Python that no page shows, by the name of its file below
`src` (`bookcheck.file_texts`): the messages of the doctor (`rope_doctor/comparison.py`), what the
workshop tries and says (`bookkit/workshop/probes.py`), checks of exercises, what the site's code
puts into the reader's language, and its templates. Then there are the texts that style sheets write
and the colours of figures (`book.css`), the settings (`_config.yml`, `_toc.yml`, `CITATION.cff`),
what `make` prints (`Makefile`), the words under which the search finds a section (`subjects.tsv`),
and data that pages print: models, graphics cards and published numbers, a line each with its
numbers and sources (`bookkit/models`), the entries of the bibliography (`references`), what the
workshop says of a mistake (`bookkit/workshop/signatures`), and the sentences of *Read my model*
(`read-model/rules`). Chinese texts are not listed.

A test notices whatever differs from the list: another word, two values or two lines that changed
places, another unit or expression. Somebody then reads it again and runs the command below, as
after any change of a page. The list **proves nothing**: what it has is what somebody once let
stand, right or wrong. Why all sentences, and not those alone with a formula or a number? Of the
others more than half have a word such as *never*, *larger* or *each*, and most of the rest state
something too; an author would have to know which, and the rule for all of them is one command. In a
review the list shows old and new sentence, one a line, which a diff of notebooks does not.

Behind each sentence stands what the list alone guards in it, each time: `constant` (digits; the
rule of `bookcheck.digits` asks that code, a value or a formula beside them has the same number),
`name` (digits of a model, a type, a version, a year, a part of a book), `word` (a number word: two,
half, tenfold), `unit` (the word behind a value), `formula` (a letter or an expression), `code` (a
number in code inside a sentence). What else computes has its name too: `relation`
(`bookcheck.equations` executes it, or `relations.tsv` says why not), `value` and `display` (both
are computed). `prose` has none of these, and `line` is a line of code or of data. *One*, *first*
and *both* are no number words here.

python -m bookcheck.numbers              what differs between the pages and the list
python -m bookcheck.numbers attention    of one page
python -m bookcheck.numbers --list attention    write what the page says now into the list
python -m bookcheck.numbers --list widgets/rotation book.css    what is no page
"""

from __future__ import annotations

import argparse
import difflib
import functools
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it.token import Token

from bookcheck.digits import (
    CHAPTER_LINK,
    CHAPTER_NUMBER,
    NUMBER_AS_FORMULA,
    STRUCTURAL,
)
from bookcheck.equations import places
from bookcheck.file_texts import lines_with_texts
from bookcheck.scripts import lines_with_phrases
from bookformat.contents import book_pages, page_name
from bookformat.formulas import inline_relations, is_relation
from bookformat.myst import (
    LITERAL,
    Block,
    directive_of,
    display_of,
    included_source,
    split_options,
    tokens_of,
)
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS, NUMBERS, ROOT, SOURCES, rows_of
from bookformat.records import LINE, TYPED_NUMBERS
from bookformat.values import SCALES

COMMAND = "python -m bookcheck.numbers --list"
# What nothing computes, and what is computed elsewhere, in a sentence.
TYPED = (*TYPED_NUMBERS, "formula")
COMPUTED = ("relation", "value", "display")
PROSE = "prose"
PAGES = (".ipynb", ".md")
SCRIPT = ".js"
CODE = ".py"
STYLES = ".css"
TEMPLATE = ".html"
PACKAGE = ".toml"
SENTENCES = ".json"
LISTINGS = ("fence", "code_block", "html_block", "front_matter")  # tokens of lines of code
FIGURES = "widgets"  # the folder of the scripts that draw interactive figures
# Where the scripts are that speak to a reader.
SCRIPT_FOLDERS = (
    ROOT / "_static",
    SOURCES / "booksite" / "static",
    SOURCES / "booksite" / "export",
)
# Data that pages print, by name.
DATA = {
    "bookkit/models": SOURCES / "bookkit" / "models.jsonl",
    "bookkit/gpus": SOURCES / "bookkit" / "gpus.jsonl",
    "bookkit/published": SOURCES / "bookkit" / "published.jsonl",
    "references": CHAPTERS / "references.bib",
    "bookkit/workshop/signatures": SOURCES / "bookkit" / "workshop" / "signatures.json",
    "read-model/rules": ROOT / "_static" / "read-model" / "rules.json",
}
# Code that speaks to a reader and that no page shows: on a page, in a terminal, in a message.
SPEAKING = (
    "bookkit/*.py",
    "bookkit/exercises/*.py",
    "bookkit/workshop/*.py",
    "booksite/*.py",
    "rope_doctor/*.py",
    "booksite/export/*.py",
    "texcheck/__main__.py",
    "booksite/templates/**/*.html",
)
# What the site prints, or what it says about the book.
SETTINGS = (
    ROOT / "_config.yml",
    ROOT / "_toc.yml",
    ROOT / "CITATION.cff",
    ROOT / "Makefile",
    SOURCES / "booksite" / "subjects.tsv",
    ROOT / "_static" / "rope-vectors" / "FORMAT.txt",
)
# Texts that belong to a package.
READMES = (
    "attention_to_rope/README.md",
    "rope_doctor/README.md",
    "texcheck/README.md",
    "texcheck/CHANGELOG.md",
)
# What data have from other data, and what programs compare.
COPIES = frozenset({"table", "gpus", "outputs", "right"})

WORDS = """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    hundreds thousand thousands million millions billion billions trillion trillions dozen dozens
    half halves third thirds quarter quarters fifth fifths sixth sixths eighth eighths tenth tenths
    hundredth hundredths thousandth thousandths once twice thrice halve halved halving
    double doubles doubled doubling triple triples tripled tripling quadruple quadruples quadrupled
    second fourth seventh ninth twelfth
"""
FOLD = "fold"  # twofold, tenfold
# Inside an expression, a formula, a value or a reference, which is one word of its sentence.
SPACE = "␣"
VALUE = "{value}`"
DISPLAY = f"$${SPACE}"
# What is one word of a sentence begins so: a value, a reference, a target, a formula, code.
APART = ("{", "<", "$", "`")
LIBRARY = "attention_to_rope"
# No unit follows a value in these.
NO_UNIT = """
    a about above after against all among an and are as at be before below beside between but by
    can each every for from had has have here if in instead into is it its like more less no not of
    on one or other over same so than that the their them then there these they this those through
    to too under until up was were when where which while who will with without would
"""
COUNTED = """
    bit bits byte bytes token tokens nat nats step steps layer layers head heads position
    positions pair pairs key keys query queries dimension dimensions parameter parameters number
    numbers row rows column columns entry entries operation operations turn turns degree second
    seconds minute minutes hour hours day days time percent
"""
NUMBER_WORDS = frozenset(WORDS.split())
NO_UNITS = frozenset(NO_UNIT.split())
UNITS = frozenset(SCALES) | frozenset(COUNTED.split())
EDGE = ".,;:!?()[]\"'“”‘’…*_|"
SENTENCE_END = re.compile(r"(?:(?<=[.?!])|(?<=[.?!]\*)|(?<=[.?!]\*\*))\s+(?=[A-Z*(`${<“])")
# Before the text of a title, a point of a list, a quotation, a footnote or an answer.
MARK = re.compile(rf"^(?:(?:[#\d.>*+-]+|\[\^\S+?\]:){SPACE})*(?:\[[ x]\])?")
MARKED = ("list_item_open", "heading_open", "blockquote_open", "footnote_reference_open")
# A line of the Makefile that prints something, or that `make` lists.
SAID_BY_MAKE = re.compile(r"## |echo ")
# What a package says about itself.
SAID_OF_PACKAGE = re.compile(r"(?:version|description|requires-python|license|authors) *=")
# A line of settings that says nothing, or is a comment.
EMPTY = re.compile(r"\s*(#|$)")
# A rule of a style sheet; what it writes, and the colours of which captions and texts speak.
RULE = re.compile(r"([^{};]+)\{([^{}]*)\}")
CONTENT = re.compile(r"content:[^;]*\"[^\"]+\"[^;]*|--[\w-]+:\s*\"[^\"]*\"(?=;)")
COLOUR = re.compile(r"[\w-]+:[^;]*var\(--(?:figure|role)-[^;]*|--(?:figure|role)-\w+:[^;]*")
COMMENT_OF_STYLES = re.compile(r"/\*.*?\*/", re.DOTALL)
# A text that code or a template puts into the reader's language.
SAID = re.compile(r"\b_\(")


class Quantity(NamedTuple):
    """A number or a formula of a sentence, and what it is."""

    words: str
    kind: str


class Sentence(NamedTuple):
    """A sentence as it is listed, the kinds of numbers and formulas in it, and its place."""

    text: str
    kinds: str
    place: str = ""


class Code(str):
    """A line of code, or of data, as it stands."""

    __slots__ = ()


def code_of(text: str) -> Iterator[Code]:
    """The lines of a text that have something."""
    for line in text.expandtabs(4).splitlines():
        if line.strip():
            yield Code(line.rstrip())


def sentences_of(paragraph: str, place: str = "") -> Iterator[Sentence]:
    """The sentences of a paragraph, of a title or of a row of a table; or a line of code."""
    if isinstance(paragraph, Code):
        yield Sentence(paragraph, LINE, place)
        return
    for text in SENTENCE_END.split(paragraph):
        if words := " ".join(text.split()):
            kinds = " ".join(one.kind for one in quantities_of(words))
            yield Sentence(words.replace(SPACE, " "), kinds or PROSE, place)


def quantities_of(text: str) -> Iterator[Quantity]:
    """The numbers, formulas and units of a sentence, in their order."""
    text = MARK.sub("", text)
    bare = STRUCTURAL.sub(lambda found: " " * len(found.group()), text)
    atoms = [
        (found.group().strip(EDGE), bare[found.start() : found.end()])
        for found in re.finditer(r"\S+", text)
        if found.group().strip(EDGE)
    ]
    words = [word for word, _ in atoms]
    index = 0
    while index < len(words):
        word, following = words[index], words[index + 1] if index + 1 < len(words) else ""
        end = index + 1
        if word.startswith(VALUE):
            yield Quantity(word.replace(SPACE, " "), "value")
            if is_noun(following):
                yield Quantity(following, "unit")
        elif word.startswith(DISPLAY):
            yield Quantity(word.replace(SPACE, " "), "display")
        elif word.startswith("$"):
            formula = word.replace(SPACE, " ")
            yield Quantity(formula, "relation" if is_relation(formula) else "formula")
        elif word.startswith("`"):
            if has_digits([word]):
                yield Quantity(word.replace(SPACE, " "), "code")
        elif is_number(word):
            while end < len(words) and is_number(words[end]):
                end += 1
            run = [word.lower() if word.isalpha() else word for word in words[index:end]]
            yield Quantity(" ".join(run), kind_of(run, [bare for _, bare in atoms[index:end]]))
        index = end


def kind_of(run: Sequence[str], bare: Sequence[str]) -> str:
    """What the numbers in a row are; ``bare``: what the names of models and the like leave."""
    if has_digits(bare):
        return "constant"
    return "name" if has_digits(run) else "word"


def has_digits(words: Iterable[str]) -> bool:
    """Whether one of the words has a digit."""
    return any(character.isdigit() for word in words for character in word)


def is_number(word: str) -> bool:
    """Whether a word has digits or is a number word (also in two-dimensional)."""
    if word.startswith(APART):
        return False
    return has_digits([word]) or any(map(is_number_word, re.split(r"[-–/]", word.lower())))


def is_number_word(part: str) -> bool:
    """Whether a word without capitals is a number: half, twice, tenfold."""
    return part in NUMBER_WORDS or part.removesuffix(FOLD) in NUMBER_WORDS


def is_noun(word: str) -> bool:
    """Whether a word behind a value may say what it counts."""
    return word in SCALES or (word.isalpha() and word not in NO_UNITS and not is_number(word))


def texts_of(markdown: str) -> Iterator[str]:
    """The paragraphs, titles, rows of tables, displays and lines of code, and directives' heads."""
    row: list[str] | None = None
    mark = ""
    for token in tokens_of(markdown):
        directive = directive_of(token)
        display = display_of(token)
        if display is not None:
            yield one_word(f"$$ {display.text} $$ ({display.label})")
        elif directive is not None:
            yield from texts_of_directive(directive["kind"], directive["argument"], token.content)
        elif token.type in LISTINGS:
            yield from code_of(token.content)
        elif token.type in MARKED:
            note = f"[^{token.meta['label']}]:" if "label" in token.meta else ""
            mark += f"{token.info}{token.markup}{note}{SPACE}"  # 2. or - or > or ## or [^a]:
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield " | ".join(row)
            row = None
        elif token.type == "inline":
            text = mark + "".join(words_of(token.children or []))
            mark = ""
            if row is None:
                yield text
            else:
                row.append(text)


def texts_of_directive(kind: str, argument: str, content: str) -> Iterator[str]:
    """What a directive says, behind its head."""
    yield " ".join([f"{{{kind}}}", *texts_of(argument.strip())])
    for file in files_shown(kind, argument.strip(), content):
        yield from code_of(file.read_text(encoding="utf-8"))
    if kind == "literalinclude":
        yield content  # options: which part of the file
        options, _ = split_options(content)
        yield from code_of(included_source(Block(kind, argument.strip(), options, "")))
    elif kind in LITERAL:
        yield from code_of(content)
    else:
        yield from texts_of(content)


def files_shown(kind: str, argument: str, content: str) -> Iterator[Path]:
    """The files that a directive shows, or describes where no other page shows them."""
    if kind == "annotated":
        yield SOURCES / argument
    elif kind == "api":
        yield from described(content.split())


def one_word(text: str) -> str:
    """A formula, code or a reference as one word of its sentence."""
    return SPACE.join(text.split())


def words_of(children: Sequence[Token]) -> Iterator[str]:
    """The words of a paragraph, without the numbers of chapters, which `_toc.yml` gives."""
    chapter, target = False, ""
    for child in children:
        name = child.meta.get("name", "")
        if child.type == "link_open":
            target = str(child.attrGet("href"))
            chapter = CHAPTER_LINK.match(target) is not None
        elif child.type == "link_close":
            yield f" <{target}>"
        elif child.type in ("text", "image"):
            yield CHAPTER_NUMBER.sub("", child.content) if chapter else child.content
            yield f" <{child.attrGet('src')}>" if child.type == "image" else ""
            chapter = False
        elif child.type == "math_inline":
            number = NUMBER_AS_FORMULA.fullmatch(child.content)
            yield child.content if number else one_word(f"${child.content}$")
        elif name == "term":
            yield child.content
        elif child.type == "myst_role":
            yield one_word(f"{{{name}}}`{child.content}`")
        elif child.type == "code_inline":
            yield one_word(f"`{child.content}`")
        elif child.type == "html_inline":
            yield one_word(child.content)
        elif child.type == "footnote_ref":
            yield f"[^{child.meta['label']}]"
        elif child.type in ("em_open", "em_close", "strong_open", "strong_close"):
            yield child.markup
        elif child.type not in ("span_open", "span_close"):
            yield " "


def sentences_of_page(path: Path) -> list[Sentence]:
    """What a page says, in its order: sentences, displayed equations, and lines of code."""
    if path.suffix not in PAGES:
        return [Sentence(line, LINE) for text in lines_of(path) for line in code_of(text)]
    found: list[Sentence] = []
    for cell in cells_of(path):
        texts = texts_of(cell.source)
        if cell.kind == "code":
            texts = itertools.chain([Code(cell.head)], texts_of(cell.caption), code_of(cell.source))
        found += [one for text in texts for one in sentences_of(text, cell.place)]
    return found


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file beside the pages that have a text for a reader."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == SCRIPT and path.parent.name == FIGURES:
        yield text
    elif path.suffix == SCRIPT:
        yield from lines_with_phrases(text)
    elif path.suffix == CODE:
        yield from lines_with_texts(text)
    elif path.suffix == STYLES:
        yield from texts_of_styles(text)
    elif path.suffix == TEMPLATE:
        yield from filter(SAID.search, text.splitlines())
    elif path.suffix == PACKAGE:
        yield from filter(SAID_OF_PACKAGE.match, text.splitlines())
    elif path.suffix == SENTENCES:
        yield from sentences_of_data(json.loads(text))
    elif path.suffix == "":
        yield from filter(SAID_BY_MAKE.search, text.splitlines())
    else:
        yield from (line for line in text.splitlines() if not EMPTY.match(line))


def texts_of_styles(styles: str) -> Iterator[str]:
    """The texts that a style sheet writes and the colours of figures, each behind its rule."""
    for rule, declarations in RULE.findall(COMMENT_OF_STYLES.sub("", styles)):
        for content in CONTENT.findall(declarations) + COLOUR.findall(declarations):
            yield f"{' '.join(rule.split())} {{ {' '.join(content.split())} }}"


def sentences_of_data(part: Any, name: str = "") -> Iterator[str]:
    """The texts of more than a word in data, each behind the keys that lead to it."""
    if isinstance(part, str) and " " in part:
        yield f"{name}: {part}"
    elif isinstance(part, list):
        for one in part:
            yield from sentences_of_data(one, name)
    elif isinstance(part, dict):
        for key, one in part.items():
            if key not in COPIES:
                yield from sentences_of_data(one, f"{name} {key}".lstrip())


def described(modules: Sequence[str]) -> Iterator[Path]:
    """The files of the library that the reference describes and no other page shows whole."""
    for module in modules:
        file = SOURCES / LIBRARY / f"{module.replace('.', '/')}.py"
        if file not in shown_whole():
            yield file


@functools.cache
def shown_whole() -> frozenset[Path]:
    """The files that pages show with their explanations."""
    files: set[Path] = set()
    for page in book_pages():
        if page.suffix != ".md":
            continue
        for token in tokens_of(page.read_text(encoding="utf-8")):
            directive = directive_of(token)
            if directive and directive["kind"] == "annotated":
                files.add(SOURCES / directive["argument"].strip())
    return frozenset(files)


def pages() -> dict[str, Path]:
    """The pages that are listed, by name: those of the book, and two beside it."""
    found = {page_name(path): path for path in book_pages()}
    return {"index": ROOT / "index.md", "README": ROOT / "README.md", **found}


def beside_pages() -> dict[str, Path]:
    """What is listed beside pages, by name: scripts (widgets/rotation) and data."""
    found = dict(DATA)
    for file in SETTINGS:
        found[file.name] = file
    for name in READMES:
        found[name.removesuffix(".md")] = SOURCES / name
    for file in (ROOT / "pyproject.toml", *sorted(SOURCES.glob("*/pyproject.toml"))):
        found[file.relative_to(SOURCES if SOURCES in file.parents else ROOT).as_posix()] = file
    for pattern in SPEAKING:
        for file in sorted(SOURCES.glob(pattern)):
            name = file.relative_to(SOURCES).as_posix()
            # Of the code that builds the site, what puts its words into the reader's language.
            of_site = file.parent.name == "booksite"
            if not of_site or SAID.search(file.read_text(encoding="utf-8")):
                found[name] = file
    for folder in SCRIPT_FOLDERS:
        for file in sorted(folder.rglob(f"*{SCRIPT}")):
            name = file.relative_to(folder).with_suffix("").as_posix()
            found[name] = file
        for file in sorted(folder.rglob(f"*{STYLES}")):
            found[file.relative_to(folder).as_posix()] = file
    return found


# The sentences of each page with their kinds, in the order of the page.
Table = dict[str, list[tuple[str, str]]]


@functools.cache
def listed() -> Table:
    """What the list has of each page."""
    return listed_in(NUMBERS)


def listed_in(file: Path) -> Table:
    """What a file lists of each page."""
    found: Table = {}
    for page, sentence, kinds in rows_of(file):
        found.setdefault(page, []).append((sentence, kinds))
    return found


class Difference(NamedTuple):
    """A sentence of the list, the one that the page has in its place, and where; "" for none."""

    gone: str
    new: str
    place: str

    def __str__(self) -> str:
        if self.gone and self.new:
            words = changed_words(self.gone, self.new) or "other spaces"
            return f"{words} in “{self.new}”"
        return f"new: “{self.new}”" if self.new else f"no longer said here: “{self.gone}”"


def changes(
    page: str, found: Sequence[Sentence], known: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """What a page says otherwise than the list, each with what to do."""
    for one in differences(found, [text for text, _ in known]):
        where = ", ".join(filter(None, (page, one.place)))
        yield f"{where}: {one}: correct it, or, if this is meant and true, {COMMAND} {page}"
    if [sentence.text for sentence in found] == [text for text, _ in known]:
        for sentence, (text, kinds) in zip(found, known, strict=True):
            if sentence.kinds != kinds:
                where = ", ".join(filter(None, (page, sentence.place)))
                yield f"{where}: “{text}” has {sentence.kinds}, and not {kinds}: {COMMAND} {page}"


def differences(found: Sequence[Sentence], known: Sequence[str]) -> Iterator[Difference]:
    """What is another sentence, what is new, and what is gone, with the place of what follows."""
    printed = [one.text for one in found]
    matcher = difflib.SequenceMatcher(None, known, printed, autojunk=False)
    for _, first, end, start, stop in matcher.get_opcodes() if known != printed else ():
        gone, new = known[first:end], found[start:stop]
        if gone == printed[start:stop]:
            continue
        beside = found[min(start, len(found) - 1)].place if found else ""
        if len(gone) == len(new):
            for old, one in zip(gone, new, strict=True):
                yield Difference(old, one.text, one.place)
            continue
        yield from (Difference(old, "", beside) for old in gone)
        yield from (Difference("", one.text, one.place) for one in new)


def changed_words(old: str, new: str) -> str:
    """Which words of a sentence became which: “negative” → “positive”."""
    words, others = old.split(), new.split()
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return ", ".join(
        f"“{' '.join(words[first:end])}” → “{' '.join(others[start:stop])}”"
        for _, first, end, start, stop in changed
    )


def write_list(table: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Store the list: pages in the book's order, then the others; sentences in the page's order."""
    order = [*pages(), *beside_pages(), *table]
    lines = [
        f"{page}\t{sentence}\t{kinds}\n"
        for page in sorted(table, key=order.index)
        for sentence, kinds in table[page]
    ]
    NUMBERS.write_text("".join(lines), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare what the pages say with the list of what somebody has read."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="names of pages, such as attention")
    parser.add_argument("--list", action="store_true", help="write what the pages say now")
    options = parser.parse_args(arguments)
    files = pages() | beside_pages()
    if unknown := [page for page in options.pages if page not in files]:
        parser.error(
            f"there is no page {unknown[0]!r}; a page is named like deeper/clocks, and an "
            "interactive figure like widgets/rotation; data are named like bookkit/models, and "
            "other files like rope_doctor/report.py, book.css or _toc.yml"
        )
    table = dict(listed())
    relations = inline_relations()
    told: list[str] = []
    written: list[str] = []
    for page in options.pages or files:
        found = sentences_of_page(files[page])
        known = table.get(page, [])
        told += changes(page, found, known)
        if options.list:
            for one in differences(found, [text for text, _ in known]):
                written.append(f"{', '.join(filter(None, (page, one.place)))}: {one}")
            table[page] = [(one.text, one.kinds) for one in found]
    if options.list:
        # The relations of these pages are listed once more, with their reasons.
        if with_relations := [page for page in options.pages or files if page in relations]:
            moved = places.list_anew(with_relations)
            written += [f"tests/equations/relations.tsv: {one}" for one in moved]
        # Of pages that are no more, nothing stays.
        write_list({page: rows for page, rows in table.items() if page in files})
        print("\n".join(written))
        return 0
    print("\n".join(told) or counts_of(table))
    return bool(told)


def counts_of(table: Table) -> str:
    """How many sentences the list has, and how many numbers and formulas of each kind."""
    rows = [kinds.split() for sentences in table.values() for _, kinds in sentences]
    counted = Counter(kind for kinds in rows for kind in kinds)
    typed = ", ".join(f"{counted[kind]} {kind}" for kind in TYPED)
    computed = ", ".join(f"{counted[kind]} {kind}" for kind in COMPUTED)
    sentences = len(rows) - counted[LINE]
    return (
        f"{sentences} sentences and {counted[LINE]} lines of code and data are listed; "
        f"{counted[PROSE]} sentences have no number and no formula. "
        f"Nothing computes: {typed}. Listed and computed elsewhere: {computed}."
    )


if __name__ == "__main__":
    sys.exit(main())
