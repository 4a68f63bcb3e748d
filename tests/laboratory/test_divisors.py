"""The record of softmax-gradient is made as it says, and its grid of step sizes is wide enough."""

from itertools import product

import pytest

from bookkit import divisors
from bookkit.records import recorded
from laboratory.divisors import OPTIMIZERS, SIZES, SMALL, losses_after, rows, run


def test_the_record_has_every_step_size_of_every_kind_and_its_origin():
    found = recorded("divisors.jsonl")
    kinds = product(OPTIMIZERS, divisors.DIVISORS, divisors.DIMENSIONS)
    short = [(*kind, size) for kind in kinds for size in SIZES[kind[0]]]
    said = [(row["optimizer"], row["divisor"], row["d_k"], row["step size"]) for row in found]
    assert said[: len(short)] == short
    long = [row["step size"] for row in found if row["steps"] == divisors.LONG]
    assert long == [size for sizes in SMALL.values() for size in sizes]
    assert {len(row["losses"]) for row in found} == {divisors.SEEDS}
    assert all(row[fact] for row in found for fact in ("date", "device", "torch", "command"))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("divisor", divisors.DIVISORS[1:])
@pytest.mark.parametrize("d_k", divisors.DIMENSIONS)
def test_the_step_sizes_that_learn_lie_inside_the_grid(optimizer, divisor, d_k):
    found = recorded("divisors.jsonl", optimizer=optimizer, divisor=divisor, d_k=d_k)
    learns = [max(row["losses"]) < 0.5 for row in found]
    assert any(learns)
    assert not learns[0]
    assert not learns[-1]


def test_a_row_of_the_record_can_be_made_again():
    again = run("Adam", "d_k", 16, 2.0**-5, divisors.SHORT)
    (stored,) = recorded("divisors.jsonl", **{name: again[name] for name in list(again)[:-1]})
    assert again["losses"] == pytest.approx(stored["losses"], abs=0.01)


def test_no_step_leaves_the_weights_of_random_queries_and_keys():
    sharp = losses_after("Adam", 1e-6, 16, 0.1, 0)  # each row has one weight of 1
    flat = losses_after("Adam", 1e9, 16, 0.1, 0)
    assert flat.tolist() == pytest.approx([11 / 12] * divisors.SEEDS, abs=1e-4)
    assert sharp.min() > 1


def test_the_rows_begin_with_gradient_descent_without_a_divisor():
    first = next(rows())
    said = [first["optimizer"], first["divisor"], first["d_k"], first["steps"]]
    assert said == ["gradient descent", "1", 16, divisors.SHORT]
