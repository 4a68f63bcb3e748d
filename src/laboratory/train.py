"""Train the book's model: a small decoder that reads Python sources byte by byte.

    python -m laboratory.train FOLDER --seed 0              # three minutes on one GPU
    python -m laboratory.train FOLDER --steps 20 --batch 4  # tries it on a CPU
    torchrun --standalone --nproc-per-node=2 -m laboratory.train FOLDER    # two processes
    python -m laboratory.train FOLDER --resume              # continues an interrupted training

A quarter of the sequences hold lines such as "# remember kfqz 4821" and, somewhere later,
"# recall kfqz 4821", so that recall over a distance can be asked. The seed draws the initial
weights and every batch. The weights are written as float16.

Several processes share each batch, so its size must be a multiple of their number. They read the
same batches as one process does and report the same losses, apart from rounding. A checkpoint is
written with each row of the record; an interrupted training continues from it, also with another
number of processes. Only the first process prints and writes.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import cross_entropy

from bookkit.records import Row
from bookkit.trained.model import CONFIG, STEPS, TRAINED_LENGTH, loss_by_position
from bookkit.trained.text import START
from laboratory.checkpoint import Checkpoints, State, Training
from laboratory.processes import Processes, launcher, one_process, started_processes
from laboratory.record import write
from laboratory.text import Text, command
from one_file.llama import Model

BATCH = 96
RATE = 2e-3
WARM_UP = 200
EVERY = 250  # steps between two rows of the record
SILENCE = 10  # seconds after which a line says how far a training is
LINE = len("\n# remember kfqz 4821\n")
SLOT = 32  # lines to remember and to recall start in different slots of this many bytes


def windows(text: Tensor, count: int, length: int, draw: torch.Generator) -> Tensor:
    """`count` random pieces of a text behind the start token: (count, length) of int64."""
    starts = torch.randint(len(text) - length, (count, 1), generator=draw, device=text.device)
    tokens = text[starts + torch.arange(length, device=text.device)].long()
    tokens[:, 0] = START
    return tokens


def write_lines(tokens: Tensor, starts: Tensor, verb: str, facts: Tensor) -> None:
    """Write "# verb kfqz 4821" into row i from starts[i] on; facts: four letters, four digits."""
    count = len(tokens)
    device = tokens.device
    before = torch.tensor([*f"\n# {verb} ".encode()], device=device).expand(count, -1)
    space, end = (tokens.new_full((count, 1), ord(one)) for one in " \n")
    line = torch.cat((before, facts[:, :4] + ord("a"), space, facts[:, 4:] + ord("0"), end), dim=1)
    columns = starts[:, None] + torch.arange(line.shape[1], device=device)
    tokens[torch.arange(count, device=device)[:, None], columns] = line


def draw_slots(tokens: Tensor, room: int, count: int, draw: torch.Generator) -> Tensor:
    """The beginnings of `count` different slots among the first `room` bytes, for each row."""
    keys = torch.rand(len(tokens), room // SLOT - 1, generator=draw, device=tokens.device)
    return keys.argsort()[:, :count] * SLOT + 1


def draw_facts(tokens: Tensor, draw: torch.Generator) -> Tensor:
    """Four letters, as 0 to 25, and four digits for each row: (count, 8)."""
    drawn = partial(torch.randint, size=(len(tokens), 4), generator=draw, device=tokens.device)
    return torch.cat((drawn(26), drawn(10)), dim=1)


def batch(text: Tensor, count: int, length: int, draw: torch.Generator) -> Tensor:
    """Sequences to train on; the first quarter with one to four facts each."""
    tokens = windows(text, count, length, draw)
    for number in range(1, 5):
        rows = tokens[(number - 1) * count // 16 : number * count // 16]
        slots = draw_slots(rows, length, 2 * number, draw).view(len(rows), number, 2).sort()[0]
        for fact in range(number):
            facts = draw_facts(rows, draw)
            write_lines(rows, slots[:, fact, 0], "remember", facts)
            write_lines(rows, slots[:, fact, 1], "recall", facts)
    return tokens


def questions(text: Tensor, count: int, length: int, draw: torch.Generator) -> Tensor:
    """Rows with four lines to remember, and a last line that recalls one of them."""
    tokens = windows(text, count, length, draw)
    slots = draw_slots(tokens, length - LINE, 4, draw)
    for place in slots.T:
        facts = draw_facts(tokens, draw)
        write_lines(tokens, place, "remember", facts)
    write_lines(tokens, torch.full_like(slots[:, 0], length - LINE + 2), "recall", facts)
    return tokens


def recalled(model: Model, tokens: Tensor) -> Tensor:
    """Whether each row of `questions` ends with its four digits as the likeliest tokens."""
    logits, _ = model(tokens[:, :-1])
    right: Tensor = logits[:, -5:-1].argmax(-1) == tokens[:, -5:-1]  # a newline is last
    return right.all(-1)


def rate_at(step: int, steps: int, rate: float) -> float:
    """The learning rate of a step: it rises during a warm-up and falls to a tenth as a cosine."""
    warm_up = min(WARM_UP, steps // 10 + 1)
    falling = max(step - warm_up, 0) / max(steps - warm_up, 1)
    cosine = 0.55 + 0.45 * math.cos(math.pi * falling)
    return rate * min(step / warm_up, 1.0) * cosine


def adamw(model: Model, rate: float) -> torch.optim.AdamW:
    """The optimizer, with weight decay for matrices only."""
    matrices = [weight for weight in model.parameters() if weight.dim() == 2]
    vectors = [weight for weight in model.parameters() if weight.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    on_gpu = matrices[0].device.type == "cuda"
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=on_gpu)


class Progress:
    """Says how far a training is whenever nothing was printed for some seconds."""

    def __init__(self, done: int, steps: int) -> None:
        self.done = done  # before this run
        self.steps = steps
        self.began = time.monotonic()
        self.said = self.began

    def tell(self, step: int) -> None:
        """Print a line if it is time."""
        now = time.monotonic()
        if now - self.said < SILENCE:
            return
        seconds_per_step = (now - self.began) / (step - self.done)
        left = (self.steps - step) * seconds_per_step
        print(f"step {step} of {self.steps}, about {left / 60:.0f} minutes left", flush=True)
        self.said = now

    def report(self, row: Row) -> None:
        """Print the losses of a row."""
        losses = f"{row['train']:.3f} trained, {row['held_out']:.3f} held out"
        print(f"step {row['step']}: {losses}", flush=True)
        self.said = time.monotonic()


def take_step(
    training: Training, fast: Any, tokens: Tensor, rate: float, processes: Processes
) -> Tensor:
    """One step on the rows of this process, whose loss it returns; all take the mean gradient."""
    on_gpu = tokens.device.type == "cuda"
    for group in training.optimizer.param_groups:
        group["lr"] = rate
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=on_gpu):
        logits, _ = fast(tokens[:, :-1])
        loss = cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
    training.optimizer.zero_grad(set_to_none=True)
    loss.backward()
    weights = list(training.model.parameters())
    processes.average([weight.grad for weight in weights if weight.grad is not None])
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    training.optimizer.step()
    return loss.detach()


def losses_of_all(
    model: Model, trained: Tensor, check: Tensor, processes: Processes
) -> dict[str, float]:
    """The training loss and the held-out loss, as means over the rows of all processes."""
    on_gpu = check.device.type == "cuda"
    with torch.no_grad(), torch.autocast(check.device.type, torch.bfloat16, enabled=on_gpu):
        held_out = loss_by_position(model, check).mean()
    losses = torch.stack((trained, held_out))
    processes.average([losses])
    return {"train": round(losses[0].item(), 4), "held_out": round(losses[1].item(), 4)}


def train(
    model: Model,
    text: Text,
    *,
    steps: int,
    count: int,
    length: int,
    rate: float,
    seed: int,
    every: int = EVERY,
    processes: Processes | None = None,
    about: Row | None = None,
    checkpoints: Checkpoints | None = None,
    state: State | None = None,
) -> Iterator[Row]:
    """AdamW with a warm-up and a cosine; yields step, training loss and held-out loss.

    `count` is the size of the batch that all processes share. A row, which also has what `about`
    has, is yielded after `every` steps and after the last one, and then a checkpoint is written. A
    training that continues from the state of a checkpoint first yields its earlier rows.
    """
    together = processes or one_process()
    device = next(model.parameters()).device
    draw = torch.Generator(device).manual_seed(seed)
    training = Training(model, adamw(model, rate), draw, rows=[])
    done = 0
    if state is not None:
        training.restore(state)
        done = state["step"]
        yield from training.rows
    fast: Any = torch.compile(model) if device.type == "cuda" else model
    # The same held-out sequences for every seed and step.
    check = windows(text.held_out, count, length, torch.Generator(device).manual_seed(1_000_000))
    check = together.own_rows(check)
    progress = Progress(done, steps)
    for step in range(done + 1, steps + 1):
        tokens = together.own_rows(batch(text.train, count, length, draw))
        loss = take_step(training, fast, tokens, rate_at(step, steps, rate), together)
        if step % every == 0 or step == steps:
            losses = losses_of_all(model, loss, check, together)
            row = (about or {}) | {"step": step} | losses
            training.rows.append(row)
            if together.first:
                progress.report(row)
            yield row
            if checkpoints:
                checkpoints.write(step, training)
        elif together.first:
            progress.tell(step)


def save(model: Model, file: Path) -> None:
    """Store the weights as float16, the shared matrix once."""
    weights = {name: weight.half().cpu() for name, weight in model.state_dict().items()}
    del weights["lm_head.weight"]
    save_file(weights, file)


def parser_of_command() -> argparse.ArgumentParser:
    """What the command can be given, apart from the folder."""
    parser = argparse.ArgumentParser(
        prog=launcher("laboratory.train"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="draws weights and batches (default 0)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of training (default {STEPS})")
    parser.add_argument(
        "--batch",
        type=int,
        default=BATCH,
        help=f"sequences per step, of all processes together (default {BATCH})",
    )
    parser.add_argument(
        "--every",
        type=int,
        default=EVERY,
        help=f"steps between two rows of the record, each with a checkpoint (default {EVERY})",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue from the checkpoint in the folder, with the same seed, steps and batch",
    )
    return parser


def run(arguments: list[str], processes: Processes) -> None:
    """Train one model; write its weights and the record of its training."""
    given, text, about = command(parser_of_command(), arguments, processes.device)
    seed = given.seed
    if min(given.steps, given.batch, given.every) < 1:
        processes.refuse("--steps, --batch and --every must be at least 1")
    if given.batch % processes.count:
        processes.refuse(
            f"a batch of {given.batch} cannot be divided among {processes.count} processes; "
            "--batch must be a multiple of their number"
        )
    sizes = {"steps": given.steps, "count": given.batch, "length": TRAINED_LENGTH, "rate": RATE}
    settings = {
        "seed": seed,
        **sizes,
        "model": asdict(CONFIG),
        "text_sha256": text.sha256,
        "device": processes.device.type,
    }
    processes.check_equal(settings | {"every": given.every, "resume": given.resume})
    checkpoints = Checkpoints(given.folder / f"checkpoint-{seed}.pt", settings, processes)
    state = checkpoints.read(resume=given.resume)
    torch.manual_seed(seed)
    model = Model(CONFIG).to(processes.device)
    rows = train(
        model,
        text,
        seed=seed,
        every=given.every,
        processes=processes,
        about=about | {"seed": seed, "processes": processes.count},
        checkpoints=checkpoints,
        state=state,
        **sizes,
    )
    if processes.first:
        write(given.folder / f"training-{seed}.jsonl", rows, {})
        save(model, given.folder / f"model-{seed}.safetensors")
    else:
        for _ in rows:
            pass
    checkpoints.remove()


def main(arguments: list[str]) -> None:
    """Train one model with the processes that torchrun started, or with this one alone."""
    with started_processes() as processes:
        run(arguments, processes)


if __name__ == "__main__":
    main(sys.argv[1:])
