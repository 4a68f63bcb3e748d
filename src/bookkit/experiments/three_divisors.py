"""Which divisor of the scores lets heads of every dimension learn? Deeper page of chapter 2.

Random tokens learn W^Q and W^K so that each attends to itself, with two optimizers, three divisors,
three head dimensions and a grid of step sizes. `python -m bookkit.experiments.three_divisors`
trains all runs and writes the record, in minutes on a CPU. Every seed has its own tokens and
initial matrices, which all variants share.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from attention_to_rope import softmax
from bookkit.experiments.record import Row, main
from bookkit.randomness import generator

TOKENS, D, HEADS = 12, 40, (16, 64, 256)
POWERS = {"1": 0.0, "√d_k": 0.5, "d_k": 1.0}  # the divisor is this power of d_k
OPTIMIZERS: dict[str, tuple[Callable[..., Any], list[float]]] = {
    "gradient descent": (torch.optim.SGD, [2.0**power for power in range(-9, 8)]),
    "Adam": (torch.optim.Adam, [2.0**power for power in range(-15, 1)]),
}


def loss(X: Tensor, W: Tensor, divisor: float) -> Tensor:
    """The squared distance between the weights and the identity, averaged over rows: (seeds,)."""
    A = softmax((X @ W[0]) @ (X @ W[1]).mT / divisor)  # (seeds, TOKENS, TOKENS)
    return (A - torch.eye(TOKENS)).square().sum(-1).mean(-1)


def run(optimizer: str, divisor: str, d_k: int, rate: float, seeds: int, steps: int) -> list[float]:
    """Train all seeds, which do not influence one another; their losses afterwards."""
    draws = [generator(seed) for seed in range(seeds)]
    X = torch.tensor([rng.normal(size=(TOKENS, D)).tolist() for rng in draws])
    start = [(rng.normal(size=(2, D, d_k)) / D**0.5).tolist() for rng in draws]
    W = torch.tensor(start).transpose(0, 1).contiguous().requires_grad_()  # (2, seeds, D, d_k)
    training = OPTIMIZERS[optimizer][0]([W], lr=rate)
    for _ in range(steps):
        training.zero_grad()
        loss(X, W, d_k ** POWERS[divisor]).sum().backward()
        training.step()
    return [round(float(value), 4) for value in loss(X, W, d_k ** POWERS[divisor]).detach()]


def rows(seeds: int, steps: int) -> Iterator[Row]:
    """A row for each optimizer, divisor and head dimension: losses by step size and seed."""
    for optimizer, (_, rates) in OPTIMIZERS.items():
        for divisor in POWERS:
            for d_k in HEADS:
                losses = [run(optimizer, divisor, d_k, rate, seeds, steps) for rate in rates]
                case = {"optimizer": optimizer, "divisor": divisor, "d_k": d_k}
                yield {**case, "rates": rates, "losses": losses, "steps": steps}


if __name__ == "__main__":
    main("three_divisors", rows(seeds=8, steps=60))
