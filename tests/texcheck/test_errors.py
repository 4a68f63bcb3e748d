"""What is not understood is an error that names the construct and its place, never a value."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import texcheck
from texcheck import LatexError, Random, depends
from texcheck.lexer import Lexer

check = functools.partial(texcheck.check, vectors="row")
evaluate = functools.partial(texcheck.evaluate, vectors="row")

X = np.array([0.3, -1.2, 2.0])
A = np.arange(6.0).reshape(2, 3)
VALUES = {"x": X, "A": A, "a": 2.0, "b": 3.0, "i": 1, "f": lambda t: t, "z": 1 + 1j, "n": 3}

REFUSED = [
    # text, where, what is said
    (r"a + y", 4, "unknown symbol y"),
    (r"a \foo b", 2, r"unknown symbol \foo"),
    (r"\operatorname{magic}(a)", 0, r"unknown symbol \operatorname{magic}"),
    (r"a_i", 0, "an index on the number"),
    (r"x_4", 0, "outside 1…3"),
    (r"x_0", 0, "outside 1…3"),
    (r"x_{a/4}", 4, "whole number"),
    (r"\sum_{i=0}^{\infty} a", 12, "let the index end at a number"),
    (r"A_{2i}", 0, "ambiguous"),
    (r"x_{i,i}", 0, "2 indices"),
    (r"x x", 2, "product of two"),
    (r"x^2", 2, "entrywise"),
    (r"x + A^\top", 6, "cannot add"),
    (r"A + 1", 4, "number"),
    (r"A A", 2, "multiply"),
    (r"a / x", 2, "division by a vector"),
    (r"a / (b - 3)", 2, "division by zero"),
    (r"\frac{a}{0}", 0, "division by zero"),
    (r"1/2 a", 4, "ambiguous"),
    (r"a 2", 2, "number after a factor"),
    (r"2 3", 2, "number after a factor"),
    (r"a^12", 2, "write {12}"),
    (r"\frac123", 5, "write {123}"),
    (r"\frac{a}12", 8, "write {12}"),
    (r"\sqrt[b]{-a}", 0, "negative"),
    (r"\sqrt[a, b]{a}", 7, "cannot stand here"),
    (r"\sin a / b", 7, "ambiguous"),
    (r"\sin a (b)", 7, "argument of \\sin end"),
    (r"\sin^{-1} a", 0, "ambiguous"),
    (r"f", 0, "needs an argument"),
    (r"f^2(a)", 0, "power of its value"),
    (r"\operatorname{softmax} x", 0, "brackets"),
    (r"\sum a", 0, "without an index"),
    (r"\sum_{j} a", 0, "range of j"),
    (r"\sum_{j=1} j", 6, "upper end"),
    (r"\sum_{j=1}^{3}", 0, "nothing to act on"),
    (r"\max_{j=2}^{1} j", 0, "no index"),
    (r"\prod_{j=1}^3 j / a", 0, "ambiguous"),
    (r"\int_0^1 a", 0, "differential"),
    (r"\int a \, dt", 0, "bounds"),
    (r"\frac{\partial a}{\partial b}", 5, "does not depend"),
    (r"\mathbb{E}[a]", 0, "no random variable"),
    (r"\exp(A)", 0, "matrix"),
    (r"\sqrt{-a}", 0, "negative"),
    (r"\log(a - b)", 0, "not positive"),
    (r"a^{b} + (-a)^{a/4}", 13, "negative"),
    (r"\lVert A \rVert", 0, "which norm"),
    (r"\lvert A \rvert", 0, r"\det"),
    (r"\|A\|", 0, "which norm"),
    (r"|a| b |a|", 0, r"write \lvert"),
    (r"\|x\| a \|x\|", 0, r"write \lVert"),
    (r"|a", 0, r"write \lvert"),
    (r"f(a | b)", 0, "refused its arguments"),
    (r"a (a | b)", 5, "a bar between brackets"),
    (r"a \pm b", 2, "two values"),
    (r"(a/4)!", 0, "whole number"),
    (r"a^b!", 0, "the factorial of what"),
    (r"f!(a)", 0, "brackets around"),
    (r"n!!", 2, "brackets around"),
    (r"x \otimes x", 2, "declare"),
    (r"a \times x", 2, "operator"),
    (r"\begin{cases} 1 & a > 5 \\ 2 & a > 7 \end{cases}", 0, "no case"),
    (r"\begin{cases} 1 & a > 1 \\ 2 & a > 0 \end{cases}", 0, "two cases"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}", 0, "rows"),
    (r"\begin{tabular} a \end{tabular}", 0, "not known"),
    (r"\left( a \right.", 15, "delimiter"),
    (r"\left( a)", 8, "needs \\right"),
    (r"a \left", 7, "delimiter"),
    (r"(a + b", 0, "never closed"),
    (r"a + b)", 5, "closes nothing"),
    (r"\frac{a}{b", 8, "never closed"),
    (r"\frac{a}", 8, "too early"),
    (r"a +", 3, "too early"),
    (r"a + + b", 4, "cannot stand here"),
    (r"a \cdot", 7, "too early"),
    (r"a^", 2, "too early"),
    (r"a^b^b", 3, "two supscripts"),
    (r"a_{}", 3, "cannot stand here"),
    (r"a $ b", 2, "not understood"),
    (r"a % b", 2, "not understood"),
    (r"", 0, "empty"),
    (r"a, b", 3, "one expression"),
    (r"a = b", 2, "relation"),
    (r"z < a", 2, "relation"),
    (r"\underbrace{a}_{b}", 15, "must be words"),
    (r"\underbrace a", 12, "in braces"),
    (r"\lim_{n} a", 0, "a limit"),
    (r"\begin{array}{cc} 1 & 2 \end{array}", 0, "a table"),
    (r"\langle z, z \rangle", 0, "conjugated"),
    (r"\langle a \rangle", 0, "inner product of two"),
    (r"a + \{b\}", 4, "a set by its members"),
    (r"P(a)", 0, "of what event"),
    (r"\mathbf{v_{ij} w}", 0, "needs a letter"),
    (r"\int_0^1 a b \, da \, db", 0, "differential"),
    (r"a \sum_{j \notin n} j", 8, "declare the set"),
    (r"\mathbb{R}", 0, "after \\in"),
    (r"x^\top_i{}", 9, "cannot stand here"),
    # readings that only look like another one
    (r".5", 0, "write 0"),
    (r"a + .5", 4, "write 0"),
    (r"1.5.2", 3, "write 0"),
    (r"1e-3", 0, "times e"),
    ("a^２", 2, "not understood"),
    ("٣", 0, "not understood"),
    (r"a/bx", 3, "ambiguous"),
    (r"(a + b)'", 0, "prime"),
    (r"2'", 0, "prime"),
    (r"a^2'", 3, "ambiguous"),
    (r"f'(a)", 0, "unknown symbol f'"),
    (r"\lvert x \rvert", 0, r"its length is \lVert"),
    (r"x * x", 2, "operator"),
    (r"\infty - \infty", 0, "not a number"),
    (r"\int_0^1 / a \, \mathrm{d}t", 9, "both sides"),
    (r"\int_0^1 t / \mathrm{d}t", 11, "both sides"),
    (r"a \quad \text{if } a", 8, r"write \implies"),
    (r"\implies a", 0, "nothing stands before"),
    (r"a \implies", 2, "nothing follows"),
    (r"a \quad \text{for}", 8, "nothing follows"),
    # values that have no such operation
    (r"\ln_2 a", 0, "takes no subscript"),
    (r"\max(x)", 0, "several numbers"),
    (r"z \bmod 2", 2, "complex"),
    (r"\begin{cases} 1 & z > 0 \\ 2 & z \le 0 \end{cases}", 18, "complex"),
    # numbers that would fill the memory
    (r"(10^{3000})^{4000}", 12, "too large"),
    (r"10^{3000} \cdot 10^{3000}", 10, "too large"),
    (r"\frac{\partial}{\partial a} \lvert a - 2 \rvert", 5, "corner"),
    (r"\frac{\partial^2 a}{\partial a}", 19, "not understood"),
    ("(" * 400 + "a" + ")" * 400, 40, "too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "position", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused_with_its_place(text, position, message):
    with pytest.raises(LatexError) as caught:
        evaluate(text, VALUES)
    assert message in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"\sum_{j \in T} x_j", "unknown symbol T"),
        (r"\sum_{j \in \sin} x_j", "has no argument"),
        (r"\sum_{j \in k, k} x_j x_k", "not a set"),
    ],
)
def test_an_index_runs_over_a_declared_set(text, message):
    with pytest.raises(LatexError, match=message):
        evaluate(text, VALUES)


def test_complex_numbers_have_no_order():
    with pytest.raises(LatexError, match="complex"):
        check("z < a", VALUES)


def test_two_declared_readings_of_one_symbol_are_ambiguous():
    with pytest.raises(LatexError, match="ambiguous"):
        evaluate("W_i^Q", {"W_i": 1, "W^Q": 2})


@pytest.mark.parametrize("name", ["x + y", r"\sigma_aX+b", "x = y", "", "3", "(x)", r"\frac{a}{b}"])
def test_only_symbols_can_be_declared(name):
    with pytest.raises(LatexError):
        evaluate("1", {name: 1})


def test_the_message_shows_the_place():
    with pytest.raises(LatexError) as caught:
        evaluate("a + 2\n+ oops", {"a": 1})
    assert "line 2" in str(caught.value)
    assert ">>>here>>> oops" in str(caught.value)


FORMULAS = [
    r"\frac{a + b}{2} \left(\sqrt{b} - x_2\right)",
    r"\sum_{j=1}^{n} x_j \exp(-a^{j})",
    r"\begin{pmatrix} a & b \\ 0 & \lVert x \rVert_2 \end{pmatrix}",
    r"\begin{cases} a, & \text{if } a > b \\ \lvert b \rvert, & \text{otherwise} \end{cases}",
    r"\operatorname{softmax}(x A^\top)_{1} + \max_{j} x_j",
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_formula_with_a_bracket_removed_never_has_a_value(data):
    text = data.draw(st.sampled_from(FORMULAS))
    lexer = Lexer(text)
    lexer.run()
    brackets = {"LBRACE", "RBRACE", "LPAR", "RPAR", "BEGINMATRIX", "ENDMATRIX", "LNORM", "RNORM"}
    brackets |= {"BEGINCASES", "ENDCASES", "LBAR", "RBAR"}
    token = data.draw(st.sampled_from([t for t in lexer.tokens if t.type in brackets]))
    broken = text[: token.start_pos] + " " + text[token.end_pos :]
    with pytest.raises(LatexError):
        evaluate(broken, VALUES)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"abxAinzf+-*/^_(){}[]|,=<!'&1", r"\frac", r"\sum", r"\sin", r"\left(", r"\right)",
             r"\sqrt", r"\|", r"\begin{pmatrix}", r"\end{pmatrix}", r"\\", r"\cdots", r"\top",
             r"\int", r"\partial", r"\text{if}", r"\mathbb{E}", r"\in", r"\le", r"\max", " "]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_any_string_gives_a_value_or_a_latex_error(pieces):
    for function in (evaluate, check):
        try:
            function("".join(pieces), VALUES)
        except LatexError as error:
            assert 0 <= error.position <= len("".join(pieces))  # noqa: PT017


def test_a_callable_that_returns_nothing_is_refused():
    with pytest.raises(LatexError, match="h refused its arguments"):
        evaluate("h(a)", {"a": 1.0, "h": lambda a: None})


@pytest.mark.parametrize("value", [None, "abc", {1: 2}, [[1, 2], [3]], [np.sin, np.cos]])
def test_a_value_that_is_no_number_is_named(value):
    with pytest.raises(TypeError, match="the value of 'g'"):
        evaluate("1", {"g": value})


EVERYTHING = {
    **VALUES,
    "k": range(1, 4),
    "q": Random([1, 2]),
    "p": depends("x", lambda x: 2 * x),
    "M": np.ones((2, 2, 2)),
    "S": {1, 2},
    "F": Fraction(1, 3),
}
CLAIMS = [
    r"\sum_{j=1}^{n} x_j^2 = a",
    r"\frac{\partial p_i}{\partial x_k} = 2 \delta_{ik}",
    r"f(x_1, \ldots, x_n) = x",
    r"\mathbb{E}[q^2] - \mathbb{E}[q]^2 = \operatorname{Var}(q)",
    r"\begin{cases} 1 & \text{if } a > 0 \\ 0 & \text{otherwise} \end{cases} = 1",
    r"\int_0^a t \,\mathrm{d}t = 2 \implies x_1 x_2 \cdots x_n < 1",
    r"\lvert z \rvert^2 = z \overline{z} \le 5, \quad i = 1, 2, \ldots, n",
]
PIECES = [*"abxAinzfkqpMSF+-*/^_(){}[]|,=<!'&12.:", r"\frac", r"\sum", r"\prod", r"\int", r"\log",
          r"\\", r"\cdots", r"\vdots", r"\top", r"\infty", r"\binom", r"\bmod", r"\odot", r"\in",
          r"\cdot", r"\nabla", r"\mathbb{R}", r"\lfloor", r"\rfloor", r"\overline",
          r"\mathrm{d}"]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_formula_gives_a_verdict_or_a_latex_error(data):
    text = data.draw(st.sampled_from(CLAIMS))
    lexer = Lexer(text)
    lexer.run()
    pieces = [text[token.start_pos : token.end_pos] for token in lexer.tokens]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(pieces) - 1))
        new = data.draw(st.lists(st.sampled_from(PIECES), max_size=1))
        pieces[place : place + data.draw(st.integers(0, 1))] = new
        pieces = pieces or ["a"]
    damaged = " ".join(pieces)
    for function in (evaluate, check):
        try:
            function(damaged, EVERYTHING)
        except LatexError as error:
            assert 0 <= error.position <= len(damaged)  # noqa: PT017
