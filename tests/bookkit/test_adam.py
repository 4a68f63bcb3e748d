"""The pages' Adam is PyTorch's."""

import numpy as np
import pytest
import torch

from bookkit.adam import adam
from bookkit.randomness import normal


def test_its_steps_are_those_of_torch_optim():
    start, goal = normal(2, 3, 4, seed=0), normal(4, seed=1)
    ours, theirs = ([w.clone().requires_grad_() for w in start] for _ in range(2))

    def loss(weights):
        return ((weights[0] * weights[1]) @ goal).square().sum()

    adam(ours, lambda step: (step + 1) * loss(ours), 6, 0.1)
    optimizer = torch.optim.Adam(theirs, lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        ((step + 1) * loss(theirs)).backward()
        optimizer.step()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_warm_up_lets_the_rate_rise_to_its_full_size():
    slope = torch.ones(3)
    moved = []
    for steps in range(6):
        w = torch.zeros(3, requires_grad=True)
        adam([w], lambda step, w=w: slope @ w, steps, 0.1, warm_up=4)
        moved.append(-float(w[0].detach()))
    # With a constant gradient every step of Adam has the size of the rate.
    assert np.diff(moved) == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1])
