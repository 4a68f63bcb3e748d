"""Checks of the pages behind the chapters: sources, errata, questions, terms, references.

Each function returns a list of problems, so that a failing test names all of them at once. A link
that leads nowhere turns the build red: MyST says so.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bookcheck.notebooks.files import read

LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\((?!https?://)([^()\s#]*)(?:#([^()\s]*))?\)")
TABLE_ROW = re.compile(r"^\| \[(S\d\.\d+)\]\{#[\w-]+\} \|(.*)\|(.*)\|$", re.MULTILINE)
ERRATUM = re.compile(r"^\[\*\*(?P<name>[^*]+)\*\*\]\{#erratum-", re.MULTILINE)
QUESTION = re.compile(r"^### (.+)$", re.MULTILINE)
SENTENCE_END = re.compile(r"[.?!](?=\s|$)")


class Link(NamedTuple):
    """Where a Markdown link leads: a file (empty: anywhere in the book) and a name in it."""

    file: str
    anchor: str


def links(text: str) -> list[Link]:
    """The links of a text to pages of the book."""
    return [Link(file, anchor) for file, anchor in LINK.findall(text)]


def source_problems(text: str, ids: Iterable[str]) -> list[str]:
    """Ids that the page of sources leaves out, repeats, invents, or links to no section."""
    rows: dict[str, list[str]] = {}
    for name, what, where in TABLE_ROW.findall(text):
        rows.setdefault(name, []).append(where)
        if not what.strip():
            rows[name].append("")
    wanted = list(ids)
    problems = [f"{name} is missing" for name in wanted if name not in rows]
    problems += [f"{name} is not an item of the sources" for name in rows if name not in wanted]
    for name, found in rows.items():
        if len(found) > 1:
            problems.append(f"{name} has {len(found)} rows or an empty description")
        if not any(links(where) for where in found):
            problems.append(f"{name} has no link to a section")
    return problems


def erratum_problems(path: Path, names: Iterable[str]) -> list[str]:
    """Errata that are missing, lack a link to a chapter, a cell with their figure, or their text.

    A number belongs to a note of the sources page; a name links to the text that it corrects.
    """
    entries = _entries(path)
    wanted = list(names)
    problems = [f"erratum {name} is missing" for name in wanted if name not in entries]
    problems += [f"erratum {name} is not in the list" for name in entries if name not in wanted]
    for name, (text, output) in entries.items():
        chapters = [link for link in links(text) if re.match(r"(?:deeper/)?\d\d-", link.file)]
        if not chapters:
            problems.append(f"erratum {name} has no link to a chapter")
        if not output:
            problems.append(f"erratum {name} has no cell that prints a figure")
        if not name.isdigit() and not re.search(r"\]\(https://|\{cite", text):
            problems.append(f"erratum {name} has no link to the text it corrects")
    return problems


def _entries(path: Path) -> dict[str, tuple[str, str]]:
    """Each erratum's text, and what the next cell prints."""
    found: dict[str, tuple[str, str]] = {}
    waiting: list[str] = []
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            starts = list(ERRATUM.finditer(cell.source))
            for place, start in enumerate(starts):
                name = start["name"].rstrip(".")
                end = starts[place + 1].start() if starts[place + 1 :] else None
                found[name] = (cell.source[start.start() : end], "")
                waiting.append(name)
        elif waiting:
            printed = "".join(output.get("text", "") for output in cell.outputs)
            for name in waiting:
                found[name] = (found[name][0], printed)
            waiting = []
    return found


def question_problems(text: str, questions: Iterable[str]) -> list[str]:
    """Questions that are missing, or whose answer is not two sentences with a link."""
    parts = QUESTION.split(text)[1:]
    answers = {name.strip(): body for name, body in zip(parts[::2], parts[1::2], strict=True)}
    problems = [f"not asked: {name}" for name in questions if name not in answers]
    for name, body in answers.items():
        answer = body.strip().split("\n\n")[0]
        if not links(answer):
            problems.append(f"no link: {name}")
        words = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", answer)
        sentences = len(SENTENCE_END.findall(words))
        if sentences < 2:
            problems.append(f"an answer of {sentences} sentence(s): {name}")
    return problems


def term_problems(glossary: str) -> list[str]:
    """Terms out of alphabetical order, twice, or without a definition."""
    body = glossary.split(":::{glossary}\n", 1)[1].rsplit(":::", 1)[0]
    blocks = [block.split("\n") for block in body.strip().split("\n\n")]
    terms = [lines[0].strip() for lines in blocks]
    problems = [f"{lines[0]} has no definition" for lines in blocks if not lines[1:]]
    folded = [term.lower() for term in terms]
    problems += [f"{term} stands twice" for term in terms if folded.count(term.lower()) > 1]
    problems += [
        f"{second} stands after {first}"
        for first, second in pairwise(terms)
        if first.lower() > second.lower()
    ]
    return problems


def bibliography_problems(text: str) -> list[str]:
    """Keys that stand twice, and entries that lack what their kind needs."""
    needed = {
        "article": ("author", "title", "journal", "year"),
        "inproceedings": ("author", "title", "booktitle", "year"),
        "book": ("author", "title", "publisher", "year"),
        "techreport": ("author", "title", "institution", "year"),
        "misc": ("author", "title", "year", "url"),
    }
    problems = []
    seen: set[str] = set()
    for kind, key, fields in re.findall(r"@(\w+)\{([^,\s]+),(.*?)\n\}", text, re.DOTALL):
        if key in seen:
            problems.append(f"{key} stands twice")
        seen.add(key)
        if kind not in needed:
            problems.append(f"{key}: no rule for @{kind}")
            continue
        names = set(re.findall(r"^\s*(\w+)\s*=", fields, re.MULTILINE))
        problems += [f"{key} has no {name}" for name in needed[kind] if name not in names]
    return problems
