"""The picture that stands beside a link to a chapter: its title, its question, its angles."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bookcheck.cache import digest_of

WIDTH, HEIGHT = 1200, 630
SOURCES = (Path(__file__), Path(__file__).with_name("card_drawing.py"))


class Card(NamedTuple):
    """What the picture says; the book itself has no number."""

    number: int | None
    title: str
    question: str
    book: str


def place_of(card: Card, kept_in: Path) -> Path:
    """Where the picture of a card is kept; another card or other code has another place."""
    return kept_in / f"{digest_of(SOURCES, repr(card))[:16]}.png"


def draw_missing(cards: Iterable[Card], kept_in: Path) -> None:
    """Draw the pictures that are not kept yet."""
    for card in cards:
        place = place_of(card, kept_in)
        if place.is_file():
            continue
        # Its imports (Matplotlib, torch) take seconds, and most builds draw nothing.
        from bookcheck.site.card_drawing import draw

        kept_in.mkdir(parents=True, exist_ok=True)
        # Written whole or not at all: a build may be stopped.
        temporary = place.with_suffix(f".{os.getpid()}.png")
        draw(card).savefig(temporary, metadata={"Software": None})
        temporary.replace(place)


def write(card: Card, target: Path, *, kept_in: Path) -> None:
    """Write a card as PNG; one that was drawn before by the same code is copied."""
    draw_missing([card], kept_in)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(place_of(card, kept_in), target)
