"""Adam for models that train at once, each with its own learning rate and warm-up."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def adam(
    weights: Iterable[Tensor],
    loss: Callable[[int], Tensor],
    steps: int,
    rates: Tensor,
    warm_ups: Tensor | None = None,
) -> None:
    """The steps of `bookkit.adam` for several models, which share no weights.

    Every weight, and rates and warm_ups, has one entry for each model along its first dimension.
    `loss` computes the sum of the models' losses, so each weight gets the gradient of its own.
    """
    weights = list(weights)
    means, squares = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    rising = torch.zeros_like(rates) if warm_ups is None else warm_ups
    for step in range(steps):
        gradients = torch.autograd.grad(loss(step), weights)
        now = rates * ((step + 1) / rising.clamp(min=1)).clamp(max=1)  # (models,)
        low, high = (1 - beta ** (step + 1) for beta in (0.9, 0.999))
        with torch.no_grad():
            for w, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
                mean.lerp_(gradient, 1 - 0.9)
                square.lerp_(gradient.square(), 1 - 0.999)
                far = mean / (square / high).sqrt_().add_(1e-8)
                w.sub_(far.mul_((now / low).view(-1, *[1] * (w.dim() - 1)).to(w.dtype)))
