"""Finding displays, the rule, running checks, records: each fault is planted and seen."""

import functools
import json

import pytest

from bookcheck.equations import checks
from bookcheck.equations.checks import execute, load_checks, rule_violations
from bookformat.formulas import Equation, collect, equations_of_markdown
from bookformat.records import Record, read_records, same_text
from texcheck import RefutedError
from texcheck.formulas import Check

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
from bookcheck.equations.checks import equation

@equation("eq-a")
def test_a(rng):
    return {"a": 1}

@equation("eq-b")
def test_b(rng):
    return {"b": 1}
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
            "line 5: a displayed equation without a label; write $$ … $$ (eq-name)",
        ),
        (
            GOOD + "\n\n$$ c = 1 $$ (eq-c)",
            "text below cell [1], line 5: the equation eq-c has no check; write one in "
            "tests/equations/test_01_x.py",
        ),
        (
            "$$ a = 1 $$ (eq-a)",
            "test_01_x.py, line 8: eq-b is checked, but no chapter prints it; "
            "print it with this label, or remove the check",
        ),
        (
            GOOD + "\n\n$$ c = 1 $$ (eq-a)",
            "line 5: the label eq-a is used before, in chapters/01-x.ipynb, text below cell [1], "
            "line 1; choose another",
        ),
        (
            GOOD.replace("b = 1", "b = 1 \\tag{1}"),
            "line 3: take \\tag out; the label gives an equation its number",
        ),
    ],
)
def test_a_breach_of_the_rule_is_named_with_its_place(tmp_path, text, message):
    (problem,) = rule_violations(*book(tmp_path, text))
    assert message in problem


def test_a_second_check_of_one_label_breaks_the_rule(tmp_path):
    twice = CHECKS + CHECKS.replace("test_a", "test_c").replace('"eq-b"', '"eq-d"')
    problems = rule_violations(*book(tmp_path, GOOD + "\n\n$$ d $$ (eq-d)", twice))
    assert problems == ["test_01_x.py, line 14: eq-a has a second check; remove one of them"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "a = 2",
            r"eq-a: a = 2 fails: .*\ndrawn: a = 1\.\nCorrect the formula there, or the values",
        ),
        (r"a = \beta", r"eq-a cannot be executed: unknown symbol .*\nGive every symbol a value"),
    ],
)
def test_what_fails_is_told_with_its_place_and_what_to_do(tmp_path, monkeypatch, text, told):
    (found,), _ = book(tmp_path, f"$$ {text} $$ (eq-a)")
    monkeypatch.setattr(checks, "printed", lambda: {"eq-a": found})
    monkeypatch.setattr(checks, "execute", functools.partial(checks.execute, records=tmp_path))
    place = r"chapters/01-x\.ipynb, text below cell \[1\], line 1: "
    with pytest.raises(AssertionError, match=place + told):
        checks.equation("eq-a")(lambda rng: {"a": 1.0})()


def test_words_beside_the_lines_of_a_display_need_a_reason(tmp_path, monkeypatch):
    def values(rng):
        a, b = rng.uniform(1, 2, size=2)
        return {"a": a, "b": b, "c": a * b}

    def run(words, **options):
        lines = r"\begin{aligned} c &= a b \\ &= b a && \text{" + words + r"} \end{aligned}"
        (found,) = equations_of_markdown(f"$$ {lines} $$ (eq-a)", "x.ipynb")
        monkeypatch.setattr(checks, "printed", lambda: {"eq-a": found})
        monkeypatch.setattr(checks, "execute", functools.partial(execute, records=tmp_path))
        checks.equation("eq-a", **options)(values)()

    run("both are numbers", remark={"both are numbers": "Matrices would not commute."})
    with pytest.raises(AssertionError, match="nothing executes the words “both are matrices”"):
        run("both are matrices", remark={"both are numbers": "Matrices would not commute."})


def checked(function, **options):
    return Check("eq-x", function, {"vectors": "row"}, **options)


def display(text):
    return Equation("eq-x", text, "01-x.ipynb", 2, 1)


def test_a_check_that_holds_writes_its_record(tmp_path):
    def values(rng):
        x = rng.normal(size=3)
        return {"x": x, "y": 2 * x, "i": range(1, 4)}

    execute(checked(values, draws=5), display("y_i = 2 x_i"), tmp_path)
    assert read_records(tmp_path) == {"eq-x": Record("eq-x", "y_i = 2 x_i")}


def test_a_record_of_another_edition_is_no_record(tmp_path):
    (tmp_path / "eq-x.json").write_text('{"label": "eq-x", "deviation": 0}', encoding="utf-8")
    assert read_records(tmp_path) == {}


@pytest.mark.parametrize(("other", "same"), [("a =\n  b", True), ("a = -b", False), ("a=b", False)])
def test_only_spaces_between_words_do_not_count(other, same):
    assert same_text("a = b", other) is same


def test_a_record_is_there_while_its_check_runs_again_and_goes_when_it_fails(tmp_path):
    """Another process may build the site at that moment."""
    seen = []

    def values(rng):
        seen.append(set(read_records(tmp_path)))
        return {"x": rng.normal(), "f": lambda x: 2 * x}

    for _ in range(2):
        execute(checked(values, draws=3), display("f(x) = 2 x"), tmp_path)
    assert seen == [set()] * 3 + [{"eq-x"}] * 3
    with pytest.raises(RefutedError, match="eq-x: f"):
        execute(checked(values, draws=2), display("f(x) = 3 x"), tmp_path)
    assert read_records(tmp_path) == {}
