"""Units that code contradicts: what a text says must be what the code beside it divides by.

A text such as "GiB" in code is printed, or heads a column, and no {value} computes it. But the code
says what it divides by. So a unit right behind an expression of an f-string must be the factor of
this expression: `f"{size / 2**30:.1f} GiB"`, `f"{1e3 * seconds:.0f} ms"`. In other texts of a cell
a unit of bytes must be among the powers by which the cell divides, if it divides by such powers. A
tick of an interactive figure, `[30, "1 GiB"]`, gives the number of bytes or its exponent of two or
of ten. What divides by a name, or in another cell, is not seen.

Losses are in nats. A {value} with decimals of *bits* must say in its expression how it comes to
them, by `log2` or by `math.log(2)`, and one of *nats* must have neither.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from bookformat.notebooks import cells_of
from bookformat.values import SCALES, line_of, parse_value

# What an expression divides by, or multiplies with, for the sake of a unit.
POWERS = frozenset(
    [Fraction(10) ** power for power in (3, 6, 9, 12, 15, 18)]
    + [Fraction(2) ** power for power in (10, 20, 30, 40)]
)
# Units and words whose size is such a power, or one over it.
SIZES = {
    unit: Fraction(scale)
    for unit, scale in SCALES.items()
    if Fraction(scale) in POWERS or 1 / Fraction(scale) in POWERS
}
BYTES = {unit: size for unit, size in SIZES.items() if re.fullmatch(r"[kKMGT]i?B(/s)?", unit)}


def one_of(units: dict[str, Fraction]) -> str:
    """A regular expression for one of these units."""
    return "|".join(sorted(map(re.escape, units), key=len, reverse=True))


UNIT_BEHIND = re.compile(rf"[\s-]?({one_of(SIZES)})(?![\w/])")
UNIT_OF_BYTES = re.compile(rf"(?<![\w/])({one_of(BYTES)})(?![\w/])")
TICK = re.compile(rf'\[(\d+(?:e\d+)?), "(\d+) ({one_of(BYTES)})"\]')
BITS = "bit"
NATS = "nat"
# A value with decimals, and whether it counts bits or nats; a length in bits is a whole number.
INFORMATION = re.compile(rf"\{{value\}}`(?P<value>[^`]+)`[\s-]?(?P<unit>{BITS}|{NATS})s?\b")
TO_BITS = re.compile(r"\blog2\b|\blog\(2(?:\.0?)?\)")


def wrong_information(text: str) -> Iterator[str]:
    """The values of a text in bits that nothing has made bits, and those in nats that are bits."""
    for found in INFORMATION.finditer(text):
        value = parse_value(found["value"])
        to_bits = TO_BITS.search(value.expression) is not None
        if "." in value.printed and to_bits != (found["unit"] == BITS):
            yield (
                f"{{value}}`{line_of(value)}` {found['unit']}s: losses are in nats; "
                "an expression divided by math.log(2) gives bits"
            )


def wrong_units_of_page(path: Path) -> list[str]:
    """A message for each unit of a page, a script or a file of Python that the code contradicts."""
    if path.suffix == ".js":
        return [f"{path.name}: {fault}" for fault in wrong_ticks(path.read_text(encoding="utf-8"))]
    if path.suffix == ".py":
        return [f"{path.name}: {fault}" for fault in wrong_units(path.read_text(encoding="utf-8"))]
    found = []
    for cell in cells_of(path):
        place = ", ".join(filter(None, (path.name, cell.place)))
        code = cell.kind == "code"
        faults = [*wrong_information(cell.caption if code else cell.source)]
        faults += wrong_units(cell.source) if code else []
        found += [f"{place}: {fault}" for fault in faults]
    return found


def wrong_units(code: str) -> Iterator[str]:
    """What is wrong with the units in a cell's code."""
    nodes = [*ast.walk(ast.parse(code))]
    behind: set[ast.AST] = set()  # texts that begin with the unit of an expression
    for node in nodes:
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            unit = unit_behind(text)
            if unit is None or not isinstance(value, ast.FormattedValue):
                continue
            factor = factor_of(value.value)
            if factor is None:
                continue
            behind.add(text)
            if factor != SIZES[unit]:
                shown = ast.unparse(value.value)
                size = float(SIZES[unit])
                found = float(factor)
                yield f"“{{{shown}}} {unit}”: {unit} is {size:g}, and the factor is {found:g}"
    divisors = {divisor_of(node) for node in nodes} & POWERS
    for node in nodes:
        if node in behind or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        for unit in UNIT_OF_BYTES.findall(node.value):
            if divisors and BYTES[unit] not in divisors:
                size = float(BYTES[unit])
                yield f"“{node.value}” says {unit}, and the code divides nothing by {size:g}"


def unit_behind(text: ast.AST) -> str | None:
    """The unit with which a text of an f-string begins."""
    if not isinstance(text, ast.Constant):
        return None
    found = UNIT_BEHIND.match(str(text.value))
    return found.group(1) if found else None


def factor_of(expression: ast.AST) -> Fraction | None:
    """How many of a number's units an expression takes for one: 1000 in `metres / 1e3`."""
    divisor = divisor_of(expression)
    if divisor in POWERS:
        return divisor
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult):
        for side in (expression.left, expression.right):
            times = constant_of(side)
            if times in POWERS:
                return 1 / times
    return None


def divisor_of(node: ast.AST) -> Fraction | None:
    """The constant by which a part of code divides."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return constant_of(node.right)
    return None


def constant_of(node: ast.AST) -> Fraction | None:
    """A number in code: 1e9, 2**30, 1_000_000."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base = constant_of(node.left)
        power = constant_of(node.right)
        if base is not None and power is not None and power.denominator == 1:
            return base ** int(power)
    return None


def wrong_ticks(script: str) -> Iterator[str]:
    """Ticks of an interactive figure whose place is another number of bytes than they say."""
    for place, count, unit in TICK.findall(script):
        size = int(count) * BYTES[unit]
        at = Fraction(float(place))
        exponents = at.denominator == 1 and at < 100
        if at != size and not (
            exponents and size in (Fraction(2) ** int(at), Fraction(10) ** int(at))
        ):
            yield f"[{place}, “{count} {unit}”] is another number of bytes"
