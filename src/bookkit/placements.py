"""The small decoders of two experiments, `placements` and `alike`: sizes, and what they learned."""

from typing import NamedTuple

import torch
from torch import Tensor

from bookkit.records import recorded

D = 32  # the dimension of the model
BLOCKS = 18
LENGTH = 16  # bytes of a text
BATCH = 8
RATES = (0.001, 0.003, 0.01, 0.03)


def token_spread(X: Tensor) -> Tensor:
    """How much the tokens of each sequence differ: (..., N, d) to (...).

    The share of their squared length that is not common to all: 0 if all are the same vector.
    """
    apart = X - X.mean(-2, keepdim=True)
    return apart.square().sum((-2, -1)) / X.square().sum((-2, -1))


class Run(NamedTuple):
    """One kind of model in the records: every tensor has one number for each seed."""

    spread: Tensor  # between tokens, after the last block, before training
    movement: Tensor  # of the output when all weights move a little, before training
    excess: dict[float, Tensor]  # by learning rate: loss at the end − loss of byte frequencies
    differ: dict[float, Tensor]  # by learning rate: how much predictions differ between positions

    @property
    def best_rate(self) -> float:
        """The rate with the lowest median."""
        return min(self.excess, key=lambda rate: float(self.excess[rate].median()))

    @property
    def best(self) -> Tensor:
        """Loss minus that of byte frequencies, at the best rate."""
        return self.excess[self.best_rate]


# Kinds of models that both experiments trained: their placement and scale in the first one.
IN_BOTH = {
    "nothing": ("post", "largest"),
    "both": ("post", "smallest"),
    "Pre-Norm": ("pre", "largest"),
    "Pre-Norm, both": ("pre", "smallest"),
}


def learned(name: str) -> Run:
    """What `laboratory.alike` recorded of one case, with the rates of `laboratory.placements`."""
    row = {row["name"]: row for row in recorded("alike.jsonl")}[name]
    frequencies = torch.tensor(row["frequencies"])
    losses = {float(rate): torch.tensor(found) for rate, found in row["loss"].items()}
    if name in IN_BOTH:
        placement, size = IN_BOTH[name]
        rows = recorded("placements.jsonl", placement=placement)
        scales = [one["scale"] for one in rows]
        scale = max(scales) if size == "largest" else min(scales)
        losses |= {one["rate"]: torch.tensor(one["loss"]) for one in rows if one["scale"] == scale}
    return Run(
        spread=torch.tensor([by_block[-1] for by_block in row["spread"]]),
        movement=torch.tensor(row["movement"]),
        excess={rate: losses[rate] - frequencies for rate in sorted(losses)},
        differ={float(rate): torch.tensor(found) for rate, found in row["differ"].items()},
    )


def with_warm_up(
    placement: str, blocks: int, warm_up: int, steps: int, *, small: bool = False
) -> dict[float, Tensor]:
    """What `laboratory.warm_up` recorded: loss − that of byte frequencies by rate, for each seed.

    small: the initial matrices have DeepNorm's scale for so many blocks, and not 1.
    """
    (control,) = recorded("warm_up.jsonl", placement="byte frequencies")
    place = control["tested"].index(steps)
    rows = recorded("warm_up.jsonl", placement=placement, blocks=blocks, warm_up=warm_up)
    return {
        row["rate"]: torch.tensor(row["loss"][place]) - torch.tensor(control["loss"][place])
        for row in rows
        if (row["scale"] < 1) == small
    }
