"""Numbers of others: every line is whole, its source is known, and a page that errs is refuted."""

import json
import re
from importlib.resources import files

import pytest

from bookformat.contents import book_pages
from bookformat.notebooks import page_text
from bookformat.paths import CHAPTERS
from bookformat.values import problems
from bookkit.models import read_model
from bookkit.published import read_published, reported

LINES = read_published()
FIELDS = ("name", "source", "place", "what", "opened", "numbers")
BIBLIOGRAPHY = (CHAPTERS / "references.bib").read_text(encoding="utf-8")
KEYS = set(re.findall(r"^@\w+\{([^,\s]+),", BIBLIOGRAPHY, re.MULTILINE))


def faults(line):
    """What does not fit in a line."""
    found = []
    if tuple(line) != FIELDS:
        found.append(f"the fields are {', '.join(FIELDS)}")
    if any(not line[field].strip() for field in FIELDS[:-1]):
        found.append("an empty field")
    if line["source"] not in KEYS and not line["source"].startswith("https://"):
        found.append(f"{line['source']} is no key of the bibliography and no address")
    for number in line["numbers"].values():
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            found.append(f"{number!r} is no number")
    return found if line["numbers"] else [*found, "no number"]


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_whole(name):
    assert faults(LINES[name]) == []


def test_each_name_stands_once():
    text = (files("bookkit") / "published.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["name"] for line in text.splitlines()] == list(LINES)


def test_what_is_missing_is_named():
    with pytest.raises(KeyError, match="Llama 9"):
        reported("Llama 9", "heads")
    with pytest.raises(KeyError, match="has no number 'heads'; it has tasks, claimed"):
        reported("RULER", "heads")
    with pytest.raises(KeyError, match="Llama 9"):
        read_model("Llama 9")


def test_a_misprint_of_a_published_number_is_refuted():
    right = '{value}`47.2 = reported("GQA, T5-XXL", "all heads")`'
    assert list(problems(right, {})) == []
    for wrong in ("47.1", "42.7", "47.20001"):
        assert len(list(problems(right.replace("47.2", wrong), {}))) == 1


def test_every_number_is_printed_on_a_page():
    prose = "\n".join(page_text(page) for page in book_pages())
    used = set(re.findall(r'reported\(\s*"([^"]+)",\s*"([^"]+)"\s*\)', prose))
    known = {(name, number) for name, line in LINES.items() for number in line["numbers"]}
    assert known == used
