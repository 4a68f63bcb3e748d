"""``\\approx``: how near two sides must be, by the last printed digit or by a share."""

from __future__ import annotations

import re

import numpy as np

from texcheck.values import Array

# A number as it is printed, with thousands, decimals and a power of ten.
PRINTED_NUMBER = re.compile(
    r"[+-]?(?P<whole>\d+(?:(?:\{,\}|,|\\,)\d{3})*)(?:\.(?P<decimals>\d+))?"
    r"(?:\\(?:cdot|times)10\^(?:\{(?P<power>[+-]?\d+)\}|(?P<digit>\d)))?"
)


def printed_units(text: str) -> tuple[float, float] | None:
    """The units of the last printed digit and of the last that is not a zero of a whole number.

    Such zeros may be there only to say how large the number is. None where the text is no number.
    """
    match = PRINTED_NUMBER.fullmatch(re.sub(r"\s+|\\[;:!]", "", text))
    if match is None:
        return None
    whole = re.sub(r"\D", "", match["whole"])
    decimals = len(match["decimals"] or "")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    power = int(match["power"] or match["digit"] or 0)
    return 10.0 ** (power - decimals), 10.0 ** (power - decimals + zeros)


def approximately(a: Array, b: Array, texts: tuple[str, str], share: float) -> bool:
    """Whether two sides are near: a printed number to its last digit, others to a share."""
    gap = np.abs(a - b)
    size = np.maximum(np.abs(a), np.abs(b))
    if not np.all(np.isfinite(gap)):
        return bool(np.array_equal(a, b))
    units = [found for text in texts if (found := printed_units(text)) is not None]
    if not units:
        return bool(np.all(gap <= share * size))
    finest = max(last_digit for last_digit, _ in units)
    coarsest = max(last_telling for _, last_telling in units)
    room = np.maximum(finest / 2, np.minimum(coarsest / 2, share * size))
    return bool(np.all(gap <= room + 1e-12 * size))


def share_between(a: Array, b: Array, texts: tuple[str, str]) -> float:
    """By which share of the larger side two expressions differ; 0 beside a printed number."""
    if any(printed_units(text) is not None for text in texts):
        return 0.0
    size = np.maximum(np.abs(a), np.abs(b))
    telling = size > 0
    return float(np.max(np.abs(a - b)[telling] / size[telling], initial=0.0))
