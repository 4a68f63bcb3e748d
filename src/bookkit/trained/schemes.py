"""Chapter 16: the same small decoder with every positional encoding, learning rate and seed.

    python -m bookkit.trained.schemes FOLDER      # one GPU; every scheme, 600 steps
    python -m bookkit.trained.schemes FOLDER --steps 2 --grid 1 --seeds 1 --tests 2  # on a CPU

The models read the text of the book's model in windows of 256 bytes and are tested up to four times
as long.

Every scheme gets the same rates with a few seeds; then other seeds at the rate that was best on
validation data. A seed draws the initial weights and all batches, so schemes can be compared in
pairs. Models of one scheme are trained side by side, as one batch of models.
"""

import argparse
import itertools
import math
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
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
from bookkit.trained.text import START, Text, arguments_of_text, chosen_text
from bookkit.trained.train import windows

SCHEMES = ("none", "sinusoidal", "T5, fast table", "ALiBi", "RoPE", "hybrid, last")
ROTATED = ("RoPE", "hybrid, last")
RATES = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2)
ARCHITECTURE = Architecture(d=192, heads=6, layers=4, norm="rms", activation="gelu")
D_K = ARCHITECTURE.d // ARCHITECTURE.heads
LENGTH, TIMES, BINS = 256, 4, 32
VOCABULARY = 257
STEPS, BATCH = 600, 16
PASSAGE, KNOWN = 64, 16  # bytes that come twice, and how many of them tell which ones they are
FARTHER = {LENGTH: (64, 128, 192), TIMES * LENGTH: (64, 192, 448, 960)}  # distances by length


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

    @torch.no_grad()
    def update(found: Sequence[Tensor], eta: Tensor, low: Tensor, high: Tensor) -> None:
        squared = torch.stack([g.flatten(1).square().sum(1) for g in found]).sum(0)
        clip = (1 / squared.sqrt()).clamp(max=1.0)
        for (name, w), g in zip(weights.items(), found, strict=True):
            shape = (-1, *[1] * (w.dim() - 1))
            fast = 10.0 if group.scheme == "T5, fast table" and "scheme" in name else 1.0
            means[name].lerp_(g * clip.view(shape), 0.1)
            squares[name].lerp_((g * clip.view(shape)).square(), 0.02)
            change = (means[name] / low) / ((squares[name] / high).sqrt() + 1e-8)
            w.sub_((change + 0.01 * w) * (fast * eta).view(shape))

    losses, apply = group.losses, update
    if rates.is_cuda:
        losses = torch.compile(losses, dynamic=False)
        apply = torch.compile(apply, dynamic=False)
    warm_up = min(100, steps // 10 + 1)
    for step in range(steps):
        # The models do not share a weight, so the gradient of the sum holds that of each.
        with sdpa_kernel(SDPBackend.MATH):  # the fused kernels cannot be compiled as a batch
            loss = losses(draw()).mean((-1, -2)).sum()
        found = torch.autograd.grad(loss, list(weights.values()))
        cosine = 0.55 + 0.45 * math.cos(math.pi * max(step - warm_up, 0) / steps)
        eta = rates * min((step + 1) / warm_up, 1.0) * cosine
        apply(found, eta, *(rates.new_tensor(1 - b ** (step + 1)) for b in (0.9, 0.98)))


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


def cut(tokens: Tensor, stop: int) -> Tensor:
    """The windows that end at `stop`, as long as in training and behind a start token too."""
    shorter = tokens[:, stop - LENGTH : stop + 1].clone()
    shorter[:, 0] = START
    return shorter


def repeated(tokens: Tensor, distance: int) -> Tensor:
    """Each window with the bytes of its last `PASSAGE` also `distance` before."""
    end, longer = tokens.shape[1], tokens.clone()
    first = end - PASSAGE - distance
    longer[:, first : first + PASSAGE] = tokens[:, end - PASSAGE :]
    return longer


@torch.no_grad()
def losses_of(group: Group, tokens: Tensor) -> Tensor:
    """The mean loss of each model by position: (M, N)."""
    parts = torch.split(tokens, max(1, 4 * TIMES * LENGTH // tokens.shape[1]))
    return torch.stack([group.losses(part).sum(1) for part in parts]).sum(0) / len(tokens)


def validate(group: Group, text: Text, tests: int) -> Iterator[Row]:
    """The mean loss of each model on text that chooses the rate."""
    draw = torch.Generator(text.train.device).manual_seed(6_000_000)
    found = losses_of(group, windows(text.held_out, tests, LENGTH + 1, draw)).mean(1)
    yield from ({"validation": value} for value in _rounded(found))


def test(group: Group, text: Text, tests: int) -> Iterator[Row]:
    """What the chapter shows of each model, on other text than `validate` reads.

    "loss": by position, of whole texts; "cut": of the same bytes in texts cut to the trained
    length; "copy": what the end of a text gains if the same bytes came before, by length and
    distance. Loss and copy also with stretched frequencies.
    """
    draw = torch.Generator(text.train.device).manual_seed(7_000_000)
    tokens = windows(text.held_out, tests, TIMES * LENGTH + 1, draw)
    wide = TIMES * LENGTH // BINS

    def by_bin(group: Group, tokens: Tensor) -> Tensor:  # (M, bins)
        losses = losses_of(group, tokens)
        return losses.view(len(losses), -1, wide).mean(-1)

    def gains(group: Group) -> Tensor:  # (M, cases)
        asked = PASSAGE - KNOWN
        found = []
        for length, distances in FARTHER.items():
            shorter = tokens if length > LENGTH else cut(tokens, TIMES * LENGTH)
            control = losses_of(group, shorter)
            twice = [losses_of(group, repeated(shorter, distance)) for distance in distances]
            found += [(control - one)[:, -asked:].mean(1) for one in twice]
        return torch.stack(found, 1)

    loss = by_bin(group, tokens)
    stops = range(LENGTH + wide, TIMES * LENGTH + 1, wide)
    last = [by_bin(group, cut(tokens, stop))[:, -1:] for stop in stops]
    found = {"loss": loss, "cut": torch.cat([loss[:, : LENGTH // wide], *last], 1)}
    found["copy"] = gains(group)
    for rule in ("YaRN", "Llama 3") if group.scheme in ROTATED else ():
        other = group.stretched(rule)
        found |= {rule: by_bin(other, tokens), f"copy, {rule}": gains(other)}
    for number in range(len(loss)):
        yield {name: _rounded(values[number]) for name, values in found.items()}


def work(
    scheme: str,
    chosen: Sequence[tuple[float, int]],
    text: Text,
    steps: int,
    measure: Callable[[Group], Iterator[Row]],
) -> Iterator[Row]:
    """Train the models of these rates and seeds; measure each."""
    device, (rates, seeds) = text.train.device, zip(*chosen, strict=True)
    group = Group(scheme, seeds, device)
    train(group, torch.tensor(rates, device=device), steps, batches(text, seeds))
    for (rate, seed), row in zip(chosen, measure(group), strict=True):
        yield {"scheme": scheme, "rate": rate, "seed": seed, **row}


def best_rate(found: Sequence[Row]) -> float:
    """The rate with the lowest mean validation; a training that broke up counts as the worst."""
    by_rate: dict[float, list[float]] = {}
    for row in found:
        value = math.inf if row["validation"] is None else row["validation"]
        by_rate.setdefault(row["rate"], []).append(value)
    return min(by_rate, key=lambda rate: sum(by_rate[rate]) / len(by_rate[rate]))


def rows(scheme: str, given: argparse.Namespace, text: Text) -> Iterator[Row]:
    """Every rate with the first seeds, then the best rate with the other seeds."""
    grid, tried = list(itertools.product(given.rates, range(given.grid))), []
    for row in work(scheme, grid, text, given.steps, lambda g: validate(g, text, given.tests)):
        tried.append(row)
        yield row | {"part": "grid"}
    best = [(best_rate(tried), seed) for seed in range(given.grid, given.grid + given.seeds)]
    for row in work(scheme, best, text, given.steps, lambda g: test(g, text, given.tests)):
        yield row | {"part": "best"}


def main(arguments: list[str]) -> None:
    """Train and test the models of every scheme."""
    parser = argparse.ArgumentParser(prog="python -m bookkit.trained.schemes", description=__doc__)
    arguments_of_text(parser)
    parser.add_argument("--schemes", nargs="*", default=SCHEMES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    parser.add_argument("--grid", type=int, default=3, help="seeds at every rate, from 0")
    parser.add_argument("--seeds", type=int, default=5, help="other seeds at the best rate")
    parser.add_argument("--tests", type=int, default=128, help="windows of held-out text")
    given = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    text = chosen_text(given, device)
    about = origin(f"{parser.prog} FOLDER {shlex.join(arguments[1:])}", device.type)
    about |= {"steps": given.steps, "text_sha256": text.sha256}
    for scheme in given.schemes:
        write(given.folder / "schemes.jsonl", rows(scheme, given, text), about, append=True)
        print(scheme, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
