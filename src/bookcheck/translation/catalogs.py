"""The translations: one file of messages for each page, as gettext keeps them.

    python -m bookcheck.translation update    # after the English text changed
    python -m bookcheck.translation status    # what is missing, outdated or wrong

A message that has changed a little keeps its old translation, marked "fuzzy", for the translator;
the page shows English until somebody has looked at it and removed the mark.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from bookcheck.notebooks.files import main_line
from bookcheck.paths import CHAPTERS, ROOT
from bookcheck.translation.messages import messages_of

LOCALE = ROOT / "locale"
PAGES = ("questions", "glossary", "notation", "cheat-sheet")


def pages() -> list[Path]:
    """What is translated: the opening page, the main line, and four pages of the back matter."""
    return [ROOT / "index.md", *main_line(), *(CHAPTERS / f"{name}.md" for name in PAGES)]


def file_of(page: Path, language: str) -> Path:
    """Where the translations of a page are."""
    place = page.relative_to(ROOT).with_suffix(".po")
    return LOCALE / language / "LC_MESSAGES" / place


def read_catalog(page: Path, language: str) -> Catalog:
    """All stored messages of a page; none where there is no file yet."""
    path = file_of(page, language)
    if not path.is_file():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def translations(page: Path, language: str) -> dict[str, str]:
    """The finished translations of a page."""
    return {
        message.id: message.string
        for message in read_catalog(page, language)
        if message.id and message.string and not message.fuzzy
    }


def update(page: Path, language: str) -> None:
    """Store the messages that a page has now, with the translations that still fit."""
    now = Catalog()
    for message in messages_of(page):
        now.add(message)
    catalog = read_catalog(page, language)
    catalog.update(now)
    catalog.obsolete.clear()
    catalog.header_comment, catalog.fuzzy = "", False
    path = file_of(page, language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=98, omit_header=True, sort_output=False)


# What a translation must hold unchanged.
KEPT = {
    "formulas": re.compile(r"\$[^$]+\$"),
    "code": re.compile(r"(?<![}`])`[^`]+`"),
    "citations and references": re.compile(r"\{(?!value|term)[^}]+\}`[^`]+`"),
    "expressions of values": re.compile(r"(?<=\{value\}`).*? = ([^`]+)(?=`)"),
    "terms": re.compile(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`"),
    "targets of links": re.compile(r"(?<=\]\()[^()\s]+(?=\))"),
}
ROLE = re.compile(r"\{[^}]+\}`[^`]+`|\$[^$]+\$|`[^`]+`|\]\([^()\s]+\)")
NUMBER = re.compile(r"\d[\d.,]*\d|\d")
VALUE = re.compile(r"\{value\}`(.*?) = ")


def differences(message: str, translation: str) -> Iterator[str]:
    """Name what a translation has lost, added or changed."""
    kept = [(name, pattern.findall(message), pattern.findall(translation)) for name, pattern in KEPT.items()]
    numbers = [NUMBER.findall(ROLE.sub(" ", text)) for text in (message, translation)]
    values = [
        [number for value in VALUE.findall(text) for number in NUMBER.findall(value)]
        for text in (message, translation)
    ]
    for name, before, after in (*kept, ("numbers", *numbers), ("numbers of values", *values)):
        lost, added = Counter(before) - Counter(after), Counter(after) - Counter(before)
        if lost or added:
            yield f"{name}: {[*lost]} became {[*added]}"


def status(page: Path, language: str) -> dict[str, list[str]]:
    """The messages of a page that are missing or outdated, and what is wrong with others."""
    stored = {message.id: message for message in read_catalog(page, language) if message.id}
    found: dict[str, list[str]] = {"missing": [], "outdated": [], "wrong": []}
    for message in messages_of(page):
        entry = stored.get(message)
        if entry is None or not entry.string:
            found["missing"].append(message)
        elif entry.fuzzy:
            found["outdated"].append(message)
        else:
            found["wrong"] += [f"{message}: {one}" for one in differences(message, entry.string)]
    return found
