"""Digits in prose: what is structural, what is computed, and what somebody typed."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookcheck.digits import alt_texts, prose_of, typed_numbers, typed_numbers_of_page
from bookcheck.kinds import wrong_kinds_of_page
from bookcheck.numbers import beside_pages, changes, listed, pages, sentences_of_page
from bookcheck.units import wrong_units_of_page
from bookformat.formulas import markdown_cells
from bookformat.notebooks import stored_form
from bookformat.values import units_behind

PAGES = pages()
LISTED = PAGES | beside_pages()


@pytest.mark.parametrize("name", [name for name in PAGES if name != "README"])
def test_every_number_of_the_prose_is_computed_or_structural(name):
    found = typed_numbers_of_page(PAGES[name])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", LISTED)
def test_what_the_page_says_is_listed(name):
    found = [*changes(name, sentences_of_page(LISTED[name]), listed().get(name, []))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_the_unit_of_a_value_is_in_it(name):
    found = [
        f"{place}: {one}"
        for place, text in markdown_cells(PAGES[name])
        for one in units_behind(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_no_unit_of_a_value_is_of_another_kind(name):
    found = wrong_kinds_of_page(PAGES[name])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", LISTED)
def test_no_unit_is_another_one_than_the_code_has(name):
    has_code = LISTED[name].suffix in (".ipynb", ".md", ".js", ".py")
    found = wrong_units_of_page(LISTED[name]) if has_code else []
    assert not found, "\n".join(found)


def numbers(text):
    return [number for part in prose_of(text) for number, _ in typed_numbers(part)]


def faults_of(folder, *cells):
    """The numbers typed into a page with these cells; a text stands for a cell of prose."""
    cells = [new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    path = folder / "01-x.ipynb"
    path.write_text(stored_form(new_notebook(cells=cells)), encoding="utf-8")
    return [re.match(r"(.*): ([\d.]+) in “", one).groups() for one in typed_numbers_of_page(path)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The loss is 0.30.", ["0.30"]),
        ("It falls to −1.5 after position 300.", ["1.5", "300"]),
        ("| a |\n|---|\n| 17 |", ["17"]),
        ("```{quiz}\nWhy?\n\n- [x] So\n  > It is 0.7.\n- [ ] No\n  > No.\n```", ["0.7"]),
        ("```{prf:theorem} Of 3 values\nAll 5.\n```", ["3", "5"]),
        ("After step 12 comes step 13 or step 2,000.", ["13", "2,000"]),
        ("About 65,504 or 12% or 3 times.", ["65,504", "12", "3"]),
        ("It takes 10k steps, 3x, or 5 ms and 7GiB.", ["10", "3", "5", "7"]),
        ("> In 1e-3 of them, 2050.5 bytes", ["1e-3", "2050.5"]),
        ("It is $0.30$ of $x$ in $y$.", ["0.30"]),
        ("For Gemma 2 and 31 heads, Llama 3 and 4.5", ["31", "4.5"]),
        (":::{figure} a.png\n:alt: It falls to 17.\n\nAll 19.\n:::", ["17", "19"]),
        ("![It falls to 17](a.png)", ["17"]),
        ("**To remember.** It is 23 times as fast.\n\n- and 29 times", ["23", "29"]),
        (":::{answer}\n:needs: [chapter 2](a.ipynb)\n\nIt is 31.\n:::", ["31"]),
        ("```{solution} ex-a\n:class: dropdown\n\nIt is 0.37.\n```", ["0.37"]),
        # A citation excuses no number.
        (
            "85.6 {cite:p}`x`, 7 <https://example.org>, 9 [paper](https://example.org)",
            ["85.6", "7", "9"],
        ),
    ],
)
def test_a_typed_number_is_found(text, found):
    assert numbers(text) == found


def test_alt_texts_may_compute_their_numbers():
    (computed,) = alt_texts('show(a, alt="from " f"{x:.2%} to {y[2]}")')
    assert list(typed_numbers(computed)) == []
    (typed,) = alt_texts('show(a, alt="from 2.5 " f"to {y}")')
    assert list(typed_numbers(typed)) == [("2.5", "from 2.5 to")]


def figure(source="show(x)", caption=""):
    return new_code_cell(source, metadata={"mystnb": {"figure": {"caption": caption}}})


def test_the_message_names_the_place_and_what_to_write(tmp_path):
    cells = "# T\n\n64 of 65 with $d = 64$", figure("show(x, alt='to 2.5')", "All 9.")
    assert faults_of(tmp_path, *cells) == [
        ("01-x.ipynb, text above cell [1]", "65"),
        ("01-x.ipynb, cell [1]", "9"),
        ("01-x.ipynb, cell [1]", "2.5"),
    ]
    message = typed_numbers_of_page(tmp_path / "01-x.ipynb")[0]
    assert message.endswith("“…64 of 65 with…” is typed; compute it with {value}`65 = …`")


def test_a_constant_stands_in_code_or_a_formula(tmp_path):
    prose = "64 10,000 7 8 9 4 2\n\nOf $d = 64$, {value}`7 = 3 + 4`, `x[8]` and {check}`2 * 3`."
    found = faults_of(tmp_path, "# T", prose, new_code_cell("base = 10_000"))
    assert [number for _, number in found] == ["7", "9"]


def test_a_number_between_two_roles_is_no_code(tmp_path):
    assert len(faults_of(tmp_path, "By {eq}`one` it has 7 of them, by {eq}`two` none.")) == 1


def test_a_number_in_a_text_or_a_label_declares_nothing(tmp_path):
    prose = '7 8 9\n\n{value}`6.0 = read("Llama 7")` of {eq}`eq-8` {cite:p}`x9`'
    found = faults_of(tmp_path, prose, new_code_cell("print('with 7, 8 and 9')"))
    assert [number for _, number in found] == ["7", "8", "9"]


def test_a_constant_is_declared_nearby(tmp_path):
    """Two cells away counts, three do not."""
    texts = ["# T", "Of 77.", "Of 77.", "Here is 77.", "$d = 77$"]
    assert [number for _, number in faults_of(tmp_path, *texts)] == ["77"]


def test_a_number_of_the_first_cell_is_computed_or_stands_in_its_own_formulas(tmp_path):
    """Code beside it does not excuse it: it may use 40 for something else."""
    layers = new_code_cell("depth = 32\nwidth = 40")
    first = "# T\n\n:::{answer}\nThrough 40 layers of $d = 77$, {value}`32 = depth`; 77.\n:::"
    assert [number for _, number in faults_of(tmp_path, first, layers, "Of 40.")] == ["40"]
