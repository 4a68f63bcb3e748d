"""Finding displays, the rule, running checks, records: each fault is planted and seen."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from bookcheck.equations import __main__ as command
from bookcheck.equations import checks as equations
from bookcheck.equations.checks import (
    Check,
    by_hand,
    equation,
    execute,
    load_checks,
    rule_violations,
)
from bookcheck.equations.records import read_records, status
from bookcheck.equations.scan import Equation, collect, equations_of_markdown
from bookcheck.latex import LatexError

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
    found = equations_of_markdown(PAGE, "x.ipynb", 3)
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
    assert found[0].place == "chapters/x.ipynb, cell 3, line 3"


def test_two_displays_on_one_line_are_two():
    found = equations_of_markdown("$$a$$ (eq-a) and $$b$$ (eq-b)", "x.md")
    assert [(e.label, e.text) for e in found] == [("eq-a", "a"), ("eq-b", "b")]


def test_an_open_display_is_an_error_with_its_place():
    with pytest.raises(ValueError, match=r"chapters/x.md, line 2.*never closed"):
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
    assert [(e.label, e.cell) for e in found] == [("eq-a", None), ("eq-b", 2), ("eq-c", 4)]


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
        (GOOD + "\n\n$$ c = 1 $$", "cell 2, line 5: a displayed equation without a label"),
        (GOOD + "\n\n$$ c = 1 $$ (eq-c)", "cell 2, line 5: the equation eq-c has no check"),
        ("$$ a = 1 $$ (eq-a)", "test_01_x.py, line 8: eq-b is checked, but no chapter prints"),
        (GOOD + "\n\n$$ c = 1 $$ (eq-a)", "cell 2, line 5: the label eq-a is used before"),
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

    outcome = execute(made(values, library=double, draws=5), display("y_i = 2 x_i"), tmp_path)
    assert (outcome.inputs, outcome.executed, outcome.relations) == (15, True, 1)
    assert outcome.library == [f"{double.__module__}.double"]
    assert read_records(tmp_path)["eq-x"] == outcome


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


def test_a_check_by_hand_reports_its_deviation(tmp_path):
    reason, mark = "The limit cannot be evaluated.", equations.mark_of(r"\lim")
    item = Check("eq-x", lambda rng: 1e-3, 2, (), {}, reason, mark)
    outcome = execute(item, display(r"\lim"), tmp_path)
    assert (outcome.executed, outcome.inputs, outcome.deviation) == (False, 2, 1e-3)


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


class SmallBook:
    """A book of its own, for the command that `make book` runs."""

    def __init__(self, folder):
        self.chapters, self.tests, self.records = (
            folder / name for name in ("chapters", "tests", "records")
        )
        self.chapter, self.checks = self.chapters / "01-x.ipynb", self.tests / "test_01_x.py"
        book(folder, "$$ a = 1 $$ (eq-a)\n\n$$ b = 1 $$ (eq-b)")

    def run(self, *arguments):
        return command.main(arguments, self.chapters, self.tests, self.records)


@pytest.fixture
def small_book(tmp_path):
    return SmallBook(tmp_path)


def test_the_command_runs_only_what_changed(small_book, capsys):
    assert small_book.run() == 0
    assert "2 displayed equations: 1 executed, 1 by hand, 0 unchanged" in capsys.readouterr().out
    assert small_book.run() == 0
    assert "1 executed, 1 by hand, 2 unchanged" in capsys.readouterr().out
    assert small_book.run("--all") == 0
    assert "0 unchanged" in capsys.readouterr().out
    chapter = small_book.chapter
    chapter.write_text(
        chapter.read_text(encoding="utf-8").replace("a = 1", "a = 1 + 0"), encoding="utf-8"
    )
    assert small_book.run() == 0
    assert "1 unchanged" in capsys.readouterr().out
    small_book.checks.write_text(CHECKS + "# changed\n", encoding="utf-8")
    assert small_book.run() == 0
    assert "0 unchanged" in capsys.readouterr().out


def test_values_beside_a_check_belong_to_it(small_book, capsys):
    """They are imported, a change in them runs the check again, and their caches are emptied."""
    small_book.tests.joinpath("beside_x.py").write_text(BESIDE, encoding="utf-8")
    small_book.checks.write_text(CHECKS_BESIDE, encoding="utf-8")
    assert small_book.run() == 0
    capsys.readouterr()
    (item,) = [one for one in load_checks(small_book.tests) if one.label == "eq-a"]
    for _ in range(2):
        execute(item, Equation("eq-a", "a = 1", "01-x.ipynb", 1, 1), small_book.records)
    small_book.tests.joinpath("beside_x.py").write_text(BESIDE + "# changed", encoding="utf-8")
    assert small_book.run() == 0
    assert "0 unchanged" in capsys.readouterr().out


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

@equation("eq-b")
def test_b(rng):
    return {"b": value()}
"""


def test_an_unchanged_book_imports_no_checks(small_book, monkeypatch):
    assert small_book.run() == 0
    monkeypatch.setattr(equations, "check_again", lambda *_, **__: pytest.fail("ran again"))
    assert small_book.run() == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda book: (book.records / "eq-a.json").unlink(),
        lambda book: (book.records / "eq-a.json").write_text(
            (book.records / "eq-a.json")
            .read_text(encoding="utf-8")
            .replace('fingerprint": "', 'fingerprint": "0'),
            encoding="utf-8",
        ),
        lambda book: book.chapter.write_text(
            book.chapter.read_text(encoding="utf-8").replace("eq-b", "eq-c"), encoding="utf-8"
        ),
        lambda book: book.checks.write_text(CHECKS.replace("eq-b", "eq-c"), encoding="utf-8"),
        lambda book: (book.tests / "test_02_y.py").write_text(CHECKS, encoding="utf-8"),
    ],
)
def test_a_change_of_anything_runs_the_checks_again(small_book, change, monkeypatch):
    assert small_book.run() == 0
    change(small_book)
    asked = []
    monkeypatch.setattr(equations, "check_again", lambda *_, **__: asked.append(1) or ([], 0))
    small_book.run()
    assert asked


def test_the_command_turns_red_when_a_sign_flips(small_book, capsys):
    assert small_book.run() == 0
    chapter = small_book.chapter
    chapter.write_text(
        chapter.read_text(encoding="utf-8").replace("a = 1", "a = -1"), encoding="utf-8"
    )
    assert small_book.run() == 1
    assert "chapters/01-x.ipynb, cell 2, line 1: eq-a" in capsys.readouterr().err
    assert small_book.run() == 1, "a failure must not be taken for fresh"


def test_the_command_names_a_breach_of_the_rule_and_of_the_language(small_book, capsys):
    small_book.chapter.write_text(notebook(r"$$ a = \magic $$ (eq-a)", "$$ b $$"), encoding="utf-8")
    assert small_book.run() == 1
    problems = capsys.readouterr().err
    assert r"unknown symbol \magic" in problems
    assert "without a label" in problems


def test_the_record_of_another_text_is_not_shown(tmp_path):
    chapters, records = tmp_path / "chapters", tmp_path / "records"
    chapters.mkdir()
    (chapters / "01-x.ipynb").write_text(notebook("$$ x = 1 $$ (eq-x)"), encoding="utf-8")
    execute(made(lambda rng: {"x": 1.0}), display("x = 1"), records)
    assert status(chapters, records).executed == 1
    (chapters / "01-x.ipynb").write_text(notebook("$$ x = 1 + 0 $$ (eq-x)"), encoding="utf-8")
    found = status(chapters, records)
    assert (len(found.labelled), found.checked, found.executed) == (1, 0, 0)


def test_vectors_are_rows_unless_the_check_says_columns(tmp_path):
    def values(rng):
        W, x = rng.normal(size=(2, 3)), rng.normal(size=3)
        return {"W": W, "x": x, "y": W @ x}

    with pytest.raises(LatexError, match="vectors as rows"):
        execute(made(values), display("y = W x"), tmp_path)
    assert execute(made(values, vectors="column"), display("y = W x"), tmp_path).executed


def test_values_that_only_look_right_are_refused(tmp_path):
    item = made(lambda rng: {"x": np.array([1.0, 2.0]), "y": 1.0})
    with pytest.raises(AssertionError, match="number against an array"):
        execute(item, display("x = y"), tmp_path)
