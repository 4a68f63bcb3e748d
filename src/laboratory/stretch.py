"""Longer texts than the book's model was trained on, for every rule that stretches RoPE.

    python -m laboratory.stretch FOLDER --seed 0   # after laboratory.train, same folder

Each rule is tried as it is and after a short training at four times the trained length. Loss is
that of the last 256 bytes of held-out text; recall is the share of rows whose last line gives the
four digits of a line that is anywhere before.
"""

import argparse
import sys
from collections.abc import Iterator

import torch

from bookkit.records import Row
from bookkit.trained.model import TRAINED_LENGTH, load, loss_by_position
from bookkit.trained.stretching import stretched
from bookkit.trained.text import START
from laboratory.record import write
from laboratory.text import Text, command
from laboratory.train import questions, recalled, train, windows
from one_file.llama import Model

RULES = ("PI", "NTK-aware", "by parts", "YaRN", "YaRN without factor", "Llama 3")
TRIED_AFTER_TRAINING = ("none", "PI", "NTK-aware", "YaRN", "Llama 3")
LAST = 256
BINS = 64


@torch.no_grad()
def measure(model: Model, text: Text, times: int, seed: int, sequences: int, kept: int) -> Row:
    """Loss and recall at `times` the trained length, of which the model reads the last `kept`."""
    device = text.held_out.device
    length = times * TRAINED_LENGTH
    draw = torch.Generator(device).manual_seed(2_000_000 + seed)
    tokens = windows(text.held_out, sequences, length + 1, draw)[:, -kept - 1 :]
    asked = questions(text.held_out, 4 * sequences, length, draw)[:, -kept:]
    # A text that was cut begins like every other.
    tokens[:, 0] = START
    asked[:, 0] = START
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        losses = torch.cat(
            [loss_by_position(model, part) for part in torch.split(tokens, 16)]
        ).mean(0)
        right = torch.cat([recalled(model, part) for part in torch.split(asked, 16)]).float()
    bins = losses.view(BINS, -1).mean(1)
    return {
        "times": times,
        "loss": round(losses[-LAST:].mean().item(), 4),
        "recall": round(right.mean().item(), 4),
        "bins": [round(one, 3) for one in bins.tolist()],
    }


def untouched(model: Model, text: Text, seed: int, sequences: int) -> Iterator[Row]:
    """Every rule without further training, at every length up to its factor.

    "none" reads the whole text as trained, "cut" only its last part, as long as in training.
    """
    trained = model.frequencies
    for times in (1, 2, 4, 8):
        for rule in ("none", "cut"):
            kept = TRAINED_LENGTH * (times if rule == "none" else 1)
            found = measure(model, text, times, seed, sequences, kept)
            yield {"rule": rule, "factor": 1, "steps": 0, **found}
    for rule in RULES:
        for scale in (2, 4, 8):
            model.frequencies, model.factor = stretched(trained, rule, scale)
            for times in (one for one in (1, 2, 4, 8) if one <= scale):
                found = measure(model, text, times, seed, sequences, times * TRAINED_LENGTH)
                yield {"rule": rule, "factor": scale, "steps": 0, **found}
    model.frequencies = trained
    model.factor = 1.0


def rows(given: argparse.Namespace, text: Text) -> Iterator[Row]:
    """All rows of one trained model, then of the same model trained further with each rule."""
    device = text.train.device
    file = given.folder / f"model-{given.seed}.safetensors"
    yield from untouched(load(file, device), text, given.seed, given.sequences)
    for rule in TRIED_AFTER_TRAINING:
        model = load(file, device)
        model.frequencies, model.factor = stretched(model.frequencies, rule, 4)
        sizes = {"steps": given.steps, "count": given.batch, "length": 4 * TRAINED_LENGTH}
        for _ in train(model, text, rate=5e-4, seed=3_000_000 + given.seed, **sizes):
            pass
        for times in (1, 2, 4, 8):
            kept = times * TRAINED_LENGTH
            found = measure(model, text, times, given.seed, given.sequences, kept)
            yield {"rule": rule, "factor": 4, "steps": given.steps, **found}


def main(arguments: list[str]) -> None:
    """Measure one trained model, train it further with every rule, and measure again."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.stretch", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200, help="of training at the longer length")
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--sequences", type=int, default=64)
    given, text, about = command(parser, arguments)
    about |= {"seed": given.seed}
    write(given.folder / f"stretch-{given.seed}.jsonl", rows(given, text), about)


if __name__ == "__main__":
    main(sys.argv[1:])
