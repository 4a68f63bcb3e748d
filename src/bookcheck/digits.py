"""Digits in prose that no test computes.

A number on a page is computed ({value}), part of a formula or of code, or structural: the number of
a chapter, section or figure, a year, a version, a part of a name (float32, T5, GPT-2,
Llama 3), a source's reference. Any other must be a constant that the page declares nearby, in the
same cell or one of the two before and after it: a number (no text) of the code, of a {value}'s
expression or of a formula. The first cell sums the page up, so that a number in it tells of code
that may be anywhere: it is computed, or a constant of the cell's own formulas. 0 and 1 may be
anywhere. The rest are faults: somebody typed what a program should compute, or what
`bookkit.published` should hold. A citation excuses nothing.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from markdown_it.token import Token

from bookformat.myst import LITERAL, directive_of, tokens_of
from bookformat.notebooks import Cell, cells_of
from bookformat.values import values_in

FORMULAS = {"math_block", "math_block_label", "amsmath", "math_inline", "code_inline"}
ALWAYS = frozenset({0.0, 1.0})
NEAR = 2  # how many cells away a constant may be declared
# Tables that name chapters, in their last column or in brackets.
CHAPTER_COLUMN = re.compile(r"^\|.*\| Chapters \|\n(?:\|.*\|\n?)+", re.MULTILINE)
CHAPTER_LISTS = re.compile(r"^\|.* \(chapters\) \|\n(?:\|.*\|\n?)+", re.MULTILINE)
# The number of a chapter that `renumber` writes at the head of a link or behind the word.
CHAPTER_NUMBER = re.compile(r"^\d+(?=$|,)|(?<=[Cc]hapter )\d+")
CHAPTER_LINK = re.compile(r"(?:\.\./)?(?:deeper/)?[\w-]+\.ipynb")
SEVERAL = r"\d+(?:\.\d+)*(?:(?:–|-| to | and | or |, and |, )\d+(?:\.\d+)*)*"
STRUCTURAL = re.compile(
    # Parts of a book, and references.
    r"\b(?i:chapters?|sections?|parts?|figures?|fig\.|tables?|equations?|eq\.|exercises?|pages?|"
    rf"pp?\.|theorems?|lemmas?|hypothes[ie]s|appendix|version|arXiv:|seed|erratum|issue)\s?{SEVERAL}"
    # The twelve steps of the workshop, but no step of a training.
    r"|\b[Ss]tep (?:\d|1[0-2])\b(?![,.]?\d)"
    # The numbers of a list, and the star for the pages beside a chapter.
    r"|^\s*\d+[.)] |\b\d+\*"
    # A year of the book's sources; later numbers are positions and sizes.
    r"|\b(?:19\d|20[0-2])\d\b(?![,.]?\d)"
    # Issues of a project, and addresses.
    r"|#\d+\b|https?://\S+"
    # Versions, and names whose number belongs to them.
    r"|\b(?:Python|PyTorch|NumPy|Triton|CUDA|Chromium|Llama|Qwen|Gemma|Mistral|OLMo|Phi|GPT|"
    r"Gemini|Claude|DeepSeek|Kimi|GLM|Grok|Falcon|Yi|Baichuan|MiniMax|Nemotron|Command|Jamba|"
    r"Granite|Ling|Ministral|Mixtral|PaLM|Pythia|EXAONE|"
    r"FlashAttention|Transformers|Hopper|BF|FP|INT)[- ]"
    r"\d+(?:\.\d+)*\w*(?:(?:, | and | or )\d(?![\d.,]*\d))*"
    # Letters and digits in one word: float32, T5, 2i, bf16, x86_64, 1-D, S1.2.
    r"|(?<![\w.])[A-Za-z_]+[-_]?\d[\w.-]*\b"
    r"|\b\d+-?(?!(?:e[-+]?\d|(?:[kKMGTxs]|ms|[kKMGT]i?B|[kKMGT]?FLOPs?)\b))[A-Za-z]\w*"
)
NUMBER_AS_FORMULA = re.compile(r"[-+−]?[\d.,{}]+")
NUMBER_IN_CODE = re.compile(r"\d[\d_]*(?:\{?,\}?\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
NUMBER = re.compile(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


def prose_of(markdown: str) -> Iterator[str]:
    """The paragraphs, titles and table cells of a text in which a digit would be a claim."""
    for token in tokens_of(without_chapter_lists(markdown)):
        directive = directive_of(token)
        if directive is None:
            if token.type == "inline":
                yield "".join(words_of(token.children or []))
        elif directive["kind"] == "quiz":
            # What it says after an answer; questions give numbers, and answers have their checks.
            for line in token.content.split("\n"):
                yield from prose_of(line.removeprefix("  > ")) if line.startswith("  > ") else ()
        elif directive["kind"] not in LITERAL:
            yield from prose_of(directive["argument"].strip())
            yield from prose_of(token.content)


def without_chapter_lists(markdown: str) -> str:
    """A text without the numbers of chapters in its tables."""
    text = CHAPTER_COLUMN.sub(lambda t: re.sub(r"(?m)[^|\n]*\|$", "|", t.group()), markdown)
    return CHAPTER_LISTS.sub(lambda t: re.sub(r" \(\d[\d–, *]*\)", "", t.group()), text)


def words_of(children: Sequence[Token]) -> Iterator[str]:
    """The words of a paragraph, without formulas, code, roles and numbers of chapters."""
    chapter = False
    for child in children:
        if child.type == "link_open":
            chapter = CHAPTER_LINK.match(str(child.attrGet("href"))) is not None
        elif child.type in ("text", "image"):
            yield CHAPTER_NUMBER.sub("", child.content) if chapter else child.content
            chapter = False
        elif child.type == "math_inline" and NUMBER_AS_FORMULA.fullmatch(child.content):
            yield child.content
        elif child.type not in ("em_open", "em_close", "strong_open", "strong_close"):
            yield " "


def alt_texts(code: str) -> Iterator[str]:
    """The typed words of the alt texts in a code cell; "…" stands for what an f-string computes."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.keyword) and node.arg == "alt":
            yield " … ".join(typed_strings(node.value))


def typed_strings(node: ast.AST) -> Iterator[str]:
    """The strings below a node, without what an f-string computes and how it is formatted."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.FormattedValue):
        for child in ast.iter_child_nodes(node):
            yield from typed_strings(child)


def typed_numbers(text: str, known: frozenset[float] = ALWAYS) -> Iterator[tuple[str, str]]:
    """The numbers of a text that nothing explains, each with the words around it."""
    bare = STRUCTURAL.sub(lambda found: " " * len(found.group()), text)
    for found in NUMBER.finditer(bare):
        if amount(found.group()) not in known:
            around = text[max(found.start() - 30, 0) : found.end() + 30]
            yield found.group().lstrip("-−"), " ".join(around.split())


def formulas_of(markdown: str) -> Iterator[str]:
    """What a text computes with, besides values: formulas, inline code, and checks of answers."""
    for token in tokens_of(markdown):
        directive = directive_of(token)
        if directive:
            math = directive["kind"] == "math"
            yield from [token.content] if math else formulas_of(token.content)
        for one in (token, *(token.children or ())):
            if one.type in FORMULAS or one.meta.get("name") == "check":
                yield one.content


def computed_with(cell: Cell) -> frozenset[float]:
    """The numbers in the code, the values' expressions and the formulas of a cell, with 0 and 1."""
    prose, code = ("", [cell.source]) if cell.kind == "code" else (cell.source, [])
    code += [value.expression for value in values_in(prose)]
    nodes = (node for source in code for node in ast.walk(ast.parse(source)))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    numbers = [float(one) for one in constants if isinstance(one, (int, float))]
    written = [number for text in formulas_of(prose) for number in NUMBER_IN_CODE.findall(text)]
    return ALWAYS.union(map(amount, written), numbers)


def amount(number: str) -> float:
    """The size of a number, however its thousands are parted."""
    return float(re.sub(r"[_,{}]", "", number).lstrip("-−"))


def typed_numbers_of_page(path: Path) -> list[str]:
    """A message for each number that somebody typed into the prose of a page."""
    cells = cells_of(path)
    computed = [*map(computed_with, cells)]
    found = []
    for index, cell in enumerate(cells):
        near = computed[max(index - NEAR, 0) : index + NEAR + 1]
        known = ALWAYS.union(*near) if index else computed[0]
        place = ", ".join(filter(None, (path.name, cell.place)))
        code = cell.kind == "code"
        texts = [*prose_of(cell.caption if code else cell.source)]
        texts += alt_texts(cell.source) if code else []
        found += [
            f"{place}: {number} in “…{words}…” is typed; compute it with {{value}}`{number} = …`"
            for text in texts
            for number, words in typed_numbers(text, known)
        ]
    return found
