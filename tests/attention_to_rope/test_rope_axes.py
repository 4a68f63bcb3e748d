"""Rotation by several coordinates: text is plain RoPE, scores see differences axis by axis."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import generator, normal

THETA = book.rotary_frequencies(16)
LAYOUTS = ["half", "interleaved"]


def test_the_lists_of_the_models() -> None:
    letters = "".join("THW"[axis] for axis in book.axes_interleaved([24, 20, 20]))
    assert letters == "THW" * 20 + "TTTT"
    assert book.axes_in_sections([16, 24, 24]) == [0] * 16 + [1] * 24 + [2] * 24


@given(st.integers(0, 6), st.integers(1, 6), st.integers(1, 6))
def test_interleaving_deals_pairs_in_turn(more: int, h: int, w: int) -> None:
    sections = [2 * max(h, w) + more, h, w]
    axes = book.axes_interleaved(sections)
    assert [axes.count(a) for a in range(3)] == sections
    assert axes == reference.axes_interleaved(sections)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "axes", [book.axes_in_sections([2, 3, 3]), book.axes_interleaved([4, 2, 2])]
)
class TestTable:
    def test_equals_the_reference(self, axes: list[int], layout: str) -> None:
        places = torch.from_numpy(generator(0).integers(0, 500, (3, 2, 5)))
        x = normal(2, 5, 16, seed=0)
        got = book.rotate(x, book.axial_table(places, THETA, axes, dtype=x.dtype), layout=layout)
        for b in range(2):
            for n in range(5):
                expected = reference.rotate_on_axes(
                    x[b, n].numpy(), places[:, b, n].tolist(), THETA.tolist(), axes, layout
                )
                assert np.abs(got[b, n].numpy() - expected).max() <= 1e-12

    def test_on_text_it_is_rope(self, axes: list[int], layout: str) -> None:
        positions = torch.arange(7) + 1000
        table = book.axial_table(positions.expand(3, 7), THETA, axes, attention_factor=1.5)
        plain = book.rotary_table(positions, THETA, attention_factor=1.5)
        assert torch.equal(table.cos, plain.cos)
        assert torch.equal(table.sin, plain.sin)

    def test_scores_see_differences_axis_by_axis(self, axes: list[int], layout: str) -> None:
        q, k = normal(1, 16, seed=0), normal(1, 16, seed=1)

        def score(q_place: list[int], k_place: list[int]) -> float:
            turned = [
                book.rotate(
                    x,
                    book.axial_table(torch.tensor(place)[:, None], THETA, axes, dtype=x.dtype),
                    layout=layout,
                )
                for x, place in ((q, q_place), (k, k_place))
            ]
            return float(turned[0] @ turned[1].T)

        here = score([3, 5, 7], [1, 9, 2])
        assert score([103, 5, 7], [101, 9, 2]) == pytest.approx(here, abs=1e-11)
        assert score([3, 65, 17], [1, 69, 12]) == pytest.approx(here, abs=1e-11)
        # Turning the image by a quarter exchanges rows and columns: another score.
        assert abs(score([3, 7, 5], [1, 2, 9]) - here) > 1e-3


def test_one_axis_is_rope() -> None:
    at = torch.arange(3)
    table = book.axial_table(at[None], THETA, [0] * 8, attention_factor=2.0)
    expected = book.rotary_table(at, THETA, attention_factor=2.0)
    assert torch.equal(table.cos, expected.cos)
    assert torch.equal(table.sin, expected.sin)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: book.axes_in_sections([]), r"sections must be a list of pairs per axis, got \[\]"),
        (lambda: book.axes_interleaved(3), r"sections must be a list .* got 3"),
        (lambda: book.axes_in_sections([1, 0]), r"a section must be at least 1, got 0"),
        (lambda: book.axes_interleaved([1, 2]), r"its pair 3 lies beyond the last, 2; give axis 0"),
        (
            lambda: book.axial_table(torch.zeros(2, 3), THETA, [0] * 8),
            r"coordinates must have an integer dtype",
        ),
        (
            lambda: book.axial_table(torch.zeros(2, 3).long(), 1.0, [0] * 8),
            r"frequencies must",
        ),
        (lambda: book.axes_interleaved([1, 3]), r"leave no room for axis 1: its pair 5 lies beyon"),
        (
            lambda: book.axial_table(torch.arange(3), THETA, [0] * 8),
            r"\(A, N\) or \(A, B, N\), got \(3,\)",
        ),
        (
            lambda: book.axial_table(torch.zeros(2, 3).long(), THETA, [0] * 7),
            r"axis of each of the 8 pairs, got 7",
        ),
        (
            lambda: book.axial_table(torch.zeros(2, 3).long(), THETA, [0] * 7 + [2]),
            r"axes must lie in 0…1",
        ),
        (
            lambda: book.axial_table(torch.zeros(2, 3).long(), THETA, [0] * 7 + [0.5]),
            r"axes must lie in 0…1",
        ),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("layout", LAYOUTS)
class TestTurnedRows:
    """Keys that are values too: turned back, the output sees distances alone."""

    def output(self, shift: int, layout: str) -> torch.Tensor:
        q, rows = normal(4, 16, seed=0), normal(6, 16, seed=1)
        q_table = book.rotary_table(torch.arange(4) + shift, THETA, dtype=torch.float64)
        k_table = book.rotary_table(torch.arange(6) + shift, THETA, dtype=torch.float64)
        return book.attention_over_turned_rows(q, rows, q_table, k_table, layout=layout)

    def test_equals_the_sum_over_distances(self, layout: str) -> None:
        expected = reference.attention_over_turned_rows(
            normal(4, 16, seed=0).numpy(), normal(6, 16, seed=1).numpy(), THETA.tolist(), layout
        )
        assert np.abs(self.output(0, layout).numpy() - expected).max() <= 1e-12

    def test_a_shift_changes_nothing_and_would_without_turning_back(self, layout: str) -> None:
        assert (self.output(0, layout) - self.output(1000, layout)).abs().max() <= 1e-11
        tables = [
            book.rotary_table(torch.arange(4) + s, THETA, dtype=torch.float64) for s in (0, 1000)
        ]
        ahead = [
            book.rotate(self.output(s, layout), table, layout=layout)
            for s, table in zip((0, 1000), tables, strict=True)
        ]
        assert (ahead[0] - ahead[1]).abs().max() > 0.1

    def test_a_part_and_a_mask(self, layout: str) -> None:
        x = normal(5, 20, seed=0)
        table = book.rotary_table(torch.arange(5), THETA, dtype=torch.float64)
        mask = torch.eye(5, dtype=torch.bool)
        got = book.attention_over_turned_rows(
            x, x, table, table, layout=layout, rotary_dim=16, mask=mask
        )
        assert (got - x).abs().max() <= 1e-13  # each sees itself alone, at distance 0
