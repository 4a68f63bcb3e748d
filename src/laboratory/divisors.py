"""Which divisor of the scores suits which optimizer, and for which head dimensions?

    python -m laboratory.divisors   # a quarter of an hour on a CPU

One head learns that each of 12 random tokens attends to itself. The loss is the squared distance
between the rows of the weights and those of the identity matrix. Every seed has its own tokens and
its own initial matrices.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import torch
from torch import Tensor

from bookkit.divisors import DIMENSIONS, DIVISORS, LONG, SEEDS, SHORT, TOKENS, WIDTH
from bookkit.randomness import normal
from bookkit.records import Row
from laboratory.record import main

OPTIMIZERS = {"gradient descent": torch.optim.SGD, "Adam": torch.optim.Adam}
SIZES = {
    "gradient descent": [2.0**power for power in range(-6, 12)],
    "Adam": [2.0**power for power in range(-13, 3)],
}
# Without a divisor softmax is saturated, and small step sizes are the best in many steps.
SMALL = {
    "gradient descent": [2.0**power for power in range(-10, -2, 2)],
    "Adam": [2.0**power for power in range(-15, -7, 2)],
}


def losses_after(optimizer: str, divisor: float, d_k: int, size: float, steps: int) -> Tensor:
    """The loss of each seed after this many steps: (seeds,)."""
    X = normal(SEEDS, TOKENS, WIDTH, seed=1, dtype=torch.float32)
    start = normal(2, SEEDS, WIDTH, d_k, seed=2, dtype=torch.float32) / WIDTH**0.5
    W = start.requires_grad_()
    identity = torch.eye(TOKENS, dtype=torch.float32)

    def losses() -> Tensor:
        scores = (X @ W[0]) @ (X @ W[1]).mT / divisor
        squares: Tensor = (scores.softmax(-1) - identity).square()
        return squares.sum(-1).mean(-1)

    steps_of = OPTIMIZERS[optimizer]([W], lr=size)
    for _ in range(steps):
        steps_of.zero_grad()
        losses().sum().backward()
        steps_of.step()
    return losses().detach()


def run(optimizer: str, divisor: str, d_k: int, size: float, steps: int) -> Row:
    """A row: what was trained, and the loss of every seed."""
    number = {"1": 1.0, "√d_k": d_k**0.5, "d_k": float(d_k)}[divisor]
    losses = losses_after(optimizer, number, d_k, size, steps)
    return {
        "optimizer": optimizer,
        "divisor": divisor,
        "d_k": d_k,
        "step size": size,
        "steps": steps,
        "losses": [round(one, 4) for one in losses.tolist()],
    }


def rows(dimensions: Sequence[int] = DIMENSIONS) -> Iterator[Row]:
    """All step sizes for every dimension, and many steps for the largest one without a divisor."""
    for optimizer, divisor, d_k in product(OPTIMIZERS, DIVISORS, dimensions):
        for size in SIZES[optimizer]:
            yield run(optimizer, divisor, d_k, size, SHORT)
    for optimizer in OPTIMIZERS:
        for size in SMALL[optimizer]:
            for steps in (SHORT, LONG):
                yield run(optimizer, "1", dimensions[-1], size, steps)


if __name__ == "__main__":
    main("divisors", rows())
