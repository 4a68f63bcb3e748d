"""Numbers in prose that are computed: {value}`0.30 = scores.std()`.

The page shows what is before the first ` = `; the rest is Python, evaluated after the code
above it (in a page without code: with `math`, `np`, `torch` and the library as `book`). Above all
code it is evaluated after the code that follows, up to the next text; in the answer box it is
evaluated at the end of the page. A number must be the value, rounded to the printed digits; a text
must be the value itself. A number may have a minus sign (−), commas (65,504) and a power of ten
(1.2e-3 or 1.2·10⁻³), or be in words (three, twice, tenfold, a quarter). It takes along the unit or
the word that scales it: {value}`2.7 GB = cache_bytes`, {value}`1.3 million = parameters`,
{value}`3.4 ms = seconds`, {value}`12 % = share`. The expression then gives bytes, parameters,
seconds or a share.

The names in `OFFERED` need no import: numbers that others have published, sizes of models, and
models with a property, which sentences about several models count.
"""

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

# Names that every value may use, and the modules that hold them.
OFFERED = {
    "reported": "bookkit.published",
    "read_model": "bookkit.models",
    "models_that": "bookkit.models",
    "how_many": "bookkit.models",
}
VALUE = re.compile(r"\{value\}`([^`]+)`")
# Not by the parser of MyST: every kernel's process would import it.
ANSWER = re.compile(r"^(:{3,})\{answer\}$.*?^\1$", re.MULTILINE | re.DOTALL)
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(
    r"(?P<sign>[-−+]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<decimals>\d+))?"
    r"(?:e(?P<exponent>[-+]?\d+)|\s?[·×]\s?10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
)
# What a unit or a word after a number makes of it.
SCALES: dict[str, int | Fraction] = {
    "%": Fraction(1, 100),
    "×": 1,
    "times": 1,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "B": 10**9,
    "bytes": 1,
    **{f"{prefix}B": 10**power for prefix, power in zip("kMGT", (3, 6, 9, 12), strict=True)},
    **{f"{prefix}iB": 2**power for prefix, power in zip("KMGT", (10, 20, 30, 40), strict=True)},
    **{f"{prefix}B/s": 10**power for prefix, power in zip("MGT", (6, 9, 12), strict=True)},
    **{
        f"{prefix}FLOP{end}": 10**power
        for prefix, power in zip("MGTPE", (6, 9, 12, 15, 18), strict=True)
        for end in ("", "s", "/s")
    },
    "s": 1,
    "seconds": 1,
    "ms": Fraction(1, 10**3),
    "milliseconds": Fraction(1, 10**3),
    "µs": Fraction(1, 10**6),
    "microseconds": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "minutes": 60,
    "hours": 3600,
    "days": 86400,
    "degrees": Fraction(math.pi) / 180,
    "°": Fraction(math.pi) / 180,
    "radians": 1,
}
# These mean a size of their own, so that a number without them is another one.
SCALING = [unit for unit, scale in SCALES.items() if scale != 1 and unit not in ("degrees", "°")]
UNIT = "|".join(sorted(map(re.escape, SCALES), key=len, reverse=True))
QUANTITY = re.compile(rf"(?P<amount>.+?)(?:[\s-]?(?P<unit>{UNIT}))?")
BEHIND = re.compile(
    rf"\{{value\}}`(?P<inside>[^`]+)`[\s-]?(?P<unit>{'|'.join(map(re.escape, SCALING))})(?![\w/])"
)
SMALL = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
"""
SMALL_NUMBERS = {word: number for number, word in enumerate(SMALL.split())}
ROUND = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {word: 10 * number for number, word in enumerate(ROUND.split(), start=2)}
PARTS = {
    "half": 2,
    "third": 3,
    "quarter": 4,
    "fifth": 5,
    "sixth": 6,
    "eighth": 8,
    "tenth": 10,
    "hundredth": 100,
}
MULTIPLES = {
    "once": 1,
    "twice": 2,
    "double": 2,
    "triple": 3,
    "a hundred": 100,
    "a thousand": 1000,
    "a dozen": 12,
}
# A share in words is right up to this part of it: 0.26 is a quarter.
ROUGHLY = Fraction(1, 20)
# A tie may be rounded to either side, depending on the last bits of the value.
HALF = Fraction(1, 2) * (1 + Fraction(1, 10**9))


class ValueSyntaxError(ValueError):
    """A value without its expression."""


class Value(NamedTuple):
    """What the page shows, and the Python expression that must give it."""

    printed: str
    expression: str


def parse_value(text: str) -> Value:
    """Read the inside of the role; it may continue on the next line."""
    printed, _, expression = " ".join(text.split()).partition(" = ")
    if not printed.strip() or not expression.strip():
        raise ValueSyntaxError(
            f"{text!r}: write {{value}}`printed = expression`, for example "
            "{value}`0.30 = scores.std()`"
        )
    return Value(printed.strip(), expression.strip())


def line_of(value: Value) -> str:
    """A value as a record of executed values has it."""
    return f"{value.printed} = {value.expression}"


def values_in(text: str) -> list[Value]:
    """The values of a text, in order."""
    return [parse_value(inside) for inside in VALUE.findall(text)]


def values_of_cell(cell: Any) -> list[Value]:
    """The values of a notebook's cell: its prose, or the caption of the figure that it draws."""
    if cell.cell_type == "markdown":
        return values_in(cell.source)
    return values_in(cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", ""))


def values_of_answer(text: str) -> list[Value]:
    """The values inside the answer box of a text."""
    return [value for box in ANSWER.finditer(text) for value in values_in(box.group())]


def complete(expression: str) -> str:
    """An expression with the names that it offers, whose result is a number or a text of Python."""
    used = [name for name in OFFERED if re.search(rf"\b{name}[(\[]", expression)]
    bound = [f"{name}=__import__({OFFERED[name]!r}, fromlist=[{name!r}]).{name}" for name in used]
    plain = "(lambda v: v if isinstance(v, (bool, int, str)) else float(v))"
    return f"{plain}((lambda {', '.join(bound)}: {expression})())"


def result_of(answer: Mapping[str, Any]) -> Any:
    """What a kernel answers to one expression: a value, or an Exception."""
    if answer["status"] != "ok":
        return RuntimeError(f"{answer['ename']}: {answer['evalue']}")
    return eval(answer["data"]["text/plain"], {"nan": math.nan, "inf": math.inf})


def faults(values: Iterable[Value], computed: Iterable[Any]) -> list[str]:
    """One line for each value whose printed text is not what was computed."""
    pairs = zip(values, computed, strict=True)
    wrong = ((value, disagreement(value.printed, result)) for value, result in pairs)
    return [f"{{value}}`{one.printed} = {one.expression}` {why}" for one, why in wrong if why]


def problems(text: str, names: Mapping[str, Any]) -> list[str]:
    """The faults of the values of a page without code; expressions may use the given names."""
    values = values_in(text)
    computed = []
    for value in values:
        try:
            computed.append(eval(complete(value.expression), dict(names)))
        except Exception as error:
            computed.append(error)
    return faults(values, computed)


def disagreement(printed: str, computed: Any) -> str | None:
    """What is wrong with the printed text, or None where it is the computed value."""
    if isinstance(computed, Exception):
        return f"fails: {computed!r}; it can use what the cells above its text define"
    wrong = f"prints {printed!r}, but the expression gives {computed!r}"
    if isinstance(computed, str):
        return None if printed == computed else wrong
    if isinstance(computed, bool) or not isinstance(computed, (int, float)):
        return f"{wrong}; a value is a number or a text"
    quantity = QUANTITY.fullmatch(printed)
    read = quantity and (number_of(quantity["amount"]) or in_words(quantity["amount"]))
    if quantity is None or read is None:
        return f"{wrong}; write it as a number, for example {computed:.3g}"
    scale = SCALES[quantity["unit"]] if quantity["unit"] else 1
    exact, tolerance = (part * scale for part in read)
    if math.isfinite(computed) and abs(exact - Fraction(computed)) <= tolerance:
        return None
    if scale == 1:
        return f"{wrong}; print that, rounded"
    unit = quantity["unit"]
    return f"{wrong}, which is {float(computed / scale):.4g} {unit}; print that, rounded"


def number_of(text: str) -> tuple[Fraction, Fraction] | None:
    """A printed number, and how far what it stands for may be from it."""
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    exponent = int(found["exponent"] or (found["power"] or "0").translate(SUPERSCRIPTS))
    unit = Fraction(10) ** (exponent - len(found["decimals"] or ""))  # of the last printed digit
    digits = int(found["whole"].replace(",", "") + (found["decimals"] or ""))
    return digits * unit * (-1 if found["sign"] in ("-", "−") else 1), HALF * unit


def in_words(text: str) -> tuple[Fraction, Fraction] | None:
    """A number in words, such as twenty-four, twice or two thirds; whole numbers are exact."""
    words = text.lower().removesuffix(" a")  # half a million
    if words in MULTIPLES:
        return Fraction(MULTIPLES[words]), HALF
    if words.endswith("fold"):
        return in_words(words.removesuffix("fold"))
    tens, _, ones = words.partition("-")
    if words in SMALL_NUMBERS or (tens in TENS and ones in ("", *SMALL_NUMBERS)):
        number = SMALL_NUMBERS[words] if words in SMALL_NUMBERS else TENS[tens]
        number += SMALL_NUMBERS[ones] if ones else 0
        return Fraction(number), HALF
    count, _, part = words.replace("-", " ").rpartition(" ")
    part = "half" if part in ("half", "halves") else part.removesuffix("s")
    if part in PARTS and count in ("", "a", "an", *SMALL_NUMBERS):
        share = Fraction(SMALL_NUMBERS.get(count, 1), PARTS[part])
        return share, ROUGHLY * share
    return None


def units_behind(text: str) -> list[str]:
    """One line for each value of a text whose unit stands behind it, where nothing computes it."""
    return [
        f"{{value}}`{found['inside']}` {found['unit']}: take the unit into the value, so that it "
        f"is computed too: {{value}}`{inside.printed} {found['unit']} = …`, where … gives the "
        f"number times {float(SCALES[found['unit']]):g}"
        for found in BEHIND.finditer(text)
        for inside in [parse_value(found["inside"])]
    ]
