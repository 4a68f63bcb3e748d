"""Read MyST text as the site reads it: its directives, displayed formulas and inline formulas."""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from sphinx.pycode import ModuleAnalyzer

from bookformat.paths import ROOT

FENCES = ("fence", "colon_fence")
DIRECTIVE = re.compile(r"\{(?P<kind>[^}]+)\}(?P<argument>.*)")
OPTION = re.compile(r":([\w-]+):(.*)")
# The text of these directives is no prose.
LITERAL = {"code", "code-block", "code-cell", "literalinclude", "raw", "math", "bibliography"}
SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*(])|\n\s*\n")
# A choice of a quiz, which may be false.
CHOICE = "[ ] "


class Block(NamedTuple):
    """A directive with its options and its text, or (kind "") the text between two of them."""

    kind: str
    argument: str
    options: dict[str, str]
    text: str


def split_options(text: str) -> tuple[dict[str, str], str]:
    """The options at the head of a directive's text, and the text after them."""
    lines = text.splitlines()
    options: dict[str, str] = {}
    while len(options) < len(lines) and (found := OPTION.match(lines[len(options)])):
        options[found[1]] = found[2].strip()
    return options, "\n".join(lines[len(options) :]).strip("\n")


def included_source(block: Block) -> str:
    """What a `literalinclude` shows of our own code: `:pyobject:`, or a part between two lines."""
    path, options = ROOT / block.argument.replace("../", ""), block.options
    text, name = path.read_text(encoding="utf-8"), options.get("pyobject")
    if name is None:
        start = text.index(options.get("start-at", ""))
        return text[start : text.index(options["end-before"], start)]
    found = ModuleAnalyzer.for_string(text, path.stem).find_tags().get(name)
    if found is None:
        raise ValueError(f"{path.name} has no {name!r}; correct :pyobject: on the page")
    _, first, last = found
    return "".join(text.splitlines(keepends=True)[first - 1 : last])


class Display(NamedTuple):
    """A displayed formula, and the line of the text in which it starts, counted from 1."""

    label: str | None
    text: str
    line: int


class Inline(NamedTuple):
    """A formula inside a sentence, with the words before and after it; $ is another formula."""

    text: str
    before: str
    after: str


@functools.cache
def parser() -> MarkdownIt:
    """The parser with the extensions that the book's settings name."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    extensions = set(settings["parse"]["myst_enable_extensions"])
    return create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)


@functools.cache
def tokens_of(text: str) -> Sequence[Token]:
    """The tokens of a text; those inside directives are the directive's own text."""
    return parser().parse(text)


def directive_of(token: Token) -> re.Match[str] | None:
    """Name and argument, where a token is a directive."""
    return DIRECTIVE.match(token.info) if token.type in FENCES else None


def blocks_of(text: str) -> Iterator[Block]:
    """The text in order, cut at its outermost directives."""
    lines = text.split("\n")
    row = 0
    for token in tokens_of(text):
        found = directive_of(token)
        if found is None or token.map is None or token.level:
            continue
        first, end = token.map
        if row < first:
            yield Block("", "", {}, "\n".join(lines[row:first]))
        row = end
        yield Block(found["kind"], found["argument"].strip(), *split_options(token.content))
    if row < len(lines):
        yield Block("", "", {}, "\n".join(lines[row:]))


def display_of(token: Token, above: int = 0) -> Display | None:
    """The displayed formula that a token is, if it is one."""
    line = above + (token.map[0] if token.map else 0) + 1
    if token.type in ("math_block", "math_block_label", "amsmath"):
        return Display(token.info or None, token.content.strip(), line)
    directive = directive_of(token)
    if directive and directive["kind"] == "math":
        options, formula = split_options(token.content)
        return Display(options.get("label"), formula.strip(), line)
    return None


def displays_of(text: str, above: int = 0) -> Iterator[Display]:
    """The displayed formulas of a text, in order, also inside directives."""
    for token in tokens_of(text):
        line = above + (token.map[0] if token.map else 0) + 1
        found = directive_of(token)
        display = display_of(token, above)
        if display is not None:
            yield display
        elif found and found["kind"] not in LITERAL:
            yield from displays_of(token.content, line)
        elif any("$$" in part.content for part in token.children or () if part.type == "text"):
            raise ValueError(f"line {line}: a display is opened with $$ and never closed")


def inline_of(text: str) -> Iterator[Inline]:
    """The formulas in the sentences of a text, also inside directives."""
    for token in tokens_of(text):
        found = directive_of(token)
        if found and found["kind"] not in LITERAL:
            yield from inline_of(token.content)
        if token.type != "inline" or token.content.startswith(CHOICE):
            continue
        formulas, words = [], [""]
        for child in token.children or ():
            if child.type == "math_inline":
                formulas.append(" ".join(child.content.split()))
                words.append("")
            else:
                words[-1] += child.content if child.type == "text" else " "
        for count, formula in enumerate(formulas, start=1):
            before = SENTENCE_END.split("$".join(words[:count]))[-1]
            after = SENTENCE_END.split("$".join(words[count:]))[0]
            yield Inline(formula, " ".join(before.split()), " ".join(after.split()))
