"""LaTeX as it is printed elsewhere: what is read, and as what; each line holds as it stands."""

import functools
import math

import numpy as np
import pytest

import texcheck
from texcheck import LatexError, Random, depends
from texcheck.guess import UnsureError, guessed_symbols
from texcheck.parser import canonical_name

check = functools.partial(texcheck.check, vectors="column")

X = np.array([3.0, -4.0])
A = np.array([[1.0, 2.0], [3.0, 5.0]])
COIN = Random([0, 1], [0.75, 0.25])
SICK = Random([(0, 0), (0, 1), (1, 0), (1, 1)], [0.4, 0.1, 0.2, 0.3])
H = {"S": SICK, "H": depends("S", lambda s: s[0]), "D": depends("S", lambda s: s[1])}
VALUES = {
    "x": X,
    r"\mathbf{x}": X,
    r"\mathbf{A}": A,
    r"\mathbf{B}": A.T,
    "a": -2.0,
    "b": 5.0,
    "n": 4,
}

HOLDS = [
    # environments
    (r"\begin{align} a + 2 &= 0 \\[0.5em] b &= 5 \label{eq} \end{align}", {}),
    (r"\begin{equation*} \begin{split} b &= 6 - 1 \\ &= 5 \end{split} \end{equation*}", {}),
    (r"\begin{align*} a &= -2 && \text{first rule} \\ b &= 5 && \text{rule two} \end{align*}", {}),
    (r"\mathbf{x} = \begin{bmatrix} 3 \\ -4 \end{bmatrix}.", {}),
    (r"\mathbf{A} = \left[\begin{array}{cc} 1 & 2 \\ 3 & 5 \end{array}\right]", {}),
    # fonts, spaces, sizes
    (r"\mathbf A \mathbf x = [-5, -11], \; \boldsymbol{A} = a", {r"\boldsymbol{A}": -2}),
    (r"\mathbf{AB}^\top \mathbf{x} = [-27, -70]", {}),
    (r"\textrm{cost} = 7 \times b = 7 * 5", {r"\text{cost}": 35}),
    (r"\displaystyle \bigl( a + b \bigr)^2 = 9", {}),
    (r"\mathop{\mathrm{max}}(a, b) = 5, \max\{a, b\} = 5, \mathrm{max}[a, b] = 5", {}),
    (r"\underbrace{a + b}_{\text{both}} = 3", {}),
    # bars
    (r"|a| = 2, \quad |a||b| = |a b| = 10, \quad \left|a - |b|\right| = 7", {}),
    (r"\|x\| = 5, \quad \|x\|_1 = |x_1| + |x_2| = 7, \quad \|x\|_\infty = 4", {}),
    (r"\|x\|_p = (|x_1|^p + |x_2|^p)^{1/p}", {"p": 3}),
    (r"\frac{1}{2} \|x - y\|^2 = \frac{1}{2}\|x\|^2 + 1 - x^T y", {"y": np.ones(2)}),
    (r"|\mathcal{B}| = 3", {r"\mathcal{B}": {2, 5, 7}}),
    (r"\langle x, y \rangle = -1", {"y": np.ones(2)}),
    # integrals and derivatives with an upright or a slanted d
    (r"\int_{-\infty}^\infty \frac{1}{1 + t^2} \; dt = \pi", {}),
    (r"\int_0^1 t^2 dt - \left(\int_0^1 t dt\right)^2 = \frac{1}{12}", {}),
    (r"\frac{d}{db} b^3 = 3 b^2", {}),
    # counting
    (r"\binom{n}{2} = \frac{n!}{2!(n-2)!} = 6 = {n \choose 2}, \quad 0! = 1", {}),
    (r"\log_2 8 = 3, \quad \sqrt[3]{27} = 3", {}),
    # sets and conditions
    (r"a \in [-2, 0), \quad a \notin (-2, 0], \quad b \in \{2, 5\}, \quad b \not= 4", {}),
    (r"p = \begin{cases} 1 & a \in [0, 1], \\ 0 & a \not\in [0, 1]. \end{cases}", {"p": 0}),
    (r"|a| = -a \textrm{ if } a < 0", {}),
    (r"a < 0 \Rightarrow a^2 > 0 \rightarrow b = 5", {}),
    # definitions
    (r"c := a + b \stackrel{\text{def}}{=} 3, \quad c \coloneqq 3", {"c": 3}),
    (r"x \leftarrow x - a", {"x": 1, r"x \leftarrow": 3}),
    (r"g_t \leftarrow g_{t-1} + 1", {"g": [1, 2, 3], "t": range(2, 4)}),
    (r"\nabla f(b) = 2 b", {r"\nabla f": lambda b: 2 * b}),
    (r"\partial_b f(b) = 10", {r"\partial_b f": lambda b: 10}),
    # probabilities
    (r"P(X = 1) = E[X] = 0.25, \quad P(X \in (0, 1]) = E_{X \sim P}[X^2]", {"X": COIN, "P": 1}),
    (r"P(D = 1 \mid H = 1) = \frac{P(H = 1, D = 1)}{P(H = 1)} = 0.6", H),
    (r"P(D = 1 \; \textrm{and} \; H = 0) = 0.1", H),
    (r"\textrm{Var}(X) = \textrm{Cov}(X, X) = \mathbb{E}[X^2] - E[X]^2", {"X": COIN}),
    (r"p(a | b) = 10 a + b", {"p": lambda a, given: 10 * a + given[0]}),
    (r"\sum_{ij} \mathbf{A}_{ij} = 11", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), HOLDS, ids=[text for text, _ in HOLDS])
def test_what_others_print_is_executed(text, values):
    # P is a function for one line and the name of a distribution for the other.
    values = {name: value for name, value in {**VALUES, **values}.items() if name != "P"}
    for relation in check(text, values, fixed=dict.fromkeys([*values, "="], "read so")):
        assert relation.holds, relation


REFUTED = [
    (r"|a| = -2", {}),
    (r"\|x\|_1 = 5", {}),
    (r"\int_{-\infty}^\infty \frac{1}{1 + t^2} \, dt = 1", {}),
    (r"a \in (-2, 0]", {}),
    (r"b \notin \{2, 5\}", {}),
    (r"x \leftarrow x - a", {"x": 1, r"x \leftarrow": -1}),
    (r"P(D = 1 \mid H = 1) = 0.5", H),
    (r"\binom{n}{2} = 12", {}),
]


@pytest.mark.parametrize(("text", "values"), REFUTED, ids=[text for text, _ in REFUTED])
def test_what_is_false_fails(text, values):
    values = {**VALUES, **values}
    found = check(text, values, fixed=dict.fromkeys([*values, "="], "read so"))
    assert not all(relation.holds for relation in found)


REFUSED = [
    (r"a \rightarrow b", "between two statements"),
    (r"a, b \in \{c : c > 0\}", "is not understood"),
    (r"n = 61,000", "write 61"),
    (r"a = 2 \gg b", "how much larger"),
    (r"x \leftarrow x + 1", "is on its right as well"),
    (r"\begin{array}{cc} a & b \\ \hline 1 & 2 \end{array} = 1", "table"),
    (r"|a| = b \begin{tabular} 1 \end{tabular}", "not known"),
    (r"a = \underbrace{b + c}_{= 3}", "must be words"),
    (r"P(X = 1 \mid a) = 1", "of what event"),
    (r"\textrm{a sentence, with commas} = 1", "not a word that can be checked"),
    (r"a = 2E+14", "times e"),
    (r"a = 1e4", r"write 1 \\cdot 10\^"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_has_several_meanings_is_refused(text, reason):
    with pytest.raises(LatexError, match=reason):
        check(text, VALUES)


def kinds(text):
    return {name: guess.kind for name, guess in guessed_symbols(text).items()}


def test_a_guess_for_every_symbol():
    assert kinds(r"f(\mathbf{x}) = \sum_{i=1}^n w_i x_i + b_{\text{out}}") == {
        "f": "function", r"\mathbf{x}": "vector", "n": "number", "w": "array", "x": "array",
        r"b_\text{out}": "number",
    }  # fmt: skip
    assert kinds(r"X_{opt} = X + T_{min}") == {"X_opt": "number", "X": "number", "T_min": "number"}
    assert kinds(r"\mathbf{W}_k^{(q)} \mathbf{v} = \nabla f(\mathbf{v})")[r"\nabla f"] == "function"
    assert kinds(r"a_{11} + a_{nk} = 1") == {"a": "array", "n": "index", "k": "index"}
    assert kinds(r"P(X = 1) = 1") == {"X": "number"}
    assert kinds(r"\|x - a y\| \le \|W\|_F") == {
        "x": "vector", "a": "number", "y": "number", "W": "matrix",
    }  # fmt: skip
    assert kinds(r"P(x \mid y) = 1")["P"] == "function"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (r"X_{opt} = 1", "X_{opt}"),
        (r"\sigma_{aX+b} = 1", r"\sigma_{aX+b}"),
        (r"\mathbf{W}_{\text{xh}}^{(f)} = 1", r"\mathbf{W}_{\text{xh}}^{(f)}"),
        (r"\hat{\mathbf{x}}^* = 1", r"\hat{\mathbf{x}}^*"),
        (r"\partial_{\mathbf{w}} f(w) = 1", r"\partial_{\mathbf{w}} f"),
        (r"a_{11} = 1", "a_{11}"),
        (r"\vec v_1 = 1", r"\vec{v}_1"),
        (r"x \leftarrow x + 1", r"x \leftarrow"),
    ],
)
def test_a_guess_is_declared_by_its_key(text, key):
    guesses = guessed_symbols(text)
    assert key in {guess.key for guess in guesses.values()}
    assert all(canonical_name(guess.key) == name for name, guess in guesses.items())


UNSURE = [
    (r"\mathbf{AB} = 1", "one symbol or a product"),
    (r"L^1 = 2", "a power"),
    (r"D f(x) = 1", "a derivative"),
    (r"x \propto y", "leaves the factor open"),
    (r"f = \mathcal{O}(n)", "cannot be executed"),
    (r"a \smile b = 1", r"what does \\smile mean"),
    (r"x_{ijk} = 1", "a word or indices"),
    (r"P(\textrm{the word is} i) = 1", "a word of a sentence"),
    (r"A[i, j] = 1", r"what does A\[…\] mean"),
    (r"\hat{x_i^2} = 1", "have an index"),
]


@pytest.mark.parametrize(("text", "reason"), UNSURE, ids=[text for text, _ in UNSURE])
def test_no_guess_where_two_are_as_good(text, reason):
    with pytest.raises((UnsureError, LatexError), match=reason):
        guessed_symbols(text)


def test_the_area_of_a_density():
    """A density on the web is said to have area one; it has area π."""
    (relation,) = check(r"\int_{-\infty}^\infty p(x) \; dx = 1", {"p": lambda x: 1 / (1 + x**2)})
    assert not relation.holds
    assert relation.left == pytest.approx(math.pi)
