"""Digits in prose that no test computes.

A number on a page is computed ({value}), part of a formula or of code, or structural: the number of
a chapter, section, figure, step or item, a year, a version, a part of a name (float32, T5, GPT-2,
Llama 3), a source's reference. Any other must be a constant that the page declares nearby, in the
same cell or one of the two before and after it: a number (no text) of the code, of a {value}'s
expression or of a formula. The first cell sums the page up and may take its constants from all of
it; 0 and 1 stand everywhere. The rest are faults: somebody typed what a program should compute, or
what `bookkit.published` should hold. A citation excuses nothing.

So a typed number is one that the page computes *with*, there. Whether it is right in its sentence
is not checked here.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bookcheck.myst import blocks_of
from bookcheck.notebooks.files import Cell, cells_of
from bookcheck.notebooks.values import VALUE, values_in

# What the page computes with, besides its code and its values: formulas, inline code, answers.
COMPUTED = re.compile(r"\$\$.*?\$\$|\$[^$]+\$|(?<![`}])`[^`]+`(?!`)|\{check\}`[^`]+`", re.DOTALL)
ALWAYS = frozenset({0.0, 1.0})
# How many cells away a constant may be declared.
NEAR = 2
# Without prose: their lines are code, or a formula that the equation checks execute.
LITERAL = {"code", "code-block", "code-cell", "math", "raw", "bibliography", "literalinclude"}
# What stands after the name of these directives is no title.
UNTITLED = {"grid"}
CHAPTER_COLUMN = re.compile(r"^\|.*\| Chapters \|\n(?:\|.*\|\n?)+", re.MULTILINE)
CHAPTER_LISTS = re.compile(r"^\|.* \(chapters\) \|\n(?:\|.*\|\n?)+", re.MULTILINE)
SEVERAL = r"\d+(?:\.\d+)*(?:(?:–|-| to | and | or |, and |, )\d+(?:\.\d+)*)*"
NOT_PROSE = (
    re.compile(r"^% .*$", re.MULTILINE),
    re.compile(r"^(?:`{3,}|~{3,})[^{\n]*\n.*?^(?:`{3,}|~{3,})\s*$", re.MULTILINE | re.DOTALL),
    re.compile(r"\$\$.*?\$\$(?: *\([^()\s]+\))?", re.DOTALL),
    re.compile(r"\$[^$]+\$"),
    re.compile(r"\{[\w:-]+\}`[^`]*`"),
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    # A link that names its chapter by number, and the name of an erratum.
    re.compile(r"\[\d+(?=(?:, [^\[\]]*)?\]\((?:deeper/)?\d\d-)"),
    re.compile(r"\[\*\*\d+\.\*\*\]\{#erratum-\d+\}"),
    re.compile(r"\]\([^()]*(?:\([^()]*\)[^()]*)*\)"),
    re.compile(r"\{[#.%][^}\n]*\}"),
    re.compile(r"^\([\w-]+\)=\s*$", re.MULTILINE),
    re.compile(r"<https?://[^>]*>|https?://\S+"),
    re.compile(r"^:(?:needs|label|name|link|gutter|class[\w-]*|fallback):.*$", re.MULTILINE),
    re.compile(r"<[^<>\n]*>"),
)
STRUCTURAL = (
    # A list's own numbers.
    re.compile(r"^ *\d+[.)] ", re.MULTILINE),
    re.compile(
        r"\b(?:chapters?|sections?|parts?|figures?|fig\.|tables?|equations?|eq\.|exercises?|pages?|"
        r"pp?\.|theorems?|lemmas?|appendix|version|arXiv:|seed|erratum|issue)\s?" + SEVERAL,
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:steps?|items?|rules?|notes?) \d(?: (?:to|and|or) \d)?\b(?![.,%×·]?\d|%)"),
    # A year of the book's sources; later numbers are positions and sizes.
    re.compile(r"\b(?:19\d|20[0-2])\d\b(?![,.]?\d)"),
    # Issues of a project, and numbers in brackets that count what a sentence lists.
    re.compile(r"#\d+\b"),
    re.compile(r"(?<!\w)\(\d\)"),
    # Versions, and names whose number belongs to them.
    re.compile(
        r"\b(?:Python|PyTorch|NumPy|Triton|CUDA|Chromium|Llama|Qwen|Gemma|Mistral|OLMo|Phi|GPT|"
        r"Gemini|Claude|DeepSeek|Kimi|GLM|Grok|Falcon|Yi|Baichuan|MiniMax|Nemotron|Command|Jamba|"
        r"Granite|Mixtral|PaLM|Pythia|EXAONE|FlashAttention|Transformers|Hopper|BF|FP|INT)[- ]"
        r"\d+(?:\.\d+)*\w*(?:(?:, | and | or )\d(?![\d.,]*\d))*"
    ),
    # Letters and digits in one word: float32, T5, 2i, bf16, x86_64, 1-D, S1.2.
    re.compile(r"(?<![\w.])[A-Za-z_]+[-_]?\d[\w.-]*\b"),
    re.compile(r"\b\d+-?(?!(?:e[-+]?\d|(?:[kKMGTxs]|ms|[kKMGT]i?B|[kKMGT]?FLOPs?)\b))[A-Za-z]\w*"),
)
# Alone between dollar signs it is a number, not a formula.
NUMBER_AS_FORMULA = re.compile(r"\$[-+−]?[\d.,{}]+\$")
NUMBER_IN_CODE = re.compile(r"\d[\d_]*(?:\{?,\}?\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
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
        text = pattern.sub(spaces, text)
    return text


def spaces(found: re.Match[str]) -> str:
    """Spaces in the place of what was found; lines stay, and so does a number as a formula."""
    whole = found.group()
    kept = " \n" if not NUMBER_AS_FORMULA.fullmatch(whole) else r" \n\d.,−-"
    return re.sub(f"[^{kept}]", " ", whole)


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
            text = CHAPTER_COLUMN.sub(without_last_column, text)
            yield CHAPTER_LISTS.sub(without_lists, text)


def without_last_column(table: re.Match[str]) -> str:
    """A table that names chapters in its last column, without them."""
    return re.sub(r"[^|\n]*\|$", "|", table.group(), flags=re.MULTILINE)


def without_lists(table: re.Match[str]) -> str:
    """A table that names chapters in brackets, "(1, 3–5)", without them."""
    return re.sub(r" \(\d[\d–, ]*\)", "", table.group())


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


def quiz_explanations(text: str) -> Iterator[str]:
    """What a quiz says after an answer; questions give numbers, and answers have their checks."""
    for line in text.split("\n"):
        if line.startswith("  > "):
            yield line


def typed_numbers(text: str, place: str, known: frozenset[float] = ALWAYS) -> Iterator[Digits]:
    """The numbers of a text that nothing explains; ``known`` are those of code and formulas."""
    bare = blanked(blanked(text, *NOT_PROSE), *STRUCTURAL)
    for found in NUMBER.finditer(bare):
        if amount(found.group()) in known:
            continue
        around = text[max(found.start() - 30, 0) : found.end() + 30]
        yield Digits(place, found.group().lstrip("-−"), " ".join(around.split()))


def computed_with(cells: Sequence[Cell]) -> frozenset[float]:
    """The numbers in the code, the values' expressions and the formulas of cells, with 0 and 1."""
    prose = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    code = [cell.source for cell in cells if cell.kind == "code"]
    code += [value.expression for value in values_in(prose)]
    formulas = COMPUTED.findall(VALUE.sub("", prose))
    written = [number for text in formulas for number in NUMBER_IN_CODE.findall(text)]
    return ALWAYS.union(map(amount, written), *map(numbers_of, code))


def numbers_of(code: str) -> set[float]:
    """The numbers of a piece of Python; those in its texts are prose."""
    constants = (node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant))
    return {float(number) for number in constants if isinstance(number, (int, float))}


def amount(number: str) -> float:
    """The size of a number, however its thousands are parted."""
    return float(re.sub(r"[_,{}]", "", number).lstrip("-−"))


def digits_of_page(path: Path) -> list[Digits]:
    """All numbers that somebody typed into the prose of a page."""
    cells = cells_of(path)
    found: list[Digits] = []
    for index, cell in enumerate(cells):
        known = computed_with(cells[max(index - NEAR, 0) : index + NEAR + 1] if index else cells)
        place = ", ".join(filter(None, (path.name, cell.place)))
        markdown = cell.kind == "markdown"
        texts = prose_of(cell.source) if markdown else [cell.caption, *alt_texts(cell.source)]
        found += [one for text in texts for one in typed_numbers(text, place, known)]
    return found
