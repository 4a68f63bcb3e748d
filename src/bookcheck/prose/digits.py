"""Digits in prose that no test computes.

A number on a page is computed ({value}), part of a formula or of code, or structural: the number of
a chapter, section, figure, step or item, a year, a version, a part of a name (float32, T5, GPT-2,
Llama 3), a source's reference. 0 and 1 are constants everywhere. A page declares other constants
of its definitions by a comment, in any of its Markdown cells::

    % constants: 64 10,000 2.5

All other digits are faults: somebody typed what a program should compute.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bookcheck.notebooks.files import read
from bookcheck.prose.fences import blocks_of

CONSTANTS = re.compile(r"^% constants:(.*)$", re.MULTILINE)
ALWAYS = frozenset({"0", "1"})
# Without prose: their lines are code, or a formula that the equation checks execute.
LITERAL = {"code", "code-block", "code-cell", "math", "raw", "bibliography", "literalinclude"}
# What stands after the name of these directives is no title.
UNTITLED = {"grid"}
CHAPTER_COLUMN = re.compile(r"^\|.*\| Chapters \|\n(?:\|.*\|\n?)+", re.MULTILINE)
SEVERAL = r"\d+(?:\.\d+)*(?:(?:–|-| to | and | or |, and |, )\d+(?:\.\d+)*)*"
NOT_PROSE = (
    re.compile(r"^% .*$", re.MULTILINE),
    re.compile(r"^(?:`{3,}|~{3,})[^{\n]*\n.*?^(?:`{3,}|~{3,})\s*$", re.MULTILINE | re.DOTALL),
    re.compile(r"\$\$.*?\$\$(?: *\([^()\s]+\))?", re.DOTALL),
    re.compile(r"\$[^$]+\$"),
    re.compile(r"\{[\w:-]+\}`[^`]*`"),
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    # A link that names its chapter by number, and the name of an erratum.
    re.compile(r"\[\d+(?=, [^\[\]]*\]\((?:deeper/)?\d\d-)"),
    re.compile(r"\[\*\*\d+\.\*\*\]\{#erratum-\d+\}"),
    re.compile(r"\]\([^()]*(?:\([^()]*\)[^()]*)*\)"),
    re.compile(r"\{[#.%][^}\n]*\}"),
    re.compile(r"^\([\w-]+\)=\s*$", re.MULTILINE),
    re.compile(r"<https?://[^>]*>|https?://\S+"),
    re.compile(r"^:[\w-]+:.*$", re.MULTILINE),
    re.compile(r"<[^<>\n]*>"),
)
STRUCTURAL = (
    # A list's own numbers.
    re.compile(r"^ *\d+[.)] ", re.MULTILINE),
    re.compile(
        r"\b(?:chapters?|sections?|parts?|figures?|fig\.|tables?|equations?|eq\.|exercises?|steps?|"
        r"pages?|pp?\.|theorems?|lemmas?|items?|appendix|rules?|version|arXiv:|notes?|seed|"
        r"erratum)\s?" + SEVERAL,
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:19|20)\d\d\b(?![,.]?\d)"),
    # Issues of a project, and numbers in brackets that count what a sentence lists.
    re.compile(r"#\d+\b"),
    re.compile(r"(?<!\w)\(\d\)"),
    # Versions, and names whose number belongs to them.
    re.compile(
        r"\b(?:Python|PyTorch|NumPy|Triton|CUDA|Chromium|Llama|Qwen|Gemma|Mistral|OLMo|Phi|GPT|"
        r"Gemini|Claude|DeepSeek|Kimi|GLM|Grok|Falcon|Yi|Baichuan|MiniMax|Nemotron|Command|Jamba|"
        r"Granite|Mixtral|PaLM|Pythia|FlashAttention|Transformers|Hopper|BF|FP|INT)[- ]"
        r"\d+(?:\.\d+)*\w*"
    ),
    # Letters and digits in one word: float32, T5, 2i, bf16, x86_64, 1-D, S1.2.
    re.compile(r"(?<![\w.])[A-Za-z_]+[-_]?\d[\w.-]*\b"),
    re.compile(r"\b\d+-?(?!(?:e[-+]?\d|(?:[kKMGTxs]|ms|[kKMGT]i?B|[kKMGT]?FLOPs?)\b))[A-Za-z]\w*"),
)
NUMBER = re.compile(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


class Digits(NamedTuple):
    """A number that somebody typed, with the words around it."""

    place: str
    number: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.number} in “…{self.words}…”"


def blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with what matches replaced by spaces; what stays keeps its place."""
    for pattern in patterns:
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    return text


def prose_of(markdown: str) -> Iterator[str]:
    """The texts of a cell in which a digit would be a claim."""
    for block in blocks_of(markdown):
        text = "\n".join(block.lines)
        if block.kind in LITERAL:
            continue
        if block.kind == "quiz":
            yield from quiz_explanations(text)
        elif block.kind:
            if block.kind not in UNTITLED:
                yield block.argument
            yield from prose_of(text)
        else:
            yield CHAPTER_COLUMN.sub(without_last_column, text)


def without_last_column(table: re.Match[str]) -> str:
    """A table that names chapters in its last column, without them."""
    return re.sub(r"[^|\n]*\|$", "|", table.group(), flags=re.MULTILINE)


def quiz_explanations(text: str) -> Iterator[str]:
    """What a quiz says after an answer; questions give numbers, and answers have their checks."""
    for line in text.split("\n"):
        if line.startswith("  > "):
            yield line


def typed_numbers(text: str, place: str, constants: frozenset[str]) -> Iterator[Digits]:
    """The numbers of a text that nothing explains."""
    bare = blanked(blanked(text, *NOT_PROSE), *STRUCTURAL)
    for found in NUMBER.finditer(bare):
        number = found.group().lstrip("-−")
        if number not in constants:
            around = text[max(found.start() - 30, 0) : found.end() + 30]
            yield Digits(place, number, " ".join(around.split()))


def declared_constants(text: str) -> frozenset[str]:
    """What the comments of a page declare, with 0 and 1."""
    declared = {word for line in CONSTANTS.findall(text) for word in line.split()}
    return ALWAYS | declared


def alt_texts(code: str) -> Iterator[str]:
    """The typed words of the alt texts in a code cell; what an f-string computes is left out."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.keyword) and node.arg == "alt":
            yield from typed_strings(node.value)


def typed_strings(node: ast.AST) -> Iterator[str]:
    """The strings below a node, without what an f-string computes and how it is formatted."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.FormattedValue):
        for child in ast.iter_child_nodes(node):
            yield from typed_strings(child)


def digits_of_page(path: Path) -> list[Digits]:
    """All numbers that somebody typed into the prose of a page."""
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        constants = declared_constants(text)
        pieces = list(prose_of(text))
        return [one for piece in pieces for one in typed_numbers(piece, path.name, constants)]
    cells = read(path).cells
    constants = declared_constants("\n".join(c.source for c in cells if c.cell_type == "markdown"))
    found: list[Digits] = []
    for index, cell in enumerate(cells):
        place = f"{path.name}, cell {index}"
        if cell.cell_type == "markdown":
            texts = list(prose_of(cell.source))
        else:
            caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
            texts = [caption, *alt_texts(cell.source)]
        found += [one for text in texts for one in typed_numbers(text, place, constants)]
    return found
