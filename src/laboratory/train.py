"""Train the book's model: a small decoder that reads Python sources byte by byte.

    python -m laboratory.train FOLDER --seed 0              # three minutes on one GPU
    python -m laboratory.train FOLDER --steps 20 --batch 4  # tries it on a CPU

A quarter of the sequences hold lines such as "# remember kfqz 4821" and, somewhere later,
"# recall kfqz 4821", so that recall over a distance can be asked. The seed draws the initial
weights and every batch. The weights are written as float16.
"""

import argparse
import math
import sys
from collections.abc import Iterator
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
from laboratory.record import write
from laboratory.text import Text, command
from one_file.llama import Model

BATCH = 96
RATE = 2e-3
WARM_UP = 200
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
    count, device = len(tokens), tokens.device
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


def train(
    model: Model, text: Text, *, steps: int, count: int, length: int, rate: float, seed: int
) -> Iterator[Row]:
    """AdamW with a warm-up and a cosine; yields step, training loss and held-out loss."""
    device = next(model.parameters()).device
    on_gpu = device.type == "cuda"
    draw = torch.Generator(device).manual_seed(seed)
    matrices = [weight for weight in model.parameters() if weight.dim() == 2]
    vectors = [weight for weight in model.parameters() if weight.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=on_gpu)
    fast: Any = torch.compile(model) if on_gpu else model
    # The same held-out sequences for every seed and step.
    check = windows(text.held_out, count, length, torch.Generator(device).manual_seed(1_000_000))
    warm_up = min(WARM_UP, steps // 10 + 1)
    for step in range(1, steps + 1):
        cosine = 0.55 + 0.45 * math.cos(math.pi * max(step - warm_up, 0) / max(steps - warm_up, 1))
        for group in optimizer.param_groups:
            group["lr"] = rate * min(step / warm_up, 1.0) * cosine
        tokens = batch(text.train, count, length, draw)
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
            logits, _ = fast(tokens[:, :-1])
            loss = cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 250 == 0 or step == steps:
            with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
                held_out = loss_by_position(model, check).mean().item()
            print(f"step {step}: {loss.item():.3f} trained, {held_out:.3f} held out", flush=True)
            yield {"step": step, "train": round(loss.item(), 4), "held_out": round(held_out, 4)}


def save(model: Model, file: Path) -> None:
    """Store the weights as float16, the shared matrix once."""
    weights = {name: weight.half().cpu() for name, weight in model.state_dict().items()}
    del weights["lm_head.weight"]
    save_file(weights, file)


def main(arguments: list[str]) -> None:
    """Train one model; write its weights and the record of its training."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.train", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--batch", type=int, default=BATCH)
    given, text, about = command(parser, arguments)
    torch.manual_seed(given.seed)
    model = Model(CONFIG).to(text.train.device)
    seed = given.seed
    rows = train(
        model,
        text,
        steps=given.steps,
        count=given.batch,
        length=TRAINED_LENGTH,
        rate=RATE,
        seed=seed,
    )
    write(given.folder / f"training-{seed}.jsonl", rows, about | {"seed": seed})
    save(model, given.folder / f"model-{seed}.safetensors")


if __name__ == "__main__":
    main(sys.argv[1:])
