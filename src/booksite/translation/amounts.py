"""Values of a translation: each says as much as the one of the message, in a unit of its own.

The same expression stands in both, and only the English number is compared with what it gives.
So 130 万 must be as much as 1.3 million, 31 秒 as 31 seconds, and a value is a bound in Chinese,
至少 or 不到, on the side on which it is one in English.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from bookformat.values import (
    BOUNDS,
    FROM_ABOVE,
    FROM_BELOW,
    KIND_OF,
    NEAR,
    QUANTITY,
    SCALES,
    SPACE,
    VALUE,
    in_words,
    number_of,
    parse_value,
)
from bookformat.values import bound_of as english_bound

# Chinese units, and the English ones that they are; and numbers that count in them.
UNITS = {
    "倍": "times",
    "次": "times",
    "字节": "bytes",
    "毫秒": "ms",
    "微秒": "µs",
    "秒": "s",
    "分钟": "min",
    "小时": "h",
    "天": "days",
    "年": "years",
    "弧度": "radians",
    "度": "degrees",
}
COUNTS = {"千": 10**3, "万": 10**4, "亿": 10**8, "K": 10**3}
DIGITS = dict(zip("一二三四五六七八九十", range(1, 11), strict=True)) | {"两": 2}
AMOUNT = re.compile(
    rf"(?P<amount>.+?)\s?(?P<count>{'|'.join(COUNTS)})?\s?(?P<unit>{'|'.join(UNITS)})?"
)
BELOW = "至少|不少于|不低于|超过|多于|大于|高于|长于|起码"
ABOVE = "至多|最多|不到|少于|小于|低于|不足|将近|接近"
BOUND = re.compile(
    rf"(?P<turned>不|未|没有[^，。；：]*)?(?:(?P<below>{BELOW})|(?P<above>{ABOVE}))(?:大?约|有|需?要|是|为|达|用)?\s?$"
)


def size_of(printed: str) -> tuple[Fraction, str | None] | None:
    """How much a printed value is, and the kind of its unit; none for words that are no number."""
    found = QUANTITY.fullmatch(printed)
    amount = printed
    unit = None
    scale = Fraction(1)
    if found and found["unit"]:
        amount = found["amount"]
        unit = found["unit"]
        scale = Fraction(SCALES[unit])
    elif found := AMOUNT.fullmatch(printed):
        amount = found["amount"]
        unit = UNITS.get(found["unit"])
        scale = Fraction(SCALES[unit] if unit else 1) * COUNTS.get(found["count"], 1)
    read = number_of(amount) or in_words(amount)
    number = read[0] if read else DIGITS.get(amount.removesuffix("个"))
    kind = KIND_OF.get(unit or "")
    return None if number is None else (number * scale, None if kind == "a count" else kind)


def bound_of(before: str) -> str:
    """On which side the Chinese words before a value bound it."""
    found = BOUND.search(SPACE.sub(" ", before[-40:]))
    if found is None:
        return ""
    below = (found["below"] is not None) != (found["turned"] is not None)
    return FROM_BELOW if below else FROM_ABOVE


def other_amounts(message: str, translation: str) -> Iterator[str]:
    """The values of a translation that are another amount, kind or bound than in the message."""
    said = defaultdict(list)
    for role in VALUE.finditer(message):
        value = parse_value(role[1])
        said[value.expression].append((value, message[: role.start()], message[role.end() :]))
    for role in VALUE.finditer(translation):
        value = parse_value(role[1])
        meant = said[value.expression]
        size = size_of(value.printed)
        sizes = [size_of(one.printed) for one, _, _ in meant]
        if not meant or size is None or None in sizes:
            continue  # words, and another expression, are told as such
        printed = meant[0][0].printed
        if not any(one and size[0] == one[0] and size[1] in (None, one[1]) for one in sizes):
            yield f"{value.printed} is another amount than {printed}"
        bound = bound_of(translation[: role.start()])
        if bound and not any(is_bound(bound, *around) for _, *around in meant):
            yield f"{value.printed} is a bound {bound}, and {printed} is none of this kind"


def is_bound(bound: str, before: str, behind: str) -> bool:
    """Whether English words make a value such a bound, a few words before it or behind it."""
    near = SPACE.sub(" ", before[-NEAR:])
    words = english_bound(near, SPACE.sub(" ", behind[:NEAR]))
    if words:
        return words == bound
    before_others = re.split(r"[.;:]\s|`", near)[-1]
    return re.search(rf"\b(?:{BOUNDS[bound]})\b", before_others) is not None
