"""Relations in sentences: what states something is executed by its place, misprints are seen."""

import pytest

from bookcheck.equations import sentences
from bookcheck.equations.sentences import Page, unprinted
from bookformat.formulas import InlineFormula, formulas_in, inline_relations, is_relation
from bookformat.myst import inline_of
from texcheck import Excluded
from texcheck.mutate import verdicts_of


def formulas(text):
    return [
        InlineFormula(one.text, "01-x", "text below cell [3]", one.before, one.after)
        for one in inline_of(text)
        if is_relation(one.text)
    ]


def page(bindings, **said):
    given = {"where": {}, "loose": {}, "unchecked": {}, "equivalent": {}, **said}
    return Page("01-x", bindings, {"vectors": "row", "first_index": 1}, **given)


@pytest.fixture
def listed(monkeypatch):
    """The formulas of the page that are listed with a reason."""
    found = {}
    monkeypatch.setattr(sentences, "unexecuted", lambda: {"01-x": found})
    return found


def test_a_relation_is_executed_unless_it_is_listed(listed):
    text = formulas("With a gain $g = 2$ it holds that $a = b$.")
    known = page(lambda rng: {"a": 2, "b": 3})
    assert len(known.problems(text)) == 2
    listed["g = 2"] = "the size of an example"
    (problem,) = known.problems(text)
    assert "$a = b$" in problem
    # A misprint in what is listed is another formula, which nobody has listed.
    assert len(known.problems(formulas("With a gain $g = 3$ it holds that $a = b$."))) == 2


def test_what_is_listed_must_be_printed():
    (stale,) = unprinted("01-x", formulas("So $a = 1$."), {"a = 1": "a case", "a = 2": "a case"})
    assert "does not print $a = 2$" in stale


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


def test_a_named_place_is_executed_although_it_is_listed(listed):
    listed["J = p"] = "a definition"
    known = page(lambda rng: {"J": 2.0, "p": 3.0}, where={"matrix, with …": None})
    (problem,) = known.problems(formulas("They form a matrix, with $J = p$."))
    assert "fails" in problem


def test_words_that_no_sentence_has_are_told(listed):
    listed["a = 1"] = "the size of an example"
    (problem,) = page(lambda rng: {}, unchecked={"gone …": "why"}).problems(
        formulas("Let $a = 1$.")
    )
    assert problem.startswith("01-x: no relation stands at “gone …”; in the page's file of tests/")


def test_a_definition_binds_its_symbol(listed):
    listed["d = 4"] = "the size of an example"
    text = "Let $d = 4$. Then $2 d = 8 \\cdot 1$, and so $d + 1 = 6$."
    (problem,) = page(lambda rng: {}).problems(formulas(text))
    assert "$d + 1 = 6$" in problem


def test_a_loose_inequality_says_why():
    def values(rng):
        a = rng.uniform(1, 9)
        return {"a": a, "b": a + rng.uniform(2, 3)}

    text = formulas("So $a < b$.")
    assert "sharper bound" in page(values).problems(text)[0]
    assert page(values, loose={"So …": "a rough bound"}).problems(text) == []


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
    known = page(lambda rng: {}, where=where, fixed={"a": "an example", "b": "an example"})
    # The last place has the values of the first one.
    assert [formula.context for formula, _ in known.checks(text)] == [
        "So … at first.",
        "And … then.",
    ]
    (problem,) = known.problems(text)
    assert "“And … then.” $a = b$: a = b fails" in problem


@pytest.mark.parametrize(
    ("formula", "relation"),
    [
        ("a = b", True),
        (r"\sum_{i=1}^n x_i", False),
        (r"a \le b", True),
        (r"\left( x \right)", False),
    ],
)
def test_what_is_a_relation(formula, relation):
    assert is_relation(formula) is relation
