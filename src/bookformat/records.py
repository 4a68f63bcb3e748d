"""The records of `make test`: the label and the text of every formula that was checked.

A check that passes writes its record, one that fails takes it away. Building the site reads them
where they are, and marks an equation whose printed text is still the text of its record. The
relations inside the sentences of a page are one record, with a line for each, and so are the values
of its prose.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

# The label of the record of a page's sentences starts so.
SENTENCES = "sentences-of-"
# So do those of the numbers of a page; a notebook has one for the values of each place.
VALUES = "values-of-"
# Numbers of a sentence that nothing computes, as the list of all sentences names them.
TYPED_NUMBERS = ("constant", "name", "word", "unit", "code")
# What this list says of a line of code or of data.
LINE = "line"


@dataclass(frozen=True)
class Record:
    """A formula that was executed."""

    label: str
    text: str


def same_text(first: str, second: str) -> bool:
    """Whether two formulas are printed alike; spaces and line ends do not count."""
    return first.split() == second.split()


def write_record(record: Record, folder: Path) -> None:
    """Write a record whole or not at all: several workers may run at once."""
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"{record.label}.json.{os.getpid()}"
    written.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
    written.replace(folder / f"{record.label}.json")


def read_records(folder: Path) -> dict[str, Record]:
    """The records of a folder by label; whether they are true of the printed text is not asked."""
    found: dict[str, Record] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            record = Record(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            continue  # A check that runs at the same time has failed and taken its record away.
        except TypeError:
            continue  # Of another edition of this code, with other facts.
        found[record.label] = record
    return found
