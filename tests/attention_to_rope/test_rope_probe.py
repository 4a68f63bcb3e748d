"""What the probe reads from outside is what was put in, at small head dims."""

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import attention_to_rope as book
from attention_to_rope.rope_probe import (
    Measured,
    _order,
    _partners,
    find_calling,
    matrices_at,
    measure,
)

THETA = book.rotary_frequencies(8)


def turned(x: Tensor, positions: Tensor, theta: Tensor | None = None) -> Tensor:
    theta = book.rotary_frequencies(x.shape[-1]) if theta is None else theta
    table = book.rotary_table(positions, theta, dtype=x.dtype)
    return book.rotate(x, table, layout="half")


def by_angles(x: Tensor, first: Tensor, second: Tensor | None = None) -> Tensor:
    """Each half of the dimensions turned by angles of its own; one and the same in a rotation."""
    second = first if second is None else second
    a, b = x.chunk(2, -1)
    halves = a * first.cos() - b * first.sin(), b * second.cos() + a * second.sin()
    return torch.cat(halves, -1).to(x.dtype)


def measured(function: Callable[..., object], dim: int = 8, which: int = 0) -> Measured:
    return measure(find_calling(function, dim), dim, which=which)


def test_two_dimensions_are_one_pair() -> None:
    found = measured(turned_by_one, 2)
    assert found.layout == "half"
    assert (found.first_dim, found.span) == (0, 2)
    assert found.frequencies == [pytest.approx(1.0, rel=1e-6)]
    assert found.shift == pytest.approx(1.0, rel=1e-6)
    assert not found.swapped


def turned_by_one(x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, positions + 1)


@pytest.mark.parametrize("by", [-2, 3, 7, 1000])
def test_a_shift_is_measured_beyond_a_turn_of_the_fastest_pair(by: int) -> None:
    def late(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, positions + by)

    found = measured(late)
    assert found.shift == pytest.approx(by, rel=1e-4)
    assert found.frequencies == pytest.approx(THETA.tolist(), rel=1e-6)
    assert found.forward


def test_a_pair_that_always_has_one_angle_does_not_tell_the_shift() -> None:
    def constant(x: Tensor, positions: Tensor) -> Tensor:
        angles = positions[:, None] * THETA
        return by_angles(x, torch.cat((torch.ones_like(angles[:, :1]), angles[:, 1:]), -1))

    assert measured(constant).shift == 0

    def always(x: Tensor, positions: Tensor) -> Tensor:
        return by_angles(x, torch.ones(len(positions), 4))

    calling = find_calling(turned_by_one, 8)
    assert measure(calling._replace(turn=lambda x, p: (always(x, p),) * 2), 8).shift == 0


def test_slow_frequencies_have_a_direction_too() -> None:
    def slow(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, positions, THETA / 8)

    def back(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, -positions, THETA / 8)

    assert measured(slow).forward
    assert not measured(back).forward


def test_queries_and_keys_are_measured_apart() -> None:
    def both(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return turned(q, positions + 3), turned(k, positions, THETA / 2)

    def both_plain(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return both(q, k, torch.arange(q.shape[-2]))

    for function in (both, both_plain):
        queries, keys = measured(function), measured(function, which=1)
        assert (queries.shift, keys.shift) == (pytest.approx(3, rel=1e-4), 0)
        assert keys.frequencies == pytest.approx((THETA / 2).tolist(), rel=1e-6)


def test_a_rounded_table_is_measured_better_than_it_is_rounded() -> None:
    """bfloat16 is off by 1/512, and the angle at 2**14 is still known to so much."""

    def rounded(x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = book.rotary_table(positions, THETA)
        table = book.RotaryTable(cos.bfloat16().float(), sin.bfloat16().float())
        return book.rotate(x, table, layout="half")

    assert measured(rounded).frequencies == pytest.approx(THETA.tolist(), rel=1e-4)


def test_angles_that_are_wrong_further_on_do_not_spoil_the_frequencies() -> None:
    def broken(x: Tensor, positions: Tensor) -> Tensor:
        angles = positions[:, None].double() * THETA
        return by_angles(x, angles + (positions[:, None] > 100))

    assert measured(broken).frequencies == pytest.approx(THETA.tolist(), rel=1e-6)


def test_positions_are_asked_for_by_doubling() -> None:
    """A frequency from position m tells the turn at 2m: no turn is ever lost."""
    asked: list[int] = []

    def listening(x: Tensor, positions: Tensor) -> Tensor:
        asked.extend(positions.tolist())
        return turned(x, positions)

    calling = find_calling(listening, 8)
    asked.clear()
    measure(calling, 8)
    assert asked[:2] == [0, 1]
    assert [after / before for before, after in itertools.pairwise(asked[1:])] == [2] * 14


def test_a_function_without_positions_is_asked_for_257() -> None:
    def plain(x: Tensor) -> Tensor:
        assert x.shape[-2] <= 257
        return turned(x, torch.arange(x.shape[-2]))

    assert measured(plain).frequencies == pytest.approx(THETA.tolist(), rel=1e-6)


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_the_two_dimensions_of_a_pair_must_turn_alike(factor: float) -> None:
    def unequal(x: Tensor, positions: Tensor) -> Tensor:
        if int(positions.max()) > 2:
            raise IndexError
        angles = positions[:, None] * THETA
        return factor * by_angles(x, angles, 0.9 * angles)

    def equal(x: Tensor, positions: Tensor) -> Tensor:
        return factor * turned(x, positions)

    assert not measured(unequal).pairs_agree
    found = measured(equal)
    assert found.pairs_agree
    assert found.factor == pytest.approx(factor, rel=1e-6)


class TestWaysOfCalling:
    def test_queries_and_keys_without_positions(self) -> None:
        def apply(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
            return tuple(turned(x, torch.arange(x.shape[-2])) for x in (q, k))

        assert find_calling(apply, 8).words.startswith("f(q, k) with vectors (b, h, n, d)")

    def test_more_results_than_queries_and_keys(self) -> None:
        def apply(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, str]:
            return turned(q, positions), turned(k, positions), "and a cache"

        assert find_calling(apply, 8).words.startswith("f(q, k, positions)")

    def test_cos_alone_is_no_table(self) -> None:
        def apply(x: Tensor, positions: Tensor, cos: Tensor | None = None) -> Tensor:
            return turned(x, positions)

        assert find_calling(apply, 8).words.startswith("f(x, positions)")

    @pytest.mark.parametrize("factor", [1.0, 100.0])
    def test_a_table_times_a_factor_is_still_a_rotation(self, factor: float) -> None:
        def apply(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
            first, second = x.chunk(2, -1)
            return factor * (x * cos + torch.cat((-second, first), -1) * sin)

        calling = find_calling(apply, 8)
        assert "halves alike" in calling.words
        assert calling[2:] == (True, False, True)

    def test_a_complex_table_is_given_for_any_positions(self) -> None:
        def apply(x: Tensor, freqs_cis: Tensor) -> Tensor:
            numbers = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
            return torch.view_as_real(numbers * freqs_cis).flatten(-2)

        assert find_calling(apply, 8)[2:] == (True, False, True)

    def test_what_an_offset_and_nothing_allow(self) -> None:
        def apply(x: Tensor, offset: int) -> Tensor:
            return turned(x, torch.arange(x.shape[-2]) + offset)

        def plain(x: Tensor) -> Tensor:
            return apply(x, 0)

        assert find_calling(apply, 8)[2:] == (True, False, False)
        assert find_calling(plain, 8)[2:] == (False, False, False)

    def test_half_a_turn_per_position_moves_vectors(self) -> None:
        """Position 2 looks like position 0: the neighbours tell."""

        def apply(x: Tensor, positions: Tensor) -> Tensor:
            return turned(x, positions, torch.tensor([math.pi], dtype=torch.float64))

        assert find_calling(apply, 2).words.startswith("f(x, positions)")

    def test_at_most_six_attempts_are_told(self) -> None:
        def still(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
            return x

        with pytest.raises(ValueError, match="turns nothing") as caught:
            find_calling(still, 8)
        assert str(caught.value).count("no rotation that depends on the position") == 6


def test_row_j_is_the_image_of_unit_vector_j() -> None:
    def apply(x: Tensor, positions: Tensor) -> Tensor:
        assert len(x) == 1  # one row is enough
        return turned(x, positions)

    (matrix,) = matrices_at(find_calling(apply, 2), torch.tensor([2]), 2)
    cos, sin = math.cos(2), math.sin(2)
    assert matrix.flatten().tolist() == pytest.approx([cos, sin, -sin, cos])


def test_a_cycle_of_three_is_read_in_its_direction() -> None:
    """Pairs are the same from both sides; here only the row of a dimension says where it goes."""
    cycle = torch.eye(3)[[1, 2, 0]]
    assert _partners(cycle[None]) == {0: 1, 1: 2, 2: 0}
    assert _order(2 * cycle) == [1, 2, 0]
