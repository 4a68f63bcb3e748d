"""YaRN's factor on the scores with the rules that have none of their own. For stretching.

    python -m laboratory.controls FOLDER --seed 1 --device cuda   # minutes, after laboratory.train
    python -m laboratory.controls --device cuda                    # the stored model, of seed 0
    python -m laboratory.controls --texts 1 --questions 2 --cases 1,4 --file FILE   # on a CPU

A model reads texts of several lengths with the frequencies of each rule and a factor 1 + e ln s on
the tables of cosines and sines; e = 0.1 is YaRN's formula and e = 0 the control. All rules, factors
and scales read the same texts and questions of a length, and each seed others. A row has the mean
loss of the last 256 bytes of the texts, and the share of the questions whose four digits the model
recalls. It continues where it was stopped.
"""

import argparse
import hashlib
import math
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from bookkit.records import RESULTS, Row, recorded
from bookkit.trained.model import STORED, TRAINED_LENGTH, load, loss_by_position
from bookkit.trained.stretching import stretched
from bookkit.trained.text import HELD_OUT, sources_of
from laboratory.record import origin, write
from laboratory.text import packed
from laboratory.train import questions, recalled, windows
from one_file.llama import Model

FILE = RESULTS / "trained" / "controls.jsonl"
RULES = ("none", "NTK-aware", "by parts", "Llama 3", "YaRN")
EXCESSES = (0.0, 0.05, 0.1, 0.15, 0.2)
# Times the trained length, and s. The last s gives NTK-aware a safe length of four times.
CASES = ((1, 4.0), (2, 2.0), (2, 8.0), (4, 4.0), (4, 8.0), (8, 8.0), (4, 10.1))
LAST = 256
SEED = 9_000_000  # of the texts and questions that the stored model reads


def read(model: Model, tokens: Tensor) -> Tensor:
    """The loss of the end of each text."""
    parts = [loss_by_position(model, part)[:, -LAST:].mean(1) for part in tokens.split(8)]
    return torch.cat(parts)


def settings(cases: list[tuple[int, float]]) -> Iterator[tuple[str, float, int, float]]:
    """Rule, excess, times and scale of every measurement."""
    for (times, scale), rule, excess in product(cases, RULES, EXCESSES):
        # The trained frequencies are a control where no angle is new; s = 10.1 is for one rule.
        if (rule != "none" or times == 1) and (scale != 10.1 or rule == "NTK-aware"):
            yield rule, excess, times, scale


@torch.no_grad()
def rows(given: argparse.Namespace, text: Tensor) -> Iterator[Row]:
    """What the file does not have yet."""
    device = text.device
    file = STORED if given.folder is None else given.folder / f"model-{given.seed}.safetensors"
    model = load(file, device)
    trained = model.frequencies
    known = recorded(given.file) if given.file.exists() and given.file.stat().st_size else []
    names = ("seed", "rule", "excess", "times", "scale")
    done = {tuple(row[name] for name in names) for row in known}
    for rule, excess, times, scale in settings(given.cases):
        if (given.seed, rule, excess, times, scale) in done:
            continue
        length = times * TRAINED_LENGTH
        # On the CPU: the same on every device.
        draw = torch.Generator().manual_seed(SEED + given.seed)
        tokens = windows(text.cpu(), given.texts, length + 1, draw).to(device)
        asked = questions(text.cpu(), given.questions, length, draw).to(device)
        model.frequencies = trained if rule == "none" else stretched(trained, rule, scale)[0]
        model.factor = 1.0 + excess * math.log(scale)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            losses = read(model, tokens)
            right = torch.cat([recalled(model, part) for part in asked.split(8)])
        loss = losses.mean().item()
        recall = right.float().mean().item()
        print(given.seed, rule, excess, times, scale, f"{loss:.3f} {recall:.2f}", flush=True)
        yield {
            "seed": given.seed,
            "rule": rule,
            "excess": excess,
            "times": times,
            "scale": scale,
            "texts": len(losses),
            "questions": len(right),
            "loss": round(loss, 4),
            "recall": round(recall, 4),
        }


def case(words: str) -> tuple[int, float]:
    """Times and scale from "4,8"."""
    times, scale = words.split(",")
    return int(times), float(scale)


def main(arguments: list[str]) -> None:
    """Measure what is not recorded yet."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.controls", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of the weights; the stored model")
    parser.add_argument("--seed", type=int, default=0, help="of the model in the folder")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--cases", type=case, nargs="*", default=CASES, help="times,s")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--text", type=Path, help="a packed text, not the installed packages")
    parser.add_argument("--file", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    if given.folder is None and given.seed:
        parser.error(
            "the stored model has the seed 0; another seed needs the folder of its weights"
        )
    if given.text is None:
        held_out = torch.frombuffer(bytearray(sources_of(HELD_OUT)), dtype=torch.uint8)
    else:
        held_out = packed(given.text).held_out
    model = "" if given.folder is None else f" FOLDER --seed {given.seed}"
    about = origin(f"python -m laboratory.controls{model} --device {given.device}", given.device)
    about |= {"held_out_sha256": hashlib.sha256(held_out.numpy().tobytes()).hexdigest()}
    write(given.file, rows(given, held_out.to(given.device)), about, append=True)


if __name__ == "__main__":
    main(sys.argv[1:])
