"""What the formulas in the docstrings of `relative` are compared with."""

import numpy as np
import torch
from formulas import RESULT, tensor

import attention_to_rope as book
from attention_to_rope import relative

N_Q, N_K, D, CUT = 3, 4, 2, 2
DISTANCES = book.relative_positions(torch.arange(N_Q), torch.arange(N_K))


def rows_of(table):
    """The row of a distance; far distances share the last."""
    return lambda distance: table[int(np.clip(distance, -CUT, CUT)) + CUT]


def each_score(scores, symbols):
    for m, n in np.ndindex(N_Q, N_K):
        yield {**symbols, "d": D, "m": m, "n": n, RESULT: scores[m, n].item()}


def drawn(rng):
    tables = rng.normal(size=(2, 2 * CUT + 1, D))
    return rng.normal(size=(N_Q, D)), rng.normal(size=(N_K, D)), *tables


def shaw_scores(rng):
    q, k, table, _ = drawn(rng)
    scores = relative.shaw_scores(tensor(q), tensor(k), DISTANCES, tensor(table))
    return each_score(scores, {"q": q, "k": k, "a": rows_of(table)})


def shaw_output(rng):
    _, v, table, _ = drawn(rng)
    A = rng.dirichlet(np.ones(N_K), size=N_Q)
    output = relative.shaw_output(tensor(A), tensor(v), DISTANCES, tensor(table)).numpy()
    for m in range(N_Q):
        yield {"A": A, "v": v, "b": rows_of(table), "m": m, RESULT: output[m]}


def transformer_xl(rng):
    q, k, table, _ = drawn(rng)
    u, w = rng.normal(size=(2, D))
    scores = relative.transformer_xl_scores(
        tensor(q), tensor(k), DISTANCES, *map(tensor, (table, u, w))
    )
    return each_score(scores, {"q": q, "k": k, "u": u, "w": w, "r": rows_of(table)})


def deberta(rng):
    q, k, keys, queries = drawn(rng)
    scores = relative.deberta_scores(tensor(q), tensor(k), DISTANCES, tensor(keys), tensor(queries))
    return each_score(scores, {"q": q, "k": k, r"\kappa": rows_of(keys), r"\rho": rows_of(queries)})


def tupe(rng):
    q, k, *_ = drawn(rng)
    p, U_Q, U_K = rng.normal(size=(N_K, 3)), *rng.normal(size=(2, 3, D))
    places = tensor(p[:N_Q] @ U_Q), tensor(p @ U_K)
    scores = relative.tupe_scores(tensor(q), tensor(k), *places)
    return each_score(scores, {"q": q, "k": k, "p": p, "U_Q": U_Q, "U_K": U_K})


def kerple(rng):
    r_1, r_2 = (float(size) for size in rng.uniform(0.3, 2, size=2))
    bias = book.kerple_log_bias(DISTANCES, r_1, r_2)
    return each_score(bias, {"r_1": r_1, "r_2": r_2})


def slope_at_zero(rng):
    """The bias at distance 1, for an r₂ so small that its square is lost."""
    r_1, r_2 = float(rng.uniform(0.3, 2)), 1e-20
    return {
        "r_1": r_1,
        "r_2": r_2,
        RESULT: -book.kerple_log_bias(torch.tensor([1]), r_1, r_2).item(),
    }


def fire(rng):
    c, L = float(rng.uniform(0.3, 2)), float(rng.uniform(0.5, 1.5))
    bias = book.fire_bias(torch.arange(N_Q), torch.arange(N_K), torch.cos, c=c, threshold=L)
    return each_score(bias, {"c": c, "L": L, "f": np.cos})


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cope_distances(rng):
    q, k, *_ = drawn(rng)
    places = book.cope_positions(tensor(q), tensor(k))
    return each_score(places, {"q": q, "k": k, "N": N_K, r"\sigma": sigmoid})


def cope(rng):
    q, k, table, _ = drawn(rng)
    p = book.cope_positions(tensor(q), tensor(k)).numpy()
    scores = book.cope_scores(tensor(q), tensor(k), tensor(table))

    def e(place):
        place = min(place, len(table) - 1)
        low, high = table[int(np.floor(place))], table[int(np.ceil(place))]
        return low + (place - np.floor(place)) * (high - low)

    return each_score(scores, {"q": q, "k": k, "p": p, "e": e})


def fope(part):
    """The mixed cos or sin, of three pairs at two positions."""

    def values(rng):
        at, mixing = rng.integers(1, 9, size=2), rng.normal(size=(3, 3))
        theta = book.rotary_frequencies(6)
        table = book.rotary_table(torch.as_tensor(at), theta, dtype=torch.float64)
        mixed = getattr(book.fope_table(table, tensor(mixing)), part)
        for row, m in enumerate(at):
            for i in range(3):
                symbols = {"m": m, "i": i, "d": 6, "M": mixing, r"\theta": theta.numpy()}
                yield {**symbols, RESULT: mixed[row, i].item()}

    return values


BINDINGS = {
    "fope_table": {
        r"\sum_{j=0}^{d/2-1} M_{ji} \cos(m \theta_j)": fope("cos"),
        r"\sum_{j=0}^{d/2-1} M_{ji} \sin(m \theta_j)": fope("sin"),
    },
    "fire_bias": fire,
    "cope_positions": cope_distances,
    "cope_scores": cope,
    "shaw_scores": shaw_scores,
    "shaw_output": shaw_output,
    "transformer_xl_scores": transformer_xl,
    "deberta_scores": deberta,
    "tupe_scores": tupe,
    "kerple_log_bias": {
        r"-r_1 \ln(1 + r_2 \lvert n - m \rvert)": kerple,
        r"r_1 r_2": slope_at_zero,
    },
}
