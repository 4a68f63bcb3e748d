"""The printed formulas of chapter 16, executed against the library and the page's listing."""

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate
from bookcheck.equations.checks import equation, sentences


@equation("eq-position-in-score", first_index=0)
def test_position_in_score(rng):
    """The library's rotation, and a bias that tells m and n apart, unlike ALiBi's."""
    q, k = torch.from_numpy(rng.normal(size=(2, 5, 6)))
    positions, theta = torch.arange(5), rotary_frequencies(6)

    def turn(x, positions):
        table = rotary_table(positions, theta, dtype=torch.float64)
        return rotate(x, table, layout="interleaved")

    R = torch.stack([turn(torch.eye(6).double(), torch.full((6,), m)) for m in range(5)])
    bias = torch.from_numpy(rng.normal(size=(5, 5)))
    S = turn(q, positions) @ turn(k, positions).T / 6**0.5 + bias
    indices = {"m": range(5), "n": range(5)}
    return {"q": q, "k": k, "d_k": 6, r"\mathbf{R}": R, "b": bias, "S": S, **indices}


@equation("eq-seed-interval")
def test_seed_interval(rng):
    from scipy.stats import t as student  # here: collecting the tests need not wait for it

    y = rng.normal(size=5)
    u = np.ptp(student.interval(0.95, 4, scale=y.std(ddof=1) / 5**0.5)) / 2
    spread = {r"\bar{y}": y.mean(), r"\sigma": y.std(ddof=1), r"\tau": student.ppf(0.975, 4)}
    return {"y": y, "n_s": 5, "u": u, **spread}


def bindings(rng):
    return {}


test_sentences = sentences("which-encoding")(bindings)
