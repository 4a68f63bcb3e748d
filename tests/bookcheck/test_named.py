"""Values that name nothing: what is refused, what pure mathematics may do, and what is left."""

from collections import Counter

import pytest

from bookcheck.kinds import Kinds, wrong_kind
from bookcheck.named import ADVICE, names_something, unnamed, unnamed_of_page
from bookformat.contents import book_pages
from bookformat.paths import CHAPTERS
from bookformat.values import values_in

# Values that named nothing when this rule was made, by page. A row that goes never comes back: a
# new one is refused, and so is one that no page has.
LEFT: dict[str, tuple[str, ...]] = {
    "deeper/absorption.ipynb": ("96 = 8 * 12",),
    "deeper/compare-encodings.ipynb": ("1.6 = (8 / 3) ** 0.5",),
    "deeper/keep-less.ipynb": (
        "128 bytes = 385 - 257",
        "32 = 320_000 // 10_000",
    ),
    "deeper/lengths.ipynb": ("32K = 32_000",),
    "deeper/precision.ipynb": (
        "2 = 1 - (-1)",
        "262,144 = 2**18",
    ),
    "deeper/stretching.ipynb": ("64 = 64",),
    "glossary.md": ("8 = math.exp(math.log(8))",),
    "implementing-rope.ipynb": ("131,072 = 2**17",),
    "one-file.ipynb": ("0.75 = 0.5 + 0.25",),
    "residuals-and-norms.ipynb": ("2 = torch.tensor([2.0, 0, 4, 2]).mean()",),
    "short-road.ipynb": ("13 = 1 + 12",),
    "state-instead-of-cache.ipynb": ("131,072 = 2**17",),
    "which-encoding.ipynb": (
        "5% = 1 - 0.95",
        "0.2% = 2 / 2**10",
    ),
    "workshop/what-breaks.ipynb": ("5.55 = math.log(257)",),
}


def refused(sentence):
    return [unnamed(value, sentence) for value in values_in(sentence)]


@pytest.mark.parametrize(
    "expression",
    [
        "tokens",
        "2 * d_k * 128",
        'read_model("Llama 3.1-8B")["context"]',
        "cache_bytes([], 1)",
        "torch.finfo(torch.float16).max",
        "len(rows)",
        "(lambda m: m + 1)(heads)",
    ],
)
def test_a_name_of_the_page_or_of_the_library_says_something(expression):
    assert names_something(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "2 * 80 * 8 * 128 * 2",
        "500",
        "int(64 + 16)",
        "math.prod((2, 80))",
        "np.log(256)",
        "torch.tensor(0.5).exp()",
        "(lambda layers: 2 * layers)(80)",
        "sum(n for n in range(4))",
        "[tokens := 80, tokens][0]",
    ],
)
def test_mathematics_and_what_an_expression_binds_itself_say_nothing(expression):
    assert not names_something(expression)


@pytest.mark.parametrize(
    "sentence",
    [
        "It is $2^{17}$, {value}`131,072 = 2**17` tokens.",
        "With 64 heads of 128 numbers it has {value}`8,192 = 64 * 128`.",
        "At width {value}`64 = d` these are {value}`0.16 = 0.02 * math.sqrt(64)` from 0.02.",
        "A factor of {value}`2 times = 8_192 // 4096` from 4096 to 8,192.",
    ],
)
def test_pure_mathematics_is_right_beside_all_its_numbers(sentence):
    assert not any(refused(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "It has {value}`131,072 = 2**17` tokens.",
        "After {value}`500 = 500` steps, and after {value}`500 = 500` more.",
        # Each number as often, and not inside others, an address or the value itself.
        "With 2 heads it has {value}`8 = 2 * 2 * 2`.",
        "In 1.64 of 2,128 it has {value}`8,192 = 64 * 128`.",
        "There (#64 <https://host/64>, 128) it has {value}`8,192 = 64 * 128`.",
        # A unit makes it more than mathematics.
        "With 40 heads of 128 numbers it keeps {value}`5.12 kB = 40 * 128`.",
        "With 30 it takes {value}`0.5 min = 30`.",
    ],
)
def test_arithmetic_that_nothing_says_is_refused(sentence):
    assert all(one for one, v in zip(refused(sentence), values_in(sentence), strict=True))


@pytest.mark.parametrize(
    "misprint",
    [
        "160 KiB = 2 * 40 * 8 * 128 * 2",
        "1.6 MB = 2 * 40 * 40 * 128 * 4",
        "28,672 bytes = 2 * 28 * 4 * 128 * 1",
        "148 = 128 + 16 + 4",
        "1.7 GB/s = 3e9 * 4.5 / 8",
    ],
)
def test_a_misprint_of_the_number_and_of_its_arithmetic_is_refused(misprint):
    sentence = f"With 40 layers of 40 heads of 128 numbers it is {{value}}`{misprint}` at 4 bytes."
    assert refused(sentence) == [True]


def test_a_rate_is_no_size_where_a_function_says_the_kind():
    (value,) = values_in("{value}`1.7 GB = weights_bytes(3e9, 4.5 / 8)`")
    assert not unnamed(value, "")
    assert wrong_kind(value, Kinds("")) is None
    assert wrong_kind(value._replace(printed="1.7 GB/s"), Kinds(""))


@pytest.mark.parametrize("page", book_pages(), ids=lambda page: page.stem)
def test_the_values_of_a_page_name_something(page):
    name = page.relative_to(CHAPTERS).as_posix() if page.is_relative_to(CHAPTERS) else page.name
    found, known = Counter(unnamed_of_page(page)), Counter(LEFT.get(name, ()))
    new = [f"{name}: {{value}}`{line}` {ADVICE}" for line in (found - known).elements()]
    gone = [f"{name}: no page has {line!r} now; take it out of LEFT" for line in known - found]
    assert not [*new, *gone], "\n".join([*new, *gone])


def test_what_is_left_is_of_pages_that_there_are_and_does_not_grow():
    assert all((CHAPTERS / name).exists() for name in LEFT)
    assert sum(map(len, LEFT.values())) <= 17
