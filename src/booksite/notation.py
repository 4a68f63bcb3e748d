"""Check that the notation page gives each letter one meaning in every chapter that uses it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bookformat.contents import book_entries, book_pages
from bookformat.formulas import formulas_in, markdown_cells
from bookformat.myst import displays_of
from bookformat.paths import CHAPTERS

# "all", or a list such as "1, 8–10, 12*": 12* is the depth pages of chapter 12 without the chapter.
PLACES = r"\d[\d–*, ]*"
# A row of either table ends with the places of its meaning, or with meanings and their places.
ROW = re.compile(r"^\| \$(?P<symbols>[^|]*)\$ \|(?:.*\|)? (?P<last>[^|]+) \|$", re.MULTILINE)
MEANING = re.compile(rf"(?:^|\()(all|{PLACES})\)?(?:; |$)")
# Beside its own meaning this letter is the argument of any function.
ARGUMENT = "x"
# θ_i is the letter θ with any index.
RUNNING_INDEX = re.compile(r"_[imn]$")
# Words inside a formula, and names in capitals such as the DKV of W^{DKV}, are no letters.
WORDS = re.compile(
    r"\\(?:text|operatorname\*?|mathrm|mathbb|begin|end)\{[^{}]*\}|[A-Z]?\^\{[A-Z]{2,}\}"
)
LETTER = re.compile(r"\\[A-Za-z]+|[A-Za-z]")


class Meaning(NamedTuple):
    """A meaning of a symbol; `places` None: everywhere."""

    symbol: str
    places: frozenset[str] | None


def formulas_by_place(folder: Path = CHAPTERS) -> dict[str, list[str]]:
    """All formulas of each chapter ("12") and of its depth pages together ("12*")."""
    found: dict[str, list[str]] = {}
    for entry, path in zip(book_entries(folder), book_pages(folder), strict=True):
        if entry.chapter is None:
            continue
        depth = "*" if entry.is_depth else ""
        texts = found.setdefault(f"{entry.chapter}{depth}", [])
        for _, source in markdown_cells(path):
            texts += formulas_in(source)
            texts += [display.text for display in displays_of(source)]
    return found


def places_in(text: str) -> frozenset[str] | None:
    """Read "all" (None) or a list such as "1, 8–10, 12*"."""
    if text == "all":
        return None
    found: set[str] = set()
    for part in text.split(", "):
        first, _, last = part.partition("–")
        found |= {str(n) for n in range(int(first), int(last) + 1)} if last else {part}
    return frozenset(found)


def symbols_in(tex: str) -> list[str]:
    r"""Split "m,\ n" into its symbols; of "R(\alpha)" the function's letter is the symbol."""
    return [re.sub(r"\(.*\)$", "", part).strip() for part in re.split(r",\\ ", tex)]


def meanings_on(page: str) -> list[Meaning]:
    """What the tables of the page say of each symbol: where it has a meaning."""
    return [
        Meaning(RUNNING_INDEX.sub("", symbol), places_in(places))
        for row in ROW.finditer(page)
        for symbol in symbols_in(row["symbols"])
        for places in MEANING.findall(row["last"])
    ]


def symbols_used(formulas: Iterable[str], listed: Iterable[str]) -> set[str]:
    """The letters of some formulas; a listed symbol of several signs, such as d_k, is one."""
    longer = sorted((s for s in listed if not LETTER.fullmatch(s)), key=len, reverse=True)
    found: set[str] = set()
    for formula in formulas:
        left = WORDS.sub(" ", formula)
        for symbol in longer:
            if symbol in left:
                found.add(symbol)
                left = left.replace(symbol, " ")
        found |= set(LETTER.findall(left))
    return found


def notation_problems(page: str, formulas: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Find symbols without a meaning, or with two, and meanings that no formula uses."""
    meanings = meanings_on(page)
    listed = {meaning.symbol for meaning in meanings}
    used = {place: symbols_used(texts, listed) for place, texts in formulas.items()}
    for symbol in sorted(listed):
        users = {place for place, found in used.items() if symbol in found}
        own = [meaning for meaning in meanings if meaning.symbol == symbol]
        named = Counter(place for meaning in own for place in meaning.places or users)
        if not users:
            yield f"{symbol}: no chapter uses it; remove its row from notation.md"
        for place in sorted(users - set(named)):
            # A chapter's meaning holds on its depth pages, unless they have their own.
            if place.removesuffix("*") not in named:
                yield (
                    f"{symbol}: what is it in chapter {place}? Name the chapter beside its meaning "
                    "in notation.md, or choose another letter"
                )
        for place in sorted(set(named) - users):
            if f"{place}*" not in users or f"{place}*" in named:
                yield f"{symbol}: chapter {place} does not use it; remove {place} from its row"
        for place, count in sorted(named.items()):
            if count > 1 and symbol != ARGUMENT:
                yield (
                    f"{symbol}: chapter {place} has two meanings of it; give one of them "
                    "another letter"
                )
