r"""What stands behind ``\forall`` is drawn alone, anew: of each kind one true, one false."""

import re
from fractions import Fraction

import numpy as np
import pytest

from texcheck import LatexError, Random, RefutedError, check, depends
from texcheck.anew import other_values
from texcheck.formulas import Check, Formulas
from texcheck.mutate import report, verdicts_of

X = np.array([1.0, 2.0, -3.0])
A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])
C = np.array([1 + 2j, 3 - 1j])
COUNTS = {"N": 12, "P": 240, "d": 10}
RATES = {"N_b": 12.0, "P": 240.0, "d": 10.0}
SQUARE = r"\sqrt{r^2} = r"
BALANCE = "4 N^2 d = 2 N P"


def found(text, values, **options):
    excused = dict.fromkeys([*values, "="], "read so")
    return check(text, values, fixed=excused, **options)


def relu(x):
    return max(x, 0)


TRUE = [
    # whole numbers, real numbers, letters with a label, fractions, complex numbers
    (r"(N + d)^2 = N^2 + 2 N d + d^2 \quad \forall N, d", COUNTS),
    (r"(N + d)^2 = N^2 + 2 N d + d^2 \quad \text{for all} \quad N \text{ and } d", COUNTS),
    (r"N_b + d = d + N_b \quad \text{for every} \quad N_b", RATES),
    (r"\frac{N}{2} + N = \frac{3 N}{2} \quad \forall N", {"N": Fraction(5, 7)}),
    (r"z \overline{z} = \lvert z \rvert^2 \quad \text{for each} \quad z", {"z": 1 + 2j}),
    (r"\sum_{j=1}^n j = \frac{n (n+1)}{2} \quad \forall n", {"n": 3}),
    # only values with a meaning
    (r"\ln r^2 = 2 \ln r \quad \forall r", {"r": 2.5}),
    # arrays
    (r"x^\top A x \ge 0 \quad \forall x", {"x": X, "A": A}),
    (r"x^\top A x = x^\top A^\top x \quad \forall A", {"x": X, "A": A + 0.1}),
    (r"\lVert z \rVert^2 = \sum_{j=1}^2 z_j \overline{z_j} \quad \forall z", {"z": C}),
    # indices
    (r"x_i < 8 \quad \forall i", {"x": X, "i": range(1, 4)}),
    (r"x_i < 8 \quad \forall x_i", {"x": X - 20, "i": range(1, 4)}),
    (r"x_i < 8 \quad \forall i", {"x": X, "i": 2}),
    (r"B_{mn} = -(m - n) \quad \forall m, n", {"B": TURN, "m": 1, "n": 2}),
    # conditions
    (rf"{SQUARE} \quad \forall r > 0", {"r": 2.5}),
    (rf"{SQUARE} \quad \forall 0 < r < 100", {"r": 2.5}),
    (rf"{SQUARE} \quad \forall r \in (0, 100)", {"r": 2.5}),
    (rf"{SQUARE} \quad \text{{for all}} \quad r \quad \text{{with}} \quad r > 0", {"r": 2.5}),
    (r"x^\top A x > 0 \quad \forall x \ne 0", {"x": X, "A": A}),
    (r"a b \ge 0 \quad \forall a, b \in [0, 9]", {"a": 0.5, "b": 1.5}),
    (r"x_i < 8 \quad \forall i = 1, 2", {"x": np.array([3.0, 4.0, 9.0]), "i": 2}),
    (r"x_i < 8 \quad \forall i = 1, 2, \ldots, n", {"x": X, "i": range(1, 4), "n": 3}),
    (r"x^\top A = (A x)^\top \quad \forall A = A^\top", {"x": X, "A": A}),
    (rf"{BALANCE} \quad \text{{for all}} \quad N = \frac{{P}}{{2 d}}", COUNTS),
    # premises, and what follows a symbol
    (r"a > 1 \implies a^2 > 1 \quad \forall a", {"a": 2.5}),
    (r"y = 2 x \quad \forall x", {"x": 3.5, "y": depends("x", lambda x: 2 * x)}),
    (r"f(x) - f(-x) = x \quad \forall x", {"f": relu, "x": 2.5}),
    # behind the space stands another statement
    (r"x + d = d + x \quad \forall x, \quad y > 3", {"x": 2.5, "d": 1.5, "y": 4.0}),
    (r"x + d = d + x \quad \forall x, \quad y = 2 x", {"x": 2.5, "d": 1.5, "y": 5.0}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), TRUE, ids=[text for text, _ in TRUE])
def test_what_is_true_of_all_holds(text, values):
    for relation in found(text, values):
        assert relation.holds, relation


FALSE = [
    (rf"{BALANCE} \quad \text{{for all}} \quad N", COUNTS, "N = 13"),
    (rf"{BALANCE} \quad \text{{for every}} \quad N > 0", COUNTS, "N = 13"),
    (rf"{BALANCE} \quad \forall d < N", COUNTS, "d = 11"),
    (rf"{BALANCE} \quad \forall d, N > 0", COUNTS, "d = 11"),
    (r"4 N_b^2 d = 2 N_b P \quad \text{for each} \quad N_b", RATES, r"N_b = 4\.44"),
    (r"N^2 = \frac{5 N}{7} \quad \forall N", {"N": Fraction(5, 7)}, "N = "),
    (r"\operatorname{Re}(z) = 1 \quad \forall z", {"z": 1 + 2j}, "z = "),
    (r"\lvert x \rvert = 0 \quad \forall x", {"x": 0.0}, r"x = 0\.37"),
    (r"\sum_{j=1}^n j = n (n - 1) \quad \forall n", {"n": 3}, "n = 4"),
    (rf"{SQUARE} \quad \forall r", {"r": 2.5}, r"r = -2\.5"),
    (r"x^\top A x > 0 \quad \forall x", {"x": X, "A": A}, r"x = \[0\. 0\. 0\.\]"),
    (r"x^\top A = (A x)^\top \quad \forall A", {"x": X, "A": A}, "A = "),
    (r"z_1 = 1 + 2 \mathrm{i} \quad \forall z", {"z": C}, "z = "),
    (r"M_{11} = 1 \quad \forall M", {"M": np.eye(3)}, "M = "),
    (r"x_i < 8 \quad \forall i", {"x": np.array([3.0, 4.0, 9.0]), "i": range(1, 3)}, "i = 3"),
    (r"x_i < 8 \quad \forall i", {"x": np.array([3.0, 4.0, 9.0]), "i": 2}, "i = 3"),
    (r"x_i = 0 \quad \forall x_i", {"x": np.array([0.5, 1.5]) * 0, "i": range(1, 3)}, "x = "),
    (r"x_n x_l = 2 \quad \forall n, l", {"x": X, "n": 1, "l": 2}, "n = 2"),
    (r"y = 2 x \quad \forall x", {"x": 3.5, "y": 7.0}, r"depends\(\"x\", …\)"),
    (r"f(x) = x \quad \forall x", {"f": relu, "x": 2.5}, r"x = -2\.5"),
    (r"x \in S \quad \forall x", {"S": {1, 2}, "x": 1}, "x = 3"),
    (r"a > 1 \implies a^2 > 6 \quad \forall a", {"a": 2.5}, "a = "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "said"), FALSE, ids=[text for text, _, _ in FALSE])
def test_what_is_true_of_the_drawn_value_alone_is_refuted(text, values, said):
    relations = found(text, values)
    notes = [relation.note for relation in relations if not relation.holds]
    assert len(notes) == 1
    assert re.search(f"said for all .*{said}", notes[0]), notes
    plain, _, _ = text.partition(r"\quad")
    assert all(relation.holds for relation in found(plain, values))


COIN = Random([0, 1], [0.75, 0.25])
NEXT = {"x": 3.5, "y": depends("x", lambda x: x + 1)}
LIMIT = r"\quad \text{with} \quad N = \frac{P}{2 d}"
REMARK = r"\begin{aligned} 4 N^2 d &= 2 N P && \text{for all N} \end{aligned}"
REFUSED = [
    (r"f(x) - f(-x) = x \quad \forall f", {"f": relu, "x": 2.5}, "f anew, which is a function"),
    (r"x + y = 2 x + 1 \quad \forall y", NEXT, "y follows x"),
    (r"\mathbb{E}[X] = 0.25 \quad \forall X", {"X": COIN}, "X is a random variable"),
    (r"\sum_{j=1}^n x_j = 0 \quad \forall n", {"x": X, "n": 3}, "n anew: it is also a size of x"),
    (rf"{BALANCE} \quad \text{{for all}} \quad N {LIMIT}", COUNTS, "meets the conditions"),
    (r"(N + d)^2 = N^2 + 2 N d + d^2 \quad \forall N, N", COUNTS, "stands twice"),
    (r"x_i < 8 \quad \forall n", {"x": X, "i": 2, "n": 3}, "of what is this for all"),
    (r"x_i < 8 \quad \forall n > 2", {"x": X, "i": 2, "n": 3}, "of what is this for all"),
    (r"\sum_{j=1}^3 x_j = 0 \quad \forall j", {"x": X, "j": 3}, "of what is this for all"),
    (r"x_i < 8 \quad \forall 2 i", {"x": X, "i": 2}, "of what is this for all"),
    (r"x_i < 8 \quad \forall \alpha", {"x": X, "i": 2}, "unknown symbol"),
    (REMARK, COUNTS, "print N behind the words"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "said"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_nothing_draws_anew_is_refused(text, values, said):
    with pytest.raises(LatexError, match=said):
        found(text, values)


def test_other_values_are_of_the_same_kind():
    assert all(isinstance(value, int) and value > 0 for value in other_values(3, "n", 1))
    assert 0 in set(other_values(3, "n", 0))
    assert min(other_values(-2, "n", 1)) < -2
    assert set(other_values(range(1, 4), "i", 0)) == {0, 4}
    assert set(other_values(range(1, 4), "i", 1)) == {4}
    assert list(other_values(range(0), "i", 0)) == []
    mask = np.tri(3)
    for other in other_values(mask, "M", 1):
        assert set(other.flat) <= {0, 1}
        assert other.shape == mask.shape
    for other in other_values(np.array([3.0, 7.0]), "x", 1):
        assert np.array_equal(other, np.round(other))
        assert (other >= 0).all()


def test_every_draw_is_tried():
    """On one draw of four the statement is true of every N."""
    book = Formulas({"balance": rf"{BALANCE} \quad \text{{for all}} \quad N"})

    @book.test("balance")
    def test_balance(rng):
        length, width = (int(x) for x in rng.integers(2, 100, size=2))
        return {"N": length, "d": width, "P": 2 * length * width}

    with pytest.raises(RefutedError, match="said for all N, and false at N = "):
        test_balance()


def scores(rng):
    slope = rng.uniform(0.5, 2)
    positions = np.arange(1, 5)
    B = -slope * (positions[:, None] - positions)
    return {"B": B, "s": slope, "m": range(1, 5), "n": range(1, 5)}


@pytest.mark.parametrize("words", [r"\forall m, n", r"\text{for all} \quad n, m"])
def test_an_exchange_of_names_behind_the_words_is_no_misprint(words):
    check_of_it = Check("bias", scores, {"vectors": "row"})
    verdicts = verdicts_of(check_of_it, rf"B_{{mn}} = -s (m - n) \quad {words}")
    assert not any(verdict.mutant.change.endswith("after \\forall") for verdict in verdicts)
    assert report(verdicts)[1], report(verdicts)[0]
