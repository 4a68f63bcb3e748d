"""What the formulas in the docstrings of `experts` are compared with."""

import numpy as np
import torch
from formulas import RESULT, array_function, tensor

import attention_to_rope as book

EXPERTS, CHOSEN, D = 5, 2, 3


def all_scores(z, gate):
    """The scores of all experts: weights that are not normalised, with all of them chosen."""
    routing = book.route(tensor(z), EXPERTS, gate=gate, normalise=False)
    return routing.gates[routing.experts.argsort()].numpy()


def route(rng):
    z, bias = rng.normal(size=(2, EXPERTS))
    chosen, gates = book.route(tensor(z), CHOSEN, bias=tensor(bias))
    weights = np.zeros(EXPERTS)
    weights[chosen] = gates
    for i in chosen.tolist():
        yield {
            "z": z,
            "s": all_scores(z, "softmax"),
            "g": weights,
            "i": i,
            "a": (weights > 0).astype(float),
            RESULT: all_scores(z, "sigmoid"),
            r"\sigma": array_function(torch.sigmoid),
        }


def balance_loss(rng):
    scores, experts = rng.dirichlet(np.ones(EXPERTS), size=7), rng.integers(0, EXPERTS, (7, CHOSEN))
    return {
        "E": EXPERTS,
        "f": book.expert_load(torch.from_numpy(experts), EXPERTS).numpy(),
        "P": scores.mean(axis=0),
        RESULT: book.balance_loss(tensor(scores), torch.from_numpy(experts)).item(),
    }


def balanced_bias(rng):
    bias, experts = rng.normal(size=EXPERTS), torch.from_numpy(rng.integers(0, EXPERTS, (6, 2)))
    step, load = rng.uniform(0.1, 0.5), book.expert_load(experts, EXPERTS).numpy()
    moved = book.balanced_bias(tensor(bias), experts, step=step).numpy()
    symbols = {"b": bias, r"\gamma": step, "E": EXPERTS, "f": load}
    for i in range(EXPERTS):
        yield {**symbols, "i": i, RESULT: moved[i]}


def applied(layers):
    """The layer of a number, applied to a row."""
    return lambda i, row: layers[int(i)](tensor(row)).detach().numpy()


def mixture(rng):
    layer = book.MixtureOfExperts(D, 4, experts=EXPERTS, k=CHOSEN, shared=2, seed=rng)
    x = rng.normal(size=D)
    chosen, gates = layer.route(tensor(x))
    weights = np.zeros(EXPERTS)
    weights[chosen] = gates.detach()
    return {
        "x": x,
        "y": layer(tensor(x)).detach().numpy(),
        "g": weights,
        "t": len(layer.shared),
        r"\operatorname{FFN}": applied(layer.experts),
        r"\operatorname{shared}": applied(layer.shared),
    }


BINDINGS = {
    "route": route,
    "balance_loss": balance_loss,
    "balanced_bias": balanced_bias,
    "MixtureOfExperts": mixture,
}
