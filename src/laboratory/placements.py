"""Which placements of the norm train without warm-up, and from which initial weights?

Small causal decoders of 18 blocks learn to predict the next byte of SymPy's sources with Adam at a
constant learning rate. `placement` is post, pre or deep (Post-Norm whose residual is multiplied by
DeepNorm's α); `scale` multiplies the initial W^V, W^O, W_1 and W_2, which have variance 1/d
otherwise. Every seed draws its initial weights and its text, which all variants share.
`python -m laboratory.placements` writes the record, in ten minutes on a CPU.
"""

import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from attention_to_rope import deep_norm, deepnorm_constants, post_norm, pre_norm
from bookkit.adam import adam
from bookkit.placements import BATCH, BLOCKS, LENGTH, RATES, D
from bookkit.randomness import generator
from bookkit.records import Row
from laboratory.record import main

ALPHA, BETA = deepnorm_constants(BLOCKS)
SMALL = round(BETA, 3)  # DeepNorm's scale for this depth
norm = partial(functional.layer_norm, normalized_shape=(D,))
PLACES: dict[str, Callable[..., Tensor]] = {
    "post": partial(post_norm, norm=norm),
    "pre": partial(pre_norm, norm=norm),
    "deep": partial(deep_norm, norm=norm, alpha=ALPHA),
}
VARIANTS = [*product(("post", "pre"), (1.0, SMALL)), ("deep", SMALL)]
# What is read of SymPy 1.14.0, without its tests; a tenth of the files, by the hash of their names,
# was held out for another experiment.
FOLDERS = (
    *("algebras", "calculus", "categories", "combinatorics", "concrete", "core", "crypto"),
    *("discrete", "functions", "geometry", "integrals", "logic", "matrices", "ntheory", "series"),
    *("sets", "simplify", "solvers", "stats", "tensor", "vector"),
)
LAST = 10  # the loss is the mean over so many last steps, each on new text


def block(x: Tensor, W: tuple[Tensor, ...], place: Callable[..., Tensor]) -> Tensor:
    """Causal attention with one head, then a feed-forward layer: (B, N, d) to (B, N, d)."""
    W_Q, W_K, W_V, W_O, W_1, W_2 = W
    attend = functional.scaled_dot_product_attention
    x = place(x, lambda y: attend(y @ W_Q, y @ W_K, y @ W_V, is_causal=True) @ W_O)
    return place(x, lambda y: torch.relu(y @ W_1) @ W_2)


def initial(seed: int, scale: float, blocks: int = BLOCKS) -> list[Tensor]:
    """Embeddings, the matrices of all blocks, and the last matrix."""
    rng = generator(seed)
    shapes: list[tuple[int, ...]] = [(256, D), (blocks, 6, D, D), (D, 256)]
    embedding, middle, head = (rng.normal(size=shape) for shape in shapes)
    middle[:, 2:] *= scale
    arrays = embedding, middle / D**0.5, head / D**0.5
    return [torch.from_numpy(array).float().requires_grad_() for array in arrays]


@cache
def sources() -> npt.NDArray[np.uint8]:
    """The bytes that the models read; the control's row has their hash."""
    found = importlib.util.find_spec("sympy")
    root = Path(str(found and found.origin)).parent
    files = {
        path.relative_to(root).as_posix(): path
        for folder in FOLDERS
        for path in (root / folder).rglob("*.py")
        if not {"tests", "benchmarks"} & {*path.relative_to(root).parts}
    }
    kept = [name for name in sorted(files) if hashlib.sha256(name.encode()).digest()[0] >= 26]
    return np.frombuffer(b"".join(files[name].read_bytes() for name in kept), np.uint8)


def batches(seed: int, steps: int) -> Iterator[Tensor]:
    """The tokens of every step, (B, N + 1)."""
    text = sources()
    rng = generator(1000 + seed)
    for _ in range(steps):
        starts = rng.integers(len(text) - LENGTH - 1, size=(BATCH, 1))
        yield torch.from_numpy(text[starts + np.arange(LENGTH + 1)]).long()


def run(place: str, scale: float, rate: float, seed: int, steps: int) -> float:
    """Train one model and return its loss at the end, in nats per byte."""
    weights = initial(seed, scale)
    embedding, blocks, head = weights
    text = batches(seed, steps)
    losses = []

    def loss(step: int) -> Tensor:
        tokens = next(text)
        x = functional.embedding(tokens[:, :-1], embedding)
        for W in blocks.unbind():
            x = block(x, W.unbind(), PLACES[place])
        logits = (norm(x) @ head).flatten(0, 1)
        losses.append(functional.cross_entropy(logits, tokens[:, 1:].flatten()))
        return losses[-1]

    adam(weights, loss, steps, rate)
    return float(torch.stack(losses[-LAST:]).mean().detach())


def by_frequency(seed: int, steps: int) -> float:
    """The loss on the same text of a prediction that only knows how frequent each byte is."""
    counts = np.bincount(sources(), minlength=256)
    surprise = -torch.from_numpy(np.log(np.maximum(counts, 1) / counts.sum()))
    last = list(batches(seed, steps))[-LAST:]
    return float(surprise[torch.stack(last)[..., 1:]].mean())


def rows(seeds: int, steps: int) -> Iterator[Row]:
    """The control, then all variants at all rates, each with the losses of all seeds."""
    control = [round(by_frequency(seed, steps), 3) for seed in range(seeds)]
    text_sha256 = hashlib.sha256(sources().tobytes()).hexdigest()
    yield {
        "placement": "byte frequencies",
        "steps": steps,
        "loss": control,
        "text_sha256": text_sha256,
    }
    for place, scale in VARIANTS:
        for rate in RATES:
            found = [round(run(place, scale, rate, seed, steps), 3) for seed in range(seeds)]
            yield {"placement": place, "scale": scale, "rate": rate, "steps": steps, "loss": found}


if __name__ == "__main__":
    main("placements", rows(seeds=8, steps=50))
