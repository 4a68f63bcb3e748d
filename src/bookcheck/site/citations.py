"""Citations as plain text with a link: (Vaswani et al., 2017)."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pybtex.backends.plaintext import Backend
from pybtex.database import Entry, parse_file

# By its name, pybtex would look for it among all installed packages, anew for every person.
PLAIN_TEXT = Backend()


class Source(NamedTuple):
    """Who wrote it, when, and where it can be read."""

    authors: str
    year: str
    address: str


def authors_of(entry: Entry) -> str:
    """One name, two with "and", or the first with "et al."."""
    people = entry.persons.get("author") or entry.persons.get("editor", [])
    names = [last_name(person) for person in people if str(person) != "others"]
    if len(names) != len(people) or len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)


def last_name(person: Any) -> str:
    """The name by which a person is cited, as plain text: "van den Oord", "Kaiser"."""
    parts = [*person.rich_prelast_names, *person.rich_last_names]
    return " ".join(part.render(PLAIN_TEXT) for part in parts)


@cache
def sources_of(bibliography: Path) -> dict[str, Source]:
    """All sources of a bibliography, by their keys."""
    entries = parse_file(str(bibliography)).entries
    return {
        key: Source(authors_of(entry), entry.fields.get("year", ""), entry.fields.get("url", ""))
        for key, entry in entries.items()
    }


def citation(keys: str, sources: dict[str, Source], *, in_text: bool) -> str:
    """Markdown for one or more keys: "(A, 2017; B, 2018)", or "A (2017)" inside a sentence."""
    parts = []
    for key in (one.strip() for one in keys.split(",")):
        if key not in sources:
            raise KeyError(f"the bibliography has no source {key!r}")
        source = sources[key]
        text = (
            f"{source.authors} ({source.year})" if in_text else f"{source.authors}, {source.year}"
        )
        parts.append(f"[{text}]({source.address})" if source.address else text)
    return " and ".join(parts) if in_text else f"({'; '.join(parts)})"
