"""What the formulas in the docstrings of `recurrent_attention` are compared with."""

import numpy as np
from formulas import RESULT, tensor

import attention_to_rope as book

N, D_K, D_V = 4, 3, 2


def sequence(rng):
    q, k = rng.normal(size=(2, N, D_K))
    return q, k, rng.normal(size=(N, D_V)), rng.uniform(0.4, 0.9, size=N)


def at_once(rng):
    """M is what the function gives for scores of 1 and the identity as values."""
    q, k, v, decay = sequence(rng)
    ones = tensor(np.ones((N, 1)))
    M = book.linear_attention(ones, ones, tensor(np.eye(N)), decay=tensor(decay)).numpy()
    result = book.linear_attention(*map(tensor, (q, k, v)), decay=tensor(decay)).numpy()
    symbols = {"Q": q, "K": k, "V": v, "M": M, r"\alpha": decay, RESULT: result}
    for i in range(N):
        for j in range(i + 1):
            yield {**symbols, "i": i, "j": j}


def steps(run, **more):
    """The states after each token: those of the runs that end there, and 0 before the first."""

    def bindings(rng):
        q, k, v, decay = sequence(rng)
        rates = rng.uniform(0.2, 0.8, size=N)

        def until(t):
            rows = [tensor(part[: t + 1]) for part in (q, k, v)]
            arguments = [*rows, tensor(rates[: t + 1])] if more else rows
            return run(*arguments, decay=tensor(decay[: t + 1]))

        def state(t):
            return until(int(t))[1].numpy() if t >= 0 else np.zeros((D_K, D_V))

        symbols = {"q": q, "k": k, "v": v, r"\alpha": decay, r"\beta": rates, "I": np.eye(D_K)}
        return {**symbols, "o": until(N - 1)[0].numpy(), "S": state, "t": range(N)}

    return bindings


BINDINGS = {
    "linear_attention": at_once,
    "linear_attention_steps": steps(book.linear_attention_steps),
    "delta_rule_steps": steps(book.delta_rule_steps, rate=True),
}
