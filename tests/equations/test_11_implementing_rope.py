"""Chapter 11: the two layouts of RoPE and the way between them, from the page's text."""

import numpy as np
import torch

from attention_to_rope import (
    convert_layout,
    convert_projection_layout,
)
from bookcheck.equations.checks import equation, sentences
from shared_11_implementing_rope import D_K, H, R, common, permutation, query_and_key

test_sparse = equation("eq-form-sparse", first_index=0)(common)


test_half_split = equation("eq-half-split", first_index=0)(lambda rng: common(rng, layout="half"))


@equation("eq-layout-permutation", first_index=0)
def test_layout_permutation(rng):
    return common(rng) | {r"\Pi": permutation(), "I": np.eye(D_K)}


@equation("eq-layout-matrices")
def test_layout_matrices(rng):
    x = rng.normal(size=D_K)
    converted = convert_layout(torch.as_tensor(x), source="interleaved", target="half").numpy()
    Pi = permutation()
    assert np.array_equal(x @ Pi, converted)
    return {"x": x, r"\Pi": Pi, r"\mathbf{R}": R, r"\mathbf{H}": H, "m": range(2, 6)}


@equation("eq-layout-scores")
def test_layout_scores(rng):
    return query_and_key(rng) | {r"\Pi": permutation(), r"\mathbf{R}": R, r"\mathbf{H}": H}


@equation("eq-convert-weights")
def test_convert_weights(rng):
    """One head of two; Π is read off the library's conversion of the weights."""
    d, W = 4, rng.normal(size=(4, 2 * D_K))
    changed = convert_projection_layout(
        torch.as_tensor(W), 2, source="interleaved", target="half"
    ).numpy()
    Pi = permutation()
    assert np.array_equal(changed, np.hstack([W[:, :D_K] @ Pi, W[:, D_K:] @ Pi]))
    symbols = {"x": rng.normal(size=d), "W^Q": W[:, D_K:], r"\Pi": Pi, "m": range(2, 6)}
    return symbols | {r"\mathbf{R}": R, r"\mathbf{H}": H}


@equation("eq-mixed-relative")
def test_mixed_relative(rng):
    return query_and_key(rng) | {r"\mathbf{H}": H}


def bindings(rng):
    """The two rotations as matrices, and the permutation between them."""
    return {r"\Pi": permutation(), "m": range(2, 6), r"\mathbf{R}": R, r"\mathbf{H}": H}


test_sentences = sentences("11-implementing-rope")(bindings)
