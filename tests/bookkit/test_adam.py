"""The pages' Adam is PyTorch's."""

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
