"""The same small decoder with every positional encoding, learning rate and seed.

    python -m laboratory.schemes FOLDER      # one GPU; every scheme, 600 steps
    python -m laboratory.schemes FOLDER --steps 2 --grid 1 --seeds 1 --tests 2  # on a CPU

The models read the text of the book's model in windows of 256 bytes and are tested up to four times
as long.

Every scheme gets the same rates with a few seeds; then other seeds at the rate that was best on
validation data. A seed draws the initial weights and all batches, so schemes can be compared in
pairs.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_to_rope import Decoder
from bookkit.records import Row
from bookkit.trained import schemes as setup
from bookkit.trained.text import START
from laboratory.record import write
from laboratory.text import Text, command
from laboratory.train import windows


def losses(model: Decoder, tokens: Tensor) -> Tensor:
    """Nats of each next token, tokens (B, N + 1): (B, N)."""
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=tokens.is_cuda):
        logits = model(tokens[:, :-1])
    return cross_entropy(logits.float().mT, tokens[:, 1:], reduction="none")


def gradients(model: Decoder, tokens: Tensor) -> None:
    """Give every weight the gradient of the mean loss of these windows."""
    model.zero_grad()
    losses(model, tokens).mean().backward()


def captured_gradients(model: Decoder, device: torch.device) -> Callable[[Tensor], None]:
    """`gradients` as a CUDA graph: the same operations, launched by one call and not by hundreds.

    They read the windows from one place, and the gradients stay in one place.
    """
    tokens = torch.full((setup.BATCH, setup.LENGTH + 1), START, device=device)
    aside = torch.cuda.Stream()  # PyTorch wants a few calls on another stream before it captures
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            gradients(model, tokens)
    torch.cuda.current_stream().wait_stream(aside)
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        losses(model, tokens).mean().backward()

    def replay(new: Tensor) -> None:
        tokens.copy_(new)
        graph.replay()

    return replay


def train(
    model: Decoder,
    rate: float,
    steps: int,
    text: Tensor,
    seed: int,
    after: Callable[[int], None] | None = None,
    *,
    capture: bool = False,
) -> None:
    """AdamW with warm-up and cosine; T5's table learns at ten times the rate.

    after: called with the number of steps that are done, after each of them. capture: compute the
    gradients by a CUDA graph.
    """
    draw = torch.Generator(text.device).manual_seed(5_000_000 + seed)
    table = [weight for name, weight in model.named_parameters() if "scheme" in name]
    others = [weight for name, weight in model.named_parameters() if "scheme" not in name]
    groups: list[dict[str, Any]] = [{"params": others}, {"params": table, "lr": 10 * rate}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    warm_up = min(100, steps // 10 + 1)

    def part(step: int) -> float:
        cosine = 0.55 + 0.45 * math.cos(math.pi * max(step - warm_up, 0) / steps)
        return min((step + 1) / warm_up, 1.0) * cosine

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, part)
    compute = captured_gradients(model, text.device) if capture else partial(gradients, model)
    for step in range(1, steps + 1):
        compute(windows(text, setup.BATCH, setup.LENGTH + 1, draw))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if after is not None:
            after(step)


def cut(tokens: Tensor, stop: int) -> Tensor:
    """The windows that end at `stop`, as long as in training and behind a start token too."""
    shorter = tokens[:, stop - setup.LENGTH : stop + 1].clone()
    shorter[:, 0] = START
    return shorter


def repeated(tokens: Tensor, distance: int) -> Tensor:
    """Each window with the bytes of its last `setup.PASSAGE` also `distance` before."""
    end = tokens.shape[1]
    longer = tokens.clone()
    first = end - setup.PASSAGE - distance
    longer[:, first : first + setup.PASSAGE] = tokens[:, end - setup.PASSAGE :]
    return longer


@torch.no_grad()
def all_losses(model: Decoder, tokens: Tensor) -> Tensor:
    """The loss of each next token, computed for some windows at a time: (B, N)."""
    parts = torch.split(tokens, max(1, 16 * setup.TIMES * setup.LENGTH // tokens.shape[1]))
    return torch.cat([losses(model, part) for part in parts])


def mean_losses(model: Decoder, tokens: Tensor) -> Tensor:
    """The mean loss by position: (N,)."""
    return all_losses(model, tokens).mean(0)


def validate(model: Decoder, text: Text, tests: int) -> Row:
    """The mean loss on text that chooses the rate; None if the training broke up."""
    draw = torch.Generator(text.train.device).manual_seed(6_000_000)
    value = float(mean_losses(model, windows(text.held_out, tests, setup.LENGTH + 1, draw)).mean())
    return {"validation": None if math.isnan(value) else round(value, 4)}


def test(model: Decoder, scheme: str, text: Text, tests: int) -> Row:
    """What the chapter shows of a model, on other random windows than `validate` reads.

    Both are drawn from the same packages, so a few of the windows overlap.

    "loss": by position, of whole texts; "cut": of the same bytes in texts cut to the trained
    length; "copy": what the end of a text gains if the same bytes came before, by length and
    distance. Loss and copy also with stretched frequencies.
    """
    draw = torch.Generator(text.train.device).manual_seed(7_000_000)
    tokens = windows(text.held_out, tests, setup.TIMES * setup.LENGTH + 1, draw)
    wide = setup.TIMES * setup.LENGTH // setup.BINS

    def by_bin(model: Decoder, tokens: Tensor) -> list[float]:
        return mean_losses(model, tokens).view(-1, wide).mean(-1).tolist()

    def gains(model: Decoder) -> list[float]:
        asked = setup.PASSAGE - setup.KNOWN
        found = []
        for length, distances in setup.FARTHER.items():
            shorter = tokens if length > setup.LENGTH else cut(tokens, setup.TIMES * setup.LENGTH)
            control = mean_losses(model, shorter)
            twice = [mean_losses(model, repeated(shorter, distance)) for distance in distances]
            found += [float((control - one)[-asked:].mean()) for one in twice]
        return found

    loss = by_bin(model, tokens)
    stops = range(setup.LENGTH + wide, setup.TIMES * setup.LENGTH + 1, wide)
    last = [by_bin(model, cut(tokens, stop))[-1] for stop in stops]
    found = {"loss": loss, "cut": loss[: setup.LENGTH // wide] + last, "copy": gains(model)}
    for rule in ("YaRN", "Llama 3") if scheme in setup.ROTATED else ():
        other = setup.build(scheme, 0, rule).to(tokens.device)
        other.load_state_dict(model.state_dict())
        found |= {rule: by_bin(other, tokens), f"copy, {rule}": gains(other)}
    return {name: [round(value, 4) for value in values] for name, values in found.items()}


def best_rate(found: Sequence[Row]) -> float:
    """The rate with the lowest mean validation; a training that broke up counts as the worst."""
    by_rate: dict[float, list[float]] = {}
    for row in found:
        value = math.inf if row["validation"] is None else row["validation"]
        by_rate.setdefault(row["rate"], []).append(value)
    return min(by_rate, key=lambda rate: sum(by_rate[rate]) / len(by_rate[rate]))


def rows(scheme: str, given: argparse.Namespace, text: Text) -> Iterator[Row]:
    """Every rate with the first seeds, then the best rate with the other seeds."""

    def trained(rate: float, seed: int) -> tuple[Row, Decoder]:
        model = setup.build(scheme, seed).to(text.train.device)
        train(model, rate, given.steps, text.train, seed)
        return {"scheme": scheme, "rate": rate, "seed": seed}, model

    tried = []
    for rate, seed in itertools.product(given.rates, range(given.grid)):
        row, model = trained(rate, seed)
        tried.append(row | validate(model, text, given.tests))
        yield tried[-1] | {"part": "grid"}
    for seed in range(given.grid, given.grid + given.seeds):
        row, model = trained(best_rate(tried), seed)
        yield row | test(model, scheme, text, given.tests) | {"part": "best"}


def main(arguments: list[str]) -> None:
    """Train and test the models of every scheme."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.schemes", description=__doc__)
    parser.add_argument("--schemes", nargs="*", default=setup.SCHEMES)
    parser.add_argument("--steps", type=int, default=setup.STEPS)
    parser.add_argument("--rates", type=float, nargs="*", default=setup.RATES)
    parser.add_argument("--grid", type=int, default=3, help="seeds at every rate, from 0")
    parser.add_argument("--seeds", type=int, default=5, help="other seeds at the best rate")
    parser.add_argument("--tests", type=int, default=128, help="windows of held-out text")
    given, text, about = command(parser, arguments)
    about |= {"steps": given.steps}
    for scheme in given.schemes:
        write(given.folder / "schemes.jsonl", rows(scheme, given, text), about, append=True)
        print(scheme, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
