"""Numbers in prose that are computed: {value}`0.30 = scores.std()`.

The page shows what stands before the first ` = `; the rest is Python, evaluated after the code
above it (in a page without code: with `math`, `np`, `torch` and the library as `book`). A number
must be the value, rounded to the printed digits; a text must be the value itself. A number may
have a minus sign (−), commas (65,504), a power of ten (1.2e-3 or 1.2·10⁻³), and end with % or ×.

What others have published is there on every page, without an import among its code:
`reported("RULER", "tasks")` (`bookkit.published`) and `read_model("phi-4")` (`bookkit.models`);
and so are the settings of the recorded experiments, `SIZES["full"]["recall"].length`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

# Names that every value may use, and the modules that hold them.
OFFERED = {
    "reported": "bookkit.published",
    "read_model": "bookkit.models",
    "SIZES": "bookkit.experiments.training.studies",
}
VALUE = re.compile(r"\{value\}`([^`]+)`")
SEPARATOR = " = "
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(
    r"(?P<sign>[-−+]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<decimals>\d+))?"
    r"(?:e(?P<exponent>[-+]?\d+)|(?P<times>\s?[·×]\s?)10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
    r"(?P<unit>\s?[%×])?"
)
DIGITS = "0123456789"
# A tie may fall to either side by the last bits of the value.
HALF = Fraction(1, 2) * (1 + Fraction(1, 10**9))


class ValueSyntaxError(ValueError):
    """A value that lacks its expression, or whose printed part is no number."""


class Value(NamedTuple):
    """What the page shows, and the Python that it must agree with."""

    printed: str
    expression: str


def parse_value(text: str) -> Value:
    """Read the inside of the role; it may run over the end of a line."""
    printed, separator, expression = " ".join(text.split()).partition(SEPARATOR)
    if not separator or not printed.strip() or not expression.strip():
        raise ValueSyntaxError(
            f"{text!r}: write {{value}}`printed = expression`, for example "
            "{value}`0.30 = scores.std()`"
        )
    return Value(printed.strip(), expression.strip())


def complete(expression: str) -> str:
    """The expression with those names of OFFERED that it uses bound to what they mean."""
    used = [name for name in OFFERED if re.search(rf"\b{name}[(\[]", expression)]
    if not used:
        return expression
    bound = [f"{name}=__import__({OFFERED[name]!r}, fromlist=[{name!r}]).{name}" for name in used]
    return f"(lambda {', '.join(bound)}: {expression})()"


def values_in(text: str) -> list[Value]:
    """The values of a text, in order."""
    return [parse_value(inside) for inside in VALUE.findall(text)]


def values_of_cell(cell: Any) -> list[Value]:
    """The values of a notebook's cell: its prose, or the caption of the figure that it draws."""
    if cell.cell_type == "markdown":
        return values_in(cell.source)
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    return values_in(figure.get("caption", ""))


def disagreement(printed: str, computed: Any) -> str | None:
    """What is wrong with the printed text, or None where it is the computed value."""
    if isinstance(computed, str):
        return None if printed == computed else f"prints {printed!r}, computed {computed!r}"
    if isinstance(computed, bool) or not isinstance(computed, (int, float)):
        return f"prints {printed!r}, computed {computed!r}: a value is a number or a text"
    found = NUMBER.fullmatch(printed)
    if found is None:
        return f"prints {printed!r}, which is no number; computed {computed!r}"
    if not math.isfinite(computed):
        return f"prints {printed!r}, computed {computed!r}"
    unit = _last_digit(found)
    if abs(_exact(found) - Fraction(computed)) <= HALF * unit:
        return None
    return f"prints {printed!r}, computed {computed!r} ({reprinted(printed, computed)})"


def _exponent(found: re.Match[str]) -> int:
    return int(found["exponent"] or (found["power"] or "0").translate(SUPERSCRIPTS))


def _last_digit(found: re.Match[str]) -> Fraction:
    """One unit of the last printed digit."""
    hundredth = Fraction(1, 100) if "%" in (found["unit"] or "") else Fraction(1)
    places = _exponent(found) - len(found["decimals"] or "")
    return Fraction(10) ** places * hundredth


def _exact(found: re.Match[str]) -> Fraction:
    digits = int(found["whole"].replace(",", "") + (found["decimals"] or ""))
    return (-1 if found["sign"] in ("-", "−") and digits else 1) * digits * _last_digit(found)


def reprinted(printed: str, computed: Any) -> str:
    """The computed value in the form of the printed text: as many digits, the same signs."""
    if isinstance(computed, str):
        return computed
    found = NUMBER.fullmatch(printed)
    if found is None:
        return f"{computed:.3g}".replace("-", "−")
    decimals = len(found["decimals"] or "")
    unit = found["unit"] or ""
    number = computed * 100 if "%" in unit else computed
    if found["exponent"] or found["power"]:
        mantissa, _, exponent = f"{number:.{decimals}e}".partition("e")
        power = str(int(exponent))
        if found["exponent"]:
            text = f"{mantissa}e{power}"
        else:
            raised = power.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
            text = f"{mantissa}{found['times']}10{raised}"
    else:
        grouped = "," if "," in printed or abs(number) >= 10_000 else ""
        text = f"{number:{grouped}.{decimals}f}"
    if text.startswith("-") and found["sign"] != "-":
        text = f"−{text[1:]}"
    return text + unit


def misprints_of(printed: str) -> list[str]:
    """The text with another digit at each place, and with neighbouring digits exchanged."""
    wrong = []
    for place, sign in enumerate(printed):
        if sign in DIGITS:
            other = DIGITS[(DIGITS.index(sign) + 1) % 10]
            wrong.append(f"{printed[:place]}{other}{printed[place + 1 :]}")
            following = printed[place + 1 : place + 2]
            if following in DIGITS and following not in ("", sign):
                wrong.append(f"{printed[:place]}{following}{sign}{printed[place + 2 :]}")
    return wrong


def unnoticed(printed: str) -> list[str]:
    """Misprints of a value that would pass for some number that the printed text is right for."""
    found = NUMBER.fullmatch(printed)
    if found is None:
        return [wrong for wrong in misprints_of(printed) if disagreement(wrong, printed) is None]
    almost_half = Fraction(499, 1000) * _last_digit(found)
    right = [float(_exact(found) + away) for away in (-almost_half, 0, almost_half)]
    return [
        wrong
        for wrong in misprints_of(printed)
        if any(disagreement(wrong, computed) is None for computed in right)
    ]


def problems(text: str, names: Mapping[str, Any]) -> Iterator[str]:
    """Evaluate the values of a page without code; yield what does not agree."""
    for value in values_in(text):
        try:
            computed = plain(eval(complete(value.expression), dict(names)))
        except Exception as error:
            yield f"{{value}}`{value.printed} = {value.expression}` fails: {error!r}"
            continue
        wrong = disagreement(value.printed, computed)
        if wrong:
            yield f"{{value}}`{value.printed} = {value.expression}` {wrong}"


def plain(value: Any) -> Any:
    """A number of NumPy or PyTorch as Python's own."""
    return value if isinstance(value, (bool, int, str)) else float(value)
