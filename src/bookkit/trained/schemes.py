"""Chapter 16: the same small decoder with every positional encoding, learning rate and seed.

    python -m bookkit.trained.schemes FOLDER      # eight minutes on one GPU for six schemes
    python -m bookkit.trained.schemes FOLDER --steps 2 --rates 1 --seeds 1 --tests 2  # on a CPU

The models read the text of the book's model in windows of 256 bytes and are tested up to four times
as long.

Every scheme gets the same rates with three seeds; then five other seeds at the rate that was best
on validation data. A seed draws the initial weights and all batches, so schemes can be compared in
pairs. Models of one scheme are trained side by side, as one batch of models.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from attention_to_rope import (
    ALiBi,
    Architecture,
    Decoder,
    LayerPattern,
    PositionalScheme,
    Rotary,
    Sinusoidal,
    T5Bias,
    rotary_frequencies,
)
from attention_to_rope.context_extension import llama3, yarn, yarn_attention_factor
from bookkit.experiments.record import Row, origin, write
from bookkit.trained.text import Text, arguments_of_text, chosen_text
from bookkit.trained.train import windows

SCHEMES = ("none", "sinusoidal", "T5, fast table", "ALiBi", "RoPE", "hybrid, last")
ROTATED = ("RoPE", "hybrid, last")
RATES = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2)
ARCHITECTURE = Architecture(d=192, heads=6, layers=4, norm="rms", activation="gelu")
D_K = ARCHITECTURE.d // ARCHITECTURE.heads
LENGTH, TIMES, BINS = 256, 4, 32
VOCABULARY = 257
STEPS, BATCH = 600, 16


def build(scheme: str, seed: int, stretch: str = "") -> Decoder:
    """An untrained decoder with this scheme; `stretch` names a rule that stretches RoPE."""
    a = ARCHITECTURE
    theta = rotary_frequencies(D_K)
    if stretch:
        rules: dict[str, Callable[..., Tensor]] = {"YaRN": yarn, "Llama 3": llama3}
        theta = rules[stretch](theta, float(TIMES), original_length=LENGTH)
    factor = yarn_attention_factor(float(TIMES)) if stretch == "YaRN" else 1.0
    rotary = Rotary(theta, layout="half", attention_factor=factor)
    options: Mapping[str, Any] = {"scheme": rotary}
    if scheme == "hybrid, last":  # the last layer does not rotate
        layers = [*[LayerPattern(scheme=rotary)] * (a.layers - 1), LayerPattern()]
        options = {"layers": layers}
    elif scheme != "RoPE":
        schemes: dict[str, Callable[[], PositionalScheme]] = {
            "none": PositionalScheme,
            "sinusoidal": Sinusoidal,
            "T5, fast table": lambda: T5Bias(a.heads, bidirectional=False, seed=seed),
            "ALiBi": lambda: ALiBi(a.heads),
        }
        options = {"scheme": schemes[scheme]()}
    return Decoder(VOCABULARY, a, seed=seed, **options)


class Group:
    """Decoders of one scheme, each with its own weights, that compute as one batch of models."""

    def __init__(self, scheme: str, seeds: Sequence[int], device: torch.device):
        models = [build(scheme, seed).to(device) for seed in seeds]
        self.weights, _ = stack_module_state(models)
        self.scheme, self.model = scheme, models[0]

    def stretched(self, rule: str) -> "Group":
        """The same weights with stretched frequencies."""
        other = copy(self)
        other.model = build(self.scheme, 0, rule).to(self.model.embedding.rows.device)
        return other

    def losses(self, tokens: Tensor) -> Tensor:
        """Nats of each next token, tokens (M, B, N + 1) or (B, N + 1) for all: (M, B, N)."""

        def one(weights: dict[str, Tensor], tokens: Tensor) -> Tensor:
            return functional_call(self.model, weights, (tokens[:, :-1],))  # type: ignore[no-any-return]

        shared = tokens.dim() == 2
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=tokens.is_cuda):
            logits = vmap(one, (0, None if shared else 0))(self.weights, tokens)
        wanted = tokens[..., 1:].expand(logits.shape[:-1])
        flat = cross_entropy(logits.float().flatten(0, -2), wanted.flatten(), reduction="none")
        return flat.view(wanted.shape)


def train(group: Group, rates: Tensor, steps: int, draw: Callable[[], Tensor]) -> None:
    """AdamW with warm-up and cosine for every model of a group, each at its own rate.

    `draw` gives the tokens of all models for one step, (M, B, N + 1).
    """
    weights = group.weights
    means, squares = ({n: torch.zeros_like(w) for n, w in weights.items()} for _ in range(2))
    warm_up = min(100, steps // 10 + 1)
    for step in range(steps):
        # The models do not share a weight, so the gradient of the sum holds that of each.
        loss = group.losses(draw()).mean((-1, -2)).sum()
        found = torch.autograd.grad(loss, list(weights.values()))
        squared = torch.stack([g.flatten(1).square().sum(1) for g in found]).sum(0)
        clip = (1 / squared.sqrt()).clamp(max=1.0)
        cosine = 0.55 + 0.45 * math.cos(math.pi * max(step - warm_up, 0) / steps)
        eta = rates * min((step + 1) / warm_up, 1.0) * cosine
        low, high = 1 - 0.9 ** (step + 1), 1 - 0.98 ** (step + 1)
        with torch.no_grad():
            for (name, w), g in zip(weights.items(), found, strict=True):
                shape = (-1, *[1] * (w.dim() - 1))
                fast = 10.0 if group.scheme == "T5, fast table" and "scheme" in name else 1.0
                means[name].lerp_(g * clip.view(shape), 0.1)
                squares[name].lerp_((g * clip.view(shape)).square(), 0.02)
                change = (means[name] / low) / ((squares[name] / high).sqrt() + 1e-8)
                w.sub_((change + 0.01 * w) * (fast * eta).view(shape))


def batches(text: Text, seeds: Sequence[int]) -> Callable[[], Tensor]:
    """What draws tokens (M, B, N + 1) for models with these seeds; equal seeds get equal tokens."""
    device = text.train.device
    draws = {seed: torch.Generator(device).manual_seed(5_000_000 + seed) for seed in seeds}

    def draw() -> Tensor:
        drawn = {s: windows(text.train, BATCH, LENGTH + 1, one) for s, one in draws.items()}
        return torch.stack([drawn[seed] for seed in seeds])

    return draw


def _rounded(values: Tensor) -> Any:
    return [None if math.isnan(v) else round(v, 4) for v in values.tolist()]


@torch.no_grad()
def test(group: Group, text: Text, tests: int) -> Iterator[Row]:
    """Loss by position for each model: whole texts, and texts cut to the trained length."""
    draw = torch.Generator(text.train.device).manual_seed(6_000_000)
    other = windows(text.held_out, tests, LENGTH + 1, draw)  # chooses the rate
    tokens = windows(text.held_out, tests, TIMES * LENGTH + 1, draw)
    wide = TIMES * LENGTH // BINS

    def by_bin(group: Group, tokens: Tensor) -> Tensor:  # (M, bins)
        parts = torch.split(tokens, 4)
        losses = torch.stack([group.losses(part).sum(1) for part in parts]).sum(0)  # (M, N)
        return losses.view(len(losses), -1, wide).mean(-1) / len(tokens)

    validation, loss = by_bin(group, other).mean(1), by_bin(group, tokens)
    cut = [loss[:, : LENGTH // wide]]
    for stop in range(LENGTH + wide, TIMES * LENGTH + 1, wide):
        cut.append(by_bin(group, tokens[:, stop - LENGTH : stop + 1])[:, -1:])
    found = {"loss": loss, "cut": torch.cat(cut, dim=1)}
    if group.scheme in ROTATED:
        found |= {rule: by_bin(group.stretched(rule), tokens) for rule in ("YaRN", "Llama 3")}
    for number, value in enumerate(_rounded(validation)):
        yield {"validation": value} | {n: _rounded(v[number]) for n, v in found.items()}


def work(
    scheme: str, chosen: Sequence[tuple[float, int]], text: Text, given: argparse.Namespace
) -> Iterator[Row]:
    """Train the models of these rates and seeds; test each."""
    device, (rates, seeds) = text.train.device, zip(*chosen, strict=True)
    group = Group(scheme, seeds, device)
    train(group, torch.tensor(rates, device=device), given.steps, batches(text, seeds))
    for (rate, seed), row in zip(chosen, test(group, text, given.tests), strict=True):
        yield {"scheme": scheme, "rate": rate, "seed": seed, **row}


def best_rate(found: Sequence[Row]) -> float:
    """The rate with the lowest mean validation; a training that broke up counts as the worst."""
    by_rate: dict[float, list[float]] = {}
    for row in found:
        value = math.inf if row["validation"] is None else row["validation"]
        by_rate.setdefault(row["rate"], []).append(value)
    return min(by_rate, key=lambda rate: sum(by_rate[rate]) / len(by_rate[rate]))


def rows(scheme: str, given: argparse.Namespace, text: Text) -> Iterator[Row]:
    """Every rate with seeds 0 to 2, then the best rate with the other seeds."""
    grid = list(itertools.product(RATES[: given.rates], range(min(3, given.seeds))))
    tried = []
    for row in work(scheme, grid, text, given):
        tried.append(row)
        yield row | {"part": "grid"}
    rate, others = best_rate(tried), range(3, given.seeds)
    if others:
        for row in work(scheme, [(rate, seed) for seed in others], text, given):
            yield row | {"part": "best"}


def main(arguments: list[str]) -> None:
    """Train and test the models of every scheme."""
    parser = argparse.ArgumentParser(prog="python -m bookkit.trained.schemes", description=__doc__)
    arguments_of_text(parser)
    parser.add_argument("--schemes", nargs="*", default=SCHEMES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rates", type=int, default=len(RATES), help="how many of the rates")
    parser.add_argument("--seeds", type=int, default=8, help="how many, from 0")
    parser.add_argument("--tests", type=int, default=128, help="windows of held-out text")
    given = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    text = chosen_text(given, device)
    about = origin(f"{parser.prog} FOLDER", device.type)
    about |= {"steps": given.steps, "text_sha256": text.sha256}
    for scheme in given.schemes:
        out = Path(given.folder) / "schemes.jsonl"
        write(out, rows(scheme, given, text), about, append=True)
        print(scheme, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
