"""The picture that stands beside a link to a chapter: its title, its question, its angles.

The hands are rotary position embedding at the position that is the chapter's number: pair i stands
at the angle m θ_i. So every chapter has a picture of its own, and neighbours look alike.
"""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bookcheck.cache import digest_of, whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 1200, 630
DPI = 100
BACKGROUND, TEXT = "#ffffff", "#1d232b"
PAIRS = 6
# The base makes the slowest of six hands visibly turn within the book.
BASE = 100.0


class Card(NamedTuple):
    """What the picture says; the book itself has no number."""

    number: int | None
    title: str
    question: str
    book: str


def draw(card: Card) -> Figure:
    """Draw a card: words on the left, six hands on the right."""
    # These imports take seconds, and most builds draw nothing.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from bookkit.figures import BLUE, GREY

    figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor=BACKGROUND)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.axis("off")
    axes.fill([0, WIDTH, WIDTH, 0], [0, 0, 12, 12], color=BLUE, linewidth=0)
    heading = "A book you can run" if card.number is None else f"{card.book} · {card.number}"
    axes.text(70, 95, heading, color=GREY, size=19, va="center", family="DejaVu Sans")
    title = textwrap.wrap(card.title, 21)
    below = _write_lines(axes, title, 178, 64, size=40, weight="bold")
    question = textwrap.wrap(card.question, 44)
    room = int((HEIGHT - 40 - below) // 37)
    if len(question) > room:
        question = [*question[: room - 1], f"{question[room - 1].rstrip(',.')} …"]
    _write_lines(axes, question, below + 12, 37, size=20)
    _draw_hands(axes, 0 if card.number is None else card.number)
    return figure


def _write_lines(axes: Axes, lines: list[str], top: int, pitch: int, **style: Any) -> int:
    """Write lines at equal distances, and return where the next would stand."""
    for place, line in enumerate(lines):
        y = top + pitch * place
        axes.text(70, y, line, color=TEXT, va="center_baseline", family="DejaVu Sans", **style)
    return top + pitch * len(lines)


def _draw_hands(axes: Axes, position: int) -> None:
    from attention_to_rope import rotary_frequencies
    from bookkit.figures import BLUE, GREY, ORANGE

    angles = position * rotary_frequencies(2 * PAIRS, BASE).numpy()
    circle = np.linspace(0, 2 * np.pi, 120)
    for pair, angle in enumerate(angles):
        row, column = divmod(pair, 2)
        x, y, radius = 905 + 180 * column, 150 + 170 * row, 70
        axes.plot(x + radius * np.cos(circle), y + radius * np.sin(circle), color=GREY, lw=1.5)
        end = (x + 0.9 * radius * np.cos(angle), y - 0.9 * radius * np.sin(angle))
        axes.annotate(
            "", end, (x, y),
            arrowprops={
                "color": ORANGE if pair == 0 else BLUE, "width": 4, "headwidth": 17,
                "headlength": 20, "shrink": 0,
            },
        )  # fmt: skip
        axes.text(x + radius + 2, y + radius, f"{pair}", color=GREY, size=12, ha="center")


def write(card: Card, target: Path, *, kept_in: Path) -> None:
    """Write a card as PNG; one that was drawn before by the same code is copied."""
    place = kept_in / f"{digest_of([Path(__file__)], repr(card))[:16]}.png"
    if not place.is_file():
        with whole_file(place) as temporary:
            draw(card).savefig(temporary, format="png", metadata={"Software": None})
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(place, target)
