"""Deeper 10: the proofs, directions and corners of rotation."""

import math

import numpy as np
import torch

from attention_to_rope import axial_table, rotate, rotation_matrix, sinusoidal
from bookcheck.equations.checks import equation
from shared_10_deriving_rope import (
    D_K,
    N,
    complex_pair,
    hat,
    orthogonal,
    plane,
    relative_maps,
)
from shared_rotations import (
    IDENTITY,
    QUARTER_TURN,
    plane_rotation,
    rotation_of_all_pairs,
    some_angle,
    some_frequencies,
    split_matrix,
    turned_row,
)


@equation("eq-scaling", first_index=0)
def test_scaling(rng):
    return {"x": rng.normal(size=2), r"\lambda": rng.normal(size=2)}


@equation("eq-columns", library=rotation_matrix)
def test_columns(rng):
    return {"x": rng.normal(size=2), "R": plane_rotation, r"\alpha": some_angle(rng)}


@equation("eq-wrong-side", library=rotation_matrix)
def test_wrong_side(rng):
    return {"x": rng.normal(size=2), "R": plane_rotation, r"\alpha": some_angle(rng)}


@equation("eq-flip", library=rotation_matrix)
def test_flip(rng):
    return {"F": np.diag([1.0, -1.0]), "R": plane_rotation, r"\alpha": some_angle(rng)}


@equation("eq-complex-pair", first_index=0)
def test_complex_pair(rng):
    return complex_pair(rng)


@equation("eq-exponential-sum")
def test_exponential_sum(rng):
    return {"m": range(4), "n": range(4)}


@equation("eq-complex-matrices", library=rotation_matrix)
def test_complex_matrices(rng):
    numbers = dict(zip("acuv", rng.normal(size=4).tolist(), strict=True))
    return {
        "I": IDENTITY,
        "J": np.rint(plane_rotation(math.pi / 2)),
        "R": plane_rotation,
        r"\alpha": some_angle(rng),
        **numbers,
    }


@equation("eq-step-keeps")
def test_step_keeps(rng):
    f, g, _ = relative_maps(rng)
    r = 3
    sums = {"a": rng.normal(size=r), "x": rng.normal(size=(r, 3)), "r": r}
    return {"f": f, "g": g, "m": rng.permutation(6)[:r], **sums}


@equation("eq-step-map", library=rotate)
def test_step_map(rng):
    """The library turns contents that a map has bent; U is fitted to one step of some of them."""
    (_, theta), W = some_frequencies(rng, 4), rng.normal(size=(3, 4))

    def f(m, x):
        return turned_row(np.tanh(x @ W), m, theta)

    contents = rng.normal(size=(6, 3))
    here, next_place = (np.stack([f(m, x) for x in contents]) for m in (0, 1))
    U = np.linalg.lstsq(here, next_place)[0]
    return {"f": f, "U": U, "x": rng.normal(size=3), "m": range(N)}


@equation("eq-reflection")
def test_reflection(rng):
    return {r"\theta": some_angle(rng), "I": IDENTITY}


def block_form(rng, d=6):
    theta = np.sort(rng.uniform(0.2, 2.5, size=d // 2))
    C = orthogonal(rng, d)
    return theta, C, C.T @ rotation_of_all_pairs(theta)(1) @ C


@equation("eq-normal-form", first_index=0, library=rotation_matrix)
def test_normal_form(rng):
    """A random orthogonal matrix, taken apart as in the proof: planes of its eigenvectors."""
    d = 6
    U = orthogonal(rng, d)
    values, vectors = np.linalg.eig(U.T)  # columns of the transpose: rows w with w U = λ w
    rows, angles = [], []
    for value, w in zip(values, vectors.T, strict=True):
        if value.imag > 1e-9:
            u, v = w.real, -w.imag
            rows += [u / np.linalg.norm(u), v / np.linalg.norm(v)]
            angles.append(float(np.angle(value)))
    rest = sorted(value.real for value in values if abs(value.imag) <= 1e-9)
    if rest:  # real eigenvalues in pairs; they need a basis of their own
        return {
            **dict(zip((r"\theta", "C", "U"), block_form(rng), strict=True)),
            "R": plane_rotation,
            "d": d,
        }
    return {"U": U, "C": np.array(rows), r"\theta": np.array(angles), "R": plane_rotation, "d": d}


@equation("eq-turned-plane")
def test_turned_plane(rng):
    """A random turn of four dimensions, and one of its complex eigenvectors w = u - i v."""
    U = orthogonal(rng, 4)
    values, vectors = np.linalg.eig(U.T)  # columns of the transpose: rows w with w U = λ w
    chosen = int(np.argmax(values.imag))
    w = vectors[:, chosen]
    return {"u": w.real, "v": -w.imag, "U": U, r"\theta": float(np.angle(values[chosen]))}


@equation("eq-isotropic")
def test_isotropic(rng):
    """Each half holds for any row and any number; together they force w w^T = 0."""
    w = rng.normal(size=5) + 1j * rng.normal(size=5)
    return {"w": w, "U": orthogonal(rng, 5), r"\lambda": complex(*rng.normal(size=2))}


@equation("eq-basis-absorbed")
def test_basis_absorbed(rng):
    theta, C, _ = block_form(rng)
    contents = {"q": rng.normal(size=6), "k": rng.normal(size=6), "C": C}
    return {**contents, r"\mathbf{R}": rotation_of_all_pairs(theta), "m": range(N), "n": range(N)}


@equation("eq-two-maps")
def test_two_maps(rng):
    G = 0.8 * plane_rotation(0.7) + 0.2 * rng.normal(size=(2, 2))
    return {**plane(rng), "G": G}


@equation("eq-rope-alias", library=rotation_matrix)
def test_alias(rng):
    return {"R": plane_rotation, r"\theta": some_angle(rng), "m": range(N)}


@equation("eq-block-action")
def test_block_action(rng):
    parts = {"x": rng.normal(size=2), "y": rng.normal(size=3)}
    return {**parts, "A": rng.normal(size=(2, 2)), "B": rng.normal(size=(3, 3))}


@equation("eq-factor")
def test_factor(rng):
    return {r"\hat{R}": hat(), "R": plane_rotation, "I": IDENTITY, r"\alpha": some_angle(rng)}


def factors(rng):
    _, theta = some_frequencies(rng, D_K)
    every = {"m": range(N), "n": range(N), "d_k": D_K, r"\theta": theta.numpy()}
    return {r"\hat{R}": hat(), r"\mathbf{R}": rotation_of_all_pairs(theta), **every}


@equation("eq-factors", first_index=0, library=rotation_matrix)
def test_factors(rng):
    return factors(rng)


@equation("eq-factor-rules", library=rotation_matrix)
def test_factor_rules(rng):
    angles = {r"\alpha": some_angle(rng), r"\beta": 2.3 * some_angle(rng)}
    return [
        {r"\hat{R}": hat(), "i": i, "j": j, **angles} for i in range(3) for j in range(3) if i != j
    ]


@equation("eq-rope-high", first_index=0, library=rotation_matrix)
def test_high_dimension(rng):
    return factors(rng)


@equation("eq-split", first_index=0)
def test_split(rng):
    return split_matrix(rng)


@equation("eq-split-symmetric", first_index=0)
def test_split_symmetric(rng):
    return split_matrix(rng)


@equation("eq-before-blocks", first_index=0, library=rotation_matrix)
def test_before_blocks(rng):
    M, D_part, H = np.zeros((3, 3, 2, 2)), np.zeros((3, 3, 2, 2)), np.zeros((3, 3, 2, 2))
    for i in range(3):
        for j in range(3):
            parts = split_matrix(rng)
            M[i, j], H[i, j] = parts["M"], parts["H"]
            D_part[i, j] = parts["a"] * IDENTITY + parts["c"] * QUARTER_TURN
    theta = some_frequencies(rng, D_K)[1].numpy()
    places = {"m": range(N), "n": range(N), "i": range(3), "j": range(3), r"\theta": theta}
    return {"M": M, "D": D_part, "H": H, "R": plane_rotation, **places}


@equation("eq-sinusoid-turned", library=[sinusoidal, rotation_matrix])
def test_sinusoid_turned(rng):
    b, theta = some_frequencies(rng, D_K)
    P = sinusoidal(torch.arange(N), D_K, b, dtype=torch.float64).numpy()
    cosine_first = P.reshape(N, D_K // 2, 2)[:, :, ::-1].reshape(N, D_K)
    rows = {"P": lambda m: P[int(m)], "c": lambda m: cosine_first[int(m)]}
    return {**rows, r"\mathbf{R}": rotation_of_all_pairs(theta), "m": range(N)}


@equation("eq-rope-to-g", first_index=0, library=rotation_matrix)
def test_rope_to_g(rng):
    _, theta = some_frequencies(rng, D_K)
    places = {"m": range(N), "n": range(N), "d_k": D_K, r"\theta": theta.numpy()}
    return {
        "c_0": np.tile([1.0, 0.0], D_K // 2),
        r"\mathbf{R}": rotation_of_all_pairs(theta),
        **places,
    }


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


@equation("eq-axial", library=axial_table)
def test_axial(rng):
    """Half of the pairs see the row, half the column."""
    score, _, _ = axial_score(rng)
    return {"s": score}


@equation("eq-axes", first_index=0, library=axial_table)
def test_axes(rng):
    """Angles read back from the library's table; they stay below half a turn."""
    _, theta = some_frequencies(rng, D_K)
    theta = theta / 10
    place, axes = rng.permutation(np.arange(2, 9))[:3], [2, 0, 1]
    table = axial_table(torch.from_numpy(place)[:, None], theta, axes, dtype=torch.float64)
    angles = torch.atan2(table.sin, table.cos)[0].numpy()
    symbols = {"p": place, "a": lambda i: axes[int(i)], "i": range(3)}
    return {r"\alpha": angles, r"\theta": theta.numpy(), **symbols}


@equation("eq-axial-product", library=axial_table)
def test_axial_product(rng):
    """s is the library's score of two contents at an offset, f and h its pairs by axis."""
    score, products, theta = axial_score(rng)

    def row(offset):
        return float((products[0::2] @ np.exp(1j * offset * theta[0::2])).real)

    def column(offset):
        return float((products[1::2] @ np.exp(1j * offset * theta[1::2])).real)

    return {"s": score, "f": row, "h": column, "u": range(-2, 3), "v": range(1, 5)}
