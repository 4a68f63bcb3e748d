"""Chapter 3: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch

from attention_to_rope import MultiHeadAttention
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, tensor
from shared_03_many_heads import (
    D_K,
    HEADS,
    D,
    H,
    N,
    layer_of,
    layer_values,
    matrices,
    pick,
)


@equation("eq-head-projections", first_index=0)
def test_head_projections(rng):
    return {**pick(layer_values(rng), "X", "Q", "K", "V", "W^Q", "W^K", "W^V"), **HEADS}


@equation("eq-head-shapes", first_index=0)
def test_head_shapes(rng):
    return {**pick(layer_values(rng), "W^Q", "W^K", "W^V"), **HEADS}


@equation("eq-head", first_index=0)
def test_head(rng):
    return {**pick(layer_values(rng), "Q", "K", "V", "H"), **HEADS}


@equation("eq-mha", first_index=0)
def test_mha(rng):
    names = ("C", "H", "X", "W^O", r"\operatorname{MHA}", r"\operatorname{concat}")
    return pick(layer_values(rng), *names)


@equation("eq-sum-of-heads", first_index=0)
def test_sum_of_heads(rng):
    return pick(layer_values(rng), "C", "W^O", "H", "U")


@equation("eq-value-output", first_index=0)
def test_value_output(rng):
    return pick(layer_values(rng), "X", "A", "W^V", "U", r"\operatorname{MHA}")


@equation("eq-bilinear", first_index=0)
def test_bilinear(rng):
    values = layer_values(rng)
    cases = []
    for j in range(H):
        S = library_scores(values["Q"][j], values["K"][j])
        indices = {"j": j, "m": range(N), "n": range(N), "S": S}
        cases.append({**pick(values, "x", "W^Q", "W^K"), **indices})
    return cases


@equation("eq-bilinear-rank", first_index=0)
def test_bilinear_rank(rng):
    values = {**pick(layer_values(rng), "W^Q", "W^K"), **HEADS}
    # A projection that uses one direction twice: the rank is below the bound.
    repeated = values["W^Q"].copy()
    repeated[..., -1] = repeated[..., 0]
    return [values, {**values, "W^Q": repeated}]


def gauge(rng):
    values = layer_values(rng)
    return {**pick(values, "W^Q", "W^K", "W^V", "U"), "G": rng.normal(size=(D_K, D_K)), **HEADS}


test_gauge_value = equation("eq-gauge-value", first_index=0)(gauge)


test_gauge_score = equation("eq-gauge-score", first_index=0)(gauge)


@equation("eq-one-direction", first_index=0)
def test_one_direction(rng):
    c, w = rng.normal(size=N), rng.normal(size=D)
    layer = layer_of(rng, heads=1)
    x = tensor(np.outer(c, w))[None]
    with torch.no_grad():
        output, A = layer(x, return_weights=True)
    _, _, W_V, W_O = matrices(layer)
    values = {"o": output[0], "A": A[0, 0], "c": c, "w": w, "W^V": W_V, "W^O": W_O}
    return {**values, "N": N, "m": range(N)}


def bindings(rng):
    """All other relations of the page name cases."""
    del rng
    return {}


test_sentences = sentences(
    "03-many-heads",
    where={
        "passes through …": lambda rng: {"d_k": MultiHeadAttention(512, 8, seed=rng).d_k},
    },
    unchecked={
        "heads, numbered …": "Not executed yet.",
    },
)(bindings)
