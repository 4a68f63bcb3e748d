"""Every sentence of a page is listed, whole, with what it has that nothing computes.

A number of a sentence is best a {value}, which the tests compute with its unit; a display is
executed, and a relation where it can be. The words beside them make the statement: *never
negative*, *grows with*, *each row*. No program computes words, and a list of the words that matter
(more, fewer, even, upper, …) would miss the next one. So the list `tests/bookcheck/numbers.tsv` has
the text of the pages in their order: each sentence, title, row of a table, caption, description of
a figure with what it computes, question and answer of a quiz, displayed equation, comment,
docstring and line of shown code and of the reference, and each statement of a cell that prints a
text or writes it into a figure or a table, with the condition that chooses it
(`bookcheck.cell_texts`). A statement is whole, because the words are wrong as soon as what stands
beside them is: the place of a name, the number of a tick, the order of a row. Of files that a page
shows it has the signatures, with their shapes, and the messages too. A name such as *keys* is left
out where its place says that it is a key or an option: an index, a comparison, `color=`. The list
has the formulas of a sentence, the text and the expression of each {value}, the target of each
reference and link, and which choice of a quiz is right. Left out are emphasis and the numbers of
chapters in links, which `renumber` writes.

What else speaks to a reader is listed like pages, by its name. Scripts have theirs below `_static`:
of the interactive figure `widgets/rotation` the lines with phrases, labels, units and ticks, with
what opens them (`bookcheck.scripts`). Python that no page shows has the name of its file below
`src`: the messages of the doctor (`rope_doctor/comparison.py`), what the workshop tries and says
(`bookkit/workshop/probes.py`), checks of exercises, what the site's code puts into the reader's
language, and its templates. Then there are the texts that style sheets write (`book.css`), the
settings (`_config.yml`, `_toc.yml`, `CITATION.cff`), what `make` prints (`Makefile`), the words
under which the search finds a section (`subjects.tsv`), and data that pages print: models, graphics
cards and published numbers, a line each with its numbers and sources (`bookkit/models`), the
entries of the bibliography (`references`), what the workshop says of a mistake
(`bookkit/workshop/signatures`), and the sentences of *Read my model* (`read-model/rules`). Chinese
texts are not listed.

A test notices whatever differs from the list: another word, two values that changed places,
another unit or expression. Somebody then reads the sentence again and runs the command below, as
after any change of a page's words. The list **proves nothing**: what it has is what somebody once
let stand, right or wrong. Why all sentences, and not those alone with a formula or a number? Of the
others more than half have a word such as *never*, *larger* or *each*, and most of the rest state
something too; an author would have to know which, and the rule for all of them is one command. In a
review the list shows old and new sentence, one a line, which a diff of notebooks does not.

Behind each sentence stands what the list alone guards in it, each time: `constant` (digits; the
rule of `bookcheck.digits` asks that code, a value or a formula beside them has the same number),
`name` (digits of a model, a type, a version, a year, a part of a book), `word` (a number word: two,
half, tenfold), `unit` (the word behind a value), `formula` (a letter or an expression), `code` (a
number in code that a text shows, in comments, docstrings, scripts and data). What else computes has
its name too: `relation` (`bookcheck.equations` executes it, or `unexecuted.tsv` says why not),
`value` and `display` (both are computed). `prose` has none of these. *One*, *first* and *both* are
no number words here.

python -m bookcheck.numbers              what differs between the pages and the list
python -m bookcheck.numbers attention    of one page
python -m bookcheck.numbers --list attention    write what the page says now into the list
python -m bookcheck.numbers --list widgets/rotation book.css    what is no page
"""

from __future__ import annotations

import argparse
import difflib
import functools
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it.token import Token

from bookcheck.cell_texts import SPACE, descriptions_in, one_word, written_by
from bookcheck.digits import (
    CHAPTER_LINK,
    CHAPTER_NUMBER,
    NUMBER_AS_FORMULA,
    STRUCTURAL,
)
from bookcheck.scripts import texts_of_script
from bookformat.contents import book_pages, page_name
from bookformat.formulas import is_relation
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
from bookformat.records import TYPED_NUMBERS
from bookformat.values import SCALES

COMMAND = "python -m bookcheck.numbers --list"
# What nothing computes, and what is computed elsewhere, in a sentence.
TYPED = (*TYPED_NUMBERS, "formula")
COMPUTED = ("relation", "value", "display")
PROSE = "prose"
SCRIPT = ".js"
CODE = ".py"
STYLES = ".css"
TEMPLATE = ".html"
PACKAGE = ".toml"
TABLE = ".jsonl"
SENTENCES = ".json"
ENTRIES = ".bib"
# Files of settings and of columns, of which each line is listed.
LINES = (".yml", ".cff", ".tsv", ".txt")
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
SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*(`${<“])")
MARK_OF_ANSWER = re.compile(r"^\[[ x]\]")
# A text in code, or a comment; a text between three quotes is taken for a docstring.
REMARK = re.compile(
    r'"""(?P<docstring>.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#(?P<comment>[^\n]*)',
    re.DOTALL,
)
# A line of the Makefile that prints something, or that `make` lists.
SAID_BY_MAKE = re.compile(r"## |echo ")
# What a package says about itself.
SAID_OF_PACKAGE = re.compile(r"(?:version|description|requires-python|license|authors) *=")
# A line of settings that says nothing, or is a comment.
EMPTY = re.compile(r"\s*(#|$)")
# A text in a line of code.
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`')
# A rule of a style sheet, and what it writes.
RULE = re.compile(r"([^{};]+)\{([^{}]*)\}")
CONTENT = re.compile(r"content:[^;]*\"[^\"]+\"[^;]*|--[\w-]+:\s*\"[^\"]*\"(?=;)")
COMMENT_OF_STYLES = re.compile(r"/\*.*?\*/", re.DOTALL)
# A text that code or a template puts into the reader's language.
SAID = re.compile(r"\b_\(")
PARAGRAPH_END = re.compile(r"\n\s*\n")


class Quantity(NamedTuple):
    """A number or a formula of a sentence, and what it is."""

    words: str
    kind: str


class Sentence(NamedTuple):
    """A sentence as it is listed, the kinds of numbers and formulas in it, and its place."""

    text: str
    kinds: str
    place: str = ""


def sentences_of(paragraph: str, place: str = "") -> Iterator[Sentence]:
    """The sentences of a paragraph, of a title or of a row of a table."""
    for text in SENTENCE_END.split(paragraph):
        if words := " ".join(text.split()):
            kinds = " ".join(one.kind for one in quantities_of(words))
            yield Sentence(words.replace(SPACE, " "), kinds or PROSE, place)


def quantities_of(text: str) -> Iterator[Quantity]:
    """The numbers, formulas and units of a sentence, in their order."""
    text = MARK_OF_ANSWER.sub("", text)
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
    """The paragraphs, titles, rows of tables and displays of a text, and heads of directives."""
    row: list[str] | None = None
    for token in tokens_of(markdown):
        directive = directive_of(token)
        display = display_of(token)
        if display is not None:
            yield one_word(f"$$ {display.text} $$ ({display.label})")
        elif directive is not None:
            head = f"{{{directive['kind']}}}"
            yield " ".join([head, *texts_of(directive["argument"].strip())])
            if directive["kind"] == "literalinclude":
                yield token.content  # options: which part of the file
            elif directive["kind"] not in LITERAL:
                yield from texts_of(token.content)
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield " | ".join(row)
            row = None
        elif token.type == "inline":
            text = "".join(words_of(token.children or []))
            if row is None:
                yield text
            else:
                row.append(text)


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
        elif child.type not in (
            *("em_open", "em_close", "strong_open", "strong_close"),
            *("span_open", "span_close"),
        ):
            yield " "


def sentences_of_page(path: Path) -> list[Sentence]:
    """What a page says, in its order: sentences, displayed equations, and remarks in code."""
    if path.suffix == SCRIPT:
        return sentences_of_script(path)
    if path.suffix in ("", PACKAGE, *LINES, CODE, STYLES, TEMPLATE):
        return [sentence_of_line(line) for line in lines_of(path)]
    if path.suffix == TABLE:
        return [sentence_of_code(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ENTRIES:
        entries = re.split(r"^(?=@)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        return [sentence_of_code(entry) for entry in entries if entry.strip()]
    if path.suffix == SENTENCES:
        rules = json.loads(path.read_text(encoding="utf-8"))
        return [sentence_of_code(text) for text in sentences_of_data(rules)]
    found: list[Sentence] = []
    for cell in cells_of(path):
        code = cell.kind == "code"
        texts = [*texts_of(cell.caption if code else cell.source)]
        texts += descriptions_in(cell.source) if code else []
        found += [one for text in texts for one in sentences_of(text, cell.place)]
        for text in remarks_of(cell.source) if code else listings_of(cell.source):
            found.append(sentence_of_code(text, cell.place))
        for line in written_by(cell.source) if code else ():
            found.append(sentence_of_line(line, cell.place))
    return [one for one in found if one.text]


def sentences_of_script(path: Path) -> list[Sentence]:
    """What a script says, a line at a time, in its order."""
    script = path.read_text(encoding="utf-8")
    lines = texts_of_script(script, is_figure=path.parent.name == FIGURES)
    return [sentence_of_line(line) for line in lines]


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file beside the pages that have a text for a reader."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == CODE:
        yield from written_by(text, words=False, signatures=False)
    elif path.suffix == STYLES:
        yield from texts_of_styles(text)
    elif path.suffix == TEMPLATE:
        yield from filter(SAID.search, text.splitlines())
    elif path.suffix == PACKAGE:
        yield from filter(SAID_OF_PACKAGE.match, text.splitlines())
    elif path.suffix == "":
        yield from filter(SAID_BY_MAKE.search, text.splitlines())
    else:
        yield from (line for line in text.splitlines() if not EMPTY.match(line))


def texts_of_styles(styles: str) -> Iterator[str]:
    """The texts that a style sheet writes, each behind the rule that does so."""
    for rule, declarations in RULE.findall(COMMENT_OF_STYLES.sub("", styles)):
        for content in CONTENT.findall(declarations):
            yield f"{rule.strip()} {{ {content} }}"


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


def sentence_of_code(text: str, place: str = "") -> Sentence:
    """A text of code as it is listed."""
    numbers = sum(one.kind in TYPED for one in quantities_of(text))
    kinds = " ".join(["code"] * numbers)
    return Sentence(" ".join(text.split()), kinds or PROSE, place)


def sentence_of_line(line: str, place: str = "") -> Sentence:
    """A line of code as it is listed, with the numbers that its texts have."""
    texts = " ".join(found.group() for found in QUOTED.finditer(line))
    return Sentence(" ".join(line.split()), sentence_of_code(texts).kinds, place)


def listings_of(markdown: str) -> Iterator[str]:
    """The lines of code in a text, which is no cell, and the remarks of files that it shows."""
    for token in tokens_of(markdown):
        directive = directive_of(token)
        kind = directive["kind"] if directive else token.type
        if kind in ("fence", "code_block", "code", "code-block"):
            yield from token.content.splitlines()
        elif directive and kind == "literalinclude":
            options, _ = split_options(token.content)
            block = Block(kind, directive["argument"].strip(), options, "")
            yield from shown_code(included_source(block))
        elif directive and kind == "annotated":
            file = SOURCES / directive["argument"].strip()
            yield from shown_code(file.read_text(encoding="utf-8"))
        elif directive and kind == "api":
            for file in described(token.content.split()):
                yield from shown_code(file.read_text(encoding="utf-8"))
        elif directive and kind not in LITERAL:
            yield from listings_of(token.content)


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


def shown_code(code: str) -> Iterator[str]:
    """What a page says that shows code: its remarks, its signatures, and what it tells a user."""
    yield from remarks_of(code)
    yield from written_by(textwrap.dedent(code), words=False)


def remarks_of(code: str) -> Iterator[str]:
    """The comments and the docstrings of a code cell; shapes such as (B, N, d) stay as they are."""
    for found in REMARK.finditer(code):
        for paragraph in PARAGRAPH_END.split(found["docstring"] or found["comment"] or ""):
            yield from filter(None, SENTENCE_END.split(paragraph.strip()))


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
            return f"{changed_words(self.gone, self.new)} in “{self.new}”"
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
    return (
        f"{len(rows)} sentences are listed, {counted[PROSE]} of them without number and formula. "
        f"Nothing computes: {typed}. Listed and computed elsewhere: {computed}."
    )


if __name__ == "__main__":
    sys.exit(main())
