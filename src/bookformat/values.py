"""Numbers in prose that are computed: {value}`0.30 = scores.std()`.

The page shows what is before the first ` = `; the rest is Python, evaluated after the code
above it (in a page without code: with `math`, `np`, `torch` and the library as `book`). Above all
code it is evaluated after the code that follows, up to the next text; in the answer box it is
evaluated at the end of the page. A number must be the value, rounded to the printed digits; a text
must be the value itself. A number may have a minus sign (−), commas (65,504), a power of ten
(1.2e-3 or 1.2·10⁻³), and end with % or ×.

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
    r"(?:e(?P<exponent>[-+]?\d+)|\s?[·×]\s?10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?:\s?[%×])?"
)
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
    found = NUMBER.fullmatch(printed)
    if found is None:
        return f"{wrong}; write it as a number, for example {computed:.3g}"
    exponent = int(found["exponent"] or (found["power"] or "0").translate(SUPERSCRIPTS))
    unit = Fraction(10) ** (exponent - len(found["decimals"] or ""))  # of the last printed digit
    unit /= 100 if "%" in found.group() else 1
    digits = int(found["whole"].replace(",", "") + (found["decimals"] or ""))
    exact = digits * unit * (-1 if found["sign"] in ("-", "−") else 1)
    if math.isfinite(computed) and abs(exact - Fraction(computed)) <= HALF * unit:
        return None
    return f"{wrong}; print that, rounded"
