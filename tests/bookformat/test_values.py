"""Values of the prose: what agrees with the computed number, and what does not."""

import math

import numpy as np
import pytest
import torch

import attention_to_rope
from bookformat.contents import book_pages
from bookformat.notebooks import page_text
from bookformat.paths import RECORDS, ROOT
from bookformat.records import VALUES, Record, write_record
from bookformat.values import (
    Value,
    ValueSyntaxError,
    disagreement,
    line_of,
    problems,
    units_behind,
    values_in,
)
from bookkit.trained.schemes import by_loss

NAMES = {"math": math, "np": np, "torch": torch, "book": attention_to_rope, "by_loss": by_loss}
PAGES = [ROOT / "index.md", *(page for page in book_pages() if page.suffix == ".md")]


@pytest.mark.parametrize(
    ("printed", "computed"),
    [
        ("0.30", 0.3041),
        ("−1.5", -1.46),
        ("65,504", 65504),
        ("12%", 0.1249),
        ("12.5 %", 0.1249),
        ("3.2×", 3.24),
        ("3 times", 2.9),
        ("2.7 GB", 2.68e9),
        ("2.5 GiB", 2.68e9),
        ("1,100 GB", 1.0996e12),
        ("1.3 million", 1.3e6),
        ("3.4 ms", 0.00341),
        ("4.8 TB/s", 4.8e12),
        ("−40 degrees", -math.radians(40)),
        ("two", 2),
        ("Twenty-four", 24),
        ("twice", 2.04),
        ("ten times", 10.2),
        ("tenfold", 10.2),
        ("triple", 2.9),
        ("half", 0.49),
        ("a quarter", 0.25),
        ("two thirds", 0.667),
        ("three million", 3000000),
        ("half a million", 500000),
        ("1.2·10⁻³", 0.00124),
        ("1.2e-3", 0.00124),
        ("0.00", 0),
        ("2", 1.5),
        ("3 min", 181),
        ("−5 °C", -5),
        ("2 times", 2.04),
        ("Beijing", "Beijing"),
        (str(2**60), 2**60),
    ],
)
def test_what_is_correctly_rounded_agrees(printed, computed):
    assert disagreement(printed, computed) is None


@pytest.mark.parametrize(
    ("printed", "computed"),
    [
        ("0.30", 0.306),
        ("0.30", -0.30),
        ("65,503", 65504),
        ("300", 297),
        ("12%", 0.131),
        ("12%", 12),
        ("12", 0.12),
        ("2.7 MB", 2.68e9),
        ("2.7 GiB", 2.68e9),
        ("2.7", 2.68e9),
        ("1.3 billion", 1.3e6),
        ("3.4 µs", 0.00341),
        ("−40 radians", -math.radians(40)),
        ("4.8 GB/s", 4.8e12),
        ("three", 2),
        ("twenty-five", 24),
        ("twice", 3),
        ("tenfold", 11.1),
        ("half", 0.4),
        ("a third", 0.25),
        ("many", 2),
        ("1.2·10⁻³", 0.0012501),
        ("1.2·10⁻³", 0.0012e3),
        ("0.3", math.nan),
        # So coarse that no digit of the value is left, or another sign.
        ("0", 0.0028),
        ("0.00", -0.004),
        ("0", 1e-7),
        ("1", 0.6),
        ("0.01", 0.0058),
        ("0 %", 0.002),
        ("4.6 min", 4.6),
        ("0.08 degrees", 0.08),
        ("1", True),
        ("never", 0),
        ("6,55,04", 65504),
        ("Beijing", "Shanghai"),
        (str(2**60), 2**60 + 1),
    ],
)
def test_a_wrong_number_is_refuted(printed, computed):
    assert disagreement(printed, computed)


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        ("at least {}", ["2.6", "2.68", "2.684"], ["2.7", "3", "2.5"]),
        ("no less than about {}", ["2.6"], ["2.7"]),
        ("it is more than {}", ["2.6"], ["2.7"]),
        ("{} or more", ["2.6"], ["2.7"]),
        ("between {} and {{value}}`3 = 3`", ["2.6"], ["2.7"]),
        ("at most {}", ["2.7", "2.69", "3"], ["2.68", "2.6", "4"]),
        ("**up to** {}", ["2.7"], ["2.68"]),
        ("never takes\nmore than {}", ["2.7"], ["2.68"]),
        ("It is short. No kernel takes longer than {}", ["2.7"], ["2.6"]),
        ("No. It is longer than {}", ["2.6"], ["2.7"]),
        ("between {{value}}`1 = 1` and {}", ["2.7"], ["2.68"]),
        ("at most {{value}}`3 = 3`, {{value}}`3 = 3`, or {}", ["2.7"], ["2.68"]),
        ("at most {{value}}`3 = 3`, and {}", ["2.7", "2.68"], []),
        ("exactly {}", ["2.684"], ["2.7", "2.68"]),
        ("far more than the {}", ["2.7", "2.68"], []),
    ],
)
def test_a_bound_is_rounded_to_its_own_side(words, right, wrong):
    def problem(printed):
        text = words.format(f"{{value}}`{printed} = 2.684`")
        return problems(text, {})

    assert [problem(printed) for printed in right] == [[]] * len(right)
    assert all(map(problem, wrong))
    assert all(str(2.684) in fault for printed in wrong for fault in problem(printed))


def test_a_bound_that_is_exact_is_printed_as_it_is():
    for words, printed, other in (("at least", "64", "63"), ("up to", "64", "65")):
        assert problems(f"{words} {{value}}`{printed} = 64`", {}) == []
        assert problems(f"{words} {{value}}`{other} = 64`", {})


def test_values_are_found_and_may_run_over_a_line():
    text = "It is {value}`0.30 = f(a=1)`, then {value}`2 =\nlen(x)`."
    assert values_in(text) == [Value("0.30", "f(a=1)"), Value("2", "len(x)")]


@pytest.mark.parametrize("text", ["0.30", "0.30=x", "0.30 = ", " = x"])
def test_a_value_without_its_expression_is_an_error(text):
    with pytest.raises(ValueSyntaxError, match=r"write .value.`printed = expression`"):
        values_in(f"{{value}}`{text}`")


def test_a_unit_behind_a_value_is_told():
    text = "{value}`2.7 = x / 1e9` GB, {value}`3 GB = y`, {value}`5 = z` tokens, {value}`9 = u`%."
    one, other = units_behind(text)
    assert one.startswith("{value}`2.7 = x / 1e9` GB: take the unit into the value")
    assert "{value}`2.7 GB = …`, where … is in bytes, 1e+09 for 1 GB" in one
    assert "{value}`9 % = …`" in other


@pytest.mark.parametrize("unit", ["s", "min", "days", "degrees", "radians", "bytes", "times", "×"])
def test_a_unit_of_size_one_is_taken_into_the_value_too(unit):
    assert units_behind(f"It is {{value}}`4.6 = products` {unit} in all.")


@pytest.mark.parametrize("behind", [" × {value}`8 = b`", " × 8", "'s", " tokens", "; s", " sets"])
def test_what_is_no_unit_stands_behind_a_value(behind):
    assert not units_behind(f"It is {{value}}`4.6 = products`{behind}.")


def test_a_page_without_code_is_evaluated():
    right = "{value}`1.41 = math.sqrt(2)` {value}`0.50 = book.softmax(torch.zeros(2))[0]`"
    assert problems(right, NAMES) == []
    (wrong,) = problems("{value}`1.42 = math.sqrt(2)`", NAMES)
    assert "prints '1.42', but the expression gives 1.414" in wrong
    (failed,) = problems("{value}`1.42 = sqrt(2)`", NAMES)
    assert "NameError" in failed


def short_name(page):
    """Its place without the folder of the chapters: "index", "source/index"."""
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("chapters/")


@pytest.mark.parametrize("page", PAGES, ids=short_name)
def test_the_values_of_pages_without_code_are_right(page):
    found = problems(page_text(page), NAMES)
    assert not found, "\n".join(found)
    text = "\n".join(map(line_of, values_in(page_text(page))))
    write_record(Record(VALUES + short_name(page).replace("/", "-"), text), RECORDS)
