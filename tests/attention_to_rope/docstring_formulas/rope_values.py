"""What the formulas in the docstrings of `rope_values` are compared with."""

import torch
from formulas import tensor

import attention_to_rope as book
from attention_to_rope.rope_values import attention_over_turned_rows

N, D = 4, 4


def turned_rows(rng):
    theta, q, u = book.rotary_frequencies(D, 3.0), *rng.normal(size=(2, N, D))
    table = book.rotary_table(torch.arange(N), theta, dtype=torch.float64)
    turn = {"layout": "half"}
    turned = book.rotate(tensor(u), table, **turn)
    weights = book.attention(
        book.rotate(tensor(q), table, **turn), turned, turned, return_weights=True
    )[1]
    output = attention_over_turned_rows(tensor(q), tensor(u), table, table, **turn)
    return {
        "o": output.numpy(),
        "A": weights.numpy(),
        "u": u,
        "R": lambda m: book.rotation_matrix(torch.tensor(int(m)), theta, **turn).numpy(),
        "m": range(N),
    }


BINDINGS = {"attention_over_turned_rows": turned_rows}
