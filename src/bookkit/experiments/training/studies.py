"""The studies of chapters 15 and 16: `python -m bookkit.experiments.training.studies --help`

language: model source code in short windows, read windows four times as long.
lengths:  learn a task at short lengths, answer it at lengths up to twice as long.
recall:   learn which value belongs to which key, in lists that grow during the first half of the
          training; ask at every depth of lists up to four times as long as the longest.
longer:   as language, with four times the steps, at one rate and seed.

Every scheme, three learning rates, five seeds; models of one seed start from the same weights and
see the same batches, so that they can be compared in pairs. Each finished fleet writes its rows; a
run that was stopped, or that used up its `--minutes`, goes on where it was.
"""

import argparse
import dataclasses
import itertools
import json
import multiprocessing
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attention_to_rope import (
    dynamic_ntk,
    llama3,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    rotary_frequencies,
    yarn,
    yarn_attention_factor,
)
from attention_to_rope.transformer import Architecture
from bookkit.experiments.training import corpus, recall, tasks
from bookkit.experiments.training.fleet import (
    KINDS,
    SCHEMES,
    TRAINED_KINDS,
    Fleet,
    Member,
    build,
    forward,
    losses,
    stream,
)
from bookkit.experiments.training.schedule import Schedule

COMMAND = "python -m bookkit.experiments.training.studies"
RESULTS = Path(__file__).parents[1] / "results" / "training"
TESTS_TAKE = 0.2  # of the time of training, about
UNTIMED = 10  # the first steps load kernels, and say nothing about how long the others take
BETAS, EPSILON, DECAY, CLIP = (0.9, 0.98), 1e-8, 0.01, 1.0

Row = dict[str, Any]
Arrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]
Draw = Callable[[np.random.Generator, float], Arrays]  # a batch, at this share of the training


@dataclasses.dataclass(frozen=True)
class Study:
    """The models, training and tests of one study."""

    architecture: Architecture
    steps: int
    batch: int
    length: int  # of a training window, in bytes; of a task; of a list, in pairs
    extension: int  # tests go to this many times the length
    tests: int  # windows; examples for each length; examples for each length and depth
    rates: tuple[float, ...]
    warm_up: int
    schemes: tuple[str, ...] = tuple(SCHEMES)


def _model(d: int, heads: int, layers: int) -> Architecture:
    return Architecture(d=d, heads=heads, layers=layers, norm="rms", activation="gelu")


RATES = (3e-4, 1e-3, 3e-3)
# The five that Kazemnejad et al. (2023) compare; their absolute encoding is the sinusoid.
PUBLISHED = ("none", "sinusoidal", "RoPE", "T5", "ALiBi")
TEXT_STUDIES = ("language", "longer")
SIZES: dict[str, dict[str, Study]] = {
    "full": {
        "language": Study(_model(256, 8, 4), 1000, 16, 256, 4, 256, RATES, 100),
        "lengths": Study(_model(128, 8, 4), 1000, 64, 16, 2, 500, RATES, 100),
        "recall": Study(_model(128, 8, 4), 3000, 32, 32, 4, 64, (5e-4, 1e-3, 2e-3), 100),
        # The same as `language`, four times as long, at the middle rate, one seed.
        "longer": Study(_model(256, 8, 4), 4000, 16, 256, 4, 256, RATES[1:2], 100),
    },
    # A task of `lengths` in some minutes of one core.
    "laptop": {
        "lengths": Study(_model(64, 4, 2), 800, 32, 6, 2, 200, RATES[2:], 100, PUBLISHED),
    },
    "small": {
        "language": Study(_model(32, 2, 2), 40, 4, 32, 4, 8, (5e-3,), 10),
        "lengths": Study(_model(32, 2, 2), 60, 16, 6, 2, 50, (5e-3,), 10),
        "recall": Study(_model(32, 2, 2), 40, 8, 4, 4, 8, (5e-3,), 10),
        "longer": Study(_model(32, 2, 2), 80, 4, 32, 4, 8, (5e-3,), 10),
    },
}
BINS = 32  # the loss by position is averaged over this many bins
DEPTHS = 8
QUESTIONS = 8


class Job(NamedTuple):
    """One fleet: all rates and seeds of the schemes of one kind, in one study."""

    study: str
    task: str | None
    kind: str
    seeds: tuple[int, ...]


class OutOfTimeError(Exception):
    """The time that was given does not suffice for this fleet."""


def plan(
    size: str,
    studies: list[str],
    seeds: int,
    kinds: Sequence[str] = KINDS,
    of_lengths: Sequence[str] = tuple(tasks.STUDIED),
) -> list[Job]:
    """Every fleet of these kinds and tasks, in the order in which they are begun."""
    every = tuple(range(seeds))
    jobs = []
    for study in studies:
        used = every[:1] if study == "longer" else every
        for task in of_lengths if study == "lengths" else [None]:
            jobs += [Job(study, task, kind, used) for kind in kinds]
    return [job for job in jobs if members(job, SIZES[size][job.study])]


def members(job: Job, study: Study) -> list[Member]:
    """The models of a fleet; position parameters learn at the common rate, and at ten times it."""
    own = [name for name in study.schemes if SCHEMES[name].kind == job.kind]
    faster = (1.0, 10.0) if job.kind in TRAINED_KINDS else (1.0,)
    return [
        Member(name, seed, rate, position_rate)
        for name, rate, position_rate, seed in itertools.product(
            own, study.rates, faster, job.seeds
        )
    ]


def longest_input(job: Job, study: Study) -> int:
    """The most tokens that a model of this job ever reads."""
    if job.task is not None:
        return tasks.tokens_needed(job.task, study.length * study.extension)
    if job.study == "recall":
        test = recall.width(study.length * study.extension, 1)
        return max(test, recall.width(study.length, QUESTIONS))
    return study.length * study.extension + 1


def trained_tokens(job: Job, study: Study) -> int:
    """The most tokens that a model of this job reads in training."""
    if job.task is not None:
        return tasks.tokens_needed(job.task, study.length)
    return recall.width(study.length, QUESTIONS) if job.study == "recall" else study.length


def batches(job: Job, study: Study, file: Path | None) -> Draw:
    """What draws tokens (B, N) and the mask of the scored ones (B, N)."""
    if job.task is not None:
        task, wide = job.task, tasks.tokens_needed(job.task, study.length)

        def draw(rng: np.random.Generator, done: float) -> Arrays:
            chosen = rng.integers(1, study.length + 1, size=study.batch)
            return tasks.batch(task, chosen, rng, wide)
    elif job.study == "recall":

        def draw(rng: np.random.Generator, done: float) -> Arrays:
            longest = recall.longest_list(study.length, done)
            wide = recall.width(study.length, QUESTIONS)
            return recall.training_batch(study.batch, longest, QUESTIONS, rng, wide)
    else:
        text = corpus.pinned(file).train

        def draw(rng: np.random.Generator, done: float) -> Arrays:
            tokens = corpus.windows(text, study.batch, study.length + 1, rng)
            return tokens, np.ones(tokens.shape, dtype=bool)

    return draw


def _shared(fleet: Fleet, arrays: dict[int, Arrays]) -> tuple[Tensor, Tensor]:
    """Batches by seed, handed to the models of that seed, (M, B, N) each."""
    seeds = sorted(arrays)
    order = np.array([seeds.index(member.seed) for member in fleet.members])
    stacked = [np.stack([arrays[seed][part] for seed in seeds]) for part in (0, 1)]
    tokens, scored = (_to_device(array, fleet)[_to_device(order, fleet)] for array in stacked)
    return tokens, scored


def _to_device(array: npt.NDArray[Any], fleet: Fleet) -> Tensor:
    """A copy to a GPU that does not wait for what the GPU is doing."""
    tensor, device = torch.from_numpy(array), fleet.frequencies.device
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def _autocast(fleet: Fleet) -> torch.autocast:
    device = fleet.frequencies.device.type
    return torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda")


def mean_losses(fleet: Fleet, tokens: Tensor, scored: Tensor) -> Tensor:
    """The mean loss of each model over its scored tokens, (M,)."""
    weight = scored[..., 1:].float()
    with _autocast(fleet):
        each = losses(fleet, tokens)
    return (each * weight).sum((1, 2)) / weight.sum((1, 2))


def _by_model(values: Tensor, name: str, like: Tensor) -> Tensor:
    """One number a model (M,), shaped to multiply a stacked weight."""
    axis = 1 if name.startswith("block.") else 0
    shape = [1] * like.ndim
    shape[axis] = -1
    return values.reshape(shape)


def train(fleet: Fleet, draw: Draw, study: Study, deadline: float) -> list[float]:
    """Train all models in place with AdamW, each at its own rate; the last mean losses."""
    device = fleet.frequencies.device
    rngs = {seed: stream(seed, "batches") for seed in {m.seed for m in fleet.members}}
    rates = torch.tensor([member.rate for member in fleet.members], device=device)
    faster = torch.tensor([member.position_rate for member in fleet.members], device=device)
    shape = Schedule(study.steps, 1.0, study.warm_up)
    means = {name: torch.zeros_like(w) for name, w in fleet.weights.items()}
    squares = {name: torch.zeros_like(w) for name, w in fleet.weights.items()}
    started, late, recent = time.perf_counter(), 20, torch.zeros(len(rates), device=device)
    for step in range(study.steps):
        done = step / study.steps
        tokens, scored = _shared(fleet, {seed: draw(rng, done) for seed, rng in rngs.items()})
        loss = mean_losses(fleet, tokens, scored)
        gradients = torch.autograd.grad(loss.sum(), list(fleet.weights.values()))
        with torch.no_grad():
            _update(fleet, gradients, means, squares, rates * shape.rate_at(step), faster, step)
            if step >= study.steps - late:
                recent += loss / min(late, study.steps)
        if step == UNTIMED or step % 50 == 40 or time.time() > deadline:
            float(loss[0].detach())  # wait for the device, or its queue hides the time
            if step == UNTIMED:
                started = time.perf_counter()
                continue
            per_step = (time.perf_counter() - started) / max(1, step - UNTIMED)
            needed = per_step * (study.steps - step)
            if time.time() + needed + TESTS_TAKE * study.steps * per_step > deadline:
                raise OutOfTimeError(
                    f"{per_step * 1e3:.1f} ms a step, {needed:.0f} s more for {study.steps} steps"
                )
    return [float(value) for value in recent]


def _update(
    fleet: Fleet,
    gradients: tuple[Tensor, ...],
    means: dict[str, Tensor],
    squares: dict[str, Tensor],
    rates: Tensor,
    faster: Tensor,
    step: int,
) -> None:
    """One step of AdamW for every model, its gradient cut to norm 1 first."""
    total = torch.zeros_like(rates)
    for name, gradient in zip(fleet.weights, gradients, strict=True):
        axis = 1 if name.startswith("block.") else 0
        others = [i for i in range(gradient.ndim) if i != axis]
        total += gradient.square().sum(others)
    cut = (CLIP / (total.sqrt() + 1e-6)).clamp(max=1.0)
    low, high = 1 - BETAS[0] ** (step + 1), 1 - BETAS[1] ** (step + 1)
    for (name, weight), gradient in zip(fleet.weights.items(), gradients, strict=True):
        rate = _by_model(rates * faster if name == "position" else rates, name, weight)
        gradient = gradient * _by_model(cut, name, weight)
        means[name].lerp_(gradient, 1 - BETAS[0])
        squares[name].lerp_(gradient.square_(), 1 - BETAS[1])
        change = means[name] / (squares[name] / high).sqrt_().add_(EPSILON)
        weight.mul_(1 - rate * DECAY).sub_(change.mul_(rate / low))


Methods = dict[str, tuple[Tensor, float]]


def extensions(architecture: Architecture, base: float, scale: float, length: int) -> Methods:
    """Frequencies and attention factor of each way to stretch RoPE, all without further training.

    length: the tokens of a training input. Llama 3 with the limits of turns that Llama 3.1 has.
    """
    theta = rotary_frequencies(architecture.d // architecture.heads, base)
    whole = round(length * scale)
    by_parts = ntk_by_parts(theta, scale, original_length=length)
    whole_ntk = dynamic_ntk(theta, scale, length=whole, original_length=length)
    ramp = yarn(theta, scale, original_length=length)
    return {
        "PI": (position_interpolation(theta, scale), 1.0),
        "NTK-aware": (ntk_aware(theta, scale), 1.0),
        "NTK-by-parts": (by_parts, 1.0),
        "dynamic NTK, fixed": (whole_ntk, 1.0),
        "Llama 3": (llama3(theta, scale, original_length=length), 1.0),
        "YaRN without its factor": (ramp, 1.0),
        "YaRN": (ramp, yarn_attention_factor(scale)),
    }


def stretched_fleets(fleet: Fleet, scale: float, length: int) -> Iterator[tuple[str, Fleet]]:
    """The fleet with every method, in all its layers that turn."""
    base = SCHEMES[fleet.members[0].scheme].base
    for name, (theta, factor) in extensions(fleet.architecture, base, scale, length).items():
        yield name, fleet.stretched(theta, factor)


def at_a_time(fleet: Fleet, length: int) -> int:
    """How many sequences of this length all models together read at once, by memory."""
    models, gpu = len(fleet.members), fleet.frequencies.device.type == "cuda"
    few = (2**20 if gpu else 2**15) // (models * length)
    if fleet.kind in ("T5", "ALiBi"):  # their scores are kept as a whole
        scores = models * fleet.architecture.heads * length**2
        few = min(few, (2**29 if gpu else 2**25) // scores)
    return max(1, few)


def loss_table(fleet: Fleet, text: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The loss of every model at every position, averaged over windows (W, N + 1) → (M, N)."""
    device, models = fleet.frequencies.device, len(fleet.members)
    total = torch.zeros(models, text.shape[1] - 1, dtype=torch.float64)
    few = at_a_time(fleet, text.shape[1])
    with torch.no_grad(), _autocast(fleet):
        for start in range(0, len(text), few):
            piece = torch.from_numpy(text[start : start + few]).to(device)
            each = losses(fleet, piece.expand(models, *piece.shape))
            total += each.double().sum(1).cpu()
    return (total / len(text)).numpy()


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _bins(table: npt.NDArray[np.float64]) -> list[list[float]]:
    return [_rounded(row) for row in table.reshape(len(table), BINS, -1).mean(-1)]


def flat(fleet: Fleet, text: npt.NDArray[np.int64], length: int) -> list[list[float]]:
    """The loss by bin of a model that is shown at most its training length.

    Past it, each bin is read with the `length` bytes that end with the bin: the same bytes to
    predict, no new position. What a curve lies above this is the price of the new positions.
    """
    wide = (text.shape[1] - 1) // BINS
    inside = loss_table(fleet, text[:, : length + 1]).reshape(len(fleet.members), -1, wide).mean(-1)
    later = [
        loss_table(fleet, text[:, stop - length : stop + 1])[:, -wide:].mean(-1)
        for stop in range(length + wide, text.shape[1], wide)
    ]
    return [_rounded(row) for row in np.column_stack([inside, *later])]


def dynamic(fleet: Fleet, text: npt.NDArray[np.int64], scale: float, length: int) -> Any:
    """Dynamic NTK as it is used: each bin is read with the frequencies of the length it ends at."""
    wide = (text.shape[1] - 1) // BINS
    base = SCHEMES[fleet.members[0].scheme].base
    theta = rotary_frequencies(fleet.architecture.d // fleet.architecture.heads, base)
    columns = [
        loss_table(fleet, text[:, : length + 1]).reshape(len(fleet.members), -1, wide).mean(-1)
    ]
    for stop in range(length + wide, text.shape[1], wide):
        changed = dynamic_ntk(theta, scale, length=stop, original_length=length)
        columns.append(
            loss_table(fleet.stretched(changed), text[:, : stop + 1])[:, -wide:].mean(-1)
        )
    return [_rounded(row) for row in np.column_stack(columns)]


def test_language(fleet: Fleet, study: Study, job: Job, file: Path | None) -> list[Row]:
    """Loss by position for every model; RoPE also with every method of stretching it."""
    held_out = corpus.pinned(file).held_out
    longest = study.length * study.extension
    # The same windows for every model, others to choose the rate by.
    text = corpus.windows(held_out, study.tests, longest + 1, stream(0, "test"))
    other = corpus.windows(held_out, study.tests, study.length + 1, stream(0, "validation"))
    validation = _rounded(loss_table(fleet, other).mean(1))
    curves, level = _bins(loss_table(fleet, text)), flat(fleet, text, study.length)
    found: list[Row] = [
        {"corpus": corpus.SHA256[:12], "validation": v, "loss": c, "flat": f}
        for v, c, f in zip(validation, curves, level, strict=True)
    ]
    scale = float(study.extension)
    for indices in _rotary_groups(fleet):
        some = fleet.subset(indices)
        tables = {
            name: _bins(loss_table(changed, text))
            for name, changed in stretched_fleets(some, scale, study.length)
        }
        tables["dynamic NTK"] = dynamic(some, text, scale, study.length)
        for place, index in enumerate(indices):
            found[index]["extended"] = {name: table[place] for name, table in tables.items()}
    return found


def _rotary_groups(fleet: Fleet) -> list[list[int]]:
    """The models whose RoPE can be stretched as a whole, by scheme."""
    groups = []
    for name in ("RoPE", "RoPE, raised base", "hybrid"):
        indices = [i for i, member in enumerate(fleet.members) if member.scheme == name]
        if indices:
            groups.append(indices)
    return groups


def right_answers(fleet: Fleet, arrays: Arrays) -> npt.NDArray[np.bool_]:
    """Whether each model answers each example rightly to the last token, (M, B).

    If every token of the answer is the best guess after the true ones, greedy decoding writes
    exactly the answer.
    """
    device, models = fleet.frequencies.device, len(fleet.members)
    right = []
    few = at_a_time(fleet, arrays[0].shape[1])
    with torch.no_grad(), _autocast(fleet):
        for start in range(0, len(arrays[0]), few):
            tokens, scored = (torch.from_numpy(a[start : start + few]).to(device) for a in arrays)
            best = forward(fleet, tokens[:, :-1].expand(models, -1, -1)).argmax(-1)
            right.append(((best == tokens[:, 1:]) | ~scored[:, 1:]).all(-1).cpu())
    return torch.cat(right, dim=1).numpy()


Tests = dict[str, Arrays]


def test_answers(
    fleet: Fleet, study: Study, job: Job, tests: Tests, depths: int, validation: Arrays
) -> list[Row]:
    """The share of right answers in each test, by depth if there are several."""

    def shares(some: Fleet) -> list[dict[str, Any]]:
        table: list[dict[str, Any]] = [{} for _ in some.members]
        for name, arrays in tests.items():
            right = right_answers(some, arrays).reshape(len(some.members), depths, -1).mean(-1)
            for row, values in zip(table, right, strict=True):
                row[name] = _rounded(values) if depths > 1 else _rounded(values)[0]
        return table

    with torch.no_grad():
        both = (torch.from_numpy(array).to(fleet.frequencies.device) for array in validation)
        shown = [part.expand(len(fleet.members), -1, -1) for part in both]
        chosen_by = mean_losses(fleet, shown[0], shown[1])
    found: list[Row] = [
        {"validation": round(float(loss), 5), "accuracy": share}
        for loss, share in zip(chosen_by, shares(fleet), strict=True)
    ]
    for indices in _rotary_groups(fleet):
        some = fleet.subset(indices)
        length = trained_tokens(job, study)
        for name, changed in stretched_fleets(some, float(study.extension), length):
            for index, share in zip(indices, shares(changed), strict=True):
                found[index].setdefault("extended", {})[name] = share
    return found


def evaluate(fleet: Fleet, study: Study, job: Job, file: Path | None) -> list[Row]:
    """What is measured of every model, in the order of the fleet."""
    if job.study in TEXT_STUDIES:
        return test_language(fleet, study, job, file)
    rng, other = stream(0, "test"), stream(0, "validation")
    validation = batches(job, dataclasses.replace(study, batch=study.tests), file)(other, 1.0)
    longest = study.length * study.extension
    if job.task is not None:
        shortest = 2 if study.length > 2 else 1
        tests = {
            str(n): tasks.batch(job.task, np.full(study.tests, n), rng)
            for n in range(shortest, longest + 1, 2)
        }
        return test_answers(fleet, study, job, tests, 1, validation)
    counts = [study.length * s // 2 for s in range(1, 2 * study.extension + 1) if s & (s - 1) == 0]
    tests = {str(n): recall.test_batch(n, DEPTHS, study.tests, rng) for n in counts}
    return test_answers(fleet, study, job, tests, DEPTHS, validation)


def work(
    job: Job, size: str, device: str, file: Path | None, deadline: float
) -> tuple[list[Row], str]:
    """Train and test one fleet: its rows and a line that tells how it went."""
    study, started = SIZES[size][job.study], time.perf_counter()
    name = " ".join(filter(None, (job.study, job.task, job.kind)))
    if device.startswith("cuda"):
        torch.set_float32_matmul_precision("high")
    models = members(job, study)
    if time.time() > deadline:
        return [], f"{name}: left out, the time was used up before it began"
    vocabulary = 256 if job.task is None else tasks.STUDIED_VOCABULARY
    vocabulary = recall.VOCABULARY if job.study == "recall" else vocabulary
    fleet = build(study.architecture, vocabulary, models, longest_input(job, study), device)
    try:
        last = train(fleet, batches(job, study, file), study, deadline)
    except OutOfTimeError as error:
        return [], f"{name}: left out, {len(models)} models would take {error}"
    trained = time.perf_counter() - started
    found = evaluate(fleet, study, job, file)
    seconds = time.perf_counter() - started
    about = {
        "size": size,
        "steps": study.steps,
        "seconds": round(seconds / len(models), 2),
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else "CPU",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "command": _command(job, size),
    }
    rows = [
        {
            "study": job.study,
            **({"task": job.task} if job.task else {}),
            **member._asdict(),
            "training_loss": round(loss, 4),
            **measured,
            **about,
        }
        for member, loss, measured in zip(models, last, found, strict=True)
    ]
    return rows, f"{name}: {len(models)} models, {trained:.0f} s to train, {seconds:.0f} s in all"


def _command(job: Job, size: str) -> str:
    """The call that trains this job's fleet alone."""
    task = f' --tasks "{job.task}"' if job.task else ""
    chosen = f"--study {job.study}{task} --kinds {job.kind} --seeds {len(job.seeds)}"
    return f"{COMMAND} --size {size} {chosen}"


def identity(row: Row) -> tuple[Any, ...]:
    """What makes two rows the same run."""
    keys = ("size", "study", "task", "scheme", "rate", "position_rate", "seed")
    return tuple(row.get(key) for key in keys)


def read_rows(path: Path) -> list[Row]:
    """The rows of a results file; none if it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def to_do(jobs: list[Job], size: str, rows: list[Row]) -> list[Job]:
    """The jobs with a model that has no row yet."""
    done = {identity(row) for row in rows}
    return [
        job
        for job in jobs
        if any(
            identity({"size": size, "study": job.study, "task": job.task, **member._asdict()})
            not in done
            for member in members(job, SIZES[size][job.study])
        )
    ]


def add_choices(parser: argparse.ArgumentParser) -> None:
    """What to train, where and how long: for recording, and for doing it again."""
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--study", choices=list(SIZES["full"]), nargs="*", help="(default: all)")
    parser.add_argument("--kinds", choices=KINDS, nargs="*", help="of schemes (default: all)")
    parser.add_argument(
        "--tasks", choices=list(tasks.STUDIED), nargs="*", help="of lengths (default: all)"
    )
    parser.add_argument(
        "--minutes", type=float, default=1e6, help="begin nothing that takes longer; 0: nothing"
    )
    parser.add_argument("--processes", type=int, default=1, help="fleets at a time (default 1)")
    parser.add_argument("--device", help="cpu or cuda (default: cuda where there is one)")
    parser.add_argument("--corpus", type=Path, help="the bytes, from a file")


def main(arguments: list[str] | None = None) -> None:
    """Do every fleet that has no rows yet, several at a time, until the time is used up."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    add_choices(parser)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 (default 5)")
    parser.add_argument("--out", type=Path, help="results file (default: studies-SIZE.jsonl)")
    given = parser.parse_args(arguments)
    deadline = time.time() + 60 * given.minutes
    out = given.out or RESULTS / f"studies-{given.size}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    chosen = given.study or list(SIZES[given.size])
    if set(chosen) - set(SIZES[given.size]):
        parser.error(f"the size {given.size} has the studies {list(SIZES[given.size])}")
    of_lengths = given.tasks or list(tasks.STUDIED)
    jobs = plan(given.size, chosen, given.seeds, given.kinds or KINDS, of_lengths)
    run(
        jobs,
        given.size,
        out,
        device=given.device,
        file=given.corpus,
        processes=given.processes,
        deadline=deadline,
    )


def run(
    jobs: list[Job],
    size: str,
    out: Path,
    *,
    device: str | None = None,
    file: Path | None = None,
    processes: int = 1,
    deadline: float = float("inf"),
) -> None:
    """Train and test every fleet that has no rows in `out` yet, several at a time."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    left = to_do(jobs, size, read_rows(out))
    print(f"{len(left)} fleets to do, {len(jobs) - len(left)} done before", flush=True)
    if any(job.study in TEXT_STUDIES for job in left):
        corpus.pinned(file)  # say at once what is wrong with it
    calls = [(job, size, device, file, deadline) for job in left]
    if processes == 1:
        failures = _write(out, map(_work, calls))
    else:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            failures = _write(out, pool.imap_unordered(_work, calls, chunksize=1))
    if failures:
        raise SystemExit(f"{failures} fleets failed; run the same command again to try only those")


def _work(call: tuple[Job, str, str, Path | None, float]) -> tuple[list[Row], str, bool]:
    """`work`, and whether it failed: one fleet's fault must not cost the others their time."""
    try:
        rows, told = work(*call)
    except Exception:
        return [], f"{call[0]} FAILED\n{traceback.format_exc()}", True
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # other processes share this GPU
    return rows, told, False


def _write(out: Path, finished: Iterator[tuple[list[Row], str, bool]]) -> int:
    """Write the rows of each fleet at once, so that a stopped run leaves whole fleets."""
    failures = 0
    for rows, told, failed in finished:
        with out.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
        print(told, flush=True)
        failures += failed
    return failures


if __name__ == "__main__":
    main()
