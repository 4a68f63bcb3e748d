"""Checks of the pages behind the chapters: sources, errata and questions.

The site's build finds broken links, terms that are defined twice and incomplete references.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from bookcheck.notebooks.files import read

LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\((?!https?://)[^()\s]*\)")
CHAPTER_LINK = re.compile(r"\]\((?:deeper/)?\d\d-")
TABLE_ROW = re.compile(r"^\| \[(S\d\.\d+)\]\{#[\w-]+\} \|(.*)\|(.*)\|$", re.MULTILINE)
ERRATUM = re.compile(r"^\[\*\*([^*]+?)\.?\*\*\]\{#erratum-", re.MULTILINE)
QUESTION = re.compile(r"^### (.+)$", re.MULTILINE)


def source_problems(text: str, ids: Iterable[str]) -> list[str]:
    """Items that the page of sources leaves out, does not describe or links to nothing."""
    rows = TABLE_ROW.findall(text)
    names = [name for name, _, _ in rows]
    problems = [f"sources.md: {name} is missing" for name in ids if name not in names]
    for name, what, where in rows:
        if not what.strip() or not LINK.search(where):
            problems.append(f"sources.md: {name} needs a description and a link to a section")
    return problems


def erratum_problems(path: Path) -> list[str]:
    """Errata that lack a link to a chapter, a cell with their number, or their text.

    A number belongs to a note of the sources page; a name links to the text that it corrects.
    """
    entries: dict[
        str, list[str]
    ] = {}  # by its name, an erratum's text and what the next cell prints
    waiting: list[str] = []
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            _, *parts = ERRATUM.split(cell.source)
            waiting += parts[::2]
            entries |= {
                name: [text, ""] for name, text in zip(parts[::2], parts[1::2], strict=True)
            }
        else:
            for name in waiting:
                entries[name][1] = "".join(output.get("text", "") for output in cell.outputs)
            waiting = []
    problems = [] if entries else ["errata.ipynb: there is no erratum"]
    for name, (text, output) in entries.items():
        if not CHAPTER_LINK.search(text):
            problems.append(f"errata.ipynb: erratum {name} needs a link to a chapter")
        if not output:
            problems.append(
                f"errata.ipynb: erratum {name} needs a cell below it that prints numbers"
            )
        if not name.isdigit() and not re.search(r"\]\(https://|\{cite", text):
            problems.append(f"errata.ipynb: erratum {name} needs a link to the text it corrects")
    return problems


def question_problems(text: str) -> list[str]:
    """Questions whose answer does not lead to a section."""
    _, *parts = QUESTION.split(text)
    return [
        f"questions.md: the answer to {name!r} needs a link to a section"
        for name, body in zip(parts[::2], parts[1::2], strict=True)
        if not LINK.search(body.strip().split("\n\n")[0])
    ]
