"""Values of the prose: what agrees with the computed number, and what does not."""

import math

import numpy as np
import pytest
import torch

import attention_to_rope
from bookcheck.notebooks.files import page_text, read
from bookcheck.notebooks.values import (
    Value,
    ValueSyntaxError,
    disagreement,
    misprints_of,
    problems,
    reprinted,
    unnoticed,
    values_in,
    values_of_cell,
)
from bookcheck.paths import ROOT, book_pages

NAMES = {"math": math, "np": np, "torch": torch, "book": attention_to_rope}
PAGES = [ROOT / "index.md", *(page for page in book_pages() if page.suffix == ".md")]


@pytest.mark.parametrize(
    ("printed", "computed"),
    [
        ("0.30", 0.3041),
        ("0.30", 0.295001),
        ("−1.5", -1.46),
        ("-1.5", -1.54),
        ("65,504", 65504),
        ("65504", 65504.3),
        ("12%", 0.1249),
        ("12.5 %", 0.1249),
        ("3.2×", 3.24),
        ("1.2·10⁻³", 0.00124),
        ("1.2 × 10⁻³", 0.00124),
        ("1.2e-3", 0.00124),
        ("4", 4),
        ("0.00", -0.004),
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
        ("0.30", 0.294),
        ("0.30", -0.30),
        ("1.5", -1.5),
        ("65,503", 65504),
        ("300", 297),
        ("12%", 0.131),
        ("12%", 12),
        ("1.2·10⁻³", 0.0012501),
        ("1.2·10⁻³", 0.0012e3),
        ("1.2e-3", 0.00119e1),
        ("0.3", math.nan),
        ("0.3", math.inf),
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
    ("printed", "computed", "new"),
    [
        ("0.00", 0.3041, "0.30"),
        ("0", 65504.3, "65,504"),
        ("−1.50", 0.2, "0.20"),
        ("1.50", -0.2, "−0.20"),
        ("0.0%", 0.12345, "12.3%"),
        ("1.0·10⁰", 0.00124, "1.2·10⁻³"),
        ("1.0e-9", 0.00124, "1.2e-3"),
        ("?", 0.30412, "0.304"),
        ("from", "to", "to"),
    ],
)
def test_a_new_value_keeps_the_form_of_the_old(printed, computed, new):
    assert reprinted(printed, computed) == new


def test_values_are_found_and_may_run_over_a_line():
    text = "It is {value}`0.30 = f(a=1)`, then {value}`2 =\nlen(x)`."
    assert values_in(text) == [Value("0.30", "f(a=1)"), Value("2", "len(x)")]


@pytest.mark.parametrize("text", ["0.30", "0.30=x", "0.30 = ", " = x"])
def test_a_value_without_its_expression_is_an_error(text):
    with pytest.raises(ValueSyntaxError, match=r"write .value.`printed = expression`"):
        values_in(f"{{value}}`{text}`")


def test_a_page_without_code_is_evaluated():
    right = "{value}`1.41 = math.sqrt(2)` {value}`0.50 = book.softmax(torch.zeros(2))[0]`"
    assert list(problems(right, NAMES)) == []
    (wrong,) = problems("{value}`1.42 = math.sqrt(2)`", NAMES)
    assert "prints '1.42', computed 1.414" in wrong
    (failed,) = problems("{value}`1.42 = sqrt(2)`", NAMES)
    assert "NameError" in failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_values_of_pages_without_code_are_right(page):
    found = list(problems(page_text(page), NAMES))
    assert not found, "\n".join(found)


def test_misprints_change_one_digit_or_exchange_two():
    assert misprints_of("0.35") == ["1.35", "0.45", "0.53", "0.36"]
    assert misprints_of("nan") == []


def test_every_changed_digit_of_the_book_is_refuted():
    """Whatever number the printed text is right for: no kernel is needed to know this."""
    printed = [value.printed for page in PAGES for value in values_in(page_text(page))]
    for page in book_pages():
        if page.suffix == ".ipynb":
            printed += [
                value.printed for cell in read(page).cells for value in values_of_cell(cell)
            ]
    alive = {text: wrong for text in printed if (wrong := unnoticed(text))}
    assert len(printed) > 200
    assert not alive


def test_a_tolerance_that_is_too_wide_would_be_seen(monkeypatch):
    monkeypatch.setattr("bookcheck.notebooks.values.HALF", 2)
    assert unnoticed("0.35") == ["0.36"]


def test_the_settings_of_the_experiments_are_there_without_an_import():
    right = '{value}`256 = SIZES["full"]["language"].length`'
    assert list(problems(right, {})) == []
    assert len(list(problems(right.replace("256", "512"), {}))) == 1
