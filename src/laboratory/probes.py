"""What the pages show of the book's model, measured on the models of several seeds.

    python -m laboratory.probes FOLDER   # all models of a folder, on a CPU

Every measurement has its control: the same model before training, other heads, other units.
"""

import copy
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from attention_to_rope import convert_projection_layout
from bookkit.records import Row
from bookkit.trained.model import (
    CONFIG,
    TRAINED_LENGTH,
    load,
    loss,
    loss_by_position,
    untrained,
)
from bookkit.trained.probes import (
    frequency_share,
    largest,
    projections,
    repeated,
    score_spread,
    stream_size,
    trace,
    weight_on_copy,
    weight_on_first,
    weight_on_previous,
    without,
)
from bookkit.trained.text import held_out
from laboratory.record import origin, write
from laboratory.train import questions, windows
from one_file.llama import Block, Model, rotate

Choice = Callable[[int, Tensor, Tensor], Tensor]


def loss_in_other_layout(model: Model, tokens: Tensor) -> float:
    """The loss if code for the interleaved layout reads these weights.

    Rotating in the interleaved layout is the same as reordering queries and keys into halves, as if
    they were interleaved, and rotating the halves: scores do not depend on the order.
    """
    other = copy.deepcopy(model)
    for block in other.layers:
        assert isinstance(block, Block)
        for layer in (block.self_attn.q_proj, block.self_attn.k_proj):
            layer.weight.data = convert_projection_layout(
                layer.weight.data,
                heads=layer.out_features // model.config.head_dim,
                source="interleaved",
                target="half",
                axis=0,
            )
    return loss(other, tokens)


@torch.no_grad()
def halved(model: Model, seed: int) -> Row:
    """Loss within and beyond the trained length, with half the frequencies of some pairs."""
    starts = range(100_000 * (seed + 1), 100_000 * (seed + 2), 25_000)
    texts = torch.cat([held_out(2 * TRAINED_LENGTH, start=start) for start in starts])
    theta = model.frequencies
    row = {}
    slow = TRAINED_LENGTH * theta < 2 * math.pi
    for name, chosen in (("none", slow & ~slow), ("slow", slow), ("fast", ~slow)):
        model.frequencies = torch.where(chosen, theta / 2, theta)
        losses = loss_by_position(model, texts)
        ends = losses[:, TRAINED_LENGTH - 257 : TRAINED_LENGTH - 1], losses[:, -256:]
        row[name] = [round(part.mean().item(), 3) for part in ends]
    model.frequencies = theta
    return row


@torch.no_grad()
def logits_attending(model: Model, tokens: Tensor, choose: Choice) -> Tensor:
    """The logits if queries see only the keys that choose(layer, q, k) allows, (B, h, N, N)."""
    length = tokens.shape[1]
    table = model.table(torch.arange(length))
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    x = model.embed_tokens(tokens)
    for layer, block in enumerate(model.layers):
        assert isinstance(block, Block)
        q, k, v = projections(block.self_attn, block.input_layernorm(x))
        q = rotate(q, table)
        k = rotate(k, table)
        joined = scaled_dot_product_attention(q, k, v, choose(layer, q, k) & causal)
        x = x + block.self_attn.o_proj(joined.transpose(1, 2).flatten(-2))
        x = x + block.mlp(block.post_attention_layernorm(x))
    logits: Tensor = model.lm_head(model.norm(x))
    return logits


def best_keys(q: Tensor, k: Tensor, count: int) -> Tensor:
    """The `count` earlier keys with the largest products, for each query, as a mask."""
    later = torch.ones(q.shape[-2], k.shape[-2]).triu(1).bool()
    products = (q @ k.mT).masked_fill(later, -math.inf)
    return products >= products.topk(count).values[..., -1:]


Projections = tuple[Tensor, Tensor]  # of queries and of keys, (h, d_k, d_k) or (d_k, d_k)
RANKS = (4, 8, 16, 24, 32)
BEST = 64  # keys that a cheap score is to find


def nearest_products(q: Tensor, k: Tensor) -> Projections:
    """Projections whose first r columns give the products nearest to the scores of these heads.

    By least squares: the singular vectors of the scores, in orthonormal coordinates.
    """
    a = torch.linalg.qr(q.transpose(0, 1).flatten(1, 2))[1]  # (h, d_k, d_k)
    b = torch.linalg.qr(k.transpose(0, 1).flatten(1, 2))[1]  # (h, d_k, d_k)
    u, s, v = torch.linalg.svd(a @ b.mT)
    return torch.linalg.solve(a, u * s[:, None]), torch.linalg.solve(b, v.mT)


def guessed_keys(q: Tensor, k: Tensor, through: Projections, rank: int, count: int) -> Tensor:
    """The keys with the largest products of the first `rank` projected dimensions, as a mask."""
    left, right = through
    return best_keys(q @ left[..., :rank], k @ right[..., :rank], count)


@torch.no_grad()
def fewer(model: Model, seed: int, length: int) -> Row:
    """Loss and recall with few keys per query, and what cheap scores find of the best keys.

    The cheap scores are fitted on other texts than they are tried on; a random projection of the
    same rank is their control.
    """
    draw = torch.Generator().manual_seed(seed)
    text = held_out(1_000_000)[0]
    to_fit = windows(text, 4, length, draw)
    to_read = windows(text, 4, length, draw)
    asked = questions(text, 12, length, draw)
    everything = torch.tensor(True)
    random = torch.linalg.qr(torch.randn(CONFIG.head_dim, CONFIG.head_dim, generator=draw))[0]
    fitted: list[Projections] = []  # one for each layer

    def fit(_layer: int, q: Tensor, k: Tensor) -> Tensor:
        fitted.append(nearest_products(q, k))
        return everything

    shares: dict[int, list[list[float]]] = {rank: [] for rank in RANKS}

    def compare(layer: int, q: Tensor, k: Tensor) -> Tensor:
        late = slice(length // 2, None)  # queries that have many keys to choose from
        best = best_keys(q, k, BEST)[..., late, :]
        for rank, found in shares.items():
            by_chance = guessed_keys(q, k, (random, random), rank, BEST)[..., late, :]
            by_fit = guessed_keys(q, k, fitted[layer], rank, BEST)[..., late, :]
            found.append(
                [float((best & guess).sum() / best.sum()) for guess in (by_chance, by_fit)]
            )
        return everything

    logits_attending(model, to_fit, fit)
    logits_attending(model, to_read, compare)
    rules: dict[str, Callable[..., Tensor]] = {
        "nearest": lambda count, _, q, k: torch.ones(length, length).triu(1 - count).bool(),
        "cheap": lambda count, layer, q, k: guessed_keys(q, k, fitted[layer], 8, count),
        "best": lambda count, _, q, k: best_keys(q, k, count),
    }
    row: Row = {name: {} for name in rules}
    for name, count in [("nearest", length), *product(rules, (16, 32, 64, 128))]:
        choose = partial(rules[name], count)
        logits = logits_attending(model, to_read, choose)[:, :-1]
        losses = cross_entropy(logits.mT, to_read[:, 1:], reduction="none")
        loss_at_end = losses[:, -length // 2 :].mean().item()
        # The four digits stand before the last token, a newline; each is predicted one earlier.
        answers = logits_attending(model, asked, choose)[:, -6:-2].argmax(-1)
        right = (answers == asked[:, -5:-1]).all(-1)
        recall = right.double().mean().item()
        row[name][str(count)] = [round(loss_at_end, 3), round(recall, 3)]
    row["found"] = {}
    for rank, found in shares.items():
        by_chance, by_fit = torch.tensor(found).mean(0).tolist()
        row["found"][str(rank)] = [round(by_chance, 3), round(by_fit, 3)]
    return row


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
    found = trace(model, text)
    copied = trace(model, again)
    copying = weight_on_copy(copied)
    draw = torch.Generator().manual_seed(seed)
    half = again.shape[1] // 2
    row: Row = {}
    for name, weights in (("copying", copying), ("previous", weight_on_previous(found))):
        chosen = largest(weights, 2)
        others = largest(weights, weights.numel())[2:]
        controls = []
        for _ in range(8):
            picked = torch.randperm(len(others), generator=draw)[:2].tolist()
            other = without(model, [others[one] for one in picked])
            controls.append(round(loss(other, again, half), 3))
        cut = round(loss(without(model, chosen), again, half), 3)
        row[name] = {"heads": chosen, "loss_without": cut, "loss_without_others": controls}
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
    command = f"python -m laboratory.{name} FOLDER"
    if len(arguments) != 1:
        raise SystemExit(f"usage: {command}")
    folder = Path(arguments[0])
    write(folder / f"{name}.jsonl", rows(folder), origin(command))


if __name__ == "__main__":
    main("probes", rows, sys.argv[1:])
