"""RoPE for images and video: the equations of the page, executed against the library."""

import math

import numpy as np
import torch

from attention_to_rope import rotate, rotation_matrix
from attention_to_rope.rope_axes import axial_table
from bookcheck.equations.checks import equation
from shared import every
from shared_deriving_rope import D_K
from shared_rotations import rotation_of_all_pairs, some_frequencies


@equation("eq-image-rope", equivalent=every("u'", "v'"))
def test_image(rng):
    _, theta = some_frequencies(rng, 4)
    turn = rotation_of_all_pairs(theta)

    def whole(u, v):
        """By frequencies: the first pairs see the row only, the others the column only."""
        angles = np.concatenate([u * theta.numpy(), v * theta.numpy()])
        return rotation_matrix(
            torch.tensor(1), torch.from_numpy(angles), layout="interleaved"
        ).numpy()

    places = {name: range(start, start + 3) for start, name in enumerate(("u", "v", "u'", "v'"))}
    return {r"\mathbf{G}": whole, r"\mathbf{R}": turn, **places}


def axial_score(rng):
    """The library's score of two contents at an offset, the contents as pairs, their angles."""
    _, theta = some_frequencies(rng, 8)
    q, k = rng.normal(size=(2, 8)) / 2

    def score(u, v):
        places = torch.tensor([[int(u)], [int(v)]])
        table = axial_table(places, theta, [0, 1, 0, 1], dtype=torch.float64)
        return float(rotate(torch.from_numpy(q)[None], table, layout="interleaved")[0].numpy() @ k)

    products = (q[0::2] + 1j * q[1::2]) * (k[0::2] - 1j * k[1::2])
    return score, products, theta.numpy()


@equation("eq-axial")
def test_axial(rng):
    """Half of the pairs see the row, half the column."""
    score, _, _ = axial_score(rng)
    return {"S": score}


@equation("eq-axes", first_index=0)
def test_axes(rng):
    """Angles read back from the library's table; they stay below half a turn."""
    _, theta = some_frequencies(rng, D_K)
    theta = theta / 10
    place, axes = rng.permutation(np.arange(2, 9))[:3], [2, 0, 1]
    table = axial_table(torch.from_numpy(place)[:, None], theta, axes, dtype=torch.float64)
    angles = torch.atan2(table.sin, table.cos)[0].numpy()
    symbols = {"p": place, "a": lambda i: axes[int(i)], "i": range(3)}
    return {r"\varphi": angles, r"\theta": theta.numpy(), **symbols}


@equation(
    "eq-axial-product",
    names={2: r"\operatorname{weight}(\delta_u, \delta_v)"},
)
def test_axial_product(rng):
    """S is the library's score of two contents at an offset, f and h its pairs by axis."""
    score, products, theta = axial_score(rng)

    def row(offset):
        return float((products[0::2] @ np.exp(1j * offset * theta[0::2])).real)

    def column(offset):
        return float((products[1::2] @ np.exp(1j * offset * theta[1::2])).real)

    offsets = {r"\delta_u": range(-2, 3), r"\delta_v": range(1, 5)}

    def weight(u, v):
        """By what attention multiplies the values, up to the sum of the row."""
        return math.exp(score(u, v))

    functions = {"S": score, "f": row, "h": column, r"\operatorname{weight}": weight}
    return {**functions, **offsets}
