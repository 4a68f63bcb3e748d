"""What the formulas in the docstrings of `heads` are compared with."""

import numpy as np
from formulas import RESULT, tensor

import attention_to_rope as book

D, HEADS, N, N_CONTEXT = 6, 2, 3, 4


def attention(q, k, v):
    return book.attention(tensor(q), tensor(k), tensor(v)).numpy()


def heads(rng):
    """One head's matrix a row: columns of W^Q, W^K, W^V, and rows of W^O."""
    layer = book.MultiHeadAttention(D, HEADS, seed=rng)
    x, context = rng.normal(size=(N, D)), rng.normal(size=(N_CONTEXT, D))

    def split(part):
        return part.W.detach().numpy().reshape(D, HEADS, -1).transpose(1, 0, 2)

    W_O = layer.output.W.detach().numpy().reshape(HEADS, -1, D)
    output = layer(tensor(x)[None], context=tensor(context)[None])
    return {
        "x": x,
        "c": context,
        "W^Q": split(layer.query),
        "W^K": split(layer.key),
        "W^V": split(layer.value),
        "W^O": W_O,
        "d": D,
        "h": HEADS,
        "d_k": W_O.shape[1],
        "j": range(HEADS),
        r"\operatorname{attention}": attention,
        RESULT: np.asarray(output[0].detach()),
    }


BINDINGS = {"MultiHeadAttention": heads}
