"""Which positional schemes learn to repeat the token three positions back? For relative-positions.

Small decoders of one layer read random tokens and must say at each position which token came three
positions earlier. They are tested as trained, with shifted positions, and on longer sequences, a
few times along their training. T5 and ALiBi have their published sizes, then sizes made for this
length; the controls have no positions, one head, or one slope for all heads.

    python -m laboratory.three_back --device cuda   # ten minutes; on a CPU, hours
    python -m laboratory.three_back --schemes T5Bias --rates 0.01 --steps 80 --file FILE

Every seed has its own initial weights, training data and test sequences, which all schemes and
learning rates share. The models of all seeds are trained at once, side by side.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_to_rope import (
    ALiBi,
    Architecture,
    Decoder,
    PositionalScheme,
    Sinusoidal,
    T5Bias,
    alibi_bias,
)
from bookkit.adam import adam
from bookkit.randomness import generator
from bookkit.records import RESULTS, Row
from bookkit.three_back import (
    BACK,
    BATCH,
    BUCKETS,
    LENGTH,
    LONGER,
    MAX_DISTANCE,
    RATES,
    SHIFT,
    SLOPES,
    SYMBOLS,
    TESTED,
)
from laboratory.record import origin, write

HEADS = 4
FITTED = {"buckets": BUCKETS, "max_distance": MAX_DISTANCE}


class Slopes(PositionalScheme):
    """ALiBi with chosen slopes, one for each head."""

    slopes: Tensor

    def __init__(self, slopes: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes, dtype=torch.float64))

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """The penalty of each head."""
        return alibi_bias(self.slopes, q_positions, k_positions)


class Variant(NamedTuple):
    """A scheme, made from a seed, and the number of heads."""

    scheme: Callable[[int], PositionalScheme]
    heads: int = HEADS


SCHEMES: dict[str, Variant] = {
    "no position": Variant(lambda seed: PositionalScheme()),
    "Sinusoidal": Variant(lambda seed: Sinusoidal()),
    "T5Bias": Variant(lambda seed: T5Bias(HEADS, bidirectional=False, seed=seed)),
    "T5Bias, fitted": Variant(lambda seed: T5Bias(HEADS, bidirectional=False, seed=seed, **FITTED)),
    "ALiBi": Variant(lambda seed: ALiBi(HEADS)),
    "ALiBi, fitted": Variant(lambda seed: Slopes(SLOPES)),
    "ALiBi, one slope": Variant(lambda seed: Slopes((0.5,) * HEADS)),
    "no position, one head": Variant(lambda seed: PositionalScheme(), 1),
    "T5Bias, one head": Variant(
        lambda seed: T5Bias(1, bidirectional=False, seed=seed, **FITTED), 1
    ),
    "ALiBi, one head": Variant(lambda seed: Slopes((0.5,)), 1),
}


def initial(variant: Variant, seed: int) -> Decoder:
    """The model of a seed before training."""
    sizes = Architecture(d=32, heads=variant.heads, layers=1, hidden=64)
    return Decoder(SYMBOLS, sizes, seed=seed, scheme=variant.scheme(100 + seed))


class Models:
    """Models with one architecture and different weights, called at once."""

    def __init__(self, models: Sequence[Decoder]) -> None:
        self.one = models[0]
        self.weights, self.buffers = stack_module_state(list(models))

    def __call__(self, tokens: Tensor, first: int = 0) -> Tensor:
        """Logits of every model for its own tokens (seeds, B, N), from the position `first`."""
        positions = torch.arange(tokens.shape[-1], device=tokens.device) + first

        def logits(weights: dict[str, Tensor], buffers: dict[str, Tensor], own: Tensor) -> Tensor:
            answer: Tensor = functional_call(
                self.one, (weights, buffers), (own,), {"positions": positions}
            )
            return answer

        return vmap(logits)(self.weights, self.buffers, tokens)


def right_shares(
    models: Callable[..., Tensor],
    seeds: int,
    device: str,
    length: int = LENGTH,
    first: int = 0,
    variants: int = 1,
) -> list[float]:
    """Each model's share of right answers in 200 test sequences of this length and first position.

    Its test sequences are its seed's own. Models: the seeds of the first variant, of the next …
    """
    drawn = [generator(300 + seed).integers(SYMBOLS, size=(200, length)) for seed in range(seeds)]
    own = torch.stack([torch.from_numpy(one) for one in drawn]).to(device)
    tokens = own.repeat(variants, 1, 1)
    with torch.no_grad():
        said = models(tokens, first=first)[:, :, BACK:].argmax(-1)
    right = (said == tokens[:, :, :-BACK]).double().mean((1, 2))
    return [round(share, 4) for share in right.tolist()]


def run(scheme: str, rate: float, seeds: int, steps: int, device: str = "cpu") -> Iterator[Row]:
    """Train a model of each seed; a row for each test of all of them, with lists of shares."""
    models = Models([initial(SCHEMES[scheme], seed).to(device) for seed in range(seeds)])
    streams = [generator(200 + seed) for seed in range(seeds)]
    found: list[Row] = []

    def test(step: int) -> None:
        found.append(
            {
                "scheme": scheme,
                "rate": rate,
                "steps": step,
                "as trained": right_shares(models, seeds, device),
                "shifted": right_shares(models, seeds, device, first=SHIFT),
                "longer": right_shares(models, seeds, device, length=LONGER * LENGTH),
            }
        )

    def loss(step: int) -> Tensor:
        if step in TESTED:
            test(step)
        drawn = [stream.integers(SYMBOLS, size=(BATCH, LENGTH)) for stream in streams]
        tokens = torch.stack([torch.from_numpy(one) for one in drawn]).to(device)
        logits = models(tokens)[:, :, BACK:].flatten(0, 2)
        mean = functional.cross_entropy(logits, tokens[:, :, :-BACK].flatten())
        return seeds * mean  # the sum of the losses: each model gets the gradient of its own

    adam(models.weights.values(), loss, steps, rate)
    test(steps)
    yield from found


def rows(given: argparse.Namespace) -> Iterator[Row]:
    """All runs."""
    for scheme in given.schemes:
        for rate in given.rates:
            yield from run(scheme, rate, given.seeds, given.steps, given.device)
            print(scheme, rate, flush=True)


def main(arguments: list[str]) -> None:
    """Train all models and write a row for each of their tests."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.three_back", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--schemes", nargs="*", default=list(SCHEMES))
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=TESTED[-1])
    parser.add_argument("--file", type=Path, default=RESULTS / "three_back.jsonl")
    given = parser.parse_args(arguments)
    command = f"python -m laboratory.three_back --device {given.device}"
    # Side by side (vmap), the memory-efficient backend refuses the gradient of attention without a
    # bias: "LSE is not correctly aligned". All schemes are computed in the same way.
    with sdpa_kernel(SDPBackend.MATH):
        write(given.file, rows(given), origin(command, given.device), append=True)


if __name__ == "__main__":
    main(sys.argv[1:])
