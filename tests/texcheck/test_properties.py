"""Random expression trees, printed as LaTeX and evaluated, give the value computed directly."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import texcheck
from texcheck import LatexError

check = functools.partial(texcheck.check, vectors="row")
evaluate = functools.partial(texcheck.evaluate, vectors="row")

VECTOR = np.array([0.7, -1.3, 2.1, 0.4])
MATRIX = np.array([[1.0, -0.5, 0.3], [2.0, 0.8, -1.1]])
OTHER = np.array([[0.2, 1.4], [-0.6, 0.9], [1.7, -0.3]])
SQUARE = np.array([[1.2, 0.4], [-0.7, 0.9]])
SYMBOLS = {"a": 1.7, "b": -0.6, "n": 3, r"\theta": 0.35, "d_v": 5, "W^Q": 2.5}
VALUES: dict[str, Any] = {
    **SYMBOLS,
    "x": VECTOR,
    "A": MATRIX,
    "B": OTHER,
    "S": SQUARE,
    "f": lambda t: t * t + 1,
}


@dataclass
class Printed:
    """An expression as LaTeX, its value, and how tightly its outermost operation binds."""

    text: str
    value: Any
    rank: int  # 0 sum, 1 product, 2 atom

    def inside(self, rank: int, style: int) -> str:
        if self.rank >= rank:
            return self.text
        left, right = [("(", ")"), (r"\left(", r"\right)"), ("[", "]"), (r"\left(", r"\right)")][
            style
        ]
        return f"{left}{self.text}{right}"


def leaf(draw):
    kind = draw(st.integers(0, 3))
    if kind == 0:
        number = draw(st.integers(0, 20))
        return Printed(str(number), number, 2)
    if kind == 1:
        index = draw(st.integers(1, 4))
        return Printed(
            draw(st.sampled_from([f"x_{index}", f"x_{{{index}}}"])), VECTOR[index - 1], 2
        )
    name = draw(st.sampled_from(sorted(SYMBOLS)))
    return Printed(name, SYMBOLS[name], 2)


@st.composite
def scalars(draw, depth=3):
    """A random scalar expression with everything that has a value for scalars."""
    if depth == 0:
        return leaf(draw)
    style = draw(st.integers(0, 3))
    kind = draw(st.integers(0, 12))
    one = draw(scalars(depth=depth - 1))
    if kind == 0:
        return leaf(draw)
    if kind == 1:
        return Printed(rf"\sin({one.text})", math.sin(one.value), 2)
    if kind == 2:
        return (
            Printed(rf"\sqrt{{{one.text}}}", math.sqrt(abs(one.value)), 2)
            # The root of a difference that is 0 is refused: its rounding error may be negative.
            if one.value > 1e-9
            else Printed(rf"\lvert {one.text} \rvert", abs(one.value), 2)
        )
    if kind == 3:
        return Printed(rf"f\left({one.text}\right)", one.value**2 + 1, 2)
    if kind == 4:
        return Printed(
            f"{one.inside(2, style)}^2"
            if one.rank < 2 or not (has_power(one.text) or one.text.startswith(r"\sin"))
            else f"({one.text})^2",
            one.value**2,
            2,
        )
    if kind == 5:
        count = draw(st.integers(1, 4))
        index = "klm"[depth - 1]  # an index that runs already cannot run again inside
        text = rf"\sum_{{{index}=1}}^{{{count}}} {index} \cdot {one.inside(2, style)}"
        return Printed(text, sum(k * one.value for k in range(1, count + 1)), 1)
    if kind == 6:
        return Printed(rf"-{one.inside(1, style)}", -one.value, 0)
    two = draw(scalars(depth=depth - 1))
    if kind in (7, 8):
        sign = draw(st.sampled_from("+-"))
        value = one.value + two.value if sign == "+" else one.value - two.value
        text = f"{one.text} {sign} {two.inside(1, style)}"
        return Printed(text, value, 0)
    if kind == 9:
        return Printed(
            rf"{factor(one, style)} \cdot {factor(two, style)}", one.value * two.value, 1
        )
    if kind == 10:
        first = factor(one, style)
        second = f"({two.text})" if two.text[0].isdigit() or two.rank < 2 else two.text
        return Printed(f"{first} {second}", one.value * two.value, 1)
    if kind == 11:
        assume(abs(two.value) > 1e-3)
        return Printed(rf"\frac{{{one.text}}}{{{two.text}}}", one.value / two.value, 2)
    return Printed(rf"\max({one.text}, {two.text})", max(one.value, two.value), 2)


def has_power(text):
    return "^" in text or "_" in text


def factor(item, style):
    """A factor that may stand before another one: sums and open products are bracketed."""
    return item.text if item.rank == 2 else f"({item.text})" if style else f"[{item.text}]"


@settings(max_examples=200, deadline=None)
@given(scalars())
def test_scalar_expressions(item):
    assume(abs(item.value) < 1e9)
    value = evaluate(item.text, VALUES)
    assert math.isclose(float(value), float(item.value), rel_tol=1e-9, abs_tol=1e-9)


@settings(max_examples=100, deadline=None)
@given(scalars(depth=2), st.floats(0.01, 5))
def test_a_relation_holds_exactly_when_the_values_agree(item, gap):
    # A value that Python lost to cancellation is not what the exact fractions of the text give.
    assume(item.value == 0 or 0.01 < abs(item.value) < 1e6)
    values = {**VALUES, "y": float(item.value), "z": float(item.value) + gap}
    fixed = dict.fromkeys([*values, "="], "read so")
    equal, below = check(f"y = {item.text} < z", values, fixed=fixed)
    assert equal.holds
    assert below.holds
    (different,) = check(f"z = {item.text}", values, fixed=fixed)
    assert not different.holds


@st.composite
def matrices(draw, depth=2):
    """A random 2×2 matrix expression."""
    kind = draw(st.integers(0, 6)) if depth else draw(st.integers(0, 2))
    if kind == 0:
        return Printed("S", SQUARE, 2)
    if kind == 1:
        return Printed("A B", MATRIX @ OTHER, 1)
    if kind == 2:
        entries = draw(st.lists(scalars(depth=1), min_size=4, max_size=4))
        assume(all(abs(entry.value) < 1e3 for entry in entries))
        a, b, c, d = entries
        text = rf"\begin{{pmatrix}} {a.text} & {b.text} \\ {c.text} & {d.text} \end{{pmatrix}}"
        value = np.array([[a.value, b.value], [c.value, d.value]], dtype=float)
        return Printed(text, value, 2)
    one = draw(matrices(depth=depth - 1))
    if kind == 3:
        return Printed(rf"({one.text})^\top", one.value.T, 2)
    two = draw(matrices(depth=depth - 1))
    if kind == 4:
        return Printed(f"({one.text}) ({two.text})", one.value @ two.value, 1)
    if kind == 5:
        return Printed(rf"({one.text}) \odot ({two.text})", one.value * two.value, 1)
    return Printed(f"{one.text} - ({two.text})", one.value - two.value, 0)


@settings(max_examples=100, deadline=None)
@given(matrices())
def test_matrix_expressions(item):
    np.testing.assert_allclose(evaluate(item.text, VALUES), item.value, rtol=1e-9, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(scalars(), st.data())
def test_an_undeclared_symbol_anywhere_is_an_error(item, data):
    used = [name for name in SYMBOLS if name in item.text]
    assume(used)
    name = data.draw(st.sampled_from(used))
    without = {key: value for key, value in VALUES.items() if key != name}
    try:
        evaluate(item.text, without)
    except LatexError as error:
        assert name.split("_")[0].split("^")[0] in str(error)  # noqa: PT017
    else:
        # The letter stood only inside a command or another name.
        assert name in ("a", "b", "n")
        bare = item.text.replace(r"\max", "").replace(r"\frac", "").replace(r"\sqrt", "")
        for command in (r"\sin", r"\left", r"\right", r"\bigl", r"\bigr", r"\lvert", r"\rvert"):
            bare = bare.replace(command, "")
        bare = bare.replace(r"\theta", "").replace(r"\sum", "").replace(r"\cdot", "")
        assert name not in bare
