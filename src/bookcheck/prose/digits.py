"""Digits in prose that no test computes.

A number on a page is computed ({value}), part of a formula or of code, or structural: the number of
a chapter, section, figure, step or item, a year, a version, a part of a name (float32, T5, GPT-2,
Llama 3), a source's reference. 0 and 1 are constants everywhere. A page declares other constants
of its definitions, and numbers that a source reports, by comments in any of its Markdown cells::

    % constants: 64 10,000 2.5
    % quoted: 85.6

A constant must stand in the page's code or formulas, a quoted number in a paragraph that cites or
links to its source. All other digits are faults: somebody typed what a program should compute.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bookcheck.notebooks.files import read
from bookcheck.prose.fences import blocks_of

CONSTANTS = re.compile(r"^% constants:(.*)$", re.MULTILINE)
QUOTED = re.compile(r"^% quoted:(.*)$", re.MULTILINE)
CITED = re.compile(r"\{cite|\]\(https?://|<https?://|\]\(#s\d")
# What the page computes with: formulas, inline code, the expressions of its roles.
COMPUTED = re.compile(r"\$\$.*?\$\$|\$[^$]+\$|(?<!`)`[^`]+`(?!`)", re.DOTALL)
PRINTED = re.compile(r"(?<=\{value\}`)[^`]*? = ")
ALWAYS = frozenset({"0", "1"})
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
    re.compile(r"\[\d+(?=, [^\[\]]*\]\((?:deeper/)?\d\d-)"),
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
        r"Granite|Mixtral|PaLM|Pythia|FlashAttention|Transformers|Hopper|BF|FP|INT)[- ]"
        r"\d+(?:\.\d+)*\w*"
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


def quiz_explanations(text: str) -> Iterator[str]:
    """What a quiz says after an answer; questions give numbers, and answers have their checks."""
    for line in text.split("\n"):
        if line.startswith("  > "):
            yield line


class Declared(NamedTuple):
    """The numbers that a page may print: its constants, and those of its sources where cited."""

    constants: frozenset[str] = ALWAYS
    quoted: frozenset[str] = frozenset()


def typed_numbers(text: str, place: str, declared: Declared) -> Iterator[Digits]:
    """The numbers of a text that nothing explains."""
    bare = blanked(blanked(text, *NOT_PROSE), *STRUCTURAL)
    for found in NUMBER.finditer(bare):
        number = found.group().lstrip("-−")
        if number in declared.constants:
            continue
        if number in declared.quoted and CITED.search(paragraph_at(text, found.start())):
            continue
        around = text[max(found.start() - 30, 0) : found.end() + 30]
        yield Digits(place, number, " ".join(around.split()))


def paragraph_at(text: str, place: int) -> str:
    """The lines around a place, up to the next empty ones."""
    start, end = text.rfind("\n\n", 0, place), text.find("\n\n", place)
    return text[max(start, 0) : end if end >= 0 else len(text)]


def declared_on(text: str) -> Declared:
    """What the comments of a page declare, with 0 and 1."""
    constants, quoted = (
        frozenset(word for line in pattern.findall(text) for word in line.split())
        for pattern in (CONSTANTS, QUOTED)
    )
    return Declared(ALWAYS | constants, quoted)


def declared_in_vain(path: Path) -> list[str]:
    """Declared constants that no code and no formula of the page has."""
    cells = cells_of(path)
    prose = "\n".join(source for kind, source, _ in cells if kind == "markdown")
    code = "\n".join(source for kind, source, _ in cells if kind == "code")
    computed = "\n".join([code, *COMPUTED.findall(PRINTED.sub("", prose))])
    known = {amount(found) for found in NUMBER_IN_CODE.findall(computed)}
    constants = declared_on(prose).constants - ALWAYS
    return sorted(word for word in constants if amount(word) not in known)


def amount(number: str) -> float | None:
    """The size of a number, however its thousands are parted; None where it is none."""
    digits = re.sub(r"[_,{}]", "", number).lstrip("-−")
    return float(digits) if NUMBER.fullmatch(digits) else None


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


def cells_of(path: Path) -> list[tuple[str, str, str]]:
    """Kind, source and caption of each cell of a page; a page without code is one cell."""
    if path.suffix == ".md":
        return [("markdown", path.read_text(encoding="utf-8"), "")]
    return [
        (
            cell.cell_type,
            cell.source,
            cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", ""),
        )
        for cell in read(path).cells
    ]


def digits_of_page(path: Path) -> list[Digits]:
    """All numbers that somebody typed into the prose of a page."""
    cells = cells_of(path)
    declared = declared_on("\n".join(source for kind, source, _ in cells if kind == "markdown"))
    found: list[Digits] = []
    for index, (kind, source, caption) in enumerate(cells):
        place = path.name if path.suffix == ".md" else f"{path.name}, cell {index}"
        texts = prose_of(source) if kind == "markdown" else [caption, *alt_texts(source)]
        found += [one for text in texts for one in typed_numbers(text, place, declared)]
    return found
