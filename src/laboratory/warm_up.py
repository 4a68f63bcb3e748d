"""Does a warm-up of the learning rate help deep stacks? For norms-and-depth.

    python -m laboratory.warm_up --device cuda       # minutes; on a CPU, days
    python -m laboratory.warm_up --blocks 2 --steps 4 --seeds 1 --file FILE    # tries it on a CPU

The decoders and the text are those of `laboratory.alike`, at several depths, as Post-Norm and as
Pre-Norm, with initial W^V, W^O, W_1 and W_2 of scale 1 or of DeepNorm's scale for the depth. Every
learning rate is tried with several lengths of a linear warm-up, after which the rate stays
constant; the warm-up 0 is the control. A seed draws the initial weights and the text, which all
variants share, and all variants of one placement and depth are trained at once.

A row has, for every seed and after several numbers of steps, the mean loss of the last ten steps,
each on new text, and how much the tokens differ after the last block. The rows of the byte
frequencies have the loss of a prediction that only knows these. A placement and depth that the file
already has is not trained again.
"""

import argparse
import hashlib
import sys
from collections import deque
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_to_rope import deepnorm_constants
from bookkit.placements import token_spread
from bookkit.records import RESULTS, Row, recorded
from laboratory.alike import Case, batches, embed, states
from laboratory.placements import LAST, initial, norm, sources
from laboratory.record import origin, write
from laboratory.side_by_side import adam

FILE = RESULTS / "warm_up.jsonl"
PLACEMENTS = ("post", "pre")
BLOCKS = (6, 18, 36)
RATES = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
WARM_UPS = (0, 100, 400)
STEPS = 2000
TESTED = (50, 100, 200, 500, 1000, STEPS)
FREQUENCIES = "byte frequencies"


def scales(blocks: int) -> tuple[float, float]:
    """Of the initial weights: 1, and DeepNorm's β."""
    return 1.0, round(deepnorm_constants(blocks).beta, 3)


def tested_after(steps: int) -> list[int]:
    """The numbers of steps after which a training of this length is looked at."""
    return sorted({step for step in TESTED if step < steps} | {steps})


def rounded(found: list[Tensor]) -> list[list[float]]:
    """A list for each test, with one number for each seed."""
    return [[float(f"{value:.4g}") for value in values.tolist()] for values in found]


def by_frequency(seeds: int, steps: int) -> Row:
    """The losses, on the text of each test, of a prediction by the byte frequencies."""
    counts = np.bincount(sources(), minlength=256)
    surprise = -torch.from_numpy(np.log(np.maximum(counts, 1) / counts.sum()))
    recent: deque[Tensor] = deque(maxlen=LAST)
    found = []
    wanted = tested_after(steps)
    for step, tokens in enumerate(batches(range(seeds), Case(FREQUENCIES, steps=steps)), 1):
        recent.append(surprise[tokens[..., 1:]].mean((1, 2)))
        if step in wanted:
            found.append(torch.stack([*recent]).mean(0))
    return {
        "placement": FREQUENCIES,
        "steps": steps,
        "tested": wanted,
        "loss": rounded(found),
        "text_sha256": hashlib.sha256(sources().tobytes()).hexdigest(),
    }


def train(placement: str, blocks: int, given: argparse.Namespace) -> Iterator[Row]:
    """Train every scale, warm-up and rate with every seed, all at once; one row for each."""
    seeds = range(given.seeds)
    variants = list(product(scales(blocks), given.warm_ups, given.rates))
    drawn = [initial(seed, scale, blocks) for scale, _, _ in variants for seed in seeds]
    weights = [torch.stack(parts).detach().to(given.device) for parts in zip(*drawn, strict=True)]
    embedding, middle, head = (weight.requires_grad_() for weight in weights)
    warm_ups, rates = (
        torch.tensor([variant[place] for variant in variants], device=given.device)
        .repeat_interleave(given.seeds)
        .double()
        for place in (1, 2)
    )
    case = Case(placement, connection=placement, steps=given.steps)
    text = batches(seeds, case)
    wanted = tested_after(given.steps)
    recent: deque[Tensor] = deque(maxlen=LAST)
    losses: list[Tensor] = []  # (models,) at each test
    spreads: list[Tensor] = []

    def loss(step: int) -> Tensor:
        tokens = next(text).to(given.device).repeat(len(variants), 1, 1)  # (models, B, N + 1)
        x = states(embed(tokens[..., :-1], embedding), middle, case)[-1]
        logits = torch.bmm(norm(x).flatten(1, 2), head)  # (models, positions, 256)
        targets = tokens[..., 1:].flatten(1)
        each = functional.cross_entropy(logits.mT, targets, reduction="none").mean(1)
        recent.append(each.detach())
        if step + 1 in wanted:
            losses.append(torch.stack([*recent]).mean(0))
            spreads.append(token_spread(x.detach()).mean(1))
            print(placement, blocks, "blocks,", step + 1, "steps", flush=True)
        return each.sum()

    adam((embedding, middle, head), loss, given.steps, rates, warm_ups)
    for number, (scale, warm_up, rate) in enumerate(variants):
        own = slice(number * given.seeds, (number + 1) * given.seeds)
        yield {
            "placement": placement,
            "blocks": blocks,
            "scale": scale,
            "warm_up": warm_up,
            "rate": rate,
            "steps": given.steps,
            "tested": wanted,
            "loss": rounded([one[own] for one in losses]),
            "spread": rounded([one[own] for one in spreads]),
        }


def rows(given: argparse.Namespace) -> Iterator[Row]:
    """What the file does not have yet."""
    known = recorded(given.file) if given.file.exists() and given.file.stat().st_size else []
    done = {(row["placement"], row.get("blocks")) for row in known}
    if (FREQUENCIES, None) not in done:
        yield by_frequency(given.seeds, given.steps)
    for placement, blocks in product(given.placements, given.blocks):
        if (placement, blocks) not in done:
            yield from [*train(placement, blocks, given)]  # all of them, or none


def main(arguments: list[str]) -> None:
    """Train what is not recorded yet."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.warm_up", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--placements", nargs="*", choices=PLACEMENTS, default=PLACEMENTS)
    parser.add_argument("--blocks", type=int, nargs="*", default=BLOCKS)
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    parser.add_argument("--warm-ups", type=int, nargs="*", default=WARM_UPS)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--file", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    command = f"python -m laboratory.warm_up --device {given.device}"
    with sdpa_kernel(SDPBackend.MATH):  # the same arithmetic on every device
        write(given.file, rows(given), origin(command, given.device), append=True)


if __name__ == "__main__":
    main(sys.argv[1:])
