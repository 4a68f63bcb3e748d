"""The optimizer of the pages that train.

`torch.optim` imports PyTorch's compiler when it is first used, which takes longer than such a page.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def adam(
    weights: Iterable[Tensor],
    loss: Callable[[int], Tensor],
    steps: int,
    rate: float,
    warm_up: int = 0,
) -> None:
    """Take steps of Adam (Kingma and Ba, 2015) that lower a loss; the weights change in place.

    `loss` computes the loss of a step, usually on a new batch. Steps count from 0. During the first
    `warm_up` steps the rate rises from nearly 0 to `rate`.
    """
    weights = list(weights)
    means, squares = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    for step in range(steps):
        gradients = torch.autograd.grad(loss(step), weights)
        now = rate * min(1.0, (step + 1) / max(1, warm_up))
        low, high = (1 - beta ** (step + 1) for beta in (0.9, 0.999))
        with torch.no_grad():
            for w, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
                mean.lerp_(gradient, 1 - 0.9)
                square.lerp_(gradient.square(), 1 - 0.999)
                w.addcdiv_(mean, (square / high).sqrt_().add_(1e-8), value=-now / low)
