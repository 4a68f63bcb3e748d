"""Which slopes, learning rates and numbers of steps ALiBi needs on the task of `three_back`.

    python -m laboratory.slopes --device cuda    # minutes; on a CPU, days
    python -m laboratory.slopes --heads 1 --steps 4 --seeds 2 --file FILE    # tries it on a CPU

The models, their data and tests are those of `laboratory.three_back`. The slopes are published
ones, ones made for this length, and others, among them one slope for all heads and 0, which gives
no positions. Every choice of slopes gets the same rates and seeds, and all models with one number
of heads are trained at once, side by side. A number of heads that the file already has is not
trained again.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_to_rope import alibi_slopes
from bookkit.randomness import generator
from bookkit.records import RESULTS, Row, recorded
from bookkit.three_back import BACK, BATCH, LENGTH, LONGER, SLOPES, SYMBOLS
from laboratory.record import origin, write
from laboratory.side_by_side import adam
from laboratory.three_back import Models, Slopes, Variant, initial, right_shares

FILE = RESULTS / "slopes.jsonl"
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
STEPS = 8000
TESTED = (500, 1000, 1500, 2000, 2500, 4000, 6000, STEPS)
TRIED: dict[int, tuple[tuple[float, ...], ...]] = {  # by the number of heads
    4: (
        tuple(alibi_slopes(4).tolist()),  # as published
        SLOPES,
        tuple(2 * slope for slope in SLOPES),
        (1.0, 0.75, 0.5, 0.25),
        (0.75,) * 4,
        (0.5,) * 4,
        (0.0,) * 4,
    ),
    2: ((1.0, 0.5), (0.75, 0.75), (0.5, 0.5), (0.0, 0.0)),
    1: tuple((slope,) for slope in (0.0, 0.125, 0.25, 0.5, 0.6, 0.7, 0.8, 1.0, 1.4, 2.0)),
}


def with_slopes(slopes: Sequence[float]) -> Variant:
    """A model with one head for each slope."""
    return Variant(lambda seed: Slopes(slopes), len(slopes))


def tested_after(steps: int) -> list[int]:
    """The numbers of steps after which a training of this length is tested."""
    return sorted({step for step in TESTED if step < steps} | {steps})


def train(heads: int, given: argparse.Namespace) -> Iterator[Row]:
    """Train all models with so many heads at once; a row for each choice and rate."""
    variants = list(product(TRIED[heads], given.rates))
    models = Models(
        [
            initial(with_slopes(slopes), seed).to(given.device)
            for slopes, _ in variants
            for seed in range(given.seeds)
        ]
    )
    rates = torch.tensor([rate for _, rate in variants], device=given.device)
    streams = [generator(200 + seed) for seed in range(given.seeds)]
    wanted = tested_after(given.steps)
    found: dict[str, list[list[list[float]]]] = {"as trained": [], "longer": []}

    def shares(length: int) -> list[list[float]]:
        """Of right answers, a list for each variant."""
        every = right_shares(
            models, given.seeds, given.device, length=length, variants=len(variants)
        )
        return [every[i : i + given.seeds] for i in range(0, len(every), given.seeds)]

    def test(step: int) -> None:
        print(heads, "heads,", step, "steps", flush=True)
        found["as trained"].append(shares(LENGTH))
        found["longer"].append(shares(LONGER * LENGTH))

    def loss(step: int) -> Tensor:
        if step in wanted:
            test(step)
        drawn = [stream.integers(SYMBOLS, size=(BATCH, LENGTH)) for stream in streams]
        own = torch.stack([torch.from_numpy(one) for one in drawn]).to(given.device)
        tokens = own.repeat(len(variants), 1, 1)  # (models, B, N)
        logits = models(tokens)[:, :, BACK:].flatten(0, 2)
        mean = functional.cross_entropy(logits, tokens[:, :, :-BACK].flatten())
        return len(tokens) * mean  # the sum of the losses: each model gets the gradient of its own

    adam(models.weights.values(), loss, given.steps, rates.repeat_interleave(given.seeds))
    test(given.steps)
    for number, (slopes, rate) in enumerate(variants):
        yield {
            "heads": heads,
            "slopes": slopes,
            "rate": rate,
            "tested": wanted,
            **{name: [tests[number] for tests in each] for name, each in found.items()},
        }


def rows(given: argparse.Namespace) -> Iterator[Row]:
    """What the file does not have yet."""
    known = recorded(given.file) if given.file.exists() and given.file.stat().st_size else []
    done = {row["heads"] for row in known}
    for heads in given.heads:
        if heads not in done:
            yield from [*train(heads, given)]  # all of them, or none


def main(arguments: list[str]) -> None:
    """Train what is not recorded yet."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.slopes", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--heads", type=int, nargs="*", choices=list(TRIED), default=list(TRIED))
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--file", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    command = f"python -m laboratory.slopes --device {given.device}"
    with sdpa_kernel(SDPBackend.MATH):  # as in `laboratory.three_back`
        write(given.file, rows(given), origin(command, given.device), append=True)


if __name__ == "__main__":
    main(sys.argv[1:])
