"""The chapters and their pages of depth: what their formulas are bound to."""

from unittest import mock

import numpy as np
import torch

from attention_to_rope import MultiHeadAttention, attention, heads
from shared import sizes, tensor

N, N_Q, H, G, D_K = 7, 4, 6, 3, 5
D = H * D_K


def some_sizes(rng):
    """How many tokens, heads and heads of keys and values, and the width of one: all different."""
    while True:
        N, d_k = sizes(rng, 6, 4)
        g = int(rng.integers(2, 5))
        h = g * int(rng.integers(2, 12 // g + 1))  # 12 at most
        if len({N, h, g, d_k}) == 4:
            return {"N": N, "h": h, "g": g, "d": h * d_k, "d_k": d_k}


def without(values, *names):
    """Some values without those of some names."""
    return {name: value for name, value in values.items() if name not in names}


def split(W, heads):
    """The columns of a projection, head by head: (d, heads · d_k) → (heads, d, d_k)."""
    return W.reshape(len(W), heads, -1).transpose(1, 0, 2)


def layer_of(rng, heads=H, kv_heads=None, *, join=True, d=D):
    """A layer of the library in float64; without `join`, W^O = I and the output is concat."""
    layer = MultiHeadAttention(d, heads, kv_heads=kv_heads, bias=False, seed=rng).double()
    if not join:
        with torch.no_grad():
            layer.output.W.copy_(torch.eye(d))
    return layer


def run(layer, x, context=None):
    """The layer on one NumPy sequence."""
    given = None if context is None else tensor(context)[None]
    with torch.no_grad():
        return layer(tensor(x)[None], given)[0].numpy()


def matrices(layer):
    parts = (layer.query, layer.key, layer.value, layer.output)
    return [part.W.detach().numpy() for part in parts]


def handed_over(layer, x, context=None):
    """The queries, keys and values that a layer of the library hands to its attention."""
    given = None if context is None else tensor(context)[None]
    with mock.patch.object(heads, "attention", wraps=attention) as spied, torch.no_grad():
        layer(tensor(x)[None], given, return_weights=True)
    return [matrix[0].numpy() for matrix in spied.call_args.args]


def layer_values(rng):
    """A layer with everything that the page names, computed by the library."""
    shape = some_sizes(rng)
    N, h, d, d_k = (shape[name] for name in ("N", "h", "d", "d_k"))
    X = rng.normal(size=(N, d))
    layer = layer_of(rng, h, d=d)
    W_Q, W_K, W_V, W_O = matrices(layer)
    Q, K, V = handed_over(layer, X)
    per_head, A = attention(tensor(Q), tensor(K), tensor(V), return_weights=True)
    concatenated = layer_of(rng, h, d=d)
    concatenated.load_state_dict(layer.state_dict() | {"output.weight": torch.eye(d)})
    return {
        **shape,
        "X": X,
        "x": X,
        "Q": Q,
        "K": K,
        "V": V,
        "W^Q": split(W_Q, h),
        "W^K": split(W_K, h),
        "W^V": split(W_V, h),
        "W^O": W_O,
        "U": W_O.reshape(h, d_k, d),
        "H": per_head.numpy(),
        "A": A.numpy(),
        "C": run(concatenated, X),
        r"\operatorname{MHA}": lambda x: run(layer, x),
        r"\operatorname{concat}": lambda *parts: np.concatenate(parts, axis=1),
    }
