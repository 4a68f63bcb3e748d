"""Are first positions and untrained buckets the reasons of two losses? For relative-positions.

    python -m laboratory.starts    # minutes on a CPU

The models, data and tests are those of `laboratory.three_back`. In the first row the sequences of
the training begin at a random position below STARTS, so that the shift of the test is no new one,
and one further shift is beyond them; without this, sinusoids lose answers when positions are
shifted. In the others the published buckets of T5 that no distance of the training reaches get
another value after the training: none (the control), that of the last bucket that it reaches, or 0.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_to_rope import t5_bucket
from bookkit.adam import adam
from bookkit.randomness import generator
from bookkit.records import Row
from bookkit.three_back import BACK, BATCH, LENGTH, LONGER, SHIFT, SYMBOLS, TESTED
from laboratory.record import main
from laboratory.three_back import SCHEMES, Models, initial, right_shares

RATE = 0.01
STARTS = 100  # the first position of a training sequence is below this
BEYOND = 500  # a shift that no training sequence had
TABLE = "scheme.table.rows"


def trained(scheme: str, seeds: int, steps: int, starts: int = 1) -> Models:
    """Models of this scheme, whose training sequences begin at positions below `starts`."""
    models = Models([initial(SCHEMES[scheme], seed) for seed in range(seeds)])
    streams = [generator(200 + seed) for seed in range(seeds)]
    first = generator(400)

    def loss(step: int) -> Tensor:
        drawn = [stream.integers(SYMBOLS, size=(BATCH, LENGTH)) for stream in streams]
        tokens = torch.stack([torch.from_numpy(one) for one in drawn])
        logits = models(tokens, first=int(first.integers(starts)))[:, :, BACK:].flatten(0, 2)
        mean = functional.cross_entropy(logits, tokens[:, :, :-BACK].flatten())
        return seeds * mean  # the sum of the losses: each model gets the gradient of its own

    adam(models.weights.values(), loss, steps, RATE)
    return models


def rows(seeds: int = 8, steps: int = TESTED[-1]) -> Iterator[Row]:
    """One row for each control, with a share of right answers for each seed."""
    about = {"rate": RATE, "steps": steps}
    with sdpa_kernel(SDPBackend.MATH):
        models = trained("Sinusoidal", seeds, steps, STARTS)
        yield about | {
            "control": "random starts",
            "as trained": right_shares(models, seeds, "cpu"),
            "shifted": right_shares(models, seeds, "cpu", first=SHIFT),
            "beyond": right_shares(models, seeds, "cpu", first=BEYOND),
        }
        models = trained("T5Bias", seeds, steps)
        reached = int(t5_bucket(-torch.arange(LENGTH), bidirectional=False).max()) + 1
        table = models.weights[TABLE]  # (seeds, buckets, heads)
        last = table.detach()[:, reached - 1 : reached].clone()
        for control, value in (("none", None), ("last", last), ("zero", torch.zeros_like(last))):
            if value is not None:
                with torch.no_grad():
                    table[:, reached:] = value
            longer = right_shares(models, seeds, "cpu", length=LONGER * LENGTH)
            yield about | {"control": f"buckets: {control}", "longer": longer}


if __name__ == "__main__":
    main("starts", rows())
