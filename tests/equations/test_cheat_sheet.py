"""The cheat sheet: its equations, executed against the library."""

import numpy as np
import torch

from attention_to_rope import (
    FeedForward,
    KeyValueCache,
    cache_numbers_per_token,
    rms_norm,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
    silu,
)
from attention_to_rope.context_extension import ntk_aware, yarn_attention_factor
from attention_to_rope.merge import finish, log_total, merge, partial_attention
from bookcheck.equations.checks import equation
from shared import even, every, library_attention, sizes, tensor
from shared_rotations import some_base


def frequencies(rng):
    """Any base, any even size, and the library's frequencies for them."""
    b, d_k = some_base(rng), even(rng, 6)
    return b, d_k, rotary_frequencies(d_k, b)


@equation("eq-sheet-attention", equivalent=every("Q", "K"))
def test_attention(rng):
    N, keys, d_k, d_v = sizes(rng, 4, 5, 3, 2)
    Q, K, V = (rng.normal(size=shape) for shape in ((N, d_k), (keys, d_k), (keys, d_v)))
    return {"Q": Q, "K": K, "V": V, "d_k": d_k, r"\operatorname{Attention}": library_attention}


@equation("eq-sheet-norm")
def test_norm(rng):
    (d,) = sizes(rng, 4)
    x, g, eps = rng.normal(size=d), rng.normal(size=d), float(rng.uniform(0.2, 0.6))

    def library(x):
        return rms_norm(tensor(x), tensor(g), eps=eps).numpy()

    return {"x": x, "g": g, r"\epsilon": eps, "d": d, r"\operatorname{RMSNorm}": library}


@equation("eq-sheet-swiglu", equivalent=every("x"))
def test_swiglu(rng):
    d, hidden = sizes(rng, 4, 5)
    layer = FeedForward(d, hidden=hidden, activation="swiglu", bias=False, seed=rng).double()
    gate, up, down = (w.detach().numpy() for w in (layer.up.W, layer.value.W, layer.down.W))

    def library(x):
        return layer(tensor(x)).detach().numpy()

    def silu_of(x):
        return silu(tensor(x)).numpy()

    return {
        **{r"W^{\text{gate}}": gate, r"W^{\text{up}}": up, r"W^{\text{down}}": down},
        **{"x": rng.normal(size=d), r"\operatorname{SwiGLU}": library},
        r"\operatorname{SiLU}": silu_of,
    }


@equation("eq-sheet-frequencies", first_index=0)
def test_frequencies(rng):
    b, d_k, theta = frequencies(rng)
    return {"b": b, "d_k": d_k, "i": range(d_k // 2), r"\theta": theta.numpy()}


@equation("eq-sheet-pair")
def test_pair(rng):
    m, x = int(rng.integers(1, 9)), rng.normal(size=2)
    theta = frequencies(rng)[2][1:2]
    table = rotary_table(torch.tensor([m]), theta, dtype=torch.float64)
    y_a, y_b = rotate(tensor(x[None]), table, layout="half")[0].tolist()
    return {"x_a": x[0], "x_b": x[1], "y_a": y_a, "y_b": y_b, "m": m, r"\theta": float(theta)}


@equation("eq-sheet-score", first_index=0, names={1: "s_{mn}"})
def test_score(rng):
    """The dot products of rows that the library has rotated."""
    _, d_k, theta = frequencies(rng)
    q, k = rng.normal(size=(2, d_k))
    places = torch.arange(9)
    R = rotation_matrix(places, theta, layout="half").numpy()
    table = rotary_table(places, theta, dtype=torch.float64)
    turned = [rotate(tensor(np.tile(x, (9, 1))), table, layout="half").numpy() for x in (q, k)]
    s = turned[0] @ turned[1].T
    return {"q": q, "k": k, "s": s, r"\mathbf{R}": R, "m": range(1, 3), "n": range(3, 8)}


@equation("eq-sheet-ntk", first_index=0)
def test_ntk(rng):
    s = float(rng.uniform(2, 9))
    _, d_k, theta = frequencies(rng)
    kappa = (theta / ntk_aware(theta, s)).numpy()
    return {"s": s, "d_k": d_k, "i": range(d_k // 2), r"\kappa": kappa}


@equation("eq-sheet-yarn")
def test_yarn(rng):
    s = float(rng.uniform(2, 9))
    return {"s": s, r"\mu": yarn_attention_factor(s)}


@equation("eq-sheet-cache")
def test_cache(rng):
    L, g, N, d_k = sizes(rng, 2, 3, 5, 6)
    held = KeyValueCache().append(*torch.zeros(2, 1, g, N, d_k))
    layers = [held.keys, held.values] * L
    return {"L": L, "g": g, "d_k": d_k, "c": cache_numbers_per_token(*layers, length=N)}


@equation("eq-sheet-merge")
def test_merge(rng):
    q, K, V = rng.normal(size=(1, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    parts = [partial_attention(*map(tensor, (q, K[i], V[i]))) for i in (slice(2), slice(2, 5))]
    outputs = [finish(part)[0].numpy() for part in parts]
    totals = [float(log_total(part)) for part in parts]
    return {"o": finish(merge(*parts))[0].numpy(), "o_1": outputs[0], "o_2": outputs[1]} | {
        r"\lambda_1": totals[0],
        r"\lambda_2": totals[1],
    }
