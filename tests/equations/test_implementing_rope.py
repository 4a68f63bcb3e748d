"""Chapter 11: the two layouts of RoPE and the way between them, from the page's text."""

import numpy as np
import torch

from attention_to_rope import convert_layout
from bookcheck.equations.checks import equation, sentences
from shared_implementing_rope import D_K, H, R, common, permutation

test_sparse = equation("eq-form-sparse", first_index=0)(common)
test_half_split = equation("eq-half-split", first_index=0)(lambda rng: common(rng, layout="half"))


def bindings(rng):
    """The two rotations as matrices, and the permutation between them."""
    x, Pi = rng.normal(size=D_K), permutation()
    converted = convert_layout(torch.as_tensor(x), source="interleaved", target="half").numpy()
    assert np.array_equal(x @ Pi, converted)
    return {"x": x, r"\Pi": Pi, "m": range(2, 6), r"\mathbf{R}": R, r"\mathbf{H}": H}


test_layout_matrices = equation("eq-layout-matrices")(bindings)
test_sentences = sentences("implementing-rope")(bindings)


@equation("eq-layout-permutation", first_index=0)
def test_layout_permutation(rng):
    return common(rng) | {r"\Pi": permutation(), "I": np.eye(D_K)}
