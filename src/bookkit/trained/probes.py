"""Look inside the book's model: scores, weights, the residual stream, single heads and units.

    python -m bookkit.trained.probes FOLDER   # measures all models of a folder, on a CPU

Every measurement has its control: the same model before training, other heads, other units.
"""

import copy
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, scaled_dot_product_attention, silu

from attention_to_rope import rotate as in_layout
from attention_to_rope.model import Block, Model, rotate
from bookkit.experiments.record import Row, origin, write
from bookkit.trained.text import START, held_out
from bookkit.trained.train import (
    CONFIG,
    TRAINED_LENGTH,
    load,
    loss_by_position,
    questions,
    windows,
)

Head = tuple[int, int]  # its layer, and its number there
Choice = Callable[[int, Tensor, Tensor], Tensor]


class Trace(NamedTuple):
    """What a forward pass computes on the way: L layers, B texts, h heads, N tokens."""

    scores: Tensor  # (L, B, h, N, N), scaled, before the mask
    weights: Tensor  # (L, B, h, N, N), after the mask and the softmax
    stream: Tensor  # (L + 1, B, N, d), before each block and after the last
    hidden: Tensor  # (L, B, N, intermediate_size), units of the feed-forward layer
    pairs: Tensor  # (L, B, h, N, d_k/2), lengths of the pairs of a query times those of its key
    logits: Tensor  # (B, N, V)


def untrained(seed: int = 0) -> Model:
    """The same model before its training, in float32, with other random weights for each seed."""
    torch.manual_seed(seed)
    return Model(CONFIG).float()


@torch.no_grad()
def trace(model: Model, tokens: Tensor, positions: Tensor | None = None) -> Trace:
    """Run the model as its own forward does and keep everything; positions default to 0, 1, …"""
    where = torch.arange(tokens.shape[1]) if positions is None else positions
    angles = where[:, None] * model.frequencies.float()
    table = angles.cos() * model.factor, angles.sin() * model.factor
    causal = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril()
    x = model.embed_tokens(tokens)
    stream, seen = [x], []
    for block in model.layers:
        assert isinstance(block, Block)
        attention, mlp, normed = block.self_attn, block.mlp, block.input_layernorm(x)
        projected = attention.q_proj(normed), attention.k_proj(normed), attention.v_proj(normed)
        q, k, v = (y.unflatten(-1, (-1, attention.d_k)).transpose(1, 2) for y in projected)
        k, v = (y.repeat_interleave(q.shape[1] // y.shape[1], 1) for y in (k, v))
        lengths = [torch.hypot(*y.chunk(2, dim=-1)) for y in (q, k)]
        scores = rotate(q, table) @ rotate(k, table).mT / math.sqrt(attention.d_k)
        weights = scores.masked_fill(~causal, -math.inf).softmax(-1)
        x = x + attention.o_proj((weights @ v).transpose(1, 2).flatten(-2))
        normed = block.post_attention_layernorm(x)
        hidden = silu(mlp.gate_proj(normed)) * mlp.up_proj(normed)
        x = x + mlp.down_proj(hidden)
        stream.append(x)
        seen.append((scores, weights, hidden, lengths[0] * lengths[1]))
    scores, weights, hidden, pairs = (torch.stack(values) for values in zip(*seen, strict=True))
    logits = model.lm_head(model.norm(x))
    return Trace(scores, weights, torch.stack(stream), hidden, pairs, logits)


def score_spread(found: Trace) -> Tensor:
    """The standard deviation of the scores that the mask leaves, by layer and head: (L, h)."""
    causal = torch.ones(found.scores.shape[-2:], dtype=torch.bool).tril()
    return found.scores[..., causal].transpose(1, 2).flatten(2).std(-1)


def stream_size(found: Trace) -> Tensor:
    """The residual stream's root mean square before each block and after the last: (L + 1,)."""
    return found.stream.square().mean((1, 2, 3)).sqrt()


def weight_on_previous(found: Trace) -> Tensor:
    """The mean weight that a token gives to the one before it, for each layer and head: (L, h)."""
    return found.weights.diagonal(-1, dim1=-2, dim2=-1).mean((1, 3))


def weight_on_first(found: Trace) -> Tensor:
    """The mean weight on the first token, from the second half of the text: (L, h)."""
    return found.weights[..., found.weights.shape[-1] // 2 :, 0].mean((1, 3))


def weight_on_copy(found: Trace) -> Tensor:
    """In a `repeated` text: the mean weight on what followed the same byte before: (L, h)."""
    period = found.weights.shape[-1] // 2
    return found.weights.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].mean((1, 3))


def frequency_share(found: Trace) -> Tensor:
    """The share of each pair of dimensions in |q||k|, by layer and head: (L, h, d_k/2)."""
    mean = found.pairs.mean((1, 3))
    return mean / mean.sum(-1, keepdim=True)


def repeated(length: int = 128, seed: int = 0) -> Tensor:
    """A start token and random lower-case letters, then the same letters again: (1, 2·length)."""
    draw = torch.Generator().manual_seed(seed)
    letters = torch.randint(ord("a"), ord("z") + 1, (length,), generator=draw).tolist()
    return torch.tensor([[START, *letters[1:], letters[0], *letters[1:]]])


def loss(model: Model, tokens: Tensor, last: int | None = None) -> float:
    """Mean nats per byte, of the last bytes only if `last` says how many."""
    with torch.no_grad():
        return float(loss_by_position(model, tokens)[:, -(last or 0) :].mean())


def without(model: Model, heads: Sequence[Head]) -> Model:
    """A copy of the model in which nothing reads the outputs of some heads."""
    other, d_k = copy.deepcopy(model), model.config.head_dim
    for layer, head in heads:
        block = other.layers[layer]
        assert isinstance(block, Block)
        block.self_attn.o_proj.weight.data[:, head * d_k : (head + 1) * d_k] = 0
    return other


def loss_in_other_layout(model: Model, tokens: Tensor) -> float:
    """The loss if code for the interleaved layout reads these weights."""
    with patch("attention_to_rope.model.rotate", partial(in_layout, layout="interleaved")):
        return loss(model, tokens)


def largest(values: Tensor, count: int) -> list[Head]:
    """The heads with the largest values of an (L, h) table."""
    best = values.flatten().topk(count).indices.tolist()
    return [divmod(one, values.shape[1]) for one in best]


@torch.no_grad()
def halved(model: Model, seed: int) -> Row:
    """Loss within and beyond the trained length, with half the frequencies of some pairs."""
    starts = range(100_000 * (seed + 1), 100_000 * (seed + 2), 25_000)
    texts = torch.cat([held_out(2 * TRAINED_LENGTH, start=start) for start in starts])
    theta, row = model.frequencies, {}
    slow = TRAINED_LENGTH * theta < 2 * math.pi
    for name, chosen in (("none", slow & ~slow), ("slow", slow), ("fast", ~slow)):
        model.frequencies = torch.where(chosen, theta / 2, theta)
        losses = loss_by_position(model, texts)
        ends = losses[:, TRAINED_LENGTH - 257 : TRAINED_LENGTH - 1], losses[:, -256:]
        row[name] = [round(part.mean().item(), 3) for part in ends]
    model.frequencies = theta
    return row


@contextmanager
def attending(model: Model, choose: Choice) -> Iterator[Model]:
    """The model whose queries see only the keys that choose(layer, q, k) allows: (B, h, N, N)."""
    layers = cycle(range(len(model.layers)))

    def chosen(q: Tensor, k: Tensor, v: Tensor, *_: Any, **__: Any) -> Tensor:
        k, v = (y.repeat_interleave(q.shape[1] // y.shape[1], 1) for y in (k, v))
        allowed = choose(next(layers), q, k) & torch.ones(q.shape[2], q.shape[2]).tril().bool()
        return scaled_dot_product_attention(q, k, v, allowed)

    with patch("attention_to_rope.model.scaled_dot_product_attention", chosen):
        yield model


def best_keys(q: Tensor, k: Tensor, count: int) -> Tensor:
    """The `count` earlier keys with the largest products, for each query, as a mask."""
    later = torch.ones(q.shape[-2], k.shape[-2]).triu(1).bool()
    products = (q @ k.mT).masked_fill(later, -math.inf)
    return products >= products.topk(count).values[..., -1:]


@torch.no_grad()
def fewer(model: Model, seed: int, length: int) -> Row:
    """Loss and recall with few keys per query, and what cheap scores find of the 64 best keys.

    The first r columns of `fitted` give the products nearest to the scores, by least squares.
    """
    draw, text = torch.Generator().manual_seed(seed), held_out(1_000_000)[0]
    kinds = zip((windows, windows, questions), (4, 4, 12), strict=True)
    other, read, asked = (make(text, count, length, draw) for make, count in kinds)
    turn = torch.linalg.qr(torch.randn(CONFIG.head_dim, CONFIG.head_dim, generator=draw))[0]
    fitted: list[tuple[Tensor, Tensor]] = []
    shares: dict[int, list[list[Tensor]]] = {rank: [] for rank in (4, 8, 16, 24, 32)}

    def fit(_: int, q: Tensor, k: Tensor) -> Tensor:
        a, b = (torch.linalg.qr(x.transpose(0, 1).flatten(1, 2))[1] for x in (q, k))
        u, s, v = torch.linalg.svd(a @ b.mT)  # the scores, in orthonormal coordinates
        fitted.append((torch.linalg.solve(a, u * s[:, None]), torch.linalg.solve(b, v.mT)))
        return torch.tensor(True)

    def guess(layer: int, q: Tensor, k: Tensor, rank: int, count: int) -> Tensor:
        left, right = fitted[layer] if layer >= 0 else (turn, turn)
        return best_keys(q @ left[..., :rank], k @ right[..., :rank], count)

    def compare(layer: int, q: Tensor, k: Tensor) -> Tensor:
        best = best_keys(q, k, 64)[..., length // 2 :, :]
        for rank, found in shares.items():
            guesses = [guess(one, q, k, rank, 64)[..., length // 2 :, :] for one in (-1, layer)]
            found.append([(best & one).sum() / best.sum() for one in guesses])
        return torch.tensor(True)

    for choose, texts in ((fit, other), (compare, read)):
        with attending(model, choose):
            model(texts)
    rules: dict[str, Callable[..., Tensor]] = {
        "nearest": lambda count, _, q, k: torch.ones(length, length).triu(1 - count).bool(),
        "cheap": lambda count, layer, q, k: guess(layer, q, k, 8, count),
        "best": lambda count, _, q, k: best_keys(q, k, count),
    }
    row: Row = {name: {} for name in rules}
    for name, count in [("nearest", length), *product(rules, (16, 32, 64, 128))]:
        with attending(model, partial(rules[name], count)):
            losses = cross_entropy(model(read)[0][:, :-1].mT, read[:, 1:], reduction="none")
            right = model(asked)[0][:, -6:-2].argmax(-1) == asked[:, -5:-1]
        pair = losses[:, -length // 2 :].mean().item(), right.all(-1).double().mean().item()
        row[name][str(count)] = [round(one, 3) for one in pair]
    means = {str(rank): torch.tensor(found).mean(0).tolist() for rank, found in shares.items()}
    return {**row, "found": {rank: [round(one, 3) for one in pair] for rank, pair in means.items()}}


def models(folder: Path) -> Iterator[tuple[int, Model]]:
    """The trained models of a folder, with their seeds."""
    for file in sorted(folder.glob("model-*.safetensors")):
        yield int(file.stem.removeprefix("model-")), load(file)


def rows(folder: Path, length: int = 384) -> Iterator[Row]:
    """What the pages show of every model of a folder, and of the same models before training."""
    for seed, model in models(folder):
        more = {"loss_halved": halved(model, seed), "fewer": fewer(model, seed, length)}
        yield {"seed": seed, "trained": True, **measured(model, seed), **more}
        yield {"seed": seed, "trained": False, **measured(untrained(seed), seed)}


def measured(model: Model, seed: int) -> Row:
    """All measurements of one model; the seed draws the text, the letters and the controls."""
    text = held_out(TRAINED_LENGTH, start=100_000 * (seed + 1))
    again = repeated(seed=seed)
    found, copied = trace(model, text), trace(model, again)
    copying = weight_on_copy(copied)
    draw = torch.Generator().manual_seed(seed)
    half, chosen = again.shape[1] // 2, largest(copying, 2)
    others, controls = largest(copying, copying.numel())[2:], []
    for _ in range(8):
        picked = torch.randperm(len(others), generator=draw)[:2].tolist()
        other = without(model, [others[one] for one in picked])
        controls.append(round(loss(other, again, half), 3))
    cut = round(loss(without(model, chosen), again, half), 3)
    row: Row = {"copying": {"heads": chosen, "loss_without": cut, "loss_without_others": controls}}
    order = torch.randperm(text.shape[1], generator=draw)
    targets = text[0, 1:]
    for name, positions in (("shuffled", order), ("none", torch.zeros_like(order))):
        logits = trace(model, text, positions).logits[0, :-1]
        row[f"loss_positions_{name}"] = round(float(cross_entropy(logits, targets)), 3)
    size = found.hidden.abs().amax((1, 2))
    causal = torch.ones(found.scores.shape[-2:]).tril().bool()
    totals = found.scores.masked_fill(~causal, -math.inf).logsumexp(-1).mean((0, 1, 2))  # (N,)
    tables = {
        "spread": score_spread(found),
        "stream": stream_size(found),
        "weight_on_first": weight_on_first(found),
        "frequency_share": frequency_share(found).mean((0, 1)),
        "log_total": torch.stack([totals[2**i : 2 ** (i + 1)].mean() for i in range(5, 10)]),
    }
    return {
        "loss": round(loss(model, text), 3),
        "loss_other_layout": round(loss_in_other_layout(model, text), 3),
        **row,
        "silent_units": int((size < 0.01 * size.median()).sum()),
        **{name: [round(float(one), 4) for one in t.flatten()] for name, t in tables.items()},
    }


def main(name: str, rows: Callable[[Path], Iterator[Row]], arguments: list[str]) -> None:
    """The command of a measurement: write NAME.jsonl into the folder that holds the models."""
    command = f"python -m bookkit.trained.{name} FOLDER"
    if len(arguments) != 1:
        raise SystemExit(f"usage: {command}")
    folder = Path(arguments[0])
    write(folder / f"{name}.jsonl", rows(folder), origin(command))


if __name__ == "__main__":
    main("probes", rows, sys.argv[1:])
