"""Finding displays, the rule, running checks, records: each fault is planted and seen."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from bookcheck.equations import checks as equations
from bookcheck.equations.checks import (
    Check,
    by_hand,
    equation,
    execute,
    load_checks,
    rule_violations,
)
from bookcheck.equations.records import Record, read_records, same_text
from bookcheck.equations.scan import Equation, collect, equations_of_markdown
from texcheck import LatexError

PAGE = r"""Inline $x$, code `$$ not this $$`, and a display:

$$
a = b
$$ (eq-first)

```python
s = "$$ nor this $$"
```

````{prf:proof}
:class: dropdown

$$ c = d $$ (eq-second)

```{math}
:label: eq-third
e = f
```
````

```{exercise} A title
> $$
> g = h
> $$ (eq-fourth)
```

$$ unlabelled $$
\begin{align}
bare = display
\end{align}
"""


def test_displays_are_found_with_their_labels_and_lines():
    found = equations_of_markdown(PAGE, "x.ipynb", "text below cell [3]")
    assert [(e.label, e.line) for e in found] == [
        ("eq-first", 3),
        ("eq-second", 14),
        ("eq-third", 16),
        ("eq-fourth", 23),
        (None, 28),
        (None, 29),
    ]
    assert found[0].text == "a = b"
    assert found[3].text == "g = h"
    assert found[0].place == "chapters/x.ipynb, text below cell [3], line 3"


def test_an_open_display_is_an_error_with_its_place():
    with pytest.raises(ValueError, match=r"chapters/x.md, line 1: a display is opened"):
        equations_of_markdown("text\n$$ a = b\n", "x.md")


def notebook(*cells):
    made = [
        {"cell_type": "markdown", "source": [line + "\n" for line in c.split("\n")]} for c in cells
    ]
    return json.dumps({"cells": [{"cell_type": "code", "source": "'$$ a $$'"}, *made]})


def test_notebooks_and_pages_are_read_in_order(tmp_path):
    (tmp_path / "02-b.ipynb").write_text(
        notebook("$$ b $$ (eq-b)", "no", "$$ c $$ (eq-c)"), encoding="utf-8"
    )
    (tmp_path / "01-a.md").write_text("$$ a $$ (eq-a)", encoding="utf-8")
    found = collect(tmp_path)
    assert [(e.label, e.cell) for e in found] == [
        ("eq-a", ""),
        ("eq-b", "text below cell [1]"),
        ("eq-c", "text below cell [1]"),
    ]


CHECKS = """
from bookcheck.equations.checks import by_hand, equation

@equation("eq-a")
def test_a(rng):
    return {"a": 1}

@by_hand("eq-b", "It is a picture of a formula.", reviewed="240331b3")
def test_b(rng):
    assert True
"""


def book(tmp_path, text, checks=CHECKS):
    chapters, tests = tmp_path / "chapters", tmp_path / "tests"
    chapters.mkdir()
    tests.mkdir()
    (chapters / "01-x.ipynb").write_text(notebook(text), encoding="utf-8")
    (tests / "test_01_x.py").write_text(checks, encoding="utf-8")
    return collect(chapters), load_checks(tests)


GOOD = "$$ a = 1 $$ (eq-a)\n\n$$ b = 1 $$ (eq-b)"


def test_the_rule_accepts_a_good_book(tmp_path):
    assert rule_violations(*book(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD + "\n\n$$ c = 1 $$",
            "text below cell [1], line 5: a displayed equation without a label",
        ),
        (
            GOOD + "\n\n$$ c = 1 $$ (eq-c)",
            "text below cell [1], line 5: the equation eq-c has no check",
        ),
        ("$$ a = 1 $$ (eq-a)", "test_01_x.py, line 8: eq-b is checked, but no chapter prints"),
        (
            GOOD + "\n\n$$ c = 1 $$ (eq-a)",
            "text below cell [1], line 5: the label eq-a is used before",
        ),
    ],
)
def test_a_breach_of_the_rule_is_named_with_its_place(tmp_path, text, message):
    (problem,) = rule_violations(*book(tmp_path, text))
    assert message in problem


def test_a_second_check_of_one_label_breaks_the_rule(tmp_path):
    twice = CHECKS + CHECKS.replace("test_a", "test_c").replace('"eq-b"', '"eq-d"')
    problems = rule_violations(*book(tmp_path, GOOD + "\n\n$$ d $$ (eq-d)", twice))
    assert problems == ["test_01_x.py: eq-a has a second check"]


def test_by_hand_needs_a_reason():
    with pytest.raises(ValueError, match="why"):
        by_hand("eq-a", "Difficult.", reviewed="")


def test_a_text_that_changed_is_read_by_a_person_again(tmp_path):
    (_, known) = book(tmp_path, GOOD)[1]
    assert equations.run(known, "b = 1")[0] == known.draws
    assert equations.run(known, "b  =\n1")[0] == known.draws
    with pytest.raises(AssertionError, match="read both, then write reviewed="):
        equations.run(known, "b = -1")


def test_a_check_that_keeps_what_it_computed_runs_twice(tmp_path):
    item = made(lambda rng: {"a": kept_double(2), "b": 4}, library=double)
    for _ in range(2):
        execute(item, Equation("eq-x", "a = b", "01-x.ipynb", 1, 1), tmp_path)


def double(x):
    return 2 * x


@functools.cache
def kept_double(x):
    return double(x)


def made(function, **options):
    """The check that a decorator registers."""
    equations.REGISTRY.append([])
    try:
        equation("eq-x", **options)(function)
        return equations.REGISTRY[-1][0]
    finally:
        equations.REGISTRY.pop()


def display(text):
    return Equation("eq-x", text, "01-x.ipynb", 2, 1)


def test_a_check_that_holds_writes_its_record(tmp_path):
    def values(rng):
        x = rng.normal(size=3)
        return {"x": x, "y": double(x), "i": range(1, 4)}

    execute(made(values, library=double, draws=5), display("y_i = 2 x_i"), tmp_path)
    assert read_records(tmp_path) == {"eq-x": Record("eq-x", "y_i = 2 x_i")}


def test_a_record_of_another_edition_is_no_record(tmp_path):
    (tmp_path / "eq-x.json").write_text('{"label": "eq-x", "deviation": 0}', encoding="utf-8")
    assert read_records(tmp_path) == {}


@pytest.mark.parametrize(("other", "same"), [("a =\n  b", True), ("a = -b", False), ("a=b", False)])
def test_only_spaces_between_words_do_not_count(other, same):
    assert same_text("a = b", other) is same


def test_a_record_is_there_while_its_check_runs_again(tmp_path):
    """Another process may build the site at that moment."""
    seen = []

    def values(rng):
        seen.append(set(read_records(tmp_path)))
        return {"x": rng.normal(), "f": double}

    for _ in range(2):
        execute(made(values, draws=1), display("f(x) = 2 x"), tmp_path)
    assert seen == [set(), {"eq-x"}]


def test_a_record_that_goes_while_it_is_read_is_no_record(tmp_path, monkeypatch):
    execute(made(lambda rng: {"x": rng.normal(), "f": double}), display("f(x) = 2 x"), tmp_path)
    gone = [tmp_path / "eq-gone.json", *tmp_path.glob("*.json")]
    monkeypatch.setattr(Path, "glob", lambda _folder, _pattern: iter(gone))
    assert set(read_records(tmp_path)) == {"eq-x"}


def test_a_check_that_fails_says_so_and_leaves_no_record(tmp_path):
    item = made(lambda rng: {"x": rng.normal(), "f": double})
    execute(item, display("f(x) = 2 x"), tmp_path)
    with pytest.raises(AssertionError, match=r"eq-x: .*fails"):
        execute(item, display("f(x) = 3 x"), tmp_path)
    assert read_records(tmp_path) == {}


def test_a_library_function_that_never_runs_is_noticed(tmp_path):
    item = made(lambda rng: {"x": 1.0, "y": 2.0}, library=double)
    with pytest.raises(AssertionError, match="double, but that function never ran"):
        execute(item, display("y = 2 x"), tmp_path)


def test_a_list_of_inputs_is_run_through(tmp_path):
    item = made(lambda rng: [{"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 5.0}], draws=1)
    with pytest.raises(AssertionError, match="fails"):
        execute(item, display("x = y"), tmp_path)


def test_a_check_must_return_values(tmp_path):
    with pytest.raises(TypeError, match="dictionary"):
        execute(made(lambda rng: None), display("x = y"), tmp_path)


def test_a_check_by_hand_records_its_reason(tmp_path):
    reason, mark = "The limit cannot be evaluated.", equations.mark_of(r"\lim")
    item = Check("eq-x", lambda rng: 1e-3, 2, (), {}, reason, mark)
    assert execute(item, display(r"\lim"), tmp_path).by_hand == reason
    assert equations.run(item, r"\lim") == (2, 0, 1e-3)


def test_draws_repeat_from_run_to_run():
    seen = []
    item = made(lambda rng: seen.append(rng.normal()) or {"x": 1}, draws=3)
    list(equations.inputs_of(item))
    list(equations.inputs_of(item))
    assert seen[:3] == seen[3:]
    assert len(set(seen)) == 3


def test_the_decorated_function_asks_pytest_for_nothing():
    import inspect

    test = equation("eq-none")(lambda rng: {})
    assert not inspect.signature(test).parameters
    with pytest.raises(AssertionError, match="no chapter prints it"):
        test()


def test_values_beside_a_check_belong_to_it(tmp_path):
    """They are imported, and their caches are emptied, so that the library runs each time."""
    (tmp_path / "beside_x.py").write_text(BESIDE, encoding="utf-8")
    (tmp_path / "test_01_x.py").write_text(CHECKS_BESIDE, encoding="utf-8")
    (item,) = load_checks(tmp_path)
    for _ in range(2):
        execute(item, Equation("eq-a", "a = 1", "01-x.ipynb", 1, 1), tmp_path / "records")


BESIDE = """import functools

def one():
    return 1

@functools.cache
def kept_one():
    return one()

def value():
    return kept_one()
"""
CHECKS_BESIDE = """from beside_x import one, value
from bookcheck.equations.checks import equation

@equation("eq-a", library=one)
def test_a(rng):
    return {"a": value()}
"""


def test_vectors_are_rows_unless_the_check_says_columns(tmp_path):
    def values(rng):
        W, x = rng.normal(size=(2, 3)), rng.normal(size=3)
        return {"W": W, "x": x, "y": W @ x}

    with pytest.raises(LatexError, match="vectors as rows"):
        execute(made(values), display("y = W x"), tmp_path)
    execute(made(values, vectors="column"), display("y = W x"), tmp_path)


def test_values_that_only_look_right_are_refused(tmp_path):
    item = made(lambda rng: {"x": np.array([1.0, 2.0]), "y": 1.0})
    with pytest.raises(AssertionError, match="number against an array"):
        execute(item, display("x = y"), tmp_path)
