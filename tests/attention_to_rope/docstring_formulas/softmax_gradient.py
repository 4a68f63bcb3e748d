"""What the formulas in the docstrings of `softmax_gradient` are compared with."""

import numpy as np
from formulas import RESULT, tensor

import attention_to_rope as book
from texcheck import depends

N = 4


def of_scores(x):
    return book.softmax(tensor(x)).numpy()


def jacobian(rng):
    x = rng.normal(size=N)
    J = book.softmax_jacobian(tensor(of_scores(x))).numpy()
    places = {"i": range(N), "j": range(N), r"\delta": np.eye(N)}
    return {"x": x, "p": depends("x", of_scores), "J": J, **places}


def sizes(kind):
    def bindings(rng):
        p = of_scores(rng.normal(size=N))
        J, size = book.softmax_jacobian(tensor(p)), book.softmax_jacobian_norm(tensor(p), kind)
        return {"J": J.numpy(), RESULT: size.item()}

    return bindings


def weights(rng):
    """Random weights, and two equal ones, where the bounds are attained."""
    yield of_scores(rng.normal(size=N))
    yield np.array([0.5, 0.5, 0.0, 0.0])


def bound_by_weights(rng):
    for p in weights(rng):
        J, bound = book.softmax_jacobian(tensor(p)), book.jacobian_norm_bound(tensor(p)).item()
        yield {"J": J.numpy() * (1 - 1e-12), "p": p, r"\beta": bound}


def bound_by_saturation(rng):
    for p in weights(rng):
        m = book.saturation(tensor(p)).item()
        J = book.softmax_jacobian(tensor(p)).numpy() * (1 - 1e-12)
        yield {"J": J, "p": p, "m": m, r"\beta": book.saturation_bound(m), "i": range(N)}


def saturation(rng):
    p = of_scores(rng.normal(size=N))
    return {"p": p, "m": book.saturation(tensor(p)).item()}


def bound_by_gap(rng):
    """Random scores, and scores that are equal but for the largest: the bound is attained."""
    lead = float(rng.uniform(0.1, 3))
    for x in (rng.normal(size=N), np.array([lead, 0.0, 0.0])):
        ordered, p = np.sort(x), tensor(of_scores(x))
        gap = float(ordered[-1] - ordered[-2])
        left = book.saturation(p).item() * (1 - 1e-12)
        yield {"m": left, "n": len(x), r"\Delta": gap, r"\beta": book.gap_bound(gap, len(x))}


BINDINGS = {
    "softmax_jacobian": jacobian,
    "softmax_jacobian_norm": {
        r"\lVert J \rVert_2": sizes("spectral"),
        r"\lVert J \rVert_F": sizes("frobenius"),
    },
    "saturation": saturation,
    "jacobian_norm_bound": bound_by_weights,
    "saturation_bound": bound_by_saturation,
    "gap_bound": bound_by_gap,
}
