"""Units in code: what it divides by is what its texts say."""

import pytest

from bookcheck.units import wrong_information, wrong_ticks, wrong_units, wrong_units_of_page
from bookformat.paths import CHAPTERS, ROOT, SOURCES


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ('print(f"{size / 2**30:.1f} GiB of {rest / 1e9:.1f} GB")', 0),
        ('print(f"{size / 1e9:.1f} GiB")', 1),
        ('print(f"{size / 1e6:.1f} GB")', 1),
        ('print(f"{1e3 * seconds:.0f} ms, {seconds * 1e6:.0f} µs")', 0),
        ('print(f"{1e6 * seconds:.0f} ms")', 1),
        ('print(f"{numbers / 1e9:.1f} billion")', 0),
        ('print(f"{numbers / 1e6:.1f} billion")', 1),
        # Nothing says how many bytes these are, or nothing says that they are bytes.
        ('print(f"{gigabytes:.1f} GB")', 0),
        ('print(f"{largest / 2} GB")', 0),
        ('table([f"{size / 2**30:.1f}"], columns=["model", "GiB as it is"])', 0),
        ('table([f"{size / 2**30:.1f}"], columns=["model", "GB as it is"])', 1),
        ('gigabytes = size / 10**9; print(f"{gigabytes:.1f} GiB")', 1),
        ('GB = 1e9; columns = ["cache, GiB"]', 0),
        ('N = 1024; columns = [f"{size / 1e9:.1f}", "TB/s", "GB"]', 1),
    ],
)
def test_units_of_a_cell(code, faults):
    assert len([*wrong_units(code)]) == faults


def test_the_message_names_unit_and_factor():
    (told,) = wrong_units('print(f"{size / 1e9:.1f} GiB")')
    assert told == "“{size / 1000000000.0} GiB”: GiB is 1.07374e+09, and the factor is 1e+09"
    (told,) = wrong_units('columns = ["GB, as it is"]; rows = sizes / 2**30')
    assert told == "“GB, as it is” says GB, and the code divides nothing by 1e+09"


@pytest.mark.parametrize(
    ("ticks", "faults"),
    [
        ('[[20, "1 MiB"], [30, "1 GiB"], [40, "1 TiB"]]', 0),
        ('[30, "1 GB"]', 1),
        ('[9, "1 GB"], [1e9, "1 GB"], [0, "1"]', 0),
        ('[31, "1 GiB"]', 1),
    ],
)
def test_ticks_of_a_figure(ticks, faults):
    assert len([*wrong_ticks(ticks)]) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("{value}`3.178 = entropy` nats per byte", 0),
        ("{value}`3.178 = entropy` bits per byte", 1),
        ("{value}`4.585 = entropy / math.log(2)` bits and {value}`1.2 = log2(x)`\nbits", 0),
        ("{value}`4.585 = entropy / math.log(2)` nats", 1),
        ("{value}`16 = width` bits, {value}`0.5 = share` of the bits", 0),
    ],
)
def test_bits_and_nats(text, faults):
    assert len([*wrong_information(text)]) == faults


@pytest.mark.parametrize(
    ("page", "right", "wrong"),
    [
        (CHAPTERS / "deeper" / "keep-less.ipynb", "GiB as it is", "GB as it is"),
        (CHAPTERS / "fewer-scores.ipynb", "{mixed / 1e9:5.1f} GB", "{mixed / 1e9:5.1f} GiB"),
        (ROOT / "_static" / "widgets" / "cache.js", "1 GiB", "1 GB"),
        (SOURCES / "booksite" / "export" / "downloads.py", "1e6:.1f} MB)", "1e6:.1f} GB)"),
        (CHAPTERS / "sinusoids.ipynb", "excess.min()` nats", "excess.min()` bits"),
    ],
)
def test_a_unit_of_the_book_that_is_exchanged_is_told(page, right, wrong, tmp_path):
    text = page.read_text(encoding="utf-8")
    assert right in text
    changed = tmp_path / page.name
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    assert wrong_units_of_page(page) == []
    assert len(wrong_units_of_page(changed)) == 1
