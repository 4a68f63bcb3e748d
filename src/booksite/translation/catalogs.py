"""The translations: one file of messages for each page, as gettext keeps them.

    python -m booksite.translation update    # after the English text changed
    python -m booksite.translation status    # what is missing, outdated or wrong

A message that has changed a little keeps its old translation, marked "fuzzy", for the translator;
the page shows English, with a note, until somebody has looked at it and removed the mark.
"""

import calendar
import csv
import functools
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from bookformat.contents import book_pages, main_line
from bookformat.paths import CHAPTERS, ROOT
from bookformat.values import in_words
from booksite.translation.amounts import other_amounts
from booksite.translation.messages import messages_of
from booksite.translation.outputs import DECIMALS, FIELD, PLACE_OF_NUMBER, UNIT

LOCALE = ROOT / "locale"
PAGES = (
    "questions.md",
    "symptoms.md",
    "cheat-sheet.md",
    "models.ipynb",
    "read-my-model.md",
    "other-formulas.md",
    "errata.ipynb",
    "sources.md",
    "notation.md",
    "glossary.md",
    "ledger.md",
    "teach.md",
    "bibliography.md",
)


def pages() -> list[Path]:
    """What is translated: opening page, main line, depth pages, workshop, and back matter."""
    deeper = sorted((CHAPTERS / "deeper").glob("*.ipynb"))
    workshop = [page for page in book_pages() if page.parent.name == "workshop"]
    back_matter = (CHAPTERS / name for name in PAGES)
    return [ROOT / "index.md", *main_line(), *deeper, *workshop, *back_matter]


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
        str(message.id): str(message.string)
        for message in read_catalog(page, language)
        if message.id and message.string and not message.fuzzy
    }


def elsewhere(page: Path, language: str) -> dict[str, str]:
    """What other pages translate, where all of them agree."""
    found: dict[str, set[str]] = {}
    for other in pages():
        for message, text in translations(other, language).items() if other != page else ():
            found.setdefault(message, set()).add(text)
    return {message: texts.pop() for message, texts in found.items() if len(texts) == 1}


def update(page: Path, language: str) -> None:
    """Store the messages that a page has now, with the translations that still fit.

    A message without one gets what the same message has on another page, which may read its label
    or its comment, too. A single word may mean something else here, as "code" does: it is marked
    for the translator to look at.
    """
    now = Catalog()
    for message in messages_of(page):
        now.add(message)
    catalog = read_catalog(page, language)
    catalog.update(now)
    said = {} if all(entry.string for entry in catalog) else elsewhere(page, language)
    for entry in catalog:
        if entry.id in said and (entry.fuzzy or not entry.string):
            entry.string = said[str(entry.id)]
            entry.flags.discard("fuzzy")
            if str(entry.id).strip(" :").isalpha():
                entry.flags.add("fuzzy")
    catalog.obsolete.clear()
    catalog.header_comment = ""
    catalog.fuzzy = False
    path = file_of(page, language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=98, omit_header=True, sort_output=False)


# What a translation holds unchanged: formulas, code, what roles refer to, fields of f-strings and
# places of numbers in outputs, targets, numbers.
FORMULA = re.compile(r"\$[^$]+\$")
ROLE = re.compile(r"(?:\{(?P<role>[^}]+)\})?`(?P<inside>[^`]+)`")
TARGET = re.compile(r"(?<=\]\()[^()\s]+(?=\))")
NUMBER = re.compile(r"\d[\d.,]*\d|\d")
# Numbers in thousands or millions, and months, are compared by value.
SCALE = {"thousand": 3, "K": 3, "千": 3, "万": 4, "million": 6, "亿": 8, "billion": 9}
SCALED = re.compile(rf"(\d[\d.,]*) ?({'|'.join(SCALE)})")
SCALED_FIELD = re.compile(rf"(?P<field>{FIELD.pattern}) ?(?P<word>{'|'.join(SCALE)})(?![a-z])")
# No Chinese number counts in these, and no space stands between Chinese letters.
FOREIGN = re.compile(r"[\d}] ?(?:十亿|百万)")
WORD = r"\{value\}`[一-鿿][^`=]* = "
APART = re.compile(rf"[一-鿿，。；：（）、] {WORD}|{WORD}[^`]*` [一-鿿，。；：（）、]")
# Chinese letters for a letter of English, at least and at most, and how many less and more may be.
FEWEST, MOST, LESS, MORE = 0.15, 1.0, 4, 10
MONTH = re.compile(rf"({'|'.join(calendar.month_name[1:])}) (?=\d{{4}})")


# One digit is all that a computed number word of a Chinese sentence has.
CHINESE = dict(zip("一二三四五六七八九十", range(1, 11), strict=True)) | {"两": 2}


def digits_of(shown: str) -> str:
    """What a value shows, with a number word as digits, so that translations can be compared."""
    number = CHINESE.get(shown.removesuffix("个"))
    words = in_words(shown)
    if words is not None:
        number = words[0].numerator if words[0].denominator == 1 else None
    return shown if number is None else str(number)


def kept_of(text: str) -> Counter[str]:
    """Everything in a message that no translation changes."""
    found = FORMULA.findall(text)

    def keep(role: re.Match[str]) -> str:
        inside = role["inside"]
        shown = " "
        if role["role"] == "value":  # a number stays, a word is translated
            shown, _, inside = inside.partition(" = ")
            shown = digits_of(shown)
        elif role["role"] == "term":
            inside = inside.rpartition("<")[2].rstrip(">")
        found.append(f"{{{role['role'] or ''}}}`{inside}`")
        return shown

    words = SCALED_FIELD.sub(field_by_value, ROLE.sub(keep, FORMULA.sub(" ", text)))
    found += FIELD.findall(words)
    words = FIELD.sub(" ", words)
    found += TARGET.findall(words)
    words = MONTH.sub(lambda name: f"{[*calendar.month_name].index(name[1])} ", words)
    words = SCALED.sub(
        lambda at: f"{Decimal(at[1].replace(',', '')).scaleb(SCALE[at[2]]):f}", words
    )
    return Counter([*found, *NUMBER.findall(TARGET.sub(" ", words))])


def field_by_value(at: re.Match[str]) -> str:
    """A field or a place of a number, and the word that scales it, by what they say together."""
    power = SCALE[at["word"]]
    if place := PLACE_OF_NUMBER.fullmatch(at["field"]):
        return f"{{×1e{power + len(place['zeros'] or '')}}}"
    by_unit = UNIT.sub(lambda unit: f"1e{int(unit[1]) - power}", at["field"])
    return DECIMALS.sub("", by_unit) if by_unit != at["field"] else by_unit


@functools.cache
def terms(language: str) -> list[tuple[re.Pattern[str], str]]:
    """The terms of terms.tsv that are translated in the same way wherever they occur."""
    with (LOCALE / language / "terms.tsv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file, delimiter="\t")][1:]
    return [
        (
            re.compile(
                rf"(?<![\w-]){english.removesuffix('y')}(?:s|y|ies)?(?![\w-])", re.IGNORECASE
            ),
            other,
        )
        for english, other, _, always in rows
        if always
    ]


def letters_of(text: str) -> int:
    """How many letters the words of a message have, without formulas, code, fields and targets."""
    for pattern in (TARGET, FORMULA, ROLE, FIELD):
        text = pattern.sub(" ", text)
    return sum(map(str.isalpha, text))


def differences(message: str, translation: str, language: str) -> Iterator[str]:
    """Name what a translation has lost, added or changed, and terms it does not use.

    One that is much longer or shorter than others may be that of another message.
    """
    letters, others = letters_of(message), letters_of(translation)
    if not FEWEST * letters - LESS <= others <= MOST * letters + MORE:
        yield f"{letters} letters became {others}: is it the translation of another message?"
    before = kept_of(message)
    after = kept_of(translation)
    if before != after:
        yield f"{[*(before - after)]} became {[*(after - before)]}"
    yield from other_amounts(message, translation)
    for pattern, wrong in ((FOREIGN, "Chinese counts in 万 and 亿"), (APART, "a space too many")):
        if found := pattern.search(translation):
            yield f"{wrong}: {found[0]}"
    # What the code needs is repeated in English.
    words = "" if message == translation else message
    words = FIELD.sub(" ", ROLE.sub(" ", FORMULA.sub(" ", words)))
    for english, other in terms(language):
        if (used := english.search(words)) and other not in translation:
            yield f"terms.tsv translates {used[0]!r} as {other}"


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
            found["wrong"] += [
                f"{message}: {one}" for one in differences(message, str(entry.string), language)
            ]
    return found
