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

The names in `OFFERED` need no import: numbers that others have published, sizes of models, what
follows from them in bytes, parameters and operations, rates of GPUs, and models with a property,
which sentences about several models count. An expression that names nothing is true of itself and
is refused, see `bookcheck.named`.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

# Names that every value may use, and the modules that hold them.
OFFERED = {
    "reported": "bookkit.published",
    "read_model": "bookkit.models",
    "models_that": "bookkit.models",
    "how_many": "bookkit.models",
    "read_gpu": "bookkit.seconds",
    "cache_bytes": "bookkit.seconds",
    "weights_bytes": "bookkit.seconds",
    "decoder_parameters": "bookkit.seconds",
    "causal_attention_operations": "bookkit.seconds",
}
VALUE = re.compile(r"\{value\}`([^`]+)`")
# Not by the parser of MyST: every kernel's process would import it.
ANSWER = re.compile(r"^(:{3,})\{answer\}$.*?^\1$", re.MULTILINE | re.DOTALL)
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(
    r"(?P<sign>[-−+]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<decimals>\d+))?"
    r"(?:e(?P<exponent>[-+]?\d+)|\s?[·×]\s?10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
)
# What a unit or a word after a number makes of it, by the kind of thing that it counts.
PREFIXES = dict(zip(("", *"kMGTPE"), range(0, 21, 3), strict=True))
NAMED = dict(zip(("kilo", "mega", "giga", "tera"), range(3, 15, 3), strict=True))
BINARY = dict(zip("KMGTP", range(10, 60, 10), strict=True))
KINDS: dict[str, dict[str, int | Fraction]] = {
    "a share": {"%": Fraction(1, 100), "percent": Fraction(1, 100), "‰": Fraction(1, 1000)},
    "a factor": {"×": 1, "times": 1},
    "a count": {
        "thousand": 10**3,
        "million": 10**6,
        "billion": 10**9,
        "trillion": 10**12,
        "k": 10**3,
        "K": 10**3,
        "M": 10**6,
        "B": 10**9,
    },
    "bytes": {
        "bytes": 1,
        "byte": 1,
        **{f"{word}bytes": 10**power for word, power in NAMED.items()},
        **{f"{prefix}B": 10**power for prefix, power in PREFIXES.items() if prefix},
        **{f"{prefix}iB": 2**power for prefix, power in BINARY.items()},
    },
    "bytes per second": {f"{prefix}B/s": 10**power for prefix, power in PREFIXES.items()},
    "operations": {
        f"{prefix}FLOP{end}": 10**power for prefix, power in PREFIXES.items() for end in ("", "s")
    },
    "operations per second": {f"{prefix}FLOP/s": 10**power for prefix, power in PREFIXES.items()},
    "seconds": {
        "s": 1,
        "second": 1,
        "seconds": 1,
        "ms": Fraction(1, 10**3),
        "milliseconds": Fraction(1, 10**3),
        "µs": Fraction(1, 10**6),
        "microseconds": Fraction(1, 10**6),
        "ns": Fraction(1, 10**9),
        "nanoseconds": Fraction(1, 10**9),
        "min": 60,
        "minute": 60,
        "minutes": 60,
        "h": 3600,
        "hour": 3600,
        "hours": 3600,
        "day": 86400,
        "days": 86400,
        "weeks": 7 * 86400,
        "months": Fraction(36525, 1200) * 86400,
        "year": Fraction(36525, 100) * 86400,
        "years": Fraction(36525, 100) * 86400,
    },
    "radians": {
        "degrees": Fraction(math.pi) / 180,
        "°": Fraction(math.pi) / 180,
        "rad": 1,
        "radians": 1,
    },
    "degrees Celsius": {"°C": 1},
    "watts": {"W": 1, "kW": 10**3, "MW": 10**6},
    "hertz": {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9},
}
SCALES = {unit: scale for units in KINDS.values() for unit, scale in units.items()}
KIND_OF = {unit: kind for kind, units in KINDS.items() for unit in units}
UNIT = "|".join(sorted(map(re.escape, SCALES), key=len, reverse=True))
QUANTITY = re.compile(rf"(?P<amount>.+?)(?:[\s-]?(?P<unit>{UNIT}))?")
# A product of sizes, 4096 × 8192, has no factor behind a value.
BEHIND = re.compile(
    rf"\{{value\}}`(?P<inside>[^`]+)`[\s-]?(?P<unit>{UNIT})(?![\w/])(?<!×(?=\s[\d{{]))"
)
# Words before a value, or behind it, that hold it on one side: a bound is rounded to this side.
FROM_BELOW = "from below"
FROM_ABOVE = "from above"
EXACTLY = "exactly"
LARGER = "(?:larg|great|high|long|bigg|farth|lat|old)er"
SMALLER = "(?:small|low|short|earli)er"
BOUNDS = {
    FROM_BELOW: (
        rf"at least|no (?:less|fewer) than|more than|{LARGER} than|over|above|beyond|exceeds?"
        "|between"
    ),
    FROM_ABOVE: (
        rf"at most|no more than|less than|fewer than|{SMALLER} than|under|below|up to|within"
        r"|nearly|almost|not even"
    ),
    EXACTLY: "exactly|precisely",
}
BOUND = re.compile(
    rf"\b(?:(?P<below>{BOUNDS[FROM_BELOW]})|(?P<above>{BOUNDS[FROM_ABOVE]})"
    rf"|(?P<exact>{BOUNDS[EXACTLY]}))\**\s(?:(?:a|an|about|of|all)\s){{0,2}}$",
    re.IGNORECASE,
)
# What turns a comparison round: no program takes more than …
NEGATION = re.compile(
    r"\b(?:no|not|none|nothing|never|neither|nor|cannot|without)\b", re.IGNORECASE
)
COMPARED = re.compile(r"\bthan\s(?:\w+\s){0,2}$")
CLAUSE = re.compile(r"[.;:,()|]\s")
SPACE = re.compile(r"\s+")
NEAR = 200  # letters around a value in which such words are looked for
# What parts the numbers of one bound (at least 3, 4 and 5), and what bounds one from behind.
IN_LIST = (", ", " and ", " or ")
AT_ITS_END = (", and ", ", or ")
OR_MORE = re.compile(rf"(?:[\s-]?(?:{UNIT}))?\s(?:or|and)\s(?:(?P<more>more|longer)|less|fewer)\b")
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
NOISE = Fraction(1, 10**9)
HALF = Fraction(1, 2) * (1 + NOISE)
# One digit is at most this part of its value away from it: 2 for 1.5. So 0 stands for 0 alone.
COARSEST = 3
# On which side of its value a bound is printed, and what to write there.
RIGHT_SIDE: dict[str, Callable[[Fraction], bool]] = {
    FROM_BELOW: lambda away: away < 0,
    FROM_ABOVE: lambda away: away > 0,
    EXACTLY: lambda away: False,
}
ADVICE = {
    FROM_BELOW: "round it down",
    FROM_ABOVE: "round it up",
    EXACTLY: "print all of its digits, or leave the word out",
}


class ValueSyntaxError(ValueError):
    """A value without its expression."""


class Value(NamedTuple):
    """What the page shows, the Python expression that must give it, and whether it is a bound."""

    printed: str
    expression: str
    bound: str = ""  # FROM_BELOW behind "at least", FROM_ABOVE behind "at most", EXACTLY, or none


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
    """The values of a text, in order, with what the words around them say of their rounding."""
    found: list[Value] = []
    between = False
    listed = False
    end = 0
    for role in VALUE.finditer(text):
        value = parse_value(role[1])
        apart = SPACE.sub(" ", text[end : role.start()])
        before = SPACE.sub(" ", text[max(role.start() - NEAR, 0) : role.start()])
        bound = bound_of(before, SPACE.sub(" ", text[role.end() : role.end() + NEAR]))
        if not bound and found and apart in (*IN_LIST, *(AT_ITS_END if listed else ())):
            bound = FROM_ABOVE if between and apart == " and " else found[-1].bound
        listed = apart == ", "
        between = re.search(r"\bbetween $", before) is not None
        found.append(value._replace(bound=bound))
        end = role.end()
    return found


def bound_of(before: str, behind: str) -> str:
    """On which side the words before and behind a value hold what it stands for."""
    found = BOUND.search(before)
    if found is None:
        more = OR_MORE.match(behind)
        return "" if more is None else FROM_BELOW if more["more"] else FROM_ABOVE
    if found["exact"]:
        return EXACTLY
    clause = CLAUSE.split(before[: found.start()])[-1]
    turned = COMPARED.search(before) is not None and NEGATION.search(clause) is not None
    return FROM_BELOW if (found["below"] is not None) != turned else FROM_ABOVE


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
    wrong = ((value, disagreement(value.printed, result, value.bound)) for value, result in pairs)
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


def disagreement(printed: str, computed: Any, bound: str = "") -> str | None:
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
    if scale != 1:
        wrong += f", which is {float(computed / scale):.4g} {quantity['unit']}"
    if not math.isfinite(computed):
        return f"{wrong}; a value is a number or a text"
    away = exact - Fraction(computed)
    size = abs(Fraction(computed))
    # A bound may be a whole last digit away, but not where the next digit is nearer.
    if abs(away) > (2 * tolerance * (1 - 4 * NOISE) if bound else tolerance):
        return f"{wrong}; print that, rounded"
    if abs(away) > size / COARSEST + NOISE:
        return f"{wrong}: so coarse a number says nothing of it; print a digit of the value"
    if bound and abs(away) > size * NOISE and not RIGHT_SIDE[bound](away):
        return f"{wrong}, and the words around it make it a bound {bound}: {ADVICE[bound]}"
    return None


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
        f"is computed too: {{value}}`{inside.printed} {found['unit']} = …`, where … is in "
        f"{KIND_OF[found['unit']]}, {float(SCALES[found['unit']]):g} for 1 {found['unit']}"
        for found in BEHIND.finditer(text)
        for inside in [parse_value(found["inside"])]
    ]
