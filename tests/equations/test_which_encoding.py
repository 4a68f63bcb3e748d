"""The printed formulas of the chapter, executed against the library and the page's listing."""

import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate
from bookcheck.equations.checks import equation, sentences
from shared import even


@equation("eq-position-in-score", first_index=0)
def test_position_in_score(rng):
    """The library's rotation, and a bias that tells m and n apart, unlike ALiBi's."""
    N, d_k = 5, even(rng, 6)
    q, k = torch.from_numpy(rng.normal(size=(2, N, d_k)))
    positions, theta = torch.arange(N), rotary_frequencies(d_k)

    def turn(x, positions):
        table = rotary_table(positions, theta, dtype=torch.float64)
        return rotate(x, table, layout="interleaved")

    R = torch.stack([turn(torch.eye(d_k).double(), torch.full((d_k,), m)) for m in range(N)])
    bias = torch.from_numpy(rng.normal(size=(5, 5)))
    S = turn(q, positions) @ turn(k, positions).T / d_k**0.5 + bias
    indices = {"m": range(5), "n": range(5)}
    return {"q": q, "k": k, "d_k": d_k, r"\mathbf{R}": R, "b": bias, "S": S, **indices}


def bindings(rng):
    return {}


test_sentences = sentences("which-encoding")(bindings)
