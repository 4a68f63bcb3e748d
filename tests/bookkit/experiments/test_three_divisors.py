"""The record of the deeper page of chapter 2 is made as it says, and says where it comes from."""

import pytest
import torch

from bookkit.experiments.record import recorded
from bookkit.experiments.three_divisors import HEADS, OPTIMIZERS, POWERS, TOKENS, D, loss, run


def test_the_loss_is_that_of_the_weights_against_the_identity():
    X = torch.eye(TOKENS, D)[None]
    W = torch.eye(D).expand(2, 1, D, D)
    assert float(loss(X, 0 * W, 1.0)) == pytest.approx(1 - 1 / TOKENS)  # equal weights
    assert float(loss(X, W, 0.01)) == pytest.approx(0, abs=1e-6)  # each token attends to itself
    assert float(loss(X, W, 0.1)) == pytest.approx(float(loss(X, 10 * W, 10.0)))
    assert [64**power for power in POWERS.values()] == [1, 8, 64]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_seeds_differ_and_do_not_influence_one_another(optimizer):
    alone = run(optimizer, "√d_k", 16, 0.01, seeds=1, steps=3)
    both = run(optimizer, "√d_k", 16, 0.01, seeds=2, steps=3)
    assert both[:1] == pytest.approx(alone, abs=2e-4)
    assert both[0] != both[1]


def test_the_record_has_eight_seeds_of_every_case_and_its_origin():
    rows = recorded("three_divisors.jsonl")
    cases = {(row["optimizer"], row["divisor"], row["d_k"]) for row in rows}
    assert cases == {(o, power, d_k) for o in OPTIMIZERS for power in POWERS for d_k in HEADS}
    for row in rows:
        assert [len(losses) for losses in row["losses"]] == [8] * len(row["rates"])
        assert all(row[fact] for fact in ("date", "device", "torch", "command"))
