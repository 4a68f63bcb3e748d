"""Every statement about a released model, with what was opened for it.

    python -m bookcheck.released           # all of them, as Markdown
    python -m bookcheck.released --open    # the sentences for which no source was found

There are three kinds. The rows of the table of models and the published numbers name a file, a
commit or a place for each value. A sentence of a page that names a model has its source in the
sentence itself, or else in its paragraph, its row of a table, or its section: a link to another
host, a citation, or a value that is computed from a row or a published number. Without any of
these, a sentence about a model of the table has that model's row.
"""

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from bookformat.contents import book_pages, page_name
from bookformat.myst import SENTENCE_END
from bookformat.notebooks import cells_of
from bookkit.models import read_models
from bookkit.published import read_published

# Families of released models; a number, a size or a further name may follow.
FAMILIES = (
    "Apertus", "Baichuan", "BART", "BERT", "BLOOM", "Chinchilla", "Code Llama", "Cohere",
    "Command R", "DeepSeek", "ERNIE", "EXAONE", "Falcon", "Gemma", "GLM", "Gopher", "GPT-2",
    "GPT-3", "GPT-J", "GPT-NeoX", "GPTBigCode", "gpt-oss", "Granite", "Helium", "Hunyuan", "Hy4",
    "Inkling", "Jamba", "Kimi", "Laguna", "LFM", "Ling", "Llama", "MiMo", "MiniMax", "Ministral",
    "Mistral", "Mixtral", "ModernBERT", "MPT", "Muse", "Nemotron", "OLMo", "OPT", "PaLM",
    "Phi-", "phi-", "Pixtral", "Pythia", "Qwen", "RoBERTa", "SmolLM", "StarCoder", "T5-", "Yi",
)  # fmt: skip
NAME = re.compile(
    rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, sorted(FAMILIES, key=len, reverse=True)))})"
    r"(?:[- ]?(?:[A-Z]?\d(?:[\w.]*\w)?|Small|Large|Scout|Maverick|Next|Flash|Exp|Swash|XXL|VL))*"
    r"(?![\w/]|\.\w)"
)
FENCED = re.compile(r"^(`{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
# What names a source: an address, a key of the bibliography, a row, a published number.
ADDRESS = re.compile(r"\]\((https?://[^)\s]+)\)")
CITED = re.compile(r"\{cite:[tp]\}`([^`]+)`")
ROW = re.compile(r"read_model\(\\?\"([^\"\\]+)\\?\"\)")
PUBLISHED = re.compile(r"reported\(\\?\"([^\"\\]+)\\?\"")
COUNTED = re.compile(r"(?:models_that|how_many)\(")
# The rule for long texts is named after the model that has it, and says nothing about the model.
RULE = re.compile(r"Llama 3['’]s (?:rule|ramp)|(?:rule|rules) of Llama 3")
ROLE = re.compile(r"\{value\}`(.*?) = [^`]*`")
# These pages repeat what others say, and have no statements of their own.
LEFT_OUT = ("changelog", "ledger", "bibliography", "sources")


class Statement(NamedTuple):
    """A sentence that names released models, and where its source was found."""

    page: str
    section: str
    text: str
    models: tuple[str, ...]
    sources: tuple[str, ...]
    place: str


def sources_in(text: str) -> tuple[str, ...]:
    """The sources that a text names, each once."""
    found = [*ADDRESS.findall(text)]
    found += [f"bibliography: {key}" for keys in CITED.findall(text) for key in keys.split(",")]
    found += [f"row of {name}" for name in ROW.findall(text)]
    found += [f"published: {name}" for name in PUBLISHED.findall(text)]
    if COUNTED.search(text):
        found.append("counted in the table of models")
    return tuple(dict.fromkeys(found))


def known_rows() -> dict[str, str]:
    """The models of the table, by their names in letters and digits alone."""
    return {plain(model["name"]): model["name"] for model in read_models()}


def plain(name: str) -> str:
    """A name without its spaces and signs: "Llama 3.1-8B" is "llama318b"."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def rows_of(model: str, rows: dict[str, str]) -> list[str]:
    """The rows that a named model or family has: "Gemma 3" has those of each size."""
    return [name for key, name in rows.items() if key.startswith(plain(model))]


def names_in(sentence: str) -> tuple[str, ...]:
    """The released models that a sentence names, each once."""
    return tuple(dict.fromkeys(NAME.findall(RULE.sub("", shown(sentence)))))


def sections_of(text: str) -> Iterator[tuple[str, str]]:
    """The headings of a text with what stands below each; "" above the first one."""
    parts = HEADING.split(FENCED.sub("", text))
    yield "", parts[0]
    yield from zip(parts[1::2], parts[2::2], strict=True)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a section; each row of a table and each point of a list is one."""
    for part in re.split(r"\n\s*\n|\n(?=\||[-*] |\d+\. )", text):
        if part.strip():
            yield part.strip()


def statements() -> Iterator[Statement]:
    """The sentences of all pages that name a released model."""
    rows = known_rows()
    for path in book_pages():
        page = page_name(path)
        if page in LEFT_OUT:
            continue
        cells = [cell.source for cell in cells_of(path) if cell.kind == "markdown"]
        for section, below in sections_of("\n\n".join(cells)):
            for paragraph in paragraphs(below):
                sentences = (
                    [paragraph] if paragraph.startswith("|") else SENTENCE_END.split(paragraph)
                )
                for sentence in sentences:
                    models = names_in(sentence)
                    if models:
                        yield judged(page, section, sentence, paragraph, below, models, rows)


def judged(
    page: str,
    section: str,
    sentence: str,
    paragraph: str,
    below: str,
    models: tuple[str, ...],
    rows: dict[str, str],
) -> Statement:
    """A sentence with the nearest sources."""
    for place, text in (("sentence", sentence), ("paragraph", paragraph)):
        if found := sources_in(text):
            return Statement(page, section, shown(sentence), models, found, place)
    own = [rows_of(model, rows) for model in models]
    if all(own):
        found = tuple(f"row of {name}" for name in dict.fromkeys(itertools.chain(*own)))
        return Statement(page, section, shown(sentence), models, found, "row")
    found = sources_in(below)
    return Statement(page, section, shown(sentence), models, found, "section" if found else "open")


def shown(text: str) -> str:
    """A sentence as readers see it, on one line, without addresses."""
    text = ROLE.sub(r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", CITED.sub("", text))
    return " ".join(re.sub(r"\{#[\w-]+\}", "", text).split())


def main(arguments: list[str] | None = None) -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(prog="python -m bookcheck.released", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--open", action="store_true", help="only sentences without a source")
    given = parser.parse_args(arguments)
    found = list(statements())
    counts = Counter(one.place for one in found)
    if given.open:
        for one in found:
            if one.place == "open":
                print(f"{one.page} · {one.section}: {one.text}")
        return
    models, published = read_models(), read_published()
    values = sum(len(model["sources"]) for model in models)
    print("# Statements about released models, and what was opened\n")
    print(f"- {values} kinds of values of {len(models)} models")
    print(f"- {len(published)} groups of published numbers")
    print(f"- {len(found)} sentences of pages, whose source is in the sentence:", end=" ")
    print(f"{counts['sentence']}, in the paragraph: {counts['paragraph']},", end=" ")
    print(f"in the model's row: {counts['row']}, in the section: {counts['section']},", end=" ")
    print(f"not found: {counts['open']}\n")
    print("## Rows of the table of models\n")
    for model in models:
        for value, place in model["sources"].items():
            print(f"- {model['name']}, {value}: {place} ({model['read_from']})")
    print("\n## Published numbers\n")
    for name, line in published.items():
        print(f"- {name}: {line['what']} ({line['source']}, {line['place']}); {line['opened']}")
    print("\n## Sentences\n")
    for one in found:
        sources = "; ".join(one.sources) or "**no source found**"
        print(f"- {one.page} · {one.section}: “{one.text}” → {sources} [{one.place}]")


if __name__ == "__main__":
    main()
