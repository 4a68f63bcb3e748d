"""The record about tokens that are alike is made as it says, and says where it comes from."""

import math
from statistics import median

import pytest
import torch

from bookkit.placements import IN_BOTH, learned, token_spread
from bookkit.randomness import normal
from bookkit.records import recorded
from laboratory import alike
from laboratory.alike import (
    CASES,
    LONG,
    LONG_SEEDS,
    Case,
    batches,
    before_training,
    mix,
    start,
    states,
    train,
)
from laboratory.placements import SMALL, run

NOTHING = Case("nothing")


def matrices():
    """The six matrices of the first block, for one model: (1, d, d) each."""
    return start([0], NOTHING)[1].detach()[:, 0].unbind(1)


def test_only_the_named_matrices_start_small():
    whole = start([3, 5], NOTHING)[1]
    for case, small in (
        (Case("a", attention_scale=SMALL), (2, 3)),
        (Case("f", feed_forward_scale=SMALL), (4, 5)),
    ):
        middle = start([3, 5], case)[1]
        for number in range(6):
            factor = SMALL if number in small else 1.0
            assert torch.allclose(middle[:, :, number], factor * whole[:, :, number])


def test_controls_mix_tokens_as_their_names_say():
    W = matrices()
    x = normal(1, 2, 5, 32, seed=0).float()
    own = x @ W[2] @ W[3]
    assert torch.allclose(mix(x, W, Case("none", mixing="none")), own, atol=1e-5)
    average = own.cumsum(2) / torch.arange(1, 6)[:, None]
    assert torch.allclose(mix(x, W, Case("equal", mixing="equal")), average, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 4])
def test_attention_sees_no_later_token(heads):
    W = matrices()
    x = normal(1, 1, 6, 32, seed=0).float()
    later = x.clone()
    later[:, :, 4:] += 1.0
    case = Case("heads", heads=heads)
    before, after = mix(x, W, case), mix(later, W, case)
    assert torch.allclose(before[:, :, :4], after[:, :, :4], atol=1e-5)
    assert not torch.allclose(before[:, :, 4:], after[:, :, 4:], atol=1e-2)


def test_every_case_reads_the_same_number_of_bytes():
    for length in (4, 16, 64):
        (tokens,) = batches([0, 1], Case("length", length=length, steps=1))
        assert tokens.shape == (2, 128 // length, length + 1)


def test_without_a_residual_tokens_are_alike_and_without_attention_they_are_not():
    spreads = {}
    for case in (Case("norm", connection="norm"), NOTHING, Case("none", mixing="none")):
        (by_block,), (movement,) = before_training([0], case)
        assert len(by_block) == 18
        assert movement > 0
        spreads[case.name] = by_block[-1]
    assert spreads["norm"] < 1e-4 < spreads["nothing"] < 0.01 < spreads["none"]


def test_the_spread_is_zero_for_equal_tokens_and_one_for_tokens_that_cancel():
    X = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
    assert float(token_spread(X)) == 0
    assert float(token_spread(torch.stack([X[0], -X[0]]))) == 1


def test_models_that_train_together_are_those_of_the_other_experiment():
    losses, differ = train([1, 4], Case("nothing", steps=2), 0.01)
    alone = [run("post", 1.0, 0.01, seed, 2) for seed in (1, 4)]
    assert losses == pytest.approx(alone, abs=1e-3)
    assert all(0 <= value < math.log(256) for value in differ)


def test_rows_have_every_seed_and_every_rate(monkeypatch):
    monkeypatch.setattr(
        alike, "train", lambda seeds, case, rate: ([rate + s for s in seeds], [0.0, 0.0])
    )
    monkeypatch.setattr(alike, "by_frequency", lambda seeds, case: [3.0, 3.0])
    monkeypatch.setattr(
        alike, "before_training", lambda seeds, case: ([[0.5, 0.25]] * 2, [2.0, 2.0])
    )
    (row,) = alike.rows((Case("two", rates=(0.1, 0.2)),), seeds=range(2))
    assert row["loss"] == {"0.1": [0.1, 1.1], "0.2": [0.2, 1.2]}
    assert row["spread"] == [[0.5, 0.25]] * 2


def test_the_record_has_all_seeds_of_every_case_and_its_origin():
    rows = {row["name"]: row for row in recorded("alike.jsonl")}
    assert rows.keys() == {case.name for case in (*CASES, *LONG)} | {"byte frequencies"}
    for case in (*CASES, *LONG):
        row = rows[case.name]
        seeds = LONG_SEEDS if case in LONG else 8
        assert row["steps"] == case.steps
        assert list(row["loss"]) == [str(rate) for rate in case.rates]
        assert all(len(found) == seeds for found in (*row["loss"].values(), row["spread"]))
        assert all(row[fact] for fact in ("date", "device", "torch", "command"))


def test_the_best_rate_of_every_case_has_neighbours_on_both_sides():
    for case in CASES:
        rates = sorted(learned(case.name).excess)
        assert learned(case.name).best_rate in rates[1:-1], case.name


def test_without_attention_500_steps_learn_what_50_do_not():
    short = learned("no attention").best[:LONG_SEEDS]
    long = learned("500 steps, no attention").excess[0.001]
    assert short.min() > 0
    assert long.max() < -0.2


def test_both_experiments_found_the_same_losses():
    rows = {row["name"]: row for row in recorded("alike.jsonl")}
    for name, (placement, size) in IN_BOTH.items():
        ((rate, losses),) = rows[name]["loss"].items()
        others = recorded("placements.jsonl", placement=placement, rate=float(rate))
        choose = max if size == "largest" else min
        other = choose(others, key=lambda row: row["scale"])["loss"]
        # Sums are rounded in another order, which training enlarges.
        assert median(losses) == pytest.approx(median(other), abs=0.02), name


def test_states_are_those_after_each_block():
    embedding, middle, _ = start([0], NOTHING)
    x = embedding[:, None, :7]  # (1, 1, 7, d)
    found = states(x, middle[:, :3], NOTHING)
    assert len(found) == 3
    assert torch.equal(found[1], states(x, middle[:, :2], NOTHING)[-1])
