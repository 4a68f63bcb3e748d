"""What the formulas in the docstrings of `merge` are compared with."""

import math

import torch
from formulas import RESULT, tensor

from attention_to_rope import attention
from attention_to_rope.merge import (
    Partial,
    finish,
    log_total,
    merge,
    partial_attention,
    partial_gradients,
)

N_K, D_K, D_V = 4, 3, 2


def one_query(rng):
    q, k, v = rng.normal(size=(1, D_K)), rng.normal(size=(N_K, D_K)), rng.normal(size=(N_K, D_V))
    partial = partial_attention(tensor(q), tensor(k), tensor(v))
    symbols = {
        "s": (q @ k.T / math.sqrt(D_K))[0],
        "v": v,
        "c": partial.largest.item(),
        r"\ell": partial.total.item(),
        "u": partial.output[0].numpy(),
    }
    return partial, (tensor(q), tensor(k), tensor(v)), symbols


def contribution(rng):
    return one_query(rng)[-1]


def finished(rng):
    partial, _, symbols = one_query(rng)
    return {**symbols, RESULT: finish(partial)[0].numpy()}


def joined(rng):
    parts = [
        Partial(
            tensor([[rng.normal()]]), tensor([[rng.uniform(1, 3)]]), tensor(rng.normal(size=(1, 2)))
        )
        for _ in range(2)
    ]
    symbols = {}
    for name, part in (("_1", parts[0]), ("_2", parts[1]), ("", merge(*parts))):
        symbols |= {f"c{name}": part.largest.item(), rf"\ell{name}": part.total.item()}
        symbols[f"u{name}"] = part.output[0].numpy()
    return symbols


def logarithm(rng):
    partial, arguments, symbols = one_query(rng)
    weights = attention(*arguments, return_weights=True)[1][0]
    total = log_total(partial).item()
    for j in range(N_K):
        yield {**symbols, r"\lambda": total, "j": j, RESULT: weights[j].item()}


def gradients(rng):
    """Gradients of attention by torch's own differentiation beside those of the backward pass."""
    q, k, v, g = (rng.normal(size=size) for size in ((3, D_K), (N_K, D_K), (N_K, D_V), (3, D_V)))
    scores = (tensor(q) @ tensor(k).T / math.sqrt(D_K)).requires_grad_()
    values = tensor(v).requires_grad_()
    output = torch.softmax(scores, -1) @ values
    output.backward(tensor(g))
    total = log_total(partial_attention(tensor(q), tensor(k), tensor(v)))
    share = (tensor(g) * output.detach()).sum(-1, keepdim=True)
    parts = partial_gradients(
        *map(tensor, (q, k, v)), total, tensor(g), share, scale=1 / math.sqrt(D_K)
    )
    torch.testing.assert_close(parts.v, values.grad)
    torch.testing.assert_close(parts.scores, scores.grad)
    return {
        "g": g,
        "o": output.detach().numpy(),
        "D": share[:, 0].numpy(),
        "s": scores.detach().numpy(),
        r"\lambda": total[:, 0].numpy(),
        "p": attention(*map(tensor, (q, k, v)), return_weights=True)[1].numpy(),
        "v": v,
        "v'": parts.v.numpy(),
        "s'": parts.scores.numpy(),
        "i": range(3),
        "j": range(N_K),
    }


BINDINGS = {
    "Partial": contribution,
    "merge": joined,
    "finish": finished,
    "log_total": logarithm,
    "partial_gradients": gradients,
}
