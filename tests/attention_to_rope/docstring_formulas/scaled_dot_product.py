"""What the formulas in the docstrings of `scaled_dot_product` are compared with."""

import math

from formulas import RESULT, tensor

import attention_to_rope as book
from attention_to_rope.scaled_dot_product import score_scale

N_Q, N_K, D_K, D_V = 3, 4, 3, 2


def attention(rng):
    q, k, v = rng.normal(size=(N_Q, D_K)), rng.normal(size=(N_K, D_K)), rng.normal(size=(N_K, D_V))
    bias = rng.normal(size=(N_Q, N_K))
    output = book.attention(tensor(q), tensor(k), tensor(v), bias=tensor(bias)).numpy()
    return {"Q": q, "K": k, "V": v, "B": bias, "d_k": D_K, RESULT: output}


def capped(rng):
    """A score beside one of 0: the logarithm of the ratio of their weights is the capped score."""
    s, c = float(rng.normal(scale=3)), float(rng.uniform(1, 4))
    values = tensor([[0.0], [0.0]])
    weights = book.attention(
        tensor([[1.0]]), tensor([[s], [0.0]]), values, soft_cap=c, return_weights=True
    )[1][0]
    return {"s": s, "c": c, RESULT: math.log(weights[0] / weights[1])}


def scale(rng):
    d_k = int(rng.integers(2, 99))
    return {"d_k": d_k, RESULT: score_scale(d_k)}


def softmax(rng):
    x = rng.normal(size=5)
    return {"x": x, "p": book.softmax(tensor(x)).numpy(), "j": range(5), "c": x.max()}


BINDINGS = {
    "attention": {
        r"\operatorname{softmax}(Q K^\top / \sqrt{d_k} + B)\, V": attention,
        r"c \tanh(s / c)": capped,
    },
    "score_scale": scale,
    "softmax": softmax,
}
