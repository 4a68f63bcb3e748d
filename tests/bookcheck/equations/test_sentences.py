"""Relations in sentences: what states something is executed by its place, misprints are seen."""

import pytest

from bookcheck.equations import sentences
from bookcheck.equations.places import Row, row_of
from bookcheck.equations.sentences import Page
from bookformat.formulas import (
    InlineFormula,
    formulas_in,
    inline_relations,
    is_relation,
    unknown_letters,
)
from bookformat.myst import inline_of
from texcheck import Excluded
from texcheck.mutate import verdicts_of
from texcheck.vocabulary import OPEN_RELATIONS, RELATIONS


def formulas(text):
    return [
        InlineFormula(one.text, "01-x", "text below cell [3]", one.before, one.after)
        for one in inline_of(text)
        if is_relation(one.text)
    ]


def page(bindings, **said):
    given = {"where": {}, "loose": {}, "equivalent": {}, **said}
    return Page("01-x", bindings, {"vectors": "row", "first_index": 1}, **given)


@pytest.fixture
def listed(monkeypatch):
    """The rows of the page that have a reason."""
    found = []
    monkeypatch.setattr(sentences, "listed", lambda: {"01-x": found})
    return found


def test_a_relation_is_executed_unless_a_reason_is_listed(listed):
    text = formulas("With a gain $g = 2$ it holds that $a = b$.")
    known = page(lambda rng: {"a": 2, "b": 3})
    assert len(known.problems(text)) == 2
    listed.append(Row("With a gain … it holds that $.", "g = 2", "the size of an example"))
    (problem,) = known.problems(text)
    assert "$a = b$" in problem
    # A misprint in what is listed is another formula, which nobody has listed.
    assert len(known.problems(formulas("With a gain $g = 3$ it holds that $a = b$."))) == 2


def test_a_reason_holds_at_its_place_alone(listed):
    listed.append(Row("For one head …", "d = e", "the case of the sentence"))
    (problem,) = page(lambda rng: {"d": 8, "e": 4}).problems(
        formulas("With $d = e$ there is one key. For one head $d = e$.")
    )
    assert "“With … there is one key.” $d = e$: d = e fails" in problem


NUMBERS = "There are $3 \\cdot 80 + 2 = 242$ of them."


def blocks(rng):
    del rng
    return {"L": 3, "p": 80, "P": 242}


def test_numbers_alone_are_bound_to_values():
    (problem,) = page(blocks).problems(formulas(NUMBERS))
    assert "nothing computes its numbers" in problem
    assert 'numbers={"words …": "3, d_k, P"}' in problem
    known = page(blocks, numbers={"There are …": "L, p, 2, P"})
    assert known.problems(formulas(NUMBERS)) == []
    (problem,) = known.problems(formulas(NUMBERS.replace("3 \\cdot 80", "2 \\cdot 120")))
    assert "prints 2, where numbers= has L, which is 3" in problem
    (problem,) = known.problems(formulas(NUMBERS.replace("80 + 2", "79 + 5")))
    assert "prints 79, where numbers= has p, which is 80" in problem


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("L, p, P", "numbers= says what 3 numbers are, and it prints 3, 80, 2, 242"),
        ("3, 80, 2, 242", "repeats the numbers"),
        ("3, p, 1, P", "prints 2, where numbers= has 1"),
    ],
)
def test_numbers_are_each_said_by_an_expression(said, told):
    (problem,) = page(blocks, numbers={"There are …": said}).problems(formulas(NUMBERS))
    assert told in problem


def some_bytes(rng):
    g = int(rng.integers(2, 9))
    return {"g": g, "M": 256 * g}


def test_an_identity_of_a_letter_is_bound_too():
    text = formulas("The bytes are $4 \\cdot 64 g = 256 g$.")
    (problem,) = page(some_bytes).problems(text)
    assert "nothing computes its numbers" in problem
    assert page(some_bytes, names={"bytes are …": "M"}).problems(text) == []
    assert page(some_bytes, numbers={"bytes are …": "4, 64, M / g"}).problems(text) == []
    assert page(some_bytes, identity={"bytes are …": "a rule"}).problems(text) == []
    known = page(some_bytes, identity={"So …": "a rule"})
    (stale,) = known.problems(formulas("So $M = 256 g$."))
    assert "take it out of identity=" in stale


def test_an_expression_is_executed_where_it_has_a_name():
    def layer(rng):
        d = int(rng.integers(2, 9))
        return {"d": d, "P": 4 * d**2}

    def found(text):
        several = [
            InlineFormula(one.text, "01-x", "", one.before, one.after) for one in inline_of(text)
        ]
        known = page(layer, names={"together have …": "P"})
        return known.problems(known.stated(several))

    assert found("In $d$ dimensions they together have $4 d^2$ entries.") == []
    (problem,) = found("In $d$ dimensions they together have $2 d^2$ entries.")
    assert "$2 d^2$: P = 2 d^2 fails" in problem


def test_a_side_of_numbers_alone_is_bound_too():
    text = formulas("Together $P = 64 + 16$.")
    known = page(lambda rng: {"P": 80, "d": 8})
    assert "nothing computes its numbers" in known.problems(text)[0]
    known = page(lambda rng: {"P": 80, "d": 8}, numbers={"Together …": "d^2, 2 d"})
    assert known.problems(text) == []


def test_a_false_conclusion_is_told_with_its_place():
    (problem,) = page(lambda rng: {"a": 2, "b": 3}).problems(formulas("So $a = b$, always."))
    assert problem.startswith("chapters/01-x, text below cell [3]: “So … , always.” $a = b$: a = b")


def test_an_unknown_symbol_is_told():
    (problem,) = page(lambda rng: {"a": 2}).problems(formulas("So $a = b$."))
    assert "cannot be executed: unknown symbol b" in problem


def half(rng):
    b = rng.uniform(1, 9)
    return {"a": b / 2, "b": b}


def test_values_are_bound_by_the_place_and_survive_a_misprint():
    known = page(lambda rng: {}, where={"is half of it, …": half})
    assert known.problems(formulas("It is half of it, $a = b / 2$.")) == []
    (problem,) = known.problems(formulas("It is half of it, $a = b / 3$."))
    assert "a = b / 3 fails" in problem


def test_a_place_without_values_of_its_own_has_those_of_the_page():
    text = formulas("It is half of it, $a = b / 2$. Here too $a = b / 2$.")
    others = {"a": 3.0, "b": 5.0}
    (problem,) = page(lambda rng: others, where={"is half of it, …": half}).problems(text)
    assert "Here too … .” $a = b / 2$: a = b / 2 fails" in problem


def test_what_has_values_at_its_place_has_no_reason(listed):
    (formula,) = formulas("They form a matrix, with $J = p$.")
    known = page(lambda rng: {"J": 2.0, "p": 3.0}, where={"matrix, with …": None})
    assert "fails" in known.problems([formula])[0]
    listed.append(row_of(formula)._replace(said="a definition"))
    (problem,) = known.problems([formula])
    assert problem.startswith("01-x: no relation stands at “matrix, with …” that is executed; in")


def test_words_that_no_sentence_has_are_told(listed):
    listed.append(Row("Let … .", "a = 1", "the size of an example"))
    gone = {"gone …": {1: (0.1, "why")}}
    (problem,) = page(lambda rng: {}, loose=gone).problems(formulas("Let $a = 1$."))
    assert problem.startswith("01-x: no relation stands at “gone …” that is executed; in the")


def test_a_definition_binds_its_symbol(listed):
    listed.append(Row("Let … .", "d = 4", "the size of an example"))
    text = "Let $d = 4$. Then $2 d = 8$, and so $d + 1 = 6$."
    (problem,) = page(lambda rng: {}).problems(formulas(text))
    assert "$d + 1 = 6$" in problem


def test_a_loose_inequality_says_why():
    def values(rng):
        a = rng.uniform(1, 9)
        return {"a": a, "b": a + rng.uniform(2, 3)}

    text = formulas("So $a < b$.")
    assert "sharper bound" in page(values).problems(text)[0]
    (problem,) = page(values, loose={"So …": {1: (0.05, "a rough bound")}}).problems(text)
    share = float(problem.partition("come within ")[2].partition(" ")[0])
    assert page(values, loose={"So …": {1: (1.2 * share, "a rough bound")}}).problems(text) == []


def test_a_place_says_what_is_the_same_there():
    text = formulas("So $a + 1 = 1 + a$. Then $2 a = a + a$.")
    known = page(lambda rng: {"a": 3}, fixed={"So …": {"a": "the case of the sentence"}})
    (problem,) = known.problems(text)
    assert "“Then … .” $2 a = a + a$: a is 3 on every input" in problem
    (stale, _) = page(lambda rng: {"a": 3}, fixed={"Gone …": {"a": "why"}}).problems(text[1:])
    assert "no relation stands at “Gone …”" in stale


def test_what_a_sentence_excludes_is_drawn():
    def values(rng):
        return [{"x": rng.uniform(1, 9)}, Excluded({"x": 0})]

    known = page(lambda rng: {"y": rng.normal()}, where={"Let …": values})
    assert known.problems(formulas("Let $x \\ne 0$.")) == []
    (problem,) = known.problems(formulas("Let $x \\ne y$."))
    assert "holds for values that it should exclude" in problem


def test_misprints_of_sentences_are_refuted():
    def values(rng):
        n = int(rng.integers(3, 99))
        return {"n": n, "s": sum(range(n + 1))}

    known = page(values)
    ((formula, check),) = known.checks(formulas("The sum is $s = n (n + 1) / 2$."))
    found = verdicts_of(check, formula.text)
    assert len(found) > 8
    assert all(verdict.caught for verdict in found)


def test_formulas_and_captions_are_found(tmp_path):
    assert list(formulas_in("Inline $x$, and `$y$`, and $a = 1$.")) == [
        "x",
        "a = 1",
    ]
    (tmp_path / "01-x.md").write_text("So $a = 1$, and $a = 1$ again; $b$.", encoding="utf-8")
    first, second = inline_relations(tmp_path)["01-x"]
    assert (first.text, first.context) == ("a = 1", "So … , and $ again; $.")
    assert (second.text, second.context) == ("a = 1", "So $, and … again; $.")


def test_a_relation_is_executed_at_each_place_with_values_of_its_own():
    text = formulas("So $a = b$ at first. And $a = b$ then. Also $a = b$ at last.")
    where = {"So …": lambda rng: {"a": 2, "b": 2}, "And …": lambda rng: {"a": 2, "b": 3}}
    same = {"a": 4, "b": 4}
    known = page(lambda rng: same, where=where, fixed={"a": "an example", "b": "an example"})
    # The last place has the page's values.
    assert [formula.context for formula, _ in known.checks(text)] == [
        "So … at first.",
        "And … then.",
        "Also … at last.",
    ]
    (problem,) = known.problems(text)
    assert "“And … then.” $a = b$: a = b fails" in problem


@pytest.mark.parametrize(
    ("formula", "relation"),
    [
        ("a = b", True),
        (r"\sum_{i=1}^n x_i", False),
        (r"a \le b", True),
        (r"a \lesssim b", True),
        (r"a \not\equiv b", True),
        (r"\left( x \right)", False),
        (r"\lfloor x \rfloor", False),
        (r"x \to \infty", False),
    ],
)
def test_what_is_a_relation(formula, relation):
    assert is_relation(formula) is relation


def test_every_sign_that_the_parser_knows_makes_a_relation():
    arrow = "\\rightarrow"  # between two statements alone
    signs = {*RELATIONS, *OPEN_RELATIONS} - {arrow}
    assert [sign for sign in signs if not is_relation(f"a {sign} b")] == []


def test_a_sign_that_is_no_command_is_refused():
    assert unknown_letters("a ≠ b ≤ c") == ["≠", "≤"]
    assert unknown_letters(r"a \ne 90°") == []
