"""Kinds of units: what names say of an expression, and what contradicts the unit of its value."""

import pytest

from bookcheck.kinds import KINDS, Kinds, wrong_kind, wrong_kinds_of_code
from bookformat.values import parse_value

CODE = """
gpu = read_gpu("H200")
bandwidth = gpu.bandwidth_bytes_per_second
states = 4 * heads * width
moved = 2 * layer_bytes
reading = moved / bandwidth
unknown = states / bandwidth
share = least / row["seconds"]
took = {row["name"]: row["seconds"] for row in rows}
halves = [cache_bytes(layers) / GB for ranks in (8, 16)]
first, other = moved, reading

def work(N):
    return 2 * N * flops(N)
"""


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("gpu.peak()", "operations per second"),
        ("bandwidth", "bytes per second"),
        ("2 * reading", "seconds"),
        ("reading.max()", "seconds"),
        ("float(moved)", "bytes"),
        ("round(moved, -1)", "bytes"),
        ("took['fused']", "seconds"),
        ("row['traffic_bytes'] / bandwidth", "seconds"),
        ("bandwidth * took['fused']", "bytes"),
        ("work(8) / gpu.peak()", "seconds"),
        ("moved if moved > 3 else 0", "bytes"),
        ("first + 3", "bytes"),
        ("other", "seconds"),
        ("reported('H200', 'memory')", "bytes"),
        # What says nothing, or what no unit is.
        ("2 * 32 * 8", None),
        ("states", None),
        ("unknown", None),
        ("share", None),
        ("gpu.peak() / bandwidth", None),
        ("reading / other", None),
        ("halves[0]", None),
        ("moved / tokens_each", "bytes"),
        ("moved / several", None),
        ("tokens_per_second", None),
        ("second - first_of_all", None),
    ],
)
def test_names_say_the_kind_of_an_expression(expression, kind):
    assert Kinds(CODE).kind(expression) == (None if kind is None else KINDS[kind])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("989 TFLOP/s = gpu.peak()", ["989 TB/s", "989 TFLOP", "989 TB", "989 times"]),
        ("4.5 s = reading", ["4.5 bytes", "4.5 times", "4.5 radians", "4.5 °C"]),
        ("2.68 GB = moved", ["2.68 GB/s", "2.68 GFLOP", "2.68 B"]),
    ],
)
def test_a_unit_of_another_kind_is_told(right, wrong):
    value = parse_value(right)
    assert wrong_kind(value, Kinds(CODE)) is None
    for printed in wrong:
        fault = wrong_kind(value._replace(printed=printed), Kinds(CODE))
        assert fault
        assert "the names in the expression say" in fault


def test_a_number_and_a_count_have_no_kind():
    for printed in ("2.68 billion", "8", "eight"):
        assert wrong_kind(parse_value(f"{printed} = moved"), Kinds(CODE)) is None


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('f"{moved / 1e9:.1f} GB of {states} heads"', 0),
        ('f"{moved / 1e9:.1f} GFLOP of {states} GB"', 1),
        ('f"{1e3 * reading:.0f} ms, {moved} parts"', 0),
        ('f"{1e3 * reading:.0f} MB"', 1),
    ],
)
def test_a_unit_of_another_kind_in_code_is_told(text, faults):
    assert len([*wrong_kinds_of_code(text, Kinds(CODE))]) == faults
