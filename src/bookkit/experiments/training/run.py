"""Run the studies: `python -m bookkit.experiments.training.run --help`."""

import argparse
import dataclasses
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attention_to_rope import (
    Rotary,
    dynamic_ntk,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    rotary_frequencies,
    yarn,
    yarn_attention_factor,
)
from attention_to_rope.transformer import Architecture, Decoder
from bookkit.experiments.training import corpus, tasks
from bookkit.experiments.training.schemes import SCHEMES
from bookkit.experiments.training.train import Schedule, losses, train

COMMAND = "python -m bookkit.experiments.training.run"
RESULTS = Path(__file__).parents[1] / "results" / "training"


@dataclasses.dataclass(frozen=True)
class Size:
    """Everything that differs between a laptop's run and the full one."""

    language: Architecture
    language_schedule: Schedule
    language_batch: int
    length: int  # bytes in a training window; tests go to `extension` times as many
    extension: int
    windows: int  # test windows
    bins: int  # the loss by position is averaged over this many bins
    task: Architecture
    task_schedule: Schedule
    task_batch: int
    task_length: int  # longest in training; tests go to twice as long
    task_examples: int  # test examples for each length


SIZES = {
    "small": Size(
        language=Architecture(d=32, heads=2, layers=2, norm="rms", activation="gelu"),
        language_schedule=Schedule(steps=80, rate=5e-3, warm_up=10),
        language_batch=8,
        length=64,
        extension=4,
        windows=16,
        bins=16,
        task=Architecture(d=32, heads=2, layers=2, norm="rms", activation="gelu"),
        task_schedule=Schedule(steps=150, rate=5e-3, warm_up=10),
        task_batch=32,
        task_length=6,
        task_examples=50,
    ),
    "full": Size(
        language=Architecture(d=256, heads=8, layers=4, norm="rms", activation="gelu"),
        language_schedule=Schedule(steps=1500, rate=1e-3, warm_up=100),
        language_batch=32,
        length=256,
        extension=4,
        windows=256,
        bins=32,
        task=Architecture(d=128, heads=8, layers=4, norm="rms", activation="gelu"),
        task_schedule=Schedule(steps=2000, rate=1e-3, warm_up=100),
        task_batch=128,
        task_length=16,
        task_examples=500,
    ),
}


def extensions(size: Size) -> dict[str, Rotary]:
    """RoPE as trained, and with each way to stretch it to the test length."""
    d_k = size.language.d // size.language.heads
    frequencies = rotary_frequencies(d_k)
    scale, length = float(size.extension), size.length
    stretched = {
        "as trained": (frequencies, 1.0),
        "PI": (position_interpolation(frequencies, scale), 1.0),
        "NTK-aware": (ntk_aware(frequencies, scale), 1.0),
        "NTK-by-parts": (ntk_by_parts(frequencies, scale, original_length=length), 1.0),
        "dynamic NTK": (
            dynamic_ntk(frequencies, scale, length=length * size.extension, original_length=length),
            1.0,
        ),
        "YaRN": (yarn(frequencies, scale, original_length=length), yarn_attention_factor(scale)),
    }
    return {
        name: Rotary(theta, layout="half", attention_factor=factor)
        for name, (theta, factor) in stretched.items()
    }


def by_position(model: Decoder, size: Size, device: str) -> list[float]:
    """The held-out loss at each part of a window `extension` times the training length."""
    _, held_out, _ = corpus.pinned()
    rng = np.random.Generator(np.random.PCG64(0))  # the same windows for every model
    longest = size.length * size.extension
    text = corpus.windows(held_out, size.windows, longest + 1, rng)
    total = torch.zeros(longest, dtype=torch.float64)
    model.eval()
    with torch.no_grad():
        for piece in np.array_split(text, max(1, size.windows // 8)):
            each = losses(model, torch.from_numpy(piece).to(device))
            total += each.double().sum(0).cpu()
    bins = (total / size.windows).reshape(size.bins, -1).mean(1)
    return [round(float(loss), 4) for loss in bins]


def language(size: Size, scheme: str, seed: int, device: str, progress: Any) -> dict[str, Any]:
    """Study (a): model source code, then read windows four times as long."""
    text, _, mark = corpus.pinned()
    longest = size.length * size.extension
    position = SCHEMES[scheme](size.language, longest + 1, seed)
    model = Decoder(256, size.language, seed=seed, position=position).to(device)

    def batches(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        tokens = corpus.windows(text, size.language_batch, size.length + 1, rng)
        return tokens, np.ones_like(tokens, dtype=bool)

    train(
        model, batches, size.language_schedule, seed=seed + 1000, device=device, progress=progress
    )
    found: dict[str, Any] = {"corpus": mark, "loss": by_position(model, size, device)}
    if scheme == "RoPE":
        found["extended"] = {}
        for name, rotary in extensions(size).items():
            model.position = rotary.to(device)
            found["extended"][name] = by_position(model, size, device)
    return found


def lengths(size: Size, scheme: str, task: str, seed: int, device: str, progress: Any) -> Any:
    """Study (b): learn a task at short lengths, answer it at lengths up to twice as long."""
    longest = 2 * size.task_length
    # One width for all tasks: a compiled step is made for one shape.
    width = tasks.tokens_needed("addition", size.task_length)
    most = max(width, tasks.tokens_needed(task, longest))
    position = SCHEMES[scheme](size.task, most, seed)
    model = Decoder(tasks.VOCABULARY, size.task, seed=seed, position=position).to(device)

    def batches(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        chosen = rng.integers(1, size.task_length + 1, size=size.task_batch)
        return tasks.batch(task, chosen, rng, width)

    train(model, batches, size.task_schedule, seed=seed + 1000, device=device, progress=progress)
    model.eval()
    rng = np.random.Generator(np.random.PCG64(0))
    accuracy = {}
    for length in range(2, longest + 1, 2):
        chosen = np.full(size.task_examples, length)
        tokens, scored = (torch.from_numpy(a).to(device) for a in tasks.batch(task, chosen, rng))
        with torch.no_grad():
            right = model(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]
        # If every token of the answer is the best guess after the true ones, greedy decoding
        # writes exactly the answer.
        accuracy[length] = round(float((right | ~scored[:, 1:]).all(1).double().mean()), 4)
    return {"accuracy": accuracy}


def plan(studies: list[str], seeds: int) -> list[dict[str, Any]]:
    """Every run, in the order in which they are done."""
    runs: list[dict[str, Any]] = []
    for seed in range(seeds):
        if "language" in studies:
            runs += [{"study": "language", "scheme": s, "seed": seed} for s in SCHEMES]
        if "lengths" in studies:
            runs += [
                {"study": "lengths", "scheme": s, "task": task, "seed": seed}
                for task in tasks.TASKS
                for s in SCHEMES
            ]
    return runs


def one(run: dict[str, Any], size_name: str, device: str, progress: Any) -> dict[str, Any]:
    """Do one run and return its row."""
    size, started = SIZES[size_name], time.perf_counter()
    if run["study"] == "language":
        found = language(size, run["scheme"], run["seed"], device, progress)
    else:
        found = lengths(size, run["scheme"], run["task"], run["seed"], device, progress)
    return {
        **run,
        "size": size_name,
        **found,
        "seconds": round(time.perf_counter() - started, 1),
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else "CPU",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"{COMMAND} --size {size_name} --study {run['study']}",
    }


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two rows the same run."""
    return tuple(row.get(key) for key in ("size", "study", "scheme", "task", "seed"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a results file; none if it does not exist."""
    if not path.exists():
        return []
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def main(arguments: list[str] | None = None) -> None:
    """Do every run that has no row yet."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--study", choices=["language", "lengths"], nargs="*", default=None)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 (default 5)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, help="results file (default results/SIZE.jsonl)")
    given = parser.parse_args(arguments)
    out = given.out or RESULTS / f"{given.size}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = given.device
    if device == "cuda":
        device = f"cuda:{int(os.environ.get('LOCAL_RANK', 0)) % torch.cuda.device_count()}"
        torch.set_float32_matmul_precision("high")
    done = {identity(row) for row in read_rows(out)}
    runs = plan(given.study or ["language", "lengths"], given.seeds)
    mine = [run for run in runs[rank::world] if identity({**run, "size": given.size}) not in done]
    print(f"rank {rank}: {len(mine)} runs to do, {len(runs[rank::world]) - len(mine)} done before")
    for number, run in enumerate(mine, start=1):
        name = " ".join(str(value) for value in run.values())

        def progress(step: int, loss: float, name: str = name, number: int = number) -> None:
            if sys.stdout.isatty():
                print(f"\r[{number}/{len(mine)}] {name}: step {step}, loss {loss:.3f}", end="   ")

        row = one(run, given.size, device, progress)
        # One write of one line: rows of several processes do not mix.
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"\r[{number}/{len(mine)}] {name}: done in {row['seconds']} s{' ' * 20}", flush=True)


if __name__ == "__main__":
    main()
