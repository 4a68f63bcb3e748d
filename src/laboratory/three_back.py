"""Which positional schemes learn to repeat the token three positions back? For relative-positions.

Small decoders of one layer read random tokens and must say at each position which token came three
positions earlier. They are tested as trained, with shifted positions, and on longer sequences.
`python -m laboratory.three_back` trains all runs and writes the record, in a quarter of an
hour on a CPU. Every seed has its own initial weights, training data and test sequences, which all
schemes and learning rates share.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from attention_to_rope import ALiBi, Architecture, Decoder, PositionalScheme, Sinusoidal, T5Bias
from bookkit.adam import adam
from bookkit.randomness import generator
from bookkit.records import Row
from bookkit.three_back import BACK, LENGTH, LONGER, RATES, SHIFT, SYMBOLS
from laboratory.record import main

MODEL = Architecture(d=32, heads=4, layers=1, hidden=64)
SCHEMES: dict[str, Callable[[int], PositionalScheme]] = {
    "no position": lambda seed: PositionalScheme(),
    "Sinusoidal": lambda seed: Sinusoidal(),
    "T5Bias": lambda seed: T5Bias(MODEL.heads, bidirectional=False, seed=seed),
    "ALiBi": lambda seed: ALiBi(MODEL.heads),
}


def right_share(model: Decoder, seed: int, length: int = LENGTH, first: int = 0) -> float:
    """The share of right answers in 200 test sequences of this length and first position."""
    tokens = torch.from_numpy(generator(300 + seed).integers(SYMBOLS, size=(200, length)))
    with torch.no_grad():
        said = model(tokens, positions=torch.arange(length) + first)[:, BACK:].argmax(-1)
    return float((said == tokens[:, :-BACK]).double().mean())


def run(scheme: str, rate: float, seed: int, steps: int) -> Row:
    """Train one model and test it."""
    model = Decoder(SYMBOLS, MODEL, seed=seed, scheme=SCHEMES[scheme](100 + seed))
    rng = generator(200 + seed)

    def loss(step: int) -> Tensor:
        tokens = torch.from_numpy(rng.integers(SYMBOLS, size=(24, LENGTH)))
        logits = model(tokens)[:, BACK:].flatten(0, 1)
        return functional.cross_entropy(logits, tokens[:, :-BACK].flatten())

    adam(model.parameters(), loss, steps, rate)
    return {
        "scheme": scheme,
        "rate": rate,
        "seed": seed,
        "steps": steps,
        "as trained": right_share(model, seed),
        "shifted": right_share(model, seed, first=SHIFT),
        "longer": right_share(model, seed, length=LONGER * LENGTH),
    }


def rows(seeds: int, steps: int) -> Iterator[Row]:
    """All runs, each tested at its end."""
    for scheme in SCHEMES:
        for rate in RATES:
            for seed in range(seeds):
                yield run(scheme, rate, seed, steps)


if __name__ == "__main__":
    main("three_back", rows(seeds=8, steps=500))
