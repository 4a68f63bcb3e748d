"""Statements that hold whatever their symbols are, and excuses for what no side names."""

from fractions import Fraction

import numpy as np
import pytest

from texcheck.anything import KINDS, Anew, loose_letters, of_anything
from texcheck.formulas import Check
from texcheck.mutate import report, verdicts_of
from texcheck.values import Random, depends


def check_of(binding, **options):
    return Check("eq", binding, {"vectors": "row"}, **options)


def errors(check, text):
    """What the run of misprints in all places says, but of the misprints themselves."""
    found = verdicts_of(check, text, everywhere=True)
    return {one.mutant.change: one.said for one in found if "names=" in one.said}


def numbers(rng):
    a, b, c = rng.uniform(1, 2, size=3)
    return {"a": a, "b": b, "c": c, "s": a * c + b * c, "h": float(np.hypot(a, b))}


DISTRIBUTED = "(a + b) c = a c + b c"
FREE = {
    "sign everywhere: a → -a": "It is stated for every a.",
    "sign everywhere: b → -b": "It is stated for every b.",
    "sign everywhere: c → -c": "It is stated for every c.",
}


def test_an_identity_needs_a_name_or_a_reason():
    (said,) = errors(check_of(numbers), DISTRIBUTED).values()
    assert said == (
        "statement 1 holds whatever its symbols are, so that it could be another identity: bind it "
        'to the value that it is about, from the library: names={1: "S"} in its check executes '
        '"S = …"; or say there why nothing has this value: identity={1: "why"}'
    )
    assert not errors(check_of(numbers, names={1: "s"}), DISTRIBUTED)
    assert not errors(check_of(numbers, identity={1: "It is a law."}), DISTRIBUTED)
    assert not errors(check_of(numbers), "h^2 = a^2 + b^2")


def test_a_reason_that_nothing_needs_is_refused():
    check = check_of(numbers, identity={1: "It is a law."})
    text, passed = report(verdicts_of(check, "h^2 = a^2 + b^2", everywhere=True))
    assert not passed
    assert "this statement is bound; remove it from identity=" in text


def test_the_second_statement_is_named_by_its_number():
    (said,) = errors(check_of(numbers), f"h^2 = a^2 + b^2, \\quad {DISTRIBUTED}").values()
    assert "names={2:" in said


def matrices(rng):
    G, W = rng.normal(size=(2, 3, 3))
    x = rng.normal(size=3)
    return {"G": G, "W": W, "x": x, "y": x @ W, "d": 3, "N": 3}


def functions(rng):
    values = {"a": rng.uniform(1, 2), "b": rng.uniform(2, 3), "n": range(1, 4)}
    return {**values, "f": np.exp, "g": np.log, "u": rng.normal(size=3)}


def chance(rng):
    return {"q": Random([-2.0, 0.5], [0.2, 0.8], shape=(2,)), "d": 2, "v": rng.normal(size=2)}


def slopes(rng):
    return {"x": rng.uniform(1, 2), "y": depends("x", lambda x: x**3)}


IDENTITIES = [
    (matrices, "W G G^{-1} = W"),
    (matrices, "x W^\\top W x^\\top = \\lVert x W^\\top \\rVert^2"),
    (functions, "f(a) g(b) + g(b) g(a) = (f(a) + g(a)) g(b)"),
    (functions, "u_n f(a) = \\frac{u_n f(a) \\cdot a}{a}"),
    (chance, "\\mathbb{E}[q_1 q_2] = \\mathbb{E}[q_2 q_1]"),
    (slopes, "\\frac{\\partial}{\\partial x} y^2 = 2 y \\frac{\\partial y}{\\partial x}"),
    (functions, "\\frac{1}{3} - \\frac{1}{6} = \\frac{1}{6}"),
]
BOUND = [
    (matrices, "x W G G^{-1} = y"),
    (functions, "f(a + b) = f(a) f(b)"),
    (functions, "g(f(a)) = a"),
    (chance, "\\mathbb{E}[q_1^2 + q_2] = 1"),
    (slopes, "\\frac{\\partial y}{\\partial x} = 3 x^2"),
]


@pytest.mark.parametrize(("binding", "text"), IDENTITIES)
def test_what_holds_for_any_values_is_found(binding, text):
    check = check_of(binding)
    assert [number for number, _ in of_anything(check.trial(check.inputs()), text)] == [1]


@pytest.mark.parametrize(("binding", "text"), BOUND)
def test_what_a_value_binds_is_not(binding, text):
    check = check_of(binding)
    assert not list(of_anything(check.trial(check.inputs()), text))


def test_a_range_alone_states_nothing_that_could_be_bound():
    check = check_of(functions)
    assert not list(of_anything(check.trial(check.inputs()), "1 \\le n < 4"))


def bounded(rng):
    x, k = rng.normal(size=(2, 3))
    unit = k * np.linalg.norm(x) / np.linalg.norm(k)
    c = rng.normal()
    cases = [{"x": place, "k": k, "c": c} for place in (x, unit)]
    return [{**case, "z": case["x"] @ k + c, "r": np.linalg.norm(x)} for case in cases]


INSIDE = "x \\cdot k + c \\le \\lVert x \\rVert \\lVert k \\rVert + c = r \\lVert k \\rVert + c"
FOR_EVERY = {"sign everywhere: c → -c": "It is stated for every c."}


def test_a_letter_that_may_have_any_value_needs_a_side_that_names_one():
    """The statement is tied to r, and so no identity, but c may be another number."""
    found = errors(check_of(bounded, equivalent=FOR_EVERY), INSIDE)
    assert found["any value of c"].startswith(
        "c may have any value in statement 1, which has no side that names a value: bind it"
    )
    assert found["sign everywhere: c → -c"].startswith(
        "equivalent= excuses a change of statement 1, which has no side that names a value: bind it"
    )
    check = check_of(bounded)
    assert list(loose_letters(check.trial(check.inputs()), INSIDE)) == [(1, "c"), (1, "k")]
    # In what defines a function, its argument may be anything.
    check = check_of(functions)
    assert not list(loose_letters(check.trial(check.inputs()), "f(a) = \\exp(a)"))
    named = check_of(bounded, names={1: "z"})
    assert all(one.caught for one in verdicts_of(named, INSIDE, everywhere=True))
    excused = check_of(bounded, equivalent=FOR_EVERY, identity={1: "It holds for every c."})
    assert not errors(excused, INSIDE)


def test_other_values_are_of_the_same_kind():
    rng = np.random.default_rng(0)
    values = {
        "A": rng.normal(size=(2, 3)),
        "z": rng.normal(size=2) + 1j,
        "d": 3,
        "N": 40,
        "i": range(4),
        "x": 0.5,
        "w": 1 + 2j,
        "p": Fraction(1, 3),
        "f": lambda x, y: x * y,
    }
    for kind in KINDS:
        other = Anew(kind, 0).table(values)
        assert other["A"].shape == (2, 3)
        assert np.iscomplexobj(other["z"])
        # The width of A and the index stay.
        assert (other["d"], other["i"]) == (3, range(4))
        assert isinstance(other["N"], int)
        assert {name for name in "NxwpAz" if np.all(other[name] == values[name])} == set()
        assert isinstance(other["p"], Fraction)
        assert other["f"](1.0, 2.0) != other["f"](2.0, 1.0)
        assert other["f"](np.ones(3), 2.0).shape == (3,)
