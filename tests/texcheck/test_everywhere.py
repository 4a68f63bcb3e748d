"""Misprints in all places of a symbol at once, and the names that let a check notice them."""

import numpy as np
import pytest

from texcheck import Excluded, RefutedError, Silent, depends
from texcheck.errors import LatexError
from texcheck.formulas import Check
from texcheck.misprints import misprints_everywhere
from texcheck.mutate import report, verdicts_of
from texcheck.named import with_names
from texcheck.trial import only
from texcheck.unchanged import says_the_same

KINDS = {
    "R": ("function",),
    "G": ("array", (3, 3)),
    "W^Q": ("array", (2, 4, 4)),
    "W^K": ("array", (2, 4, 4)),
    "q": ("array", (4,)),
    "k": ("array", (4,)),
    "S": ("array", (4, 4)),
    "a": ("number",),
    "b": ("number",),
    "m": ("index",),
    "n": ("index",),
    "j": ("index",),
}


def planted(text):
    return {one.change: one.text.replace(" ", "") for one in misprints_everywhere(text, KINDS)}


@pytest.mark.parametrize(
    ("text", "change", "changed"),
    [
        ("a b = a + a^2", "sign everywhere: a → -a", "{(-a)}b={(-a)}+{(-a)}^2"),
        ("R(a) = R(b)^2", "sign everywhere: R → -R", "{(-R(a))}={(-R(b))}^2"),
        ("R_m^\\top = R_n", "transpose everywhere: R", "R_m={(R_n)}^{\\top}"),
        ("W^Q_j W^Q_j", "transpose everywhere: W^Q", "{(W^Q_j)}^{\\top}{(W^Q_j)}^{\\top}"),
        ("G a = G^{-1}", "inverse everywhere: G", "{(G)}^{-1}a=G"),
        ("a^2 + a^2 b = a", "power everywhere: a^2 → a", "a+ab=a"),
        ("|a|^2 = |b|^2", "power everywhere: |…|^2 → |…|", "|a|=|b|"),
        ("a + b = b a^2", "exchange everywhere: a ↔ b", "{b}+{a}={a}{b}^2"),
        ("W^Q_j = W^K_j", "exchange everywhere: W^Q ↔ W^K", "{W^K}_j={W^Q}_j"),
        ("S_{mn} = q_n a", "index everywhere: m ↔ n of S", "S_{{n}{m}}=q_na"),
        ("R_m + R_n = q_n", "index everywhere: m ↔ n of R", "R_{n}+R_{m}=q_n"),
        ("m - n = R(n - m)", "turn everywhere: m-n", "n-m=R(m-n)"),
        ("6 a^2 + b = \\frac{b}{6}", "number everywhere: 6 → 7", "{7}a^2+b=\\frac{b}{{7}}"),
        ("\\frac{1}{b} a = \\frac{1}{b} b", "factor everywhere: \\frac1b → ∅", "a=b"),
        ("2 a = a + 2 b", "factor everywhere: 2 → ∅", "a=a+b"),
    ],
)
def test_every_place_is_changed(text, change, changed):
    assert planted(text)[change] == changed


def test_only_what_can_be_meant_is_changed():
    assert planted("a = b") == {"exchange everywhere: a ↔ b": "{b}={a}"}
    # A vector has no transpose, an index is only a name, and one difference is a single misprint.
    assert not [change for change in planted("q_m + q_n") if change.startswith("transpose")]
    assert not [change for change in planted("m - n = a") if "turn" in change or "↔" in change]
    # Where no other symbol has the indices, they only change their names.
    assert not [change for change in planted("R_m R_n = R_{n-m}") if change.startswith("index")]


def identity(rng):
    a, b, c = rng.uniform(1, 2, size=3)
    return {"a": a, "b": b, "c": c, "s": a * c + b * c}


TEXT = "(a + b) c = a c + b c"
OPTIONS = {"vectors": "row"}


def survivors(check):
    return {
        one.mutant.change for one in verdicts_of(check, TEXT, everywhere=True) if not one.caught
    }


def test_an_identity_is_noticed_only_where_a_side_is_bound():
    free = Check("free", identity, OPTIONS)
    assert "sign everywhere: b → -b" in survivors(free)
    assert "exchange everywhere: b ↔ c" in survivors(free)
    bound = Check("bound", identity, OPTIONS, names={1: "s"})
    bound.run(TEXT)
    assert not survivors(bound)
    # Each run knows its own reasons.
    free.equivalent = {"sign everywhere: b → -b": "It is stated for every b."}
    assert all(one.caught for one in verdicts_of(free, TEXT))
    assert "sign everywhere: b → -b" in survivors(free)


def test_what_changes_no_side_is_no_misprint():
    """Two factors exchanged, and a sign that a square or another sign takes back."""

    def values(rng):
        a, b = rng.uniform(1, 2, size=2)
        return {"a": a, "b": b, "c": a**2 * b, "d": b * a**2}

    squares = Check("squares", values, OPTIONS, fixed={"c": "one product", "d": "one product"})
    found = verdicts_of(squares, "c = a^2 b = (-a) (-a) b", everywhere=True)
    assert "sign everywhere: a → -a" not in {one.mutant.change for one in found}
    assert all(one.caught for one in found)


def test_an_equation_may_be_transposed_or_change_its_sign():
    def values(rng):
        A, B = rng.normal(size=(2, 3, 3))
        return {"A": A, "B": B, "C": A @ B}

    check = Check("product", values, OPTIONS)
    trial = check.trial(check.inputs())
    text = "A B = C"
    assert says_the_same(trial, text, "(-A) B = -C")
    assert says_the_same(trial, text, "B^\\top A^\\top = C^\\top")
    assert not says_the_same(trial, text, "A^\\top B^\\top = C^\\top")
    assert not says_the_same(trial, text, "A B = B")
    assert not says_the_same(trial, text, "A B = C, A = B")


def test_a_name_stands_before_its_statement():
    lines = "\\begin{aligned} &a + b \\\\ &= c \\end{aligned}, \\quad e = f"
    named = "\\begin{aligned} &s = a + b \\\\ &= c \\end{aligned}, \\quad t = e = f"
    assert with_names(lines, {1: "s", 2: "t"}) == named
    assert with_names(lines, {}) == lines
    assert with_names("\\left(a + b\\right) c = d", {1: "s"}).startswith("s = \\left(")
    with pytest.raises(LatexError, match="no statement 3"):
        with_names(lines, {3: "s"})


def test_a_statement_that_begins_with_its_name_stays_as_it_is():
    assert with_names("S_{mn} = a", {1: "S_{m n}"}) == "S_{mn} = a"
    assert with_names("S_m = a", {1: "S_{mn}"}) == "S_{mn} = S_m = a"


def products(rng):
    """One function for two displays of a page."""
    a, b = rng.uniform(1, 2, size=2)
    return {"a": a, "b": b, "c": a + b, "d": a + b**2}


PAGE = {"eq-c": "c = a + b", "eq-d": "d = a + b^2", "eq-e": r"1 + 1 = 2"}


def of_page(name, **options):
    return Check(name, products, OPTIONS, **options)


def exchanged(check):
    others = {name: text for name, text in PAGE.items() if name != check.name}
    found = verdicts_of(check, PAGE[check.name], everywhere=True, others=others)
    return {one.mutant.change for one in found if not one.caught}


def test_another_text_of_the_page_is_refused_where_a_check_says_its_symbols():
    assert exchanged(of_page("eq-c")) == {"text of eq-d", "text of eq-e"}
    assert exchanged(of_page("eq-c", symbols="a, b, c")) == set()
    with pytest.raises(RefutedError, match="does not have b, which is one of its symbols="):
        of_page("eq-c", symbols="a, b").run("a = a + 0")
    with pytest.raises(LatexError, match="unknown symbol d"):
        of_page("eq-c", symbols="a, b, c").run(PAGE["eq-d"])
    with pytest.raises(ValueError, match=r"symbols= names \['x'\]"):
        of_page("eq-c", symbols="a, x").run(PAGE["eq-c"])


def test_another_text_is_refuted_where_a_side_is_bound_and_can_have_a_reason():
    assert exchanged(of_page("eq-c", names={1: "c"})) == set()
    excused = of_page("eq-c", equivalent=dict.fromkeys(["text of eq-d", "text of eq-e"], "why"))
    others = {"eq-d": PAGE["eq-d"], "eq-e": PAGE["eq-e"]}
    found = verdicts_of(excused, PAGE["eq-c"], everywhere=True, others=others)
    assert report(found)[1]
    others["eq-e"] = "1 + 1 = 3"
    found = verdicts_of(excused, PAGE["eq-c"], everywhere=True, others=others)
    assert "error: eq-c: text of eq-e: no survivor" in report(found)[0]
    # Where no other texts are tried, such a reason is not asked for.
    assert report(verdicts_of(excused, PAGE["eq-c"], everywhere=True))[1]


def test_symbols_may_stand_for_functions_and_what_others_follow():
    def values(rng):
        x = rng.normal(size=3)
        square = depends("x", lambda x: np.asarray(x) ** 2)
        return {"x": x, "s": square, "f": np.sin, "u": 1.0, "i": range(1, 4)}

    text = r"s_i = x_i^2, \quad f(x_i) = \sin x_i \quad \text{for} \quad i = 1, 2, 3"
    Check("f", values, OPTIONS, symbols="x, s, f, i").run(text)
    assert only(Silent(a=1, b=2), ["a"]) == Silent(a=1)
    assert isinstance(only(Excluded(a=1, b=2), ["a"]), Excluded)


def test_what_fails_is_told_with_the_values_of_the_name():
    wrong = Check("wrong", lambda rng: {**identity(rng), "s": 1 + rng.uniform()}, OPTIONS)
    wrong.names = {1: "s"}
    trial = wrong.trial(wrong.inputs())
    assert trial.complaint(TEXT).startswith("s = (a + b) c fails")
    assert "s = " in trial.drawn(TEXT)
    assert np.isfinite(wrong.inputs()[0]["s"])
