"""Chapter 10: the equations of the page, executed against the library where it has them."""

import functools
import math

import numpy as np
import torch

from attention_to_rope import (
    attention,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotate_complex,
    rotation_matrix,
    sinusoidal,
)
from bookcheck.equations.checks import equation

N, D, D_K = 5, 7, 6
J = np.array([[0.0, 1.0], [-1.0, 0.0]])
I = np.eye(2)  # noqa: E741 - the symbol of the page


@functools.cache
def R(alpha):
    """The library's rotation by any angle: position 1 of a plane with this frequency."""
    frequency = torch.tensor([float(alpha)], dtype=torch.float64)
    return rotation_matrix(torch.tensor(1), frequency, layout="interleaved").numpy()


def angle(rng):
    """No angle near a multiple of a quarter turn, where sine and cosine have equal sizes or 0."""
    return float(rng.choice([-1, 1]) * rng.uniform(0.2, 0.6))


def frequencies(rng, d_k=D_K):
    b = float(rng.uniform(5, 60))
    return b, rotary_frequencies(d_k, b)


def big(theta):
    """m -> R_m, the library's dense matrix of all pairs."""

    @functools.cache
    def matrix(m):
        frequencies = torch.as_tensor(theta)
        return rotation_matrix(torch.tensor(int(m)), frequencies, layout="interleaved").numpy()

    return matrix


def hat(d_k=D_K):
    """i, alpha -> the matrix that turns pair i and nothing else."""

    def factor(i, alpha):
        matrix = np.eye(d_k)
        pair = slice(2 * int(i), 2 * int(i) + 2)
        matrix[pair, pair] = R(alpha)
        return matrix

    return factor


def turned(x, m, theta):
    """Rows x at position m, turned by the library."""
    table = rotary_table(torch.tensor([int(m)]), torch.as_tensor(theta), dtype=torch.float64)
    return rotate(torch.as_tensor(x)[None], table, layout="interleaved")[0].numpy()


def plane(rng):
    theta = angle(rng)
    q, k = rng.normal(size=2), rng.normal(size=2)
    angles = {
        r"\varphi_q": math.atan2(q[1], q[0]),
        r"\varphi_k": math.atan2(k[1], k[0]),
    }
    every = {"m": range(N), "n": range(N), r"\theta": theta, "R": R}
    return {"q": q, "k": k, **angles, **every}


def orthogonal(rng, d):
    U, _ = np.linalg.qr(rng.normal(size=(d, d)))
    U[0] *= np.sign(np.linalg.det(U))
    return U


@equation("eq-rope-goal", library=rotate)
def test_goal(rng):
    """g is written with complex numbers, f is the library's rotation."""
    _, theta = frequencies(rng)

    def g(q, k, offset):
        z, w = q[0::2] + 1j * q[1::2], k[0::2] + 1j * k[1::2]
        return float((z * w.conj() * np.exp(-1j * offset * theta.numpy())).real.sum())

    contents = {"q": rng.normal(size=D_K), "k": rng.normal(size=D_K)}
    places = {"m": range(N), "n": range(N)}
    return {"f": lambda m, x: turned(x, m, theta), "g": g, **contents, **places}


@equation("eq-scaling", first_index=0)
def test_scaling(rng):
    return {"x": rng.normal(size=2), r"\lambda": rng.normal(size=2)}


@equation("eq-rotation", library=rotation_matrix)
def test_rotation(rng):
    return {"R": R, r"\alpha": angle(rng)}


@equation("eq-row-turn", library=rotation_matrix)
def test_row_turn(rng):
    r, phi = float(rng.uniform(1.5, 3)), angle(rng)
    x = r * np.array([math.cos(phi), math.sin(phi)])
    return {"x": x, "r": r, r"\varphi": phi, r"\alpha": 2.1 * angle(rng), "R": R}


@equation("eq-rotation-rules", library=rotation_matrix)
def test_rotation_rules(rng):
    return {"R": R, "I": I, r"\alpha": angle(rng), r"\beta": 2.3 * angle(rng)}


@equation("eq-rope-2d", library=rotation_matrix)
def test_two_dimensions(rng):
    return plane(rng)


@equation("eq-rope-angle", library=rotation_matrix)
def test_angle(rng):
    return plane(rng)


@equation("eq-rope-signed", first_index=0, library=rotation_matrix)
def test_signed(rng):
    return plane(rng)


@equation("eq-columns", library=rotation_matrix)
def test_columns(rng):
    return {"x": rng.normal(size=2), "R": R, r"\alpha": angle(rng)}


@equation("eq-wrong-side", library=rotation_matrix)
def test_wrong_side(rng):
    return {"x": rng.normal(size=2), "R": R, r"\alpha": angle(rng)}


@equation("eq-flip", library=rotation_matrix)
def test_flip(rng):
    return {"F": np.diag([1.0, -1.0]), "R": R, r"\alpha": angle(rng)}


def complex_pair(rng):
    x, y = rng.normal(size=2), rng.normal(size=2)
    z, w = complex(*x), complex(*y)
    parts = {"r": abs(z), r"\varphi": math.atan2(x[1], x[0])}
    return {"x": x, "y": y, "z": z, "w": w, **parts}


@equation("eq-complex-pair", first_index=0)
def test_complex_pair(rng):
    return complex_pair(rng)


@equation("eq-dot-complex", first_index=0)
def test_dot_complex(rng):
    return complex_pair(rng)


@equation("eq-exponential-sum")
def test_exponential_sum(rng):
    return {"m": range(4), "n": range(4)}


@equation("eq-exponential-difference")
def test_exponential_difference(rng):
    return {"m": range(N), "n": range(N), r"\theta": angle(rng)}


def complex_turn(theta):
    """m, z -> the pair z turned by the library's complex form."""

    def f(m, z):
        pair = torch.tensor([[complex(z).real, complex(z).imag]], dtype=torch.float64)
        frequency = torch.tensor([theta], dtype=torch.float64)
        y = rotate_complex(pair, torch.tensor([int(m)]), frequency, layout="interleaved")
        return complex(*y[0].tolist())

    return f


@equation("eq-rope-complex", library=rotate_complex)
def test_complex_turn(rng):
    theta = angle(rng)
    z = complex_pair(rng)["z"]
    return {"f": complex_turn(theta), "z": z, "m": range(N), r"\theta": theta}


@equation("eq-rope-complex-score", library=rotate_complex)
def test_complex_score(rng):
    theta, pair = angle(rng), complex_pair(rng)
    z, w = pair["z"], pair["w"]
    angles = {r"\varphi_z": np.angle(z), r"\varphi_w": np.angle(w), r"\theta": theta}
    return {"z": z, "w": w, "f": complex_turn(theta), "m": range(N), "n": range(N), **angles}


@equation("eq-dictionary", first_index=0, library=rotation_matrix)
def test_dictionary(rng):
    return {**complex_pair(rng), "R": R, r"\alpha": angle(rng)}


@equation("eq-complex-matrices", library=rotation_matrix)
def test_complex_matrices(rng):
    numbers = dict(zip("acuv", rng.normal(size=4).tolist(), strict=True))
    return {"I": I, "J": R(math.pi / 2), "R": R, r"\alpha": angle(rng), **numbers}


def relative_maps(rng):
    """Maps that are not linear in the content, and relative: h(x) U^m."""
    U, W = orthogonal(rng, 4), rng.normal(size=(3, 4))

    def f(m, x):
        return np.tanh(x @ W) @ np.linalg.matrix_power(U, int(m))

    def g(x, y, offset):
        """By powers of the eigenvalues of U, not by its matrix powers."""
        values, vectors = np.linalg.eig(U)
        step = (vectors * values**-offset) @ np.linalg.inv(vectors)
        return float((np.tanh(x @ W) @ step @ np.tanh(y @ W)).real)

    return f, g, U


@equation("eq-step-keeps")
def test_step_keeps(rng):
    f, g, _ = relative_maps(rng)
    r = 3
    sums = {"a": rng.normal(size=r), "x": rng.normal(size=(r, 3)), "r": r}
    return {"f": f, "g": g, "m": rng.permutation(6)[:r], **sums}


@equation("eq-step-map")
def test_step_map(rng):
    f, _, U = relative_maps(rng)
    return {"f": f, "U": U, "x": rng.normal(size=3), "m": range(N)}


@equation("eq-reflection")
def test_reflection(rng):
    return {r"\theta": angle(rng), "I": I}


def block_form(rng, d=6):
    theta = np.sort(rng.uniform(0.2, 2.5, size=d // 2))
    C = orthogonal(rng, d)
    return theta, C, C.T @ big(theta)(1) @ C


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
        return {**dict(zip((r"\theta", "C", "U"), block_form(rng), strict=True)), "R": R, "d": d}
    return {"U": U, "C": np.array(rows), r"\theta": np.array(angles), "R": R, "d": d}


@equation("eq-turned-plane")
def test_turned_plane(rng):
    theta, C, U = block_form(rng)
    return {"u": 1.7 * C[2], "v": 1.7 * C[3], "U": U, r"\theta": float(theta[1])}


@equation("eq-isotropic")
def test_isotropic(rng):
    """Each half holds for any row and any number; together they force w w^T = 0."""
    w = rng.normal(size=5) + 1j * rng.normal(size=5)
    return {"w": w, "U": orthogonal(rng, 5), r"\lambda": complex(*rng.normal(size=2))}


@equation("eq-basis-absorbed")
def test_basis_absorbed(rng):
    theta, C, _ = block_form(rng)
    contents = {"q": rng.normal(size=6), "k": rng.normal(size=6), "C": C}
    return {**contents, r"\mathbf{R}": big(theta), "m": range(N), "n": range(N)}


@equation("eq-two-maps")
def test_two_maps(rng):
    G = 0.8 * R(0.7) + 0.2 * rng.normal(size=(2, 2))
    return {**plane(rng), "G": G}


@equation("eq-angle-steps")
def test_angle_steps(rng):
    theta, first = angle(rng), float(rng.normal())
    return {r"\psi": lambda m: first + m * theta, r"\theta": theta, "m": range(N)}


@equation("eq-rope-alias", library=rotation_matrix)
def test_alias(rng):
    return {"R": R, r"\theta": angle(rng), "m": range(N)}


@equation("eq-block-action")
def test_block_action(rng):
    parts = {"x": rng.normal(size=2), "y": rng.normal(size=3)}
    return {**parts, "A": rng.normal(size=(2, 2)), "B": rng.normal(size=(3, 3))}


@equation("eq-rope-matrix", first_index=0, library=[rotation_matrix, rotary_frequencies])
def test_matrix(rng):
    cases = []
    for d_k in (6, 8):
        b, theta = frequencies(rng, d_k)
        symbols = {"R": R, r"\theta": theta.numpy(), "b": b, "d_k": d_k}
        cases.append({r"\mathbf{R}": big(theta), "m": range(N), "i": range(d_k // 2), **symbols})
    return cases


@equation("eq-factor")
def test_factor(rng):
    return {r"\hat{R}": hat(), "R": R, "I": I, r"\alpha": angle(rng)}


def factors(rng):
    _, theta = frequencies(rng)
    every = {"m": range(N), "n": range(N), "d_k": D_K, r"\theta": theta.numpy()}
    return {r"\hat{R}": hat(), r"\mathbf{R}": big(theta), **every}


@equation("eq-factors", first_index=0, library=rotation_matrix)
def test_factors(rng):
    return factors(rng)


@equation("eq-factor-rules", library=rotation_matrix)
def test_factor_rules(rng):
    angles = {r"\alpha": angle(rng), r"\beta": 2.3 * angle(rng)}
    return [
        {r"\hat{R}": hat(), "i": i, "j": j, **angles} for i in range(3) for j in range(3) if i != j
    ]


@equation("eq-rope-high", first_index=0, library=rotation_matrix)
def test_high_dimension(rng):
    return factors(rng)


def library_scores(q, k):
    """Scores of the library: logarithms of its weights, with the constant of each row set."""
    values = torch.eye(len(k), dtype=torch.float64)
    S = np.log(attention(torch.from_numpy(q), torch.from_numpy(k), values).numpy())
    return S + (q @ k[0] / math.sqrt(q.shape[1]) - S[:, 0])[:, None]


@equation("eq-rope-score", first_index=0, library=[rotate, attention])
def test_score(rng):
    _, theta = frequencies(rng)
    x = rng.normal(size=(N, D))
    W_Q, W_K = rng.normal(size=(D, D_K)) / 2, rng.normal(size=(D, D_K)) / 2
    q, k = x @ W_Q, x @ W_K
    Q = np.stack([turned(q[m], m, theta) for m in range(N)])
    K = np.stack([turned(k[n], n, theta) for n in range(N)])
    places = {"m": range(N), "n": range(N), r"\mathbf{R}": big(theta), "d_k": D_K}
    return {"x": x, "W^Q": W_Q, "W^K": W_K, "q": q, "k": k, "S": library_scores(Q, K), **places}


@equation("eq-rope-sum", first_index=0, library=[rotate, attention])
def test_sum(rng):
    """One query content and one key content, at all places."""
    _, theta = frequencies(rng)
    q, k = rng.normal(size=D_K), rng.normal(size=D_K)
    Q = np.stack([turned(q, m, theta) for m in range(N)])
    K = np.stack([turned(k, n, theta) for n in range(N)])
    pairs = {"z": q[0::2] + 1j * q[1::2], "w": k[0::2] + 1j * k[1::2]}
    places = {"m": range(N), "n": range(N), r"\theta": theta.numpy(), "d_k": D_K}
    return {"S": library_scores(Q, K), **pairs, **places}


@equation("eq-rope-elementwise", first_index=0, library=rotate)
def test_elementwise(rng):
    _, theta = frequencies(rng, 4)
    x = rng.normal(size=4)
    cases = []
    for m in range(1, N):
        angles = m * theta.numpy()
        table = {"c": np.cos(angles), "s": np.sin(angles)}
        cases.append({"x": x, "m": m, r"\mathbf{R}": big(theta), **table})
        assert np.allclose(x @ big(theta)(m), turned(x, m, theta))
    return cases


def split(rng):
    M = rng.normal(size=(2, 2))
    a, c = (M[0, 0] + M[1, 1]) / 2, (M[0, 1] - M[1, 0]) / 2
    H = M - a * I - c * J
    return {"M": M, "a": a, "c": c, "H": H, "u": H[0, 0], "v": H[0, 1], "I": I, "J": J}


@equation("eq-split", first_index=0)
def test_split(rng):
    return split(rng)


@equation("eq-split-symmetric", first_index=0)
def test_split_symmetric(rng):
    return split(rng)


@equation("eq-pass-through", library=rotation_matrix)
def test_pass_through(rng):
    return {**split(rng), "R": R, r"\alpha": angle(rng)}


@equation("eq-before", library=rotation_matrix)
def test_before(rng):
    places = {"m": range(N), "n": range(N), r"\theta": angle(rng), "R": R}
    return {**split(rng), **places}


@equation("eq-before-blocks", first_index=0, library=rotation_matrix)
def test_before_blocks(rng):
    M, D_part, H = np.zeros((3, 3, 2, 2)), np.zeros((3, 3, 2, 2)), np.zeros((3, 3, 2, 2))
    for i in range(3):
        for j in range(3):
            parts = split(rng)
            M[i, j], H[i, j] = parts["M"], parts["H"]
            D_part[i, j] = parts["a"] * I + parts["c"] * J
    theta = frequencies(rng)[1].numpy()
    places = {"m": range(N), "n": range(N), "i": range(3), "j": range(3), r"\theta": theta}
    return {"M": M, "D": D_part, "H": H, "R": R, **places}


@equation("eq-sinusoid-turned", library=[sinusoidal, rotation_matrix])
def test_sinusoid_turned(rng):
    b, theta = frequencies(rng)
    P = sinusoidal(torch.arange(N), D_K, b, dtype=torch.float64).numpy()
    cosine_first = P.reshape(N, D_K // 2, 2)[:, :, ::-1].reshape(N, D_K)
    rows = {"P": lambda m: P[int(m)], "c": lambda m: cosine_first[int(m)]}
    return {**rows, r"\mathbf{R}": big(theta), "m": range(N)}


@equation("eq-rope-to-g", first_index=0, library=rotation_matrix)
def test_rope_to_g(rng):
    _, theta = frequencies(rng)
    places = {"m": range(N), "n": range(N), "d_k": D_K, r"\theta": theta.numpy()}
    return {"c_0": np.tile([1.0, 0.0], D_K // 2), r"\mathbf{R}": big(theta), **places}


def values(rng):
    """Weights of the library's attention with turned queries and keys, and turned values."""
    _, theta = frequencies(rng)
    matrices = big(theta)
    q, k, v = (rng.normal(size=(N, D_K)) for _ in range(3))

    def weights(first):
        Q = torch.from_numpy(np.stack([q[m] @ matrices(m + first) for m in range(N)]))
        K = torch.from_numpy(np.stack([k[n] @ matrices(n + first) for n in range(N)]))
        return attention(Q, K, torch.eye(N, dtype=torch.float64)).numpy()

    c = 3
    A = weights(0)
    o = A @ np.stack([v[n] @ matrices(n) for n in range(N)])
    moved = weights(c) @ np.stack([v[n] @ matrices(n + c) for n in range(N)])
    places = {"m": range(N), "N": N, "c": c, r"\mathbf{R}": matrices}
    return {"A": A, "v": v, "o": o, r"\tilde{o}": moved, **places}


@equation("eq-rope-value-turned", first_index=0, library=[attention, rotation_matrix])
def test_value_turned(rng):
    return values(rng)


@equation("eq-rope-value-back", first_index=0, library=rotation_matrix)
def test_value_back(rng):
    return values(rng)


@equation("eq-image-rope", library=rotation_matrix)
def test_image(rng):
    _, theta = frequencies(rng, 4)
    turn = big(theta)

    def whole(u, v):
        """By frequencies: the first pairs see the row only, the others the column only."""
        angles = np.concatenate([u * theta.numpy(), v * theta.numpy()])
        return rotation_matrix(
            torch.tensor(1), torch.from_numpy(angles), layout="interleaved"
        ).numpy()

    places = {name: range(start, start + 3) for start, name in enumerate("uvst")}
    return {r"\mathbf{G}": whole, r"\mathbf{R}": turn, **places}


@equation("eq-axial", library=rotation_matrix)
def test_axial(rng):
    """The library's axial score of two contents: half of the pairs see the row, half the column."""
    _, theta = frequencies(rng, 4)
    q, k = rng.normal(size=8), rng.normal(size=8)

    def score(u, v):
        row, column = big(theta)(u), big(theta)(v)
        return float(q[:4] @ row @ k[:4] + q[4:] @ column @ k[4:])

    return {"s": score}


@equation("eq-shear", first_index=0)
def test_shear(rng):
    G = np.array([[1.0, 1.0], [0.0, 1.0]])
    contents = {"q": rng.normal(size=2), "k": rng.normal(size=2)}
    return {"G": G, "m": range(N), "n": range(N), **contents}


@equation("eq-gauge-rope", library=rotation_matrix)
def test_gauge(rng):
    _, theta = frequencies(rng)
    B = np.zeros((D_K, D_K))
    for i in range(0, D_K, 2):
        B[i : i + 2, i : i + 2] = rng.normal() * I + rng.normal() * J
    return {"B": B, r"\mathbf{R}": big(theta)}


@equation("eq-added-terms", first_index=0)
def test_added_terms(rng):
    places = {"m": range(N), "n": range(N), "p": rng.normal(size=(N, 3))}
    return {"x": rng.normal(size=3), "y": rng.normal(size=3), **places}
