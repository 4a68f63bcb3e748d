"""Texts beside numbers: ticks, tables of units, defaults and shapes say what code has."""

from fractions import Fraction

import pytest

from bookcheck.beside import (
    exchanged_axes,
    number_of,
    wrong_beside,
    wrong_in_code,
    wrong_in_script,
)
from bookcheck.numbers import beside_pages, pages
from bookformat.paths import CHAPTERS, SOURCES, STATIC

FILES = {
    name: file
    for name, file in (pages() | beside_pages()).items()
    if file.suffix in (".ipynb", ".js", ".py")
}


@pytest.mark.parametrize("name", FILES)
def test_no_text_contradicts_the_number_beside_it(name):
    assert wrong_beside(FILES[name]) == []


def test_no_help_and_no_signature_contradicts_the_code():
    found = []
    for file in sorted(SOURCES.rglob("*.py")):
        code = file.read_text(encoding="utf-8")
        found += wrong_beside(file) if "add_argument(" in code or "[Tensor," in code else []
    assert found == []


@pytest.mark.parametrize(
    ("label", "number"),
    [
        ("1,000", 1000),
        ("0.1", Fraction(1, 10)),
        ("10²", 100),
        ("10⁻³", Fraction(1, 1000)),
        ("$10^{4}$", 10**4),
        ("$2^3$", 8),
        ("1/4", Fraction(1, 4)),
        ("−7", -7),
        ("2×", 2),
        ("1 GiB", 2**30),
        ("128k", 128_000),
        ("N = 8", 8),
        ("h", 3600),
        ("ms", Fraction(1, 1000)),
        ("tokens", None),
        ("pair 3", None),
        ("16 heads", None),
        ("", None),
    ],
)
def test_a_label_reads_as_a_number(label, number):
    assert number_of(label) == number


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ('axes.set_yticks([0.1, 1, 10, 1000], ["0.1", "1", "10", "1,000"])', 0),
        ('axes.set_yticks([0.1, 1, 10, 500], ["0.1", "1", "10", "1,000"])', 1),
        ('axes.set_xticks([0, 10], labels=["0", "100"])', 1),
        ('axes.set_xticks([1, 2], ["10", "100"])', 0),
        ('axes.set_xticks([1, 2, 3], ["10", "100", "10⁴"])', 1),
        ('times = [0.25, 0.5, 1]\naxes.set_xticks(times, ["1/4", "1/2", "1"])', 0),
        ('times = [0.25, 0.5, 1]\naxes.set_xticks(times, ["1/4", "1/3", "1"])', 1),
        # The middles of the cells of an image, and cells that have sizes.
        ('axes.set_xticks([0.5, 7.5, 14.5], ["-7", "0", "7"])', 0),
        ('axes.set_xticks([0.5, 7.5, 14.5], ["-7", "7", "0"])', 1),
        ('axes.set_xticks([0.5, 1.5], ["N = 8", "16"])', 0),
        ('axes.set_xticks([0.5, 4.5, 8.5], ["0", "4", "8"])', 0),
        ('axes.set_xticks([0.5, 4.5, 8.5], ["1", "5", "9"])', 1),
        ('axes.set_xticks([20, 40, 80], ["10", "20", "40"])', 1),
        ('axes.set_xticks([20e-3, 40e-3], ["20", "40"])\naxes.set_xlabel("ms per token")', 0),
        ('axes.set_yticks([QUERY, KEY], ["queries", "keys"])', 0),
        ('sizes = [(1e3, "kB"), (1e6, "MB"), (1e9, "GB")]', 0),
        ('sizes = [(1e3, "kB"), (1e6, "GB"), (1e9, "GB")]', 1),
        ('sizes = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**30}', 1),
        ('axes.set_yticks([QUERY, KEY, VALUE], ["queries", "keys", "values"])', 0),
        ('axes.set_yticks([QUERY, VALUE, KEY], ["queries", "keys", "values"])', 1),
        ('names = {"relu": "ReLU", "gelu": "GELU", "full": "ReLU in all"}', 0),
        ('names = {"relu": "GELU", "gelu": "ReLU", "full": "ReLU in all"}', 1),
        ('links = {".pdf": "the book as a PDF", ".zip": "the site as a zip file"}', 0),
        ('links = {".zip": "the book as a PDF", ".pdf": "the site as a zip file"}', 1),
        ('other = {"row": "column", "column": "row"}', 0),
        ('rows = [("keys", "of the keys"), ("values", "of the values")]', 0),
        ('rows = [("keys", "of the values"), ("values", "of the keys")]', 1),
        ('p.add_argument("--n", default=300, help="how many (300)")', 0),
        ('p.add_argument("--n", default=300, help="how many (200)")', 1),
        ('N = 1024\np.add_argument("--n", default=N, help="how many (default 1024)")', 0),
        ('N = 1024\np.add_argument("--n", default=N, help="how many (default 512)")', 1),
        ('p.add_argument("--n", default="cpu", help="where (default cpu)")', 0),
        ('p.add_argument("--n", default="cpu", help="where (default cuda)")', 1),
        ('p.add_argument("--n", help="how many (128)")', 0),
        ('p.add_argument("--n", default=3, help=f"how many (of {n})")', 0),
    ],
)
def test_texts_and_numbers_of_code(code, faults):
    assert len(wrong_in_code(code)) == faults


@pytest.mark.parametrize(
    ("script", "faults"),
    [
        ('yTicks: [[1, "1"], [100, "10²"], [1e4, "10⁴"]],', 0),
        ('yTicks: [[1, "1"], [1000, "10²"], [1e4, "10⁴"]],', 1),
        ('yTicks: [[1e12, "1"], [1e13, "10"], [1e15, "10³"]],', 1),
        ('yTicks: [[1e12, "1"], [1e13, "10"], [1e15, "10³"]], l: "TFLOP/s, at most"', 0),
        ('yTicks: [[1e12, "1"], [1e13, "10"], [1e15, "10³"]], l: "bound (TB/s)"', 0),
        ('yTicks: [[1e12, "1"], [1e13, "10"], [1e15, "10³"]], l: "GFLOP/s, at most"', 1),
        ('yTicks: [[1e12, "10"], [1e13, "100"], [1e15, "10⁴"]], l: "TFLOP/s"', 1),
        ('yTicks: [[1e12, "1"], [1e13, "10"], [1e14, "10³"]],', 1),
        ('xTicks: [4, 32, [2048, "2,048"]],', 0),
        ('xTicks: [4, 32, [1024, "2,048"]],', 1),
        ('[[20, "1 MiB"], [30, "1 GiB"]].map(f)', 0),
        ('[[20, "1 MiB"], [30, "1 GiB"], [40, "1 GiB"]].map(f)', 1),
        ('units(value, [[1, "s"], [60, "min"], [3600, "h"]]);', 0),
        ('units(value, [[1, "s"], [60, "min"], [360, "h"]]);', 1),
        ("units(value, [[1e6, phrase`million`], [1e8, phrase`billion`]]);", 1),
        ('units(value, [[1, "B"], [1e3, "kB"]]);', 0),
        ('text(x, y, phrase`key k`, { class: "is-k" }) + text(x, y, "3", { class: "is-v" });', 0),
        ('text(x, y, phrase`key k`, { ...side("start"), class: "is-v" });', 1),
        ('const NAMES = { gelu: "GELU", swish: "Swish" };', 0),
        ('const NAMES = { swish: "GELU", gelu: "Swish" };', 1),
        ("const LIMITS = { memory: phrase`memory traffic`, work: phrase`the work` };", 0),
        ("const LIMITS = { work: phrase`memory traffic`, memory: phrase`the work` };", 1),
        ('numbers: () => [["first", phrase`first one`, x], ["last", phrase`last one`, y]],', 0),
        ('numbers: () => [["last", phrase`first one`, x], ["first", phrase`last one`, y]],', 1),
        ('const rows = [[34, phrase`score s`], [60, "value v"], [x, "3"]];', 0),
    ],
)
def test_texts_and_numbers_of_scripts(script, faults):
    assert len(wrong_in_script(script)) == faults


def test_axes_come_in_one_order():
    code = (
        'def keys(x: Float[Tensor, "b h n d_k"]) -> Float[Tensor, "b h n d_k"]: ...\n'
        'def values(x) -> Float[Tensor, "*batch b h n d_v"]: ...\n'
    )
    assert [*exchanged_axes(code)] == []
    assert [*exchanged_axes(code.replace("h n d_v", "n h d_v"))] == [
        "“*batch b n h d_v” has n before h, and “b h n d_k” the reverse"
    ]


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        (CHAPTERS / "cost.ipynb", "[0.1, 1, 10, 100, 1000], [", "[0.1, 1, 10, 100, 500], ["),
        (STATIC / "widgets" / "wavelength.js", '[100, "10²"]', '[1000, "10²"]'),
        (
            STATIC / "widgets" / "roofline.js",
            '[[1e12, "1"], [1e13, "10"], [1e14, "100"], [1e15, "10³"]]',
            '[[1e12, "10"], [1e13, "100"], [1e14, "10³"], [1e15, "10⁴"]]',
        ),
        (STATIC / "widgets" / "roofline.js", "TFLOP/s, at most", "GFLOP/s, at most"),
        (STATIC / "read-model" / "report.js", '[3600, "h"]', '[360, "h"]'),
        (SOURCES / "bookkit" / "workshop" / "skeleton.py", "writes (300)", "writes (200)"),
        (
            SOURCES / "attention_to_rope" / "key_value_cache.py",
            'def values(self) -> Float[Tensor, "b h n d_v"]',
            'def values(self) -> Float[Tensor, "b n h d_v"]',
        ),
    ],
)
def test_a_number_of_the_book_that_is_changed_is_told(file, right, wrong, tmp_path):
    text = file.read_text(encoding="utf-8")
    assert right in text
    changed = tmp_path / file.name
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    assert wrong_beside(changed)
