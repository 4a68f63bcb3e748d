"""The studies of chapter 16: `python -m bookkit.experiments.training.studies --help`

language: model source code in short windows, read windows four times as long.
lengths:  learn a task at short lengths, answer it at lengths up to twice as long.
recall:   learn which value belongs to which key, in lists that grow during the first half of the
          training; ask at every depth of lists up to four times as long as the longest.
longer:   as language, with four times the steps, at one rate and seed.

Every scheme, three learning rates, several seeds; models of one seed start from the same weights
and see the same batches, so that they can be compared in pairs. Each finished model writes its row;
the same command continues a run that was stopped.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from attention_to_rope import (
    ALiBi,
    Architecture,
    Decoder,
    LayerPattern,
    Learned,
    Rotary,
    Sinusoidal,
    T5Bias,
    rotary_frequencies,
)
from attention_to_rope.context_extension import llama3
from bookkit.experiments.record import RESULTS, Row, origin, recorded, write
from bookkit.experiments.training import corpus, recall, tasks

COMMAND = "python -m bookkit.experiments.training.studies"
Arrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]
Draw = Callable[[np.random.Generator, float], Arrays]  # a batch, at this share of the training
Losses = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Study:
    """The models, training and tests of one study."""

    architecture: Architecture
    steps: int
    batch: int
    length: int  # of a training window, in bytes; of a task; of a list, in pairs
    extension: int  # tests go to this many times the length
    tests: int  # windows; examples for each length; examples for each length and depth
    rates: tuple[float, ...]
    warm_up: int = 100


def _model(d: int, heads: int, layers: int) -> Architecture:
    return Architecture(d=d, heads=heads, layers=layers, norm="rms", activation="gelu")


RATES = (3e-4, 1e-3, 3e-3)
SIZES: dict[str, dict[str, Study]] = {
    "full": {
        "language": Study(_model(256, 8, 4), 1000, 16, 256, 4, 256, RATES),
        "lengths": Study(_model(128, 8, 4), 1000, 64, 16, 2, 500, RATES),
        "recall": Study(_model(128, 8, 4), 3000, 32, 32, 4, 64, (5e-4, 1e-3, 2e-3)),
        # The same as `language`, four times as long, at the middle rate, one seed.
        "longer": Study(_model(256, 8, 4), 4000, 16, 256, 4, 256, RATES[1:2]),
    },
    # A task of `lengths` in some minutes of one core.
    "laptop": {"lengths": Study(_model(64, 4, 2), 800, 32, 6, 2, 200, RATES[2:])},
    # Too small to learn anything: to see that it runs.
    "small": {
        "language": Study(_model(32, 2, 2), 20, 4, 32, 4, 8, (5e-3,), 10),
        "lengths": Study(_model(32, 2, 2), 20, 16, 6, 2, 50, (5e-3,), 10),
        "recall": Study(_model(32, 2, 2), 20, 8, 4, 4, 8, (5e-3,), 10),
    },
}
BINS = 32  # the loss by position is averaged over this many bins
DEPTHS = 8
QUESTIONS = 8


# Schemes of which all pairs rotate, and their bases; in the hybrid, in all layers but the last.
BASES = {"RoPE": 10000.0, "RoPE, raised base": 500_000.0, "hybrid": 10000.0}
ROTARY = ("RoPE", "RoPE, raised base", "partial RoPE", "p-RoPE", "hybrid")
SCHEMES = ("none", "sinusoidal", *ROTARY, "learned", "T5", "ALiBi")


def frequencies_of(scheme: str, d_k: int) -> Tensor:
    """The rotary frequencies of a scheme, 0 for pairs that do not rotate. (d_k/2,)"""
    if scheme == "partial RoPE":  # half of the pairs, with a whole spectrum of their own
        return functional.pad(rotary_frequencies(d_k // 2), (0, d_k // 4))
    theta = rotary_frequencies(d_k, BASES.get(scheme, 10000.0))
    if scheme == "p-RoPE":  # all but the slowest quarter
        theta[3 * len(theta) // 4 :] = 0
    return theta


class Job(NamedTuple):
    """One model of one study; `position_rate`: how many times faster position parameters learn."""

    study: str
    task: str | None
    scheme: str
    rate: float
    position_rate: float
    seed: int


def plan(size: str, studies: list[str], of_lengths: list[str], seeds: int) -> Iterator[Job]:
    """Every model; position parameters learn at the common rate, and at ten times it."""
    for study, scheme in itertools.product(studies, SCHEMES):
        faster = (1.0, 10.0) if scheme in ("learned", "T5") else (1.0,)
        used = range(1 if study == "longer" else seeds)
        for task in of_lengths if study == "lengths" else [None]:
            for rate, own, seed in itertools.product(SIZES[size][study].rates, faster, used):
                yield Job(study, task, scheme, rate, own, seed)


def stream(seed: int, part: str) -> np.random.Generator:
    """Independent random numbers for each part of an experiment with this seed."""
    parts = ("model", "position", "batches", "validation", "test")
    return np.random.Generator(np.random.PCG64([seed, parts.index(part)]))


def build(job: Job, study: Study, frequencies: Tensor | None = None) -> Decoder:
    """The model of a job, untrained; with other rotary frequencies if they are given."""
    a = study.architecture
    options: dict[str, Any] = {}
    position_seed = stream(job.seed, "position")
    if job.scheme in ROTARY:
        if frequencies is None:
            frequencies = frequencies_of(job.scheme, a.d // a.heads)
        rotary = Rotary(frequencies, layout="half")
        options["position"] = rotary
        if job.scheme == "hybrid":
            rotated = [LayerPattern(position=rotary)] * (a.layers - 1)
            options = {"layers": [*rotated, LayerPattern()]}
    elif job.scheme == "sinusoidal":
        options["position"] = Sinusoidal()
    elif job.scheme == "learned":
        options["position"] = Learned(longest_input(job, study), a.d, seed=position_seed)
    elif job.scheme == "T5":
        options["position"] = T5Bias(a.heads, bidirectional=False, seed=position_seed)
    elif job.scheme == "ALiBi":
        options["position"] = ALiBi(a.heads)
    vocabulary = 256 if job.task is None else tasks.STUDIED_VOCABULARY
    vocabulary = recall.VOCABULARY if job.study == "recall" else vocabulary
    return Decoder(vocabulary, a, seed=stream(job.seed, "model"), **options)


def longest_input(job: Job, study: Study) -> int:
    """The most tokens that a model of this job ever reads."""
    if job.task is not None:
        return tasks.tokens_needed(job.task, study.length * study.extension)
    if job.study == "recall":
        return recall.width(study.length * study.extension, 1)
    return study.length * study.extension + 1


def trained_tokens(job: Job, study: Study) -> int:
    """The most tokens that a model of this job reads in training."""
    if job.task is not None:
        return tasks.tokens_needed(job.task, study.length)
    return recall.width(study.length, QUESTIONS) if job.study == "recall" else study.length


def batches(job: Job, study: Study) -> Draw:
    """What draws tokens (B, N) and the mask of the scored ones (B, N)."""

    def draw(rng: np.random.Generator, done: float) -> Arrays:
        wide = trained_tokens(job, study)
        if job.task is not None:
            chosen = rng.integers(1, study.length + 1, size=study.batch)
            return tasks.batch(job.task, chosen, rng, wide)
        if job.study == "recall":
            longest = recall.longest_list(study.length, done)
            return recall.training_batch(study.batch, longest, QUESTIONS, rng, wide)
        tokens = corpus.windows(corpus.pinned().train, study.batch, wide + 1, rng)
        return tokens, np.ones(tokens.shape, dtype=bool)

    return draw


def _read(model: Decoder, tokens: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Logits of every next token, (B, N − 1, vocabulary), and these tokens."""
    device = model.embedding.rows.device
    shown = torch.from_numpy(tokens).to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        logits: Tensor = model(shown[:, :-1])
    return logits.float(), shown[:, 1:]


def mean_loss(model: Decoder, tokens: npt.NDArray[np.int64], scored: npt.NDArray[Any]) -> Tensor:
    """The mean loss over the scored tokens."""
    logits, wanted = _read(model, tokens)
    return functional.cross_entropy(logits[scored[:, 1:]], wanted[scored[:, 1:]])


def train(model: Decoder, draw: Draw, study: Study, job: Job) -> None:
    """AdamW with a linear warm-up, then half a cosine down to a tenth of the rate."""
    own = list(model.position.parameters())
    others = [p for p in model.parameters() if not any(p is one for one in own)]
    groups: list[dict[str, Any]] = [
        {"params": others},
        {"params": own, "lr": job.rate * job.position_rate},
    ]
    optimizer = torch.optim.AdamW(groups, lr=job.rate, betas=(0.9, 0.98), weight_decay=0.01)

    def share(step: int) -> float:
        if step < study.warm_up:
            return (step + 1) / study.warm_up
        done = (step - study.warm_up) / max(1, study.steps - study.warm_up)
        return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    rng = stream(job.seed, "batches")
    for step in range(study.steps):
        optimizer.zero_grad()
        mean_loss(model, *draw(rng, step / study.steps)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


def stretched(model: Decoder, study: Study, job: Job, measure: Callable[[Decoder], Any]) -> Row:
    """What is measured of the model with Llama 3's rule, not trained further; {} without RoPE."""
    if job.scheme not in BASES:
        return {}
    theta = frequencies_of(job.scheme, study.architecture.d // study.architecture.heads)
    scale, length = float(study.extension), trained_tokens(job, study)
    other = build(job, study, llama3(theta, scale, original_length=length))
    other.load_state_dict(model.state_dict())
    return {"extended": {"Llama 3": measure(other.to(model.embedding.rows.device))}}


@torch.no_grad()
def loss_table(model: Decoder, text: npt.NDArray[np.int64]) -> Losses:
    """The loss at every position, averaged over windows (W, N + 1) → (N,)."""
    total, few = torch.zeros(text.shape[1] - 1, dtype=torch.float64), max(1, 2**16 // text.shape[1])
    for start in range(0, len(text), few):
        logits, wanted = _read(model, text[start : start + few])
        each = functional.cross_entropy(logits.mT, wanted, reduction="none")
        total += each.double().sum(0).cpu()
    return (total / len(text)).numpy()


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _bins(table: Losses) -> list[float]:
    return _rounded(table.reshape(BINS, -1).mean(-1))


def flat_curve(model: Decoder, text: npt.NDArray[np.int64], length: int) -> list[float]:
    """The loss by bin, where past `length` each bin is read in a window that ends with it."""
    wide = (text.shape[1] - 1) // BINS
    inside = loss_table(model, text[:, : length + 1]).reshape(-1, wide).mean(-1)
    later = [
        loss_table(model, text[:, stop - length : stop + 1])[-wide:].mean()
        for stop in range(length + wide, text.shape[1], wide)
    ]
    return _rounded([*inside, *later])


def test_language(model: Decoder, study: Study, job: Job) -> Row:
    """Loss by position; RoPE also stretched.

    flat: the loss when the model is shown at most its training length, the bytes that end with the
    bin. What a curve lies above it is the price of the new positions.
    """
    held_out, length = corpus.pinned().held_out, study.length
    # The same windows for every model, others to choose the rate by.
    text = corpus.windows(held_out, study.tests, length * study.extension + 1, stream(0, "test"))
    other = corpus.windows(held_out, study.tests, length + 1, stream(0, "validation"))
    row: Row = {
        "corpus": corpus.SHA256[:12],
        "validation": round(float(loss_table(model, other).mean()), 4),
        "loss": _bins(loss_table(model, text)),
        "flat": flat_curve(model, text, length),
    }
    return row | stretched(model, study, job, lambda other: _bins(loss_table(other, text)))


@torch.no_grad()
def right_answers(model: Decoder, arrays: Arrays) -> npt.NDArray[np.bool_]:
    """Whether each example is answered rightly to the last token, (B,).

    If every token of the answer is the best guess after the true ones, greedy decoding writes
    exactly the answer.
    """
    tokens, scored = arrays
    logits, wanted = _read(model, tokens)
    right = (logits.argmax(-1) == wanted).cpu().numpy() | ~scored[:, 1:]
    return np.asarray(right.all(-1))


def test_answers(model: Decoder, study: Study, job: Job) -> Row:
    """The share of right answers in tests of every length, by depth for recall."""
    rng, longest = stream(0, "test"), study.length * study.extension
    if job.task is not None:
        depths = 1
        tests = {
            n: tasks.batch(job.task, np.full(study.tests, n), rng) for n in range(2, longest + 1, 2)
        }
    else:
        depths = DEPTHS
        halves = [study.length // 2 * 2**power for power in range(study.extension.bit_length() + 1)]
        tests = {n: recall.test_batch(n, DEPTHS, study.tests, rng) for n in halves}

    def shares(model: Decoder) -> Row:
        table = {
            str(n): _rounded(right_answers(model, one).reshape(depths, -1).mean(-1))
            for n, one in tests.items()
        }
        return table if depths > 1 else {n: values[0] for n, values in table.items()}

    draw = batches(job, replace(study, batch=study.tests))
    with torch.no_grad():
        validation = float(mean_loss(model, *draw(stream(0, "validation"), 1.0)))
    row: Row = {"validation": round(validation, 5), "accuracy": shares(model)}
    return row | stretched(model, study, job, shares)


def work(job: Job, size: str, device: str = "cpu") -> Row:
    """Train and test one model."""
    study = SIZES[size][job.study]
    model = build(job, study).to(device)
    train(model, batches(job, study), study, job)
    test = test_language if job.study in ("language", "longer") else test_answers
    print(*job, flush=True)
    return {**job._asdict(), **test(model, study, job), "size": size, "steps": study.steps}


def main(arguments: list[str] | None = None) -> None:
    """Train and test every model that has no row yet."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--study", choices=list(SIZES["full"]), nargs="*", help="(default: all)")
    parser.add_argument(
        "--tasks", choices=list(tasks.STUDIED), nargs="*", default=list(tasks.STUDIED)
    )
    parser.add_argument("--schemes", choices=SCHEMES, nargs="*", default=SCHEMES)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 (default 5)")
    parser.add_argument("--out", type=Path, help="results file (default: studies-SIZE.jsonl)")
    given = parser.parse_args(arguments)
    out = given.out or RESULTS / "training" / f"studies-{given.size}.jsonl"
    studies = [study for study in given.study or SIZES[given.size] if study in SIZES[given.size]]
    done = {
        tuple(row.get(key) for key in Job._fields)
        for row in (recorded(out) if out.exists() else [])
    }
    jobs = [
        job
        for job in plan(given.size, studies, given.tasks, given.seeds)
        if job.scheme in given.schemes and job not in done
    ]
    print(f"{len(jobs)} models to train", flush=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    about = origin(f"{COMMAND} --size {given.size}", device)
    write(out, (work(job, given.size, device) for job in jobs), about, append=True)


if __name__ == "__main__":
    main()
