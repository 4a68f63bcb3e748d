"""The chapter: the two layouts of RoPE and the way between them, from the page's text."""

import numpy as np
import torch

from attention_to_rope import convert_layout
from bookcheck.equations.checks import equation, sentences
from shared_implementing_rope import common, frequencies, matrix, permutation, turned

test_sparse = equation("eq-form-sparse", first_index=0)(common)
test_half_split = equation("eq-half-split", first_index=0)(lambda rng: common(rng, layout="half"))


def with_layouts(rng, theta):
    """The two rotations as matrices, and the permutation between them."""
    d_k = 2 * len(theta)
    x, Pi = rng.normal(size=d_k), permutation(d_k)
    R, H = matrix("interleaved", theta), matrix("half", theta)
    converted = convert_layout(torch.as_tensor(x), source="interleaved", target="half").numpy()
    assert np.array_equal(x @ Pi, converted)
    return {"x": x, r"\Pi": Pi, "m": range(2, 6), r"\mathbf{R}": R, r"\mathbf{H}": H}


@equation("eq-layout-matrices", names={1: "y_m"}, first_index=0)
def test_layout_matrices(rng):
    """y_m is the row that the library has turned, in its other layout."""
    theta = frequencies(rng)
    values = with_layouts(rng, theta)
    rows = np.stack([turned(values["x"], m, theta) for m in range(6)])
    y = convert_layout(torch.from_numpy(rows), source="interleaved", target="half").numpy()
    return {**values, "y": y}


test_sentences = sentences("implementing-rope")(lambda rng: with_layouts(rng, frequencies(rng)))


@equation("eq-layout-permutation", first_index=0, symbols=r"x, d_k, i, \Pi, I")
def test_layout_permutation(rng):
    values = common(rng)
    return values | {r"\Pi": permutation(values["d_k"]), "I": np.eye(values["d_k"])}
