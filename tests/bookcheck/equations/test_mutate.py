"""Misprints are planted and caught; survivors are told apart from equivalent ones."""

import numpy as np
import pytest

from bookcheck.equations import checks as equations
from bookcheck.equations import mutate as mutate_math
from bookcheck.equations.checks import Check, equation, mark_of
from bookcheck.equations.mutate import (
    Fate,
    Verdict,
    main,
    report,
    verdicts,
)
from bookcheck.equations.scan import Equation
from texcheck.misprints import misprints


def changed(text, matrices=()):
    return {mutant.text for mutant in misprints(text, matrices)}


@pytest.mark.parametrize(
    ("text", "mutated"),
    [
        ("a + b", "a - b"),
        (r"\sin x", r"\cos  x"),
        (r"a b c", "a   c"),
        (r"a \cdot b", "a  "),
        (r"x_i y_j", "x_j y_j"),
        (r"\sum_{i=1}^{n} x_i", r"\sum_{i=1}^{n+1} x_i"),
        (r"\sum_{i=1}^n x_i", r"\sum_{i=2}^n x_i"),
        (r"K^\top", "K"),
        (r"Q K", r"Q^\top  K"),
        (r"\frac{a}{b}", r"\frac{b}{a}"),
        (r"\frac12", r"\frac{2}{1}"),
        (r"x^9", r"x^{10}"),
        (r"\sqrt{d}", "{d}"),
        (r"a \le b", r"a \ge  b"),
        (r"z^*", "z"),
        (r"a \le b", r"a < b"),
        (r"a < b", r"a \le  b"),
        (r"a < b", r"a < 1.05 (b)"),
        (r"a \ge b", r"a \ge 0.95 (b)"),
        (r"\lvert a \rvert", r"( a )"),
        (r"\left| a \right|", r"( a )"),
        (r"\lVert x \rVert_2", r"( x )_2"),
        (r"\hat{x}", "{x}"),
        (r"\bar z", "z"),
        (r"x' + y", "x + y"),
        (r"a - b", "b - a"),
        (r"x + a - b", "x + b - a"),
        (r"W^Q W^K", "W^K W^K"),
        (r"q k", "k k"),
        (r"\cos(m - n)", r"\cos(n - n)"),
        (r"x = 0.25", "x = 0.26"),
        (r"x_{i+1}", "x_{i}"),
        (r"\sum_{i=1}^{n} x_i", r"\sum_{i=1}^{n-1} x_i"),
        (
            r"\begin{aligned} a &= b \\ &= c \end{aligned}",
            r"\begin{aligned} a &= b \\ &  c \end{aligned}",
        ),
    ],
)
def test_each_kind_of_misprint_is_planted(text, mutated):
    assert mutated in changed(text, ["Q"])


def test_no_mutant_equals_the_formula_or_another():
    text = r"p_i = \frac{e^{x_i}}{\sum_{j=1}^{n} e^{x_j}} - \sin(2\theta_i)"
    found = [mutant.text for mutant in misprints(text)]
    assert text not in found
    assert len(found) == len(set(found)) > 8


def softmax_check(rng):
    x = rng.normal(size=4)
    p = np.exp(x) / np.exp(x).sum()
    return {"x": x, "p": p, "i": range(1, 5), "n": 4}


def made(function):
    equations.REGISTRY.append([])
    try:
        equation("eq-x")(function)
        return equations.REGISTRY[-1][0]
    finally:
        equations.REGISTRY.pop()


PRINTED = Equation("eq-x", r"p_i = \frac{e^{x_i}}{\sum_{j=1}^{n} e^{x_j}}", "01-x.ipynb", 1, 1)


def test_a_sharp_check_catches_every_mutant():
    found = verdicts([made(softmax_check)], {"eq-x": PRINTED})
    assert len(found) >= 5
    assert all(verdict.caught for verdict in found)
    assert any(verdict.fate is Fate.REFUTED for verdict in found)


def test_a_blunt_check_lets_mutants_survive():
    blunt = made(lambda rng: {"x": np.zeros(2), "p": np.full(2, 0.5), "i": 1, "n": 2})
    found = verdicts([blunt], {"eq-x": PRINTED})
    assert any(not verdict.caught for verdict in found)
    text, passed = report(found, {}, complete=True)
    assert not passed
    assert "survived: eq-x: " in text


def test_a_check_by_hand_knows_its_text_so_misprints_are_refuted():
    mark = mark_of(PRINTED.text)
    by_hand = Check("eq-x", lambda rng: 0.0, 1, (), {}, "It cannot be executed.", mark)
    found = verdicts([by_hand], {"eq-x": PRINTED})
    assert found
    assert {verdict.fate for verdict in found} == {Fate.REFUTED}


def test_a_fault_of_the_interpreter_is_not_caught(monkeypatch):
    def broken(*arguments, **options):
        raise AttributeError("a fault")

    monkeypatch.setattr("texcheck.formulas.relations_of", broken)
    found = verdicts([made(softmax_check)], {"eq-x": PRINTED})
    assert {verdict.fate for verdict in found} == {Fate.INTERNAL}
    text, passed = report(found, {}, complete=True)
    assert not passed
    assert "internal error: eq-x: " in text
    assert "AttributeError: a fault" in text


def test_a_check_that_fails_by_itself_catches_nothing():
    def failing(rng):
        raise ValueError("no such input")

    (verdict,) = verdicts([made(failing)], {"eq-x": PRINTED})
    assert verdict.fate is Fate.INTERNAL
    assert "no such input" in verdict.said


def test_samples_are_small():
    assert len(verdicts([made(softmax_check)], {"eq-x": PRINTED}, sample=2)) == 2


def survivor():
    (mutant, *_) = misprints("a + b")
    return Verdict("eq-x", mutant, Fate.SURVIVED)


def test_a_survivor_with_a_reason_does_not_count():
    verdict = survivor()
    text, passed = report([verdict], {"eq-x": {verdict.mutant.change: "b is 0"}}, complete=True)
    assert passed
    assert "equivalent: eq-x" in text
    assert "b is 0" in text


def test_a_reason_without_its_survivor_is_stale():
    text, passed = report([], {"eq-x": {"flip sign at 9": "gone"}}, complete=True)
    assert not passed
    assert "no longer a survivor" in text
    assert report([], {"eq-x": {"flip sign at 9": "gone"}}, complete=False)[1]


def test_an_unknown_chapter_is_an_error(capsys):
    assert main(["99-nothing"]) == 1
    assert "99-nothing" in capsys.readouterr().err


def test_the_command_passes_a_sharp_book_and_fails_a_blunt_one(monkeypatch, capsys):
    monkeypatch.setattr(mutate_math, "collect", lambda: [PRINTED])
    monkeypatch.setattr(mutate_math, "read_reasons", dict)
    monkeypatch.setattr(mutate_math, "load_checks", lambda: [made(softmax_check)])
    assert main(["--jobs", "1"]) == 0
    assert main(["01-x", "--sample", "3", "--jobs", "1"]) == 0
    assert "3 misprints of 1 equations" in capsys.readouterr().out
    blunt = made(lambda rng: {"x": np.zeros(2), "p": np.full(2, 0.5), "i": 1, "n": 2})
    monkeypatch.setattr(mutate_math, "load_checks", lambda: [blunt])
    assert main(["--jobs", "1"]) == 1
    assert "survived: eq-x" in capsys.readouterr().out


def test_both_shares_are_reported():
    verdict = survivor()
    caught = Verdict("eq-y", verdict.mutant, Fate.REFUTED)
    text, passed = report([verdict, caught], {"eq-x": {verdict.mutant.change: "b is 0"}}, True, 7.2)
    assert passed
    assert "2 misprints of 2 equations in 7 s" in text
    assert "1 refuted, 0 refused as not meaningful, 0 internal errors, 1 equivalent" in text
    assert "not equivalent 100.00 %" in text


def test_a_worker_tries_the_same_mutants_as_one_process(monkeypatch):
    item = made(softmax_check)
    monkeypatch.setattr(mutate_math, "collect", lambda: [PRINTED])
    monkeypatch.setattr(mutate_math, "load_checks", lambda: [item])
    monkeypatch.setattr(mutate_math, "WORKER", {})
    mutate_math.start_worker()
    assert mutate_math.try_label(("eq-x", None)) == verdicts([item], {"eq-x": PRINTED})
    few = mutate_math.try_label(("eq-x", 5))
    assert few == verdicts([item], {"eq-x": PRINTED}, sample=4, seed=5)
    assert len(few) == mutate_math.SAMPLED_EACH


def test_one_chapter_keeps_the_reasons_of_the_others(monkeypatch, capsys):
    other = Equation("eq-y", "a = b", "02-y.ipynb", 1, 1)
    monkeypatch.setattr(mutate_math, "collect", lambda: [PRINTED, other])
    monkeypatch.setattr(mutate_math, "load_checks", lambda: [made(softmax_check)])
    stale = {"flip sign at 9": "gone"}
    monkeypatch.setattr(mutate_math, "read_reasons", lambda: {"eq-y": stale})
    assert main(["01-x", "--jobs", "1"]) == 0
    monkeypatch.setattr(mutate_math, "read_reasons", lambda: {"eq-x": stale})
    assert main(["01-x", "--jobs", "1"]) == 1
    assert "no longer a survivor" in capsys.readouterr().out


def test_a_check_that_refutes_the_page_itself_catches_nothing():
    def wrong(rng):
        values = softmax_check(rng)
        return {**values, "p": 2 * values["p"]}

    (verdict,) = verdicts([made(wrong)], {"eq-x": PRINTED})
    assert verdict.fate is Fate.INTERNAL
    assert "the printed text fails" in verdict.mutant.change
