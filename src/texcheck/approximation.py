r"""``\approx``: how near two sides must be, by the last printed digit or by a share that is said.

Beside a number the other side must round to it. Two expressions must be equal with numbers that
round to their decimals (``texcheck.decimals``), or ``approx={1: (0.005, "why")}`` says by which
share of the larger side they may differ in the display's first relation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from texcheck.values import Array

# A number as it is printed, with thousands, decimals and a power of ten.
PRINTED_NUMBER = re.compile(
    r"[+-]?(?P<whole>\d+(?:(?:\{,\}|,|\\,)\d{3})*)(?:\.(?P<decimals>\d+))?"
    r"(?:\\(?:cdot|times)10\^(?:\{(?P<power>[+-]?\d+)\}|(?P<digit>\d)))?"
)
# Zeros that end a whole number may only say how large it is, as long as it is as near as this, and
# where a decimal could be printed instead: 61000 is 6.1 times a power of ten, and 1000 is none.
ZEROS = 0.02
# How much more room than the values need ``approx`` may give two expressions.
SPARE = 2

# The share for each relation, by its number, and the reason.
Shares = Mapping[int, tuple[float, str]]
HOW = 'approx={{{number}: ({share:.2g}, "why")}}'


def require_shares(approx: Any, option: str = "approx", most: float = 1.0) -> None:
    """Refuse shares that are not said of a relation with a reason, or are too large."""
    said = approx.items() if isinstance(approx, Mapping) else [(None, approx)]
    for number, one in said:
        pair = isinstance(one, tuple) and len(one) == 2
        if not (isinstance(number, int) and pair and 0 < one[0] < most and str(one[1]).strip()):
            raise ValueError(
                f"{option} says of a relation by which share below {most} its sides differ, and "
                f'why: {option}={{1: (0.005, "terms of the third order are left out")}}; got '
                f"{approx!r}"
            )


def shares_of(texts: Sequence[str]) -> Shares:
    """What ``1=0.005`` says of the first relation, for a call of a single formula."""
    pairs = [text.partition("=")[::2] for text in texts]
    return {int(number): (float(share), "as the call says") for number, share in pairs}


def printed_units(text: str, said: bool = False) -> tuple[float, float] | None:
    """The units of the last printed digit and of the last that is not a zero of a whole number.

    Such zeros may be there only to say how large the number is: where two digits or more stand
    before them, or the check has said so. None where the text is no number.
    """
    match = PRINTED_NUMBER.fullmatch(re.sub(r"\s+|\\[;:!]", "", text))
    if match is None:
        return None
    whole = re.sub(r"\D", "", match["whole"])
    decimals = len(match["decimals"] or "")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    if not (said or len(whole.lstrip("0")) - zeros > 1):
        zeros = 0
    power = int(match["power"] or match["digit"] or 0)
    return 10.0 ** (power - decimals), 10.0 ** (power - decimals + zeros)


def rounds_to(a: Array, b: Array, texts: tuple[str, str], share: float = 0.0) -> bool:
    """Whether two sides, one of which is a printed number, are as near as its last digit says.

    ``share``: what the check says of it.
    """
    gap = np.abs(a - b)
    size = np.maximum(np.abs(a), np.abs(b))
    if not np.all(np.isfinite(gap)):
        return bool(np.array_equal(a, b))
    units = [found for text in texts if (found := printed_units(text, share > 0)) is not None]
    finest = max(last_digit for last_digit, _ in units)
    coarsest = max(last_telling for _, last_telling in units)
    room = np.maximum(finest / 2, np.minimum(coarsest / 2, max(ZEROS, share) * size))
    return bool(np.all(gap <= room + 1e-12 * size))


def is_printed(texts: tuple[str, str]) -> bool:
    """Whether one of two sides is a printed number."""
    return any(printed_units(text) is not None for text in texts)


def share_between(a: Array, b: Array) -> float:
    """By which share of the larger side two sides differ at most."""
    size = np.maximum(np.abs(a), np.abs(b))
    telling = size > 0
    return float(np.max(np.abs(a - b)[telling] / size[telling], initial=0.0))


def spare_share(number: int, share: float, seen: float, needed: bool) -> str:
    """What is wrong with the share of a relation whose sides differ by at most ``seen``."""
    if not needed:
        return f"holds without approx={{{number}: …}}; take it out"
    if share > SPARE * seen > 0:
        said = HOW.format(number=number, share=1.5 * seen)
        return (
            f"may differ by {share:.2g} of the larger side, and the sides differ by at most "
            f"{seen:.2g}; draw values where they differ more, or say {said}"
        )
    return ""


def spare_sampling(sampling_error: float, seen: float) -> str:
    """What is wrong with the share by which averages may be off, where they are off by ``seen``."""
    if sampling_error > SPARE * seen:
        return (
            f"averages may be off by {sampling_error:.2g}, and are by at most {seen:.2g}; say "
            f"sampling_error={1.5 * seen:.2g}"
        )
    return ""


def better(texts: tuple[str, str], sides: tuple[Array, Array]) -> str:
    """What should be printed in place of a number to which the other side does not round."""
    for text, value in zip(texts, reversed(sides), strict=True):
        match = PRINTED_NUMBER.fullmatch(re.sub(r"\s+|\\[;:!]", "", text))
        if match is None or value.size != 1 or np.iscomplexobj(value):
            continue
        power = int(match["power"] or match["digit"] or 0)
        number = float(value.flat[0])
        digits = f"{number / 10.0**power:.{len(match['decimals'] or '')}f}"
        tail = rf" \cdot 10^{{{power}}}" if power else ""
        return (
            f"{text.strip()} is no rounding of {number:.7g}: print {digits}{tail}, or more digits"
        )
    return ""
