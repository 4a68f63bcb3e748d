"""What the formulas in the docstrings of `positions` are compared with."""

import numpy as np
import torch
from formulas import RESULT, tensor

import attention_to_rope as book

D, PAIRS = 8, 4


def sinusoidal(rng):
    base = float(rng.uniform(5, 50))
    P = book.sinusoidal(torch.arange(5), D, base=base, dtype=torch.float64).numpy()
    theta = base ** (-2 * np.arange(PAIRS) / D)
    return {"P": P, r"\theta": theta, "b": base, "d": D, "m": range(5), "i": range(PAIRS)}


def t5_bucket(rng):
    """Every distance of the logarithmic half."""
    buckets, largest = 2 * int(rng.integers(4, 9)), 100
    settings = {"bidirectional": False, "buckets": buckets, "max_distance": largest}
    exact = buckets // 2
    sizes = {"n": buckets, "e": exact, r"\delta_{\max}": largest}
    for distance in (exact, exact + 1, 2 * exact, *map(int, rng.integers(exact, largest, 5))):
        bucket = int(book.t5_bucket(torch.tensor([-distance]), **settings))
        yield {**sizes, r"\delta": distance, "k": bucket}


def slopes(rng):
    power = int(rng.integers(1, 5))
    heads = 2**power
    for i, slope in enumerate(book.alibi_slopes(heads).tolist(), start=1):
        yield {"h": heads, "a": power, "i": i, RESULT: slope}


def alibi(rng):
    s = rng.uniform(0.1, 1, size=2)
    bias = book.alibi_bias(tensor(s), torch.arange(4), torch.arange(5)).numpy()
    for h, m, n in np.ndindex(bias.shape):
        yield {"s": s, "h": h, "m": m, "n": n, RESULT: bias[h, m, n]}


BINDINGS = {
    "sinusoidal": sinusoidal,
    "t5_bucket": t5_bucket,
    "alibi_slopes": slopes,
    "alibi_bias": alibi,
}
