"""Chapter 11: the two layouts of RoPE and the way between them, from the page's text."""

import numpy as np
import torch

from attention_to_rope import (
    convert_layout,
    convert_projection_layout,
    layout_permutation,
    rotate,
    rotation_matrix,
)
from bookcheck.equations.checks import equation
from shared_11_implementing_rope import D_K, H, R, common, permutation, query_and_key


@equation("eq-form-sparse", first_index=0, library=rotate)
def test_sparse(rng):
    return common(rng)


@equation("eq-half-split", first_index=0, library=rotate)
def test_half_split(rng):
    return common(rng, layout="half")


@equation("eq-layout-permutation", first_index=0, library=layout_permutation)
def test_layout_permutation(rng):
    return common(rng) | {r"\Pi": permutation(), "I": np.eye(D_K)}


@equation("eq-layout-matrices", library=[layout_permutation, rotation_matrix, convert_layout])
def test_layout_matrices(rng):
    x = rng.normal(size=D_K)
    converted = convert_layout(torch.as_tensor(x), source="interleaved", target="half").numpy()
    Pi = permutation()
    assert np.array_equal(x @ Pi, converted)
    return {"x": x, r"\Pi": Pi, r"\mathbf{R}": R, r"\mathbf{H}": H, "m": range(2, 6)}


@equation("eq-layout-scores", library=[layout_permutation, rotation_matrix])
def test_layout_scores(rng):
    return query_and_key(rng) | {r"\Pi": permutation(), r"\mathbf{R}": R, r"\mathbf{H}": H}


@equation("eq-convert-weights", library=[convert_projection_layout, rotation_matrix])
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


@equation("eq-mixed-relative", library=rotation_matrix)
def test_mixed_relative(rng):
    return query_and_key(rng) | {r"\mathbf{H}": H}
