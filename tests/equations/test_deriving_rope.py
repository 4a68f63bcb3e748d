"""The chapter: the equations of the page, executed against the library where it has them."""

import math

import numpy as np

from bookcheck.equations.checks import equation, sentences
from shared import (
    even,
    every,
    library_attention,
    library_scores,
    library_weights,
    sizes,
    turned_back,
)
from shared_deriving_rope import D_K, N, plane
from shared_rotations import (
    IDENTITY,
    QUARTER_TURN,
    passing_part,
    plane_rotation,
    rotation_of_all_pairs,
    some_frequencies,
    turned_row,
)


def pairs(rng, d_k=None):
    """One query and one key of several pairs, at all positions; g is written without matrices."""
    d_k = d_k or even(rng, 6)
    b, theta = some_frequencies(rng, d_k)
    q, k = rng.normal(size=d_k), rng.normal(size=d_k)

    def g(q, k, offset):
        z, w = q[0::2] + 1j * q[1::2], k[0::2] + 1j * k[1::2]
        return float((z * w.conj() * np.exp(-1j * offset * theta.numpy())).real.sum())

    Q, K = (np.stack([turned_row(x, m, theta) for m in range(N)]) for x in (q, k))
    B = np.zeros((d_k, d_k))
    for i in range(0, d_k, 2):
        B[i : i + 2, i : i + 2] = rng.normal() * IDENTITY + rng.normal() * QUARTER_TURN
    rotations = {r"\mathbf{R}": rotation_of_all_pairs(theta), "R": plane_rotation, "B": B}
    contents = {"q": q, "k": k, "z": q[0::2] + 1j * q[1::2], "w": k[0::2] + 1j * k[1::2]}
    functions = {"f": lambda m, x: turned_row(x, m, theta), "g": g, "S": library_scores(Q, K)}
    indices = {"m": range(N), "n": range(N), r"\theta": theta.numpy(), "b": b, "d_k": d_k}
    return {**rotations, **contents, **functions, **indices}


def sequence(rng):
    """N tokens with their queries, keys and values; scores and weights from the library."""
    d_k, (N,) = even(rng, 4), sizes(rng, 3)
    _, theta = some_frequencies(rng, d_k)
    x, W_Q, W_K = rng.normal(size=(N, 7)), *rng.normal(size=(2, 7, d_k)) / 2
    q, k, v = x @ W_Q, x @ W_K, rng.normal(size=(N, d_k))
    Q, K = (np.stack([turned_row(y[m], m, theta) for m in range(N)]) for y in (q, k))
    indices = {"m": range(N), "n": range(N), "N": N, "d_k": d_k}
    results = {"S": library_scores(Q, K), "A": library_weights(Q, K)}
    # The values rotated as the keys are, and each output rotated back.
    outputs = library_attention(Q, K, np.stack([turned_row(v[n], n, theta) for n in range(N)]))
    results["o"] = np.stack([turned_row(outputs[m], -m, theta) for m in range(N)])
    contents = {"x": x, "W^Q": W_Q, "W^K": W_K, "q": q, "k": k, "v": v}
    return {**contents, **results, **indices, r"\mathbf{R}": rotation_of_all_pairs(theta)}


RULES = {
    **every(r"\alpha", r"\beta"),
    **turned_back("R", kinds=["transpose"]),
    r"exchange everywhere: \alpha ↔ \beta": "Rotations of a plane commute.",
}
test_goal = equation("eq-rope-goal", names={1: r"\sqrt{d_k} S_{mn}"}, first_index=0)(pairs)
test_rotation = equation("eq-rotation", symbols=r"\alpha, R")(plane)
test_rotation_rules = equation(
    "eq-rotation-rules", equivalent=RULES, symbols=r"\alpha, \beta, R, I"
)(plane)
test_two_dimensions = equation(
    "eq-rope-2d", names={1: "s_{mn}"}, first_index=0, symbols=r"q, k, \theta, m, n, R, s"
)(plane)
test_angle = equation(
    "eq-rope-angle",
    names={1: "s_{mn}"},
    first_index=0,
    symbols=r"q, k, \varphi_q, \varphi_k, \theta, m, n, R, s",
)(plane)
test_dot_complex = equation("eq-dot-complex", first_index=0, symbols="x, y, z, w")(plane)
test_complex_score = equation("eq-rope-complex-score", names={1: r"\sigma_{mn}"}, first_index=0)(
    plane
)
test_score = equation(
    "eq-rope-score", first_index=0, symbols=r"x, W^Q, W^K, q, k, S, m, n, d_k, \mathbf{R}"
)(sequence)
test_sum = equation("eq-rope-sum", first_index=0, symbols=r"z, w, S, m, n, \theta, d_k")(pairs)
test_value_back = equation("eq-rope-value-back", names={1: "o_m"}, first_index=0)(sequence)


@equation("eq-between-example", fixed=dict.fromkeys("DHM", "The example has these numbers."))
def test_between(rng):
    """D is what is left of M when it is averaged over rotations of its two sides."""
    del rng
    M = np.array([[1.0, 1.0], [0.0, 1.0]])
    D = passing_part(M)
    return {"M": M, "D": D, "H": M - D}


@equation("eq-row-turn", names={1: "y"})
def test_row_turn(rng):
    """The library's rotation of the row by an angle."""
    values = plane(rng)
    angle = np.array([values[r"\alpha"]])
    return {**values, "y": turned_row(values["x"], 1, angle)}


@equation("eq-gauge-rope", names={1: "Y"})
def test_gauge(rng):
    """The rows of B, turned by the library to position 1."""
    values = pairs(rng)
    Y = np.stack([turned_row(row, 1, values[r"\theta"]) for row in values["B"]])
    return {**values, "Y": Y}


@equation("eq-rope-matrix", first_index=0, symbols=r"\mathbf{R}, R, m, \theta, b, d_k, i")
def test_matrix(rng):
    return [{**pairs(rng, d_k), "i": range(d_k // 2)} for d_k in (4, 6, 8)]


@equation("eq-rope-forced", equivalent=turned_back("G", kinds=["transpose"]))
def test_forced(rng):
    """Rotations and a change of sign, in a basis of their own."""
    _, theta = some_frequencies(rng, 4)
    U, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    rotations = rotation_of_all_pairs(theta)

    def G(m):
        step = np.eye(5)
        step[:4, :4] = rotations(m)
        step[4, 4] = (-1.0) ** m
        return U.T @ step @ U

    return {"G": G, "m": range(N), "n": range(N), "I": np.eye(5)}


@equation("eq-rope-elementwise", names={1: "y"}, first_index=0)
def test_elementwise(rng):
    theta = 0.7 * some_frequencies(rng, 4)[1]  # the first is no 1, so that dropping it is noticed
    rotation = {r"\mathbf{R}": rotation_of_all_pairs(theta), r"\theta": theta.numpy()}
    x = rng.normal(size=4)
    return [{"x": x, "y": turned_row(x, m, theta), "m": m, **rotation} for m in range(1, N)]


def in_the_plane(rng):
    """The positions in which the plane's formulas can be told apart."""
    return {**plane(rng), "m": range(1, N)}


def linear(rng):
    """The library's rotation of all pairs, and its matrices G."""
    known = pairs(rng)
    return {"f": known["f"], "x": known["q"], "G": known[r"\mathbf{R}"]}


def projections(rng):
    W_Q, W_K = rng.normal(size=(2, 5, 3))
    return {"W^Q": W_Q, "W^K": W_K, "M": np.einsum("ik,jk", W_Q, W_K)}


def best_query(rng):
    """The query that the library rotates onto the key three positions before it, in one plane."""
    theta, phi = float(rng.uniform(0.2, 0.7)), float(rng.uniform(0.1, 0.8))
    best = turned_row(np.array([math.cos(phi), math.sin(phi)]), -3, np.array([theta]))
    return {r"\varphi_q": math.atan2(*best[::-1]), r"\varphi_k": phi, r"\theta": theta}


def best_of_all_pairs(rng):
    known = pairs(rng)
    return {**known, "q": known["f"](-3, known["k"])}


def offset(rng):
    m, delta = (int(x) for x in rng.integers(2, 99, size=2))
    return {"m": m, "n": m + delta, r"\delta": delta}


def example(rng):
    """The numbers that the solutions compute with."""
    del rng
    return {r"\theta": math.pi / 2, "q": [1, 0], "k": [0, 2], "d_k": 16, "m": 200, "n": 197}


@sentences(
    "deriving-rope",
    first_index=0,
    where={
        "own matrix, …": linear,
        "Let … , where": in_the_plane,
        "for all pairs, and …": None,
        "the matrix … is": projections,
        "For which …": projections,
        "So let …": in_the_plane,
        "in each term …": None,
        "Let … , $ and $": example,
        "Let $, … and $": example,
        "Let $, $ and …": example,
        "offset … alone": offset,
        "at the offset … , in": example,
        "plane and then for …": example,
        "angle is 0: …": best_query,
        "all pairs take …": best_of_all_pairs,
        "is $ with …": None,
        "this space for …": lambda rng: {"d_k": 6},
    },
)
def test_sentences(rng):
    """One plane, the library's rotation of all pairs, and a factor."""
    _, theta = some_frequencies(rng, D_K)
    positions = {"m": range(1, 5), "n": range(3), r"\lambda": rng.uniform(0.5, 2)}
    return {**plane(rng), **positions, r"\mathbf{R}": rotation_of_all_pairs(theta)}
