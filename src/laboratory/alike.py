"""Does a deep stack learn if its tokens are alike before training, and what else may be the cause?

The decoders and the text are those of `laboratory.placements`: 18 blocks, the next byte of SymPy's
sources, Adam. Every case changes one thing of Post-Norm whose matrices have variance 1/d. A row
has, for every seed, how much the tokens differ after each block before training, how far the
output moves when all weights move a little; then, at the end of training, the loss and how much
the predictions at different positions differ. All seeds of a case are trained at once.
`python -m laboratory.alike` writes the record, in ten minutes on a CPU, and
`python -m laboratory.alike "four heads"` appends the row of one case. The cases of 500 steps have
three seeds and are only appended, in eight minutes.
"""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attention_to_rope import post_norm, pre_norm
from bookkit.adam import adam
from bookkit.placements import BATCH, LENGTH, D, token_spread
from bookkit.randomness import generator
from bookkit.records import RESULTS, Row
from laboratory.placements import LAST, SMALL, initial, norm, sources
from laboratory.record import origin, write

CONNECTIONS: dict[str, Callable[..., Tensor]] = {
    "norm": lambda x, f: norm(f(x)),
    "post": partial(post_norm, norm=norm),
    "pre": partial(pre_norm, norm=norm),
}
STEP = 1e-4  # how far all weights move, in units of their standard deviation at scale 1


@dataclass(frozen=True)
class Case:
    """One kind of model: what differs from Post-Norm with one head and weights of scale 1."""

    name: str
    connection: str = "post"
    attention_scale: float = 1.0  # of the initial W^V and W^O
    feed_forward_scale: float = 1.0  # of the initial W_1 and W_2
    mixing: str = "attention"  # or "equal" weights, or "none": every token keeps its own value
    heads: int = 1
    length: int = LENGTH
    steps: int = 50
    warm_up: int = 0
    rates: tuple[float, ...] = ()  # one alone: `laboratory.placements` has the others


# The rates of each case: its best one, found in short trials, and its neighbours on both sides.
LOW = (0.001, 0.003, 0.01)
HIGH = (0.003, 0.01, 0.03)
CASES = (
    Case("nothing", rates=(0.01,)),
    Case("both", attention_scale=SMALL, feed_forward_scale=SMALL, rates=(0.003,)),
    Case("Pre-Norm", connection="pre", rates=(0.01,)),
    Case("Pre-Norm, both", "pre", SMALL, SMALL, rates=(0.01,)),
    Case("feed-forward", feed_forward_scale=SMALL, rates=HIGH),
    Case("attention", attention_scale=SMALL, rates=LOW),
    Case("no attention", mixing="none", rates=HIGH),
    Case("no attention, feed-forward", mixing="none", feed_forward_scale=SMALL, rates=LOW),
    Case("no attention, Pre-Norm", connection="pre", mixing="none", rates=HIGH),
    Case("equal weights", mixing="equal", rates=HIGH),
    Case("four heads", heads=4, rates=HIGH),
    Case("texts of 64 bytes", length=64, rates=HIGH),
)
# Ten times as many steps show what 50 steps do not. They cost too much for all cases and seeds.
LONG_STEPS = 500
LONG_SEEDS = 3
SLOW = (0.0003, 0.001)
LONG = (
    Case("500 steps, no attention", mixing="none", steps=LONG_STEPS, rates=SLOW),
    Case("500 steps", steps=LONG_STEPS, rates=SLOW),
    Case("500 steps, Pre-Norm", connection="pre", steps=LONG_STEPS, rates=SLOW[-1:]),
)
# Not recorded yet, so no page shows it. `laboratory.warm_up` has more steps and warm-up.
LATER = (Case("norm alone", connection="norm", rates=HIGH),)


def times(y: Tensor, W: Tensor) -> Tensor:
    """Tokens times the matrix of their model: (models, B, N, d) and (models, d, d)."""
    return torch.bmm(y.flatten(1, 2), W).view_as(y)


def split(z: Tensor, heads: int) -> Tensor:
    """One vector per token and head: (models, B, N, d) to (models · B, heads, N, d/heads)."""
    by_head: Tensor = z.unflatten(-1, (heads, -1)).transpose(2, 3)
    return by_head.flatten(0, 1)


def mix(y: Tensor, W: tuple[Tensor, ...], case: Case) -> Tensor:
    """The first sublayer: causal attention, or what a control has in its place."""
    W_Q, W_K, W_V, W_O = W[:4]
    V = times(y, W_V)  # (models, B, N, d)
    if case.mixing == "none":
        return times(V, W_O)
    if case.mixing == "equal":
        seen = torch.arange(1, y.shape[2] + 1)[:, None]  # (N, 1) tokens that each one sees
        return times(V.cumsum(2) / seen, W_O)
    Q, K, V = (split(z, case.heads) for z in (times(y, W_Q), times(y, W_K), V))
    heads = functional.scaled_dot_product_attention(Q, K, V, is_causal=True)
    joined = heads.transpose(1, 2).flatten(2).view_as(y)  # (models, B, N, d)
    return times(joined, W_O)


def states(x: Tensor, blocks: Tensor, case: Case) -> list[Tensor]:
    """The tokens after each block, (models, B, N, d); blocks (models, L, 6, d, d)."""
    connect = CONNECTIONS[case.connection]
    found = []
    for matrices in blocks.unbind(1):
        W = matrices.unbind(1)
        x = connect(x, lambda y, W=W: mix(y, W, case))
        x = connect(x, lambda y, W=W: times(torch.relu(times(y, W[4])), W[5]))
        found.append(x)
    return found


def start(seeds: Sequence[int], case: Case) -> list[Tensor]:
    """Embeddings, matrices of all blocks, and last matrices; the draws of `placements`."""
    drawn = [initial(seed, 1.0) for seed in seeds]
    embedding, middle, head = (torch.stack(parts).detach() for parts in zip(*drawn, strict=True))
    middle[:, :, 2:4] *= case.attention_scale
    middle[:, :, 4:] *= case.feed_forward_scale
    return [weights.requires_grad_() for weights in (embedding, middle, head)]


def batches(seeds: Sequence[int], case: Case) -> Iterator[Tensor]:
    """The tokens of every step, (models, B, N + 1): always the same number of predictions."""
    text = sources()
    sequences = BATCH * LENGTH // case.length
    generators = [generator(1000 + seed) for seed in seeds]
    last = len(text) - case.length - 1
    for _ in range(case.steps):
        first = np.stack([rng.integers(last, size=(sequences, 1)) for rng in generators])
        yield torch.from_numpy(text[first + np.arange(case.length + 1)]).long()


def embed(tokens: Tensor, embedding: Tensor) -> Tensor:
    """The vectors of tokens (models, B, N), each from the table of its own model."""
    model = torch.arange(len(tokens), device=tokens.device)[:, None, None]
    return embedding[model, tokens]


@torch.no_grad()
def before_training(seeds: Sequence[int], case: Case) -> tuple[list[list[float]], list[float]]:
    """For each seed the spread of the tokens after each block, and how far a step moves the output.

    The step adds a small random number to every weight of the blocks.
    """
    embedding, middle, _ = start(seeds, case)
    x = embed(next(batches(seeds, case))[..., :-1], embedding)
    found = states(x, middle, case)
    drawn = [generator(2000 + seed).normal(size=middle.shape[1:]) for seed in seeds]
    moves = torch.from_numpy(np.stack(drawn)).float()
    moved = states(x, middle + STEP * moves / D**0.5, case)[-1]
    distance = (norm(moved) - norm(found[-1])).square().mean((1, 2, 3)) / STEP**2
    spread = torch.stack([token_spread(y).mean(1) for y in found], dim=1)  # (models, L)
    return spread.tolist(), distance.tolist()


def train(seeds: Sequence[int], case: Case, rate: float) -> tuple[list[float], list[float]]:
    """Train one model a seed; their losses in nats per byte at the end, and how predictions differ.

    The second numbers are the mean Kullback-Leibler divergence of the prediction at each position
    of the last batch from the mean of them all: 0 if the model predicts the same everywhere.
    """
    weights = start(seeds, case)
    embedding, middle, head = weights
    text = batches(seeds, case)
    losses = []  # (models,) of every step
    predictions: list[Tensor] = []

    def loss(step: int) -> Tensor:
        tokens = next(text)
        x = states(embed(tokens[..., :-1], embedding), middle, case)[-1]
        logits = torch.bmm(norm(x).flatten(1, 2), head)  # (models, positions, 256)
        predictions[:] = [logits.detach().softmax(-1)]  # of this step only
        wanted = tokens[..., 1:].flatten(1)
        each = functional.cross_entropy(logits.mT, wanted, reduction="none").mean(1)
        losses.append(each.detach())
        return each.sum()  # models share no weights, so each gets its own gradient

    adam(weights, loss, case.steps, rate, case.warm_up)
    p = predictions[0].double()
    divergence = (p * (p / p.mean(1, keepdim=True)).log()).nansum(-1).mean(1)
    return torch.stack(losses[-LAST:]).mean(0).tolist(), divergence.tolist()


def by_frequency(seeds: Sequence[int], case: Case) -> list[float]:
    """The loss on the same text of a prediction that only knows how frequent each byte is."""
    counts = np.bincount(sources(), minlength=256)
    surprise = -torch.from_numpy(np.log(np.maximum(counts, 1) / counts.sum()))
    last = torch.stack(list(batches(seeds, case))[-LAST:])[..., 1:]  # (steps, models, B, N)
    return surprise[last].mean((0, 2, 3)).tolist()


def entropy() -> float:
    """The entropy of the byte frequencies of the whole text, in nats."""
    counts = np.bincount(sources(), minlength=256)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def rows(cases: Sequence[Case], seeds: Sequence[int]) -> Iterator[Row]:
    """One row for every case."""
    for case in cases:
        spread, movement = before_training(seeds, case)
        loss = {}
        differ = {}
        for rate in case.rates:
            at_end, divergence = train(seeds, case, rate)
            loss[str(rate)] = [round(value, 3) for value in at_end]
            differ[str(rate)] = [round(value, 4) for value in divergence]
        yield asdict(case) | {
            "spread": [[float(f"{value:.3g}") for value in by_block] for by_block in spread],
            "movement": [round(value, 2) for value in movement],
            "frequencies": [round(value, 3) for value in by_frequency(seeds, case)],
            "loss": loss,
            "differ": differ,
        }


if __name__ == "__main__":
    wanted = sys.argv[1:]  # names of cases, whose rows are appended; none: all, from the beginning
    known = (*CASES, *LONG, *LATER)
    chosen = [case for case in known if case.name in wanted] if wanted else CASES
    seeds = range(LONG_SEEDS if all(case in LONG for case in chosen) else 8)
    text: Row = {"name": "byte frequencies", "entropy": round(entropy(), 3)}
    first = [text] if not wanted or text["name"] in wanted else []
    command = shlex.join(["python", "-m", "laboratory.alike", *wanted])
    path = RESULTS / "alike.jsonl"
    write(path, chain(first, rows(chosen, seeds)), origin(command), append=bool(wanted))
