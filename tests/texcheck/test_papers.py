"""What papers print beside the plain case: broken lines, conditions, fonts; each read as meant."""

import numpy as np
import pytest

from texcheck import Formulas, LatexError, RefutedError, check
from texcheck.guess import UnsureError, guessed_symbols
from texcheck.parser import canonical_name

X = np.array([3.0, -4.0, 7.0])
A = np.array([[1.0, 2.0], [3.0, 5.0]])
VALUES = {
    **{"a": 13.0, "b": 4.0, "c": 9.0, "x": X, "n": 3, "A": A, "S": {1, 2, 4, 8}},
    "i": range(1, 4),
}


def holds(text, values):
    values = {**VALUES, **values}
    return all(
        one.holds for one in check(text, values, fixed=dict.fromkeys([*values, "="], "read so"))
    )


# Each with what makes it false.
READ = [
    # lines that go on
    (r"\begin{multline} a = b \\ + c \end{multline}", {}, {"c": 8.0}),
    (r"\begin{multline} a = b + \\ c, \\ b = 4 \end{multline}", {}, {"c": 8.0}),
    (r"\begin{multline*} a \\ = b + 2 \\ + c - 2 \end{multline*}", {}, {"c": 8.0}),
    (r"\begin{align} a &= b + \\ &\quad c \\ &= 13 \end{align}", {}, {"c": 8.0}),
    (r"\begin{align} a &= 2 (b \\ &\quad + c) - 13 \end{align}", {}, {"c": 8.0}),
    (r"\begin{gathered} a = b \\ + c = 13 \end{gathered}", {}, {"c": 8.0}),
    (r"a = \left( b + \right. \\ \left. c \right)", {}, {"c": 8.0}),
    (
        r"\begin{aligned} a = 13, & \quad b = 4, \\ = 4 + c, & \quad = c - 5 \end{aligned}",
        {},
        {"c": 8.0},
    ),
    (r"\begin{alignat}{2} a &= 13 &\quad c &= 9 \end{alignat}", {}, {"c": 8.0}),
    (r"\begin{eqnarray} a &=& b + c \\ &=& 13 \end{eqnarray}", {}, {"c": 8.0}),
    # separators, spaces, colours, fonts
    (r"a = 13; \> c = 9", {}, {"c": 8.0}),
    (r"a = 13 \hspace{1cm} c = 9", {}, {"c": 8.0}),
    (r"p = \begin{cases} 1 & c > 8; \\ 0 & \text{otherwise;} \end{cases}", {"p": 1}, {"c": 8.0}),
    (r"a = \textcolor{red}{b} + \textcolor{blue}{c}", {}, {"c": 8.0}),
    (r"\mathbf{A_{21}} = 3", {r"\mathbf{A}": A}, {r"\mathbf{A}": A.T}),
    (r"\text{num_params} = 2 b", {r"\text{num_params}": 8.0}, {"b": 9.0}),
    # three dots, and what stands beside a list with dots
    (r"1 + 2 + ... + n = 6", {}, {"n": 4}),
    (r"f(x_1, …, x_n, b) = 13", {"f": lambda *v: sum(v) + 3.0}, {"b": 5.0}),
    (
        r"f(b, (x_1, 1), \ldots, (x_n, 1)) = 13",
        {"f": lambda b, *pairs: b + sum(one[0] + one[1] for one in pairs)},
        {"b": 5.0},
    ),
    (r"2 x_1 + \cdots + 2 x_n + b = 16", {}, {"b": 5.0}),
    (r"\sum_{-m \le j \le m} j^2 = 2 b + 2", {"m": 2}, {"m": 1}),
    (r"f(b, x_1, \ldots, x_n) = 13", {"f": lambda *v: sum(v) + 3.0}, {"b": 5.0}),
    # conditions
    (r"\sum_{i \in S \mid i > 2} i = 12", {"i": 1}, {"S": {1, 2, 4}}),
    (r"\sum_{j : j \ne 2} x_j = 10", {}, {"x": X + 1}),
    (r"\sum_{j \mid n \bmod j = 0, 1 \le j \le n} j = 4", {}, {"n": 4}),
    (r"x_i < 8 \quad \forall i", {}, {"x": X + 1}),
    (r"x_i < 8 \text{ for all } i", {}, {"x": X + 1}),
    (r"D(b \| c) = 13", {"D": lambda p, given: p + given[0]}, {"c": 8.0}),
    (r"p_{X \mid Y}(b \mid c) = 13", {"p_{X|Y}": lambda p, given: p + given[0]}, {"c": 8.0}),
    # calculus
    (
        r"\frac{\partial^2 f(u, v)}{\partial u \partial v} = 2 u",
        {"f": lambda u, v: u**2 * v, "u": 3.0, "v": 5.0},
        {"f": lambda u, v: u**2 * v**2},
    ),
    (r"\frac{d^2 (u^2 v_1 v_2)}{du dv_1} = b u v_2", {"u": 3.0, "v": X, "b": 2}, {"b": 3}),
    (r"\frac{df}{dc}(c) = 2 c", {"f": lambda c: c**2 + 0 * c}, {"f": lambda c: c**3}),
    (r"\frac{d(a c)}{dc} (a \cdot b) = 13 a b", {}, {"a": 5.0}),
    (r"dS_{12} = 2 b", {"d S": np.array([[1.0, 8.0]])}, {"b": 5.0}),
    (
        r"\operatorname{vec} g(b) + 1 = c",
        {r"\operatorname{vec}": lambda u: 2 * u, "g": lambda u: u},
        {"b": 5.0},
    ),
]


@pytest.mark.parametrize(("text", "values", "spoilt"), READ, ids=[text for text, _, _ in READ])
def test_it_is_read_as_it_is_meant(text, values, spoilt):
    assert holds(text, values)
    assert not holds(text, {**values, **spoilt})


REFUSED = [
    # lines: which statement is it?
    (r"\begin{multline} a = b \\ c \end{multline}", "begin it with a sign"),
    (r"\begin{multline} a = b \\ c = 9 \end{multline}", "begin it with a sign"),
    (
        r"\begin{align} a &= 2 (b \\ &\quad c) \end{align}",
        "unless the next line begins with a sign",
    ),
    (r"\begin{aligned} a &= b \\ + c \end{aligned}", "without a relation"),
    (r"\begin{align} a &= b + & c &= 9 - \\ & b & b \end{align}", "starts with neither a relation"),
    (r"\begin{aligned} a = b & c = 9 \end{aligned}", "needs a relation or a sign beside it"),
    (r"a = \left( b + \right. c", "needs a delimiter"),
    (r"\begin{alignat} a &= 13 \end{alignat}", "number of columns"),
    (r"a \hspace{1cm} b = 52", "without a relation"),
    # cells
    (r"A = \begin{pmatrix} 1 & \\ 3 & 5 \end{pmatrix}", "cell of this matrix is empty"),
    (r"A = \begin{pmatrix} & 2 \\ 3 & 5 \end{pmatrix}", "cell of this matrix is empty"),
    (r"A = \begin{pmatrix} 1 & 2 \\ 3 & \end{pmatrix}", "cell of this matrix is empty"),
    (
        r"A = \left( \begin{matrix} 1 \\ 3 \end{matrix} \begin{matrix} 2 \\ 5 \end{matrix} \right)",
        "blocks of one",
    ),
    # fonts
    (r"\mathbf{A_{21} B} = 3", "needs a letter"),
    (r"\text{x_1} = 3", "holds scripts"),
    (r"\mathrm{num_params} = 3", "holds scripts"),
    # dots and signs
    (r"a - b - \ldots - c = 1", "these dots in a sum"),
    (r"1 + 2 + ... = 6", "these dots in a sum"),
    (r"f(2, 1, \ldots, n) = 6", "show no pattern"),
    (r"a >> b", r"write \\gg for >>"),
    (r"a == b", "write = for =="),
    # labels
    (r"a = 40 (b) \times 2", "a factor, or a remark"),
    (r"a = 2\ (\text{bytes})", "a factor, or a remark"),
    # bars
    (r"a = ||x - x||", "lVert"),
    (r"a = |b| c |b|", "lvert"),
    # what belongs to a product or a maximum?
    (r"\prod_{j=1}^n x_j a = 1", "does the last factor belong"),
    (r"\max_j x_j \cdot a = 1", "does the last factor belong"),
    # conditions
    (r"\sum_{j \mid n} j = 4", "'divides' or 'such that'"),
    (r"\sum_{j : n} j = 4", "'divides' or 'such that'"),
    (r"a \in \{j \mid j > 2\}", "a set by a condition"),
    (r"x_{1:2} = 3", "declare the symbol with it as one name"),
    (r"x_{:2} = 3", "a slice cannot be read"),
    (r"\sum_{j=1}^2 y^{(j)} = 2", "is part of a name, but j is an index"),
    (r"\max_n n(a) = 1", "n runs here and seems to be called"),
    (r"P(a = 13 \| b = 4) = 1", "write .*mid"),
    (r"x_i < 8 \quad \forall n", "of what is this for all"),
    (r"x_i < 8 \quad \forall i + 1", "of what is this for all"),
    (r"\forall i: x_i < 8", "print the statement first"),
    # calculus
    (r"\frac{\partial^2 f}{\partial a \partial b} = 1", "needs above what it is of"),
    (r"\frac{\partial^3 (a b)}{\partial a \partial b} = 1", "as many variables below"),
    (r"\frac{\partial^2 (a b)}{\partial a^2 \partial b} = 1", "as many variables below"),
    (r"\frac{d(a c)}{dc} (b) = 1", "is this derivative taken there"),
    (r"\frac{d(a c)}{dc} (c + b) = 1", "is this derivative taken there"),
    (r"\frac{d(a c)}{dc} (c, b) = 1", "is this derivative taken there"),
    # sums that are not printed, or not all of them
    (r"a = x_i x_i", "is there a sum over i"),
    (
        r"\begin{aligned} a &= b \\ &\quad + c \\ &\quad \vdots \\ &\quad + c \end{aligned}",
        "dots between the lines of one sum",
    ),
    (r"dS = 1", "nor is the differential d S"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_could_mean_two_things_is_refused(text, reason):
    with pytest.raises(LatexError, match=reason):
        check(text, {**VALUES, "f": lambda *values: sum(values)})


def test_a_differential_is_declared_with_its_letter():
    assert canonical_name("d S") == "d S"
    with pytest.raises(UnsureError, match='is dS a differential, "d S", or a product with d'):
        guessed_symbols("dS = 2 a")
    assert set(guessed_symbols("dS = 2 a", {"d S": False})) == {"a"}
    both = {"d": 2.0, "d S": 3.0, "S": 5.0}
    with pytest.raises(LatexError, match="both declared, so dS is ambiguous"):
        check("dS = 3", both)
    with pytest.raises(LatexError, match="a derivative, or a quotient"):
        check(r"\frac{dS}{dx} = 3", {"d S": 3.0, "d x": 1.0, "x": 2.0, "S": 5.0})


UNSURE = [
    (r"b = E(x - \theta)", "is E an expectation"),
    (r"b = E_x E_y \{x y\}", "is E an expectation"),
    (r"J = D \boldsymbol{\phi}", "is D a derivative"),
    (r"(f * g)(i) = \sum_a f(a) g(i-a)", "is . a function, or a value"),
    (r"L = \operatorname{minimize} \frac{1}{n} n", "like a word"),
    (r"L = \sum_{i=1}^n (y^{(i)} - w x^{(i)})^2", "is part of a name, but i is an index"),
    (r"f(u, v) = u, \quad u(a, b) = a + b", "is u a function, or a value"),
    (r"p(z) = p(z_1, \ldots, z_k), \quad p_i = 1", "a value of the function p"),
]


@pytest.mark.parametrize(("text", "reason"), UNSURE, ids=[text for text, _ in UNSURE])
def test_no_guess_for_a_letter_of_two_meanings(text, reason):
    with pytest.raises(LatexError, match=reason):
        guessed_symbols(text)


def test_a_bound_of_an_index_is_no_index():
    assert set(guessed_symbols(r"\prod_{-m \le j \le m, j \ne 0} x_j")) == {"m", "x"}
    kinds = {name: one.kind for name, one in guessed_symbols("L = D(G(z))").items()}
    assert kinds == {"L": "number", "D": "function", "G": "function", "z": "number"}


def test_both_variables_of_a_pair_are_averaged_over():
    guesses = guessed_symbols(r"H = -E_{(x, y) \sim P}[\log p(x, y)]")
    assert {name: one.kind for name, one in guesses.items()} == {
        "H": "number",
        "x": "number",
        "y": "number",
        "p": "function",
    }
    with pytest.raises(LatexError, match="must be symbols"):
        guessed_symbols(r"H = E_{(x, 2 y) \sim P}[x y]")


def test_a_failure_names_the_draw_and_its_values():
    book = Formulas({"sum": r"a_i + b = c"})
    drawn = []

    @book.test("sum")
    def test_sum(rng):
        drawn.append(rng.uniform(1, 2))
        c = drawn[-1] if len(drawn) > 2 else drawn[-1] + 1
        return {"a": np.ones(3), "b": drawn[-1], "c": c, "i": range(1, 4)}

    with pytest.raises(RefutedError) as said:
        test_sum()
    assert f"\ndraw 3 of 4: a = [1. 1. 1.], b = {drawn[2]:.6f}" in str(said.value)
    assert str(said.value).endswith(", i = 1")
