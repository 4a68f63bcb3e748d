"""Which positional schemes learn to repeat the token three places before? Deeper page of chapter 9.

Small decoders of one layer read random tokens and must say at each position which token stood three
places before. They are tested as trained, with all positions moved, and on longer sequences.
`python -m bookkit.experiments.three_back` trains all runs and writes the record, in minutes on a
CPU. Every seed has its own initial weights, training data and test sequences, which all variants
share.
"""

from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from attention_to_rope import (
    ALiBi,
    Architecture,
    Block,
    Decoder,
    PositionalScheme,
    Sinusoidal,
    T5Bias,
)
from bookkit.experiments.record import Row, main
from bookkit.randomness import generator

BACK, LENGTH, SYMBOLS = 3, 14, 8
MOVED, LONGER = 50, 3  # all positions plus 50; three times as many tokens
MODEL = Architecture(d=32, heads=4, layers=1, hidden=64)
SCHEMES: dict[str, Callable[[int], PositionalScheme]] = {
    "no position": lambda seed: PositionalScheme(),
    "Sinusoidal": lambda seed: Sinusoidal(),
    "T5Bias": lambda seed: T5Bias(MODEL.heads, bidirectional=False, seed=seed),
    "ALiBi": lambda seed: ALiBi(MODEL.heads),
    "ALiBi, no feed-forward": lambda seed: ALiBi(MODEL.heads),
}


def right_share(model: Decoder, seed: int, length: int = LENGTH, first: int = 0) -> float:
    """The share of right answers in 200 test sequences of this length and first position."""
    tokens = torch.from_numpy(generator(300 + seed).integers(SYMBOLS, size=(200, length)))
    with torch.no_grad():
        said = model(tokens, positions=torch.arange(length) + first)[:, BACK:].argmax(-1)
    return float((said == tokens[:, :-BACK]).double().mean())


def run(scheme: str, seed: int, stops: tuple[int, ...]) -> Iterator[Row]:
    """Train one model and test it after each of these numbers of steps."""
    model = Decoder(SYMBOLS, MODEL, seed=seed, position=SCHEMES[scheme](100 + seed))
    if scheme.endswith("no feed-forward"):  # its output is 0 and stays 0
        (block,) = model.blocks
        assert isinstance(block, Block)
        for parameter in block.feed_forward.down.parameters():
            parameter.data.zero_()
            parameter.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer, rng = torch.optim.Adam(trained, lr=0.01), generator(200 + seed)
    for step in range(1, max(stops) + 1):
        tokens = torch.from_numpy(rng.integers(SYMBOLS, size=(24, LENGTH)))
        logits = model(tokens)[:, BACK:].flatten(0, 1)
        optimizer.zero_grad()
        functional.cross_entropy(logits, tokens[:, :-BACK].flatten()).backward()
        optimizer.step()
        if step in stops:
            yield {
                "scheme": scheme,
                "seed": seed,
                "steps": step,
                "as trained": right_share(model, seed),
                "moved": right_share(model, seed, first=MOVED),
                "longer": right_share(model, seed, length=LONGER * LENGTH),
            }


def rows(seeds: int, steps: int) -> Iterator[Row]:
    """All runs, tested after 100 steps and at the end."""
    for scheme in SCHEMES:
        for seed in range(seeds):
            yield from run(scheme, seed, (100, steps))


if __name__ == "__main__":
    main("three_back", rows, seeds=8, steps=500)
