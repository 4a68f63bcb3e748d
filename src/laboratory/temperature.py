"""YaRN's temperature at the trained length, where no keys are added, for longer-contexts.

    python -m laboratory.temperature   # minutes on a CPU, with the book's stored model

Each row is the loss of the last 256 bytes within the trained length, on several held-out texts, for
the frequencies of one rule and one factor on the table of cosines and sines. If the factor only
made up for more keys, it could not help here; the trained frequencies are the control.
"""

from collections.abc import Iterator

import torch

from bookkit import book_model
from bookkit.records import RESULTS, Row
from bookkit.trained.model import TRAINED_LENGTH, loss_by_position
from bookkit.trained.stretching import stretched
from bookkit.trained.text import held_out
from laboratory.record import origin, write

SCALE = 4
RULES = ("none", "by parts", "Llama 3", "YaRN")
FACTORS = (0.93, 1.0, 1.07, 1.14, 1.21)  # YaRN's formula gives 1.14 for the scale 4
LAST = 256


@torch.no_grad()
def rows(texts: int = 8, length: int = TRAINED_LENGTH) -> Iterator[Row]:
    """The losses of all rules and factors, one for each text."""
    model = book_model()
    trained = model.frequencies
    tokens = [held_out(length, start=70_000 * text + 30_000) for text in range(texts)]
    for rule in RULES:
        model.frequencies = trained if rule == "none" else stretched(trained, rule, SCALE)[0]
        for factor in FACTORS:
            model.factor = factor
            losses = [loss_by_position(model, one)[0, -LAST:].mean().item() for one in tokens]
            yield {
                "rule": rule,
                "scale": SCALE,
                "factor": factor,
                "length": length,
                "loss": [round(loss, 4) for loss in losses],
            }


if __name__ == "__main__":
    about = origin("python -m laboratory.temperature")
    write(RESULTS / "trained" / "temperature.jsonl", rows(), about)
