"""The chapter: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch

from attention_to_rope import MultiHeadAttention
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, sizes, tensor
from shared_many_heads import handed_over, layer_of, layer_values, matrices


def page(rng):
    """Everything that the page names, for every head j."""
    values = layer_values(rng)
    d_k = values["d_k"]
    return {**values, "G": rng.normal(size=(d_k, d_k)), "j": range(values["h"])}


def check(label, **options):
    return equation(label, first_index=0, **options)(page)


test_head_projections = check("eq-head-projections", symbols="X, Q, K, V, W^Q, W^K, W^V, j")
test_head = check("eq-head", symbols="d_k, Q, K, V, H, j")
test_mha = check("eq-mha", symbols=r"h, X, W^O, H, C, \operatorname{MHA}, \operatorname{concat}")
test_sum_of_heads = check("eq-sum-of-heads", symbols="h, W^O, U, H, C")
test_value_output = check("eq-value-output", symbols=r"h, X, W^V, U, A, \operatorname{MHA}")


def layer_with(values):
    """The library's layer with some projections, given head by head."""
    h = values["h"]
    d = values["d"]
    layer = layer_of(0, h, d=d)
    with torch.no_grad():
        layer.query.W.copy_(tensor(np.concatenate(values["W^Q"], axis=1)))
        layer.key.W.copy_(tensor(np.concatenate(values["W^K"], axis=1)))
        layer.value.W.copy_(tensor(np.concatenate(values["W^V"], axis=1)))
        layer.output.W.copy_(tensor(np.concatenate(values["U"])))
    return layer


def bilinear_forms(values):
    """The library's scores of the rows of I with each other, times √d_k: (h, d, d).

    Of rows ten times as long, so that a score is no smaller than what its logarithm rounds.
    """
    Q, K, _ = handed_over(layer_with(values), 10 * np.eye(values["d"]))
    scores = [library_scores(*pair) for pair in zip(Q, K, strict=True)]
    return np.sqrt(values["d_k"]) * np.stack(scores) / 100


def through_each_head(values):
    """What the library makes of the rows of I as values of one head alone: (h, d, d)."""
    found = []
    for j in range(values["h"]):
        alone = np.zeros_like(values["U"])
        alone[j] = values["U"][j]
        layer = layer_with({**values, "U": alone})
        # Each row is a sequence of its own, so that its only weight is 1.
        with torch.no_grad():
            found.append(layer(torch.eye(values["d"]).double()[:, None])[:, 0].numpy())
    return np.stack(found)


@equation("eq-gauge-value", names={1: "C_j"}, first_index=0)
def test_gauge_value(rng):
    values = page(rng)
    return {**values, "C": through_each_head(values)}


@equation("eq-gauge-score", names={1: "B_j"}, first_index=0)
def test_gauge_score(rng):
    values = page(rng)
    return {**values, "B": bilinear_forms(values)}


@equation("eq-bilinear", first_index=0, symbols="d_k, x, W^Q, W^K, j, m, n, S")
def test_bilinear(rng):
    values = page(rng)
    N, h = values["N"], values["h"]
    indices = {"m": range(N), "n": range(N)}
    scores = [library_scores(values["Q"][j], values["K"][j]) for j in range(h)]
    return [{**values, **indices, "j": j, "S": scores[j]} for j in (0, h - 1)]


@equation(
    "eq-bilinear-rank",
    first_index=0,
    identity={1: "It is stated for any two matrices; eq-bilinear says what the product is."},
    symbols="d_k, W^Q, W^K, j",
)
def test_bilinear_rank(rng):
    values = page(rng)
    # Projections that use one direction twice, or alone: the rank is below the bound, or far below.
    repeated = values["W^Q"].copy()
    repeated[..., -1] = repeated[..., 0]
    alone = values["W^Q"].copy()
    alone[...] = alone[..., :1]
    return [values, {**values, "W^Q": repeated}, {**values, "W^Q": alone}]


@equation("eq-one-direction", first_index=0)
def test_one_direction(rng):
    N, d = sizes(rng, 7, 5)
    c, w = rng.normal(size=N), rng.normal(size=d)
    layer = layer_of(rng, heads=1, d=d)
    with torch.no_grad():
        output, A = layer(tensor(np.outer(c, w))[None], return_weights=True)
    _, _, W_V, W_O = matrices(layer)
    values = {"o": output[0], "A": A[0, 0], "c": c, "w": w, "W^V": W_V, "W^O": W_O}
    return {**values, "N": N, "m": range(N)}


def parameters(rng):
    """Those of the library's layer, for some number of heads."""
    h, d_k = sizes(rng, 3, 5)
    layer = layer_of(rng, h, d=h * d_k)
    return {"d": h * d_k, "P": sum(one.numel() for one in layer.parameters())}


test_sentences = sentences(
    "many-heads",
    where={
        "together have …": parameters,
        "passes through …": lambda rng: {"d_k": MultiHeadAttention(512, 8, seed=rng).d_k},
    },
    names={"together have …": "P"},
)(page)
