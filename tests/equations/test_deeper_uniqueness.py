"""Why only rotations: the equations of the page, executed against the library."""

import math

import numpy as np
import torch

from attention_to_rope import rotate_complex
from bookcheck.equations.checks import Excluded, equation, sentences
from shared import even, library_scores, sizes
from shared_deriving_rope import (
    N,
    complex_pair,
    complex_turn,
    orthogonal,
    plane,
    relative_maps,
)
from shared_rotations import (
    IDENTITY,
    plane_rotation,
    rotation_of_all_pairs,
    some_angle,
    some_frequencies,
    turned_row,
)

SHIFT = "Every shift keeps all lengths."
STEPS = {
    "flip sign: + → -": SHIFT,
    "off by one: 1 → 2, after +": SHIFT,
    "index off by one: {m_j+1} → {m_j+1+1}": SHIFT,
}


def a_sum(rng):
    """A sum of r contents at places of their own, and its length by the products of its terms."""
    f, g, _ = relative_maps(rng)
    (r,) = sizes(rng, 2)
    a = rng.normal(size=r)
    x = rng.normal(size=(r, 3))
    m = rng.permutation(9)[:r]
    products = [[g(x[j], x[i], int(m[i] - m[j])) for i in range(r)] for j in range(r)]
    length = math.sqrt(a @ np.array(products) @ a)
    return {"f": f, "g": g, "m": m, "a": a, "x": x, "r": r, "L": length}


# Maps that bend the contents and are relative all the same.
test_step_length = equation("eq-step-length", names={1: "L"}, equivalent=STEPS)(a_sum)


LENGTHS = (
    r"drop factor: f_m → ∅, after \lVert",
    r"index off by one: m → {m+1}, after \lVert f_",
)


KEEPS = dict.fromkeys(LENGTHS, "f keeps lengths.")
EITHER = {"exchange everywhere: q ↔ k": "The first line is stated for every content."}


@equation("eq-angle-steps", equivalent={**KEEPS, **EITHER})
def test_angle_steps(rng):
    """The library turns; the angle of an arrow is read place by place and counted on."""
    theta, contents = some_angle(rng), {"q": rng.normal(size=2), "k": rng.normal(size=2)}
    frequency = np.array([theta])
    turned = [turned_row(contents["q"], m, frequency) for m in range(N + 1)]
    angles = np.unwrap([math.atan2(y, x) for x, y in turned])
    angles -= angles[0]

    def g(q, k, offset):
        z, w = complex(*q), complex(*k)
        return (z.conjugate() * w * np.exp(1j * offset * theta)).real

    places = {r"\psi": lambda m: angles[int(m)], r"\theta": theta, "m": range(N)}
    return {"f": lambda m, x: turned_row(x, m, frequency), "g": g, **contents, **places}


@equation("eq-stretched-content", first_index=0, names={1: "s_{mn}"})
def test_stretched_content(rng):
    """The scores of contents with their lengths cubed, which the library has turned."""
    theta, pair = some_angle(rng), complex_pair(rng)
    z, w = pair["z"], pair["w"]
    turn = complex_turn(theta)
    first = np.array([turn(m, abs(z) ** 2 * z) for m in range(N)])
    second = np.array([turn(n, abs(w) ** 2 * w) for n in range(N)])
    s = np.outer(first.conj(), second).real
    return {"z": z, "w": w, "s": s, "m": range(N), "n": range(N), r"\theta": theta}


PLACES = (
    "flip sign: + → -, after jf_{m_j",
    r"off by one: 1 → 2, before }(x_j)\right",
    "drop one: +1 → ∅, after jf_{m_j",
)


ONE_MORE = (
    "index off by one: {m_j+1} → {m_j+1+1}, after jf_",
    "index off by one: {m_j} → {m_j+1}, after jf_",
)


test_step_keeps = equation(
    "eq-step-keeps",
    names={1: "L^2"},
    equivalent=dict.fromkeys((*PLACES, *ONE_MORE), SHIFT),
)(a_sum)


@equation("eq-step-map")
def test_step_map(rng):
    """The library turns contents that a map has bent; U is fitted to one step of some of them."""
    (_, theta), W = some_frequencies(rng, 4), rng.normal(size=(3, 4))

    def f(m, x):
        return turned_row(np.tanh(x @ W), m, theta)

    contents = rng.normal(size=(6, 3))
    here, next_place = (np.stack([f(m, x) for x in contents]) for m in (0, 1))
    U = np.linalg.lstsq(here, next_place)[0]
    return {"f": f, "U": U, "x": rng.normal(size=3), "m": range(N)}


test_reflection = equation("eq-reflection")(lambda rng: {r"\theta": some_angle(rng), "I": IDENTITY})


def block_form(rng, d=6):
    theta = np.sort(rng.uniform(0.2, 2.5, size=d // 2))
    C = orthogonal(rng, d)
    return theta, C, C.T @ rotation_of_all_pairs(theta)(1) @ C


@equation("eq-normal-form", first_index=0)
def test_normal_form(rng):
    """A random orthogonal matrix, taken apart as in the proof: planes of its eigenvectors."""
    d = even(rng, 4)
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
            **dict(zip((r"\theta", "C", "U"), block_form(rng, d), strict=True)),
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


@equation(
    "eq-isotropic",
    identity=dict.fromkeys(
        (1, 2), "It is a rule for any row; of the row of the proof it finds that w w^T is 0."
    ),
)
def test_isotropic(rng):
    """Each half holds for any row and any number; together they force w w^T = 0."""
    w = rng.normal(size=5) + 1j * rng.normal(size=5)
    return {"w": w, "U": orthogonal(rng, 5), r"\lambda": complex(*rng.normal(size=2))}


@equation("eq-basis-absorbed", first_index=0, names={1: "s_{mn}"})
def test_basis_absorbed(rng):
    """The dot products of rows that the library has turned, in another basis."""
    theta, C, _ = block_form(rng)
    q, k = rng.normal(size=(2, 6))
    turned_q = np.stack([turned_row(q @ C.T, m, theta) @ C for m in range(N)])
    turned_k = np.stack([turned_row(k @ C.T, n, theta) @ C for n in range(N)])
    contents = {"q": q, "k": k, "C": C, "s": turned_q @ turned_k.T}
    return {**contents, r"\mathbf{R}": rotation_of_all_pairs(theta), "m": range(N), "n": range(N)}


def step_by_step(q, k, G):
    """Scores where each step multiplies a query by G, and a key by the inverse's transpose."""
    queries, keys = [q], [k]
    for _ in range(N - 1):
        queries.append(queries[-1] @ G)
        keys.append(np.linalg.solve(G, keys[-1]))
    return np.stack(queries) @ np.stack(keys).T


@equation("eq-two-maps", first_index=0, names={1: "s_{mn}"})
def test_two_maps(rng):
    G = 0.8 * plane_rotation(0.7) + 0.2 * rng.normal(size=(2, 2))
    values = plane(rng)
    return {**values, "G": G, "s": step_by_step(values["q"], values["k"], G)}


SHEAR = "The sentence before it says that G is this shear."


EVERY_G = {"text of eq-two-maps": "It holds for every G, and its own check refuses this display."}


@equation("eq-shear", first_index=0, names={1: "s_{mn}"}, fixed={"G": SHEAR}, equivalent=EVERY_G)
def test_shear(rng):
    G = np.array([[1.0, 1.0], [0.0, 1.0]])
    q, k = rng.normal(size=(2, 2))
    s = step_by_step(q, k, G)
    return {"G": G, "q": q, "k": k, "s": s, "m": range(N), "n": range(N)}


@equation("eq-added-terms", first_index=0, names={1: r"\sqrt{3} S_{mn}"})
def test_added_terms(rng):
    """The library's scores of contents to which positions are added."""
    P = rng.normal(size=(N, 3))
    x, y = rng.normal(size=(2, 3))
    S = library_scores(x + P, y + P)
    return {"x": x, "y": y, "P": P, "S": S, "m": range(N), "n": range(N)}


D = 6


def bindings(rng):
    """A rotation U of three planes in a random basis C, and one of its complex rows w."""
    _, theta = some_frequencies(rng, D)
    turn = rotation_of_all_pairs(theta)
    C, _ = np.linalg.qr(rng.normal(size=(D, D)))
    U = C.T @ turn(1) @ C
    u, v = C[2], C[3]  # the rows of one plane: turned by its own frequency
    eigen = {"w": u - 1j * v, "u": u, "v": v, r"\lambda": np.exp(1j * float(theta[1]))}
    places = {"m": range(4), "n": range(1, 6), "I": np.eye(D), r"\mathbf{R}": turn}
    return {"U": U, "C": C, **eigen, **places}


def isotropic(rng):
    """A plane of rows that are perpendicular and equally long, in numbers without rounding."""
    return {"w": float(rng.integers(2, 9)) * np.array([1, -1j])}


def kept_product(rng):
    """The product of a row with itself is 0, or the eigenvalue is real."""
    return [isotropic(rng), {"w": rng.normal(size=D), r"\lambda": -1.0}]


def not_real(rng):
    eigenvalue = np.exp(1j * float(rng.uniform(0.3, 2.8)))
    real = [Excluded({r"\lambda": sign}) for sign in (1.0, -1.0)]
    return [{r"\lambda": eigenvalue}, *real]


def not_zero(rng):
    return [{"w": rng.normal(size=D)}, Excluded({"w": np.zeros(D)})]


def contents_changed_once(rng):
    """Any map of the contents, then the turns of the library."""
    _, theta = some_frequencies(rng, D)
    turn, W = rotation_of_all_pairs(theta), rng.normal(size=(D, D))
    return {"f": lambda m, x: np.tanh(x @ W) @ turn(m), "U": turn(1), "x": rng.normal(size=D)}


def one_content(rng):
    """Positions that are added to one content as the theorem asks; another content needs others."""
    _, theta = some_frequencies(rng, D)
    x, first = rng.normal(size=(2, D))
    U = rotation_of_all_pairs(theta)(1) @ orthogonal(rng, D)
    P = [(x + first) @ np.linalg.matrix_power(U, m) - x for m in range(4)]
    return {"P": np.array(P), "U": U, "x": x}


def the_same_vector(rng):
    """The only added positions that are relative: none that tells a place."""
    return {"P": np.tile(rng.normal(size=D), (4, 1)), "U": np.eye(D), "x": rng.normal(size=D)}


def stretched(rng):
    """The library's complex turn of a content stretched by its squared length."""
    theta = some_angle(rng)
    frequency = torch.tensor([theta], dtype=torch.float64)

    def f(m, z):
        pair = abs(z) ** 2 * torch.tensor([[z.real, z.imag]], dtype=torch.float64)
        turned = rotate_complex(pair, torch.tensor([int(m)]), frequency, layout="interleaved")
        return complex(*turned[0].tolist())

    return {"f": f, "z": complex(*rng.normal(size=2)), r"\theta": theta}


def reflection(rng):
    """A reflection of the plane, the second case of the theorem."""
    alpha = some_angle(rng)
    mirror = plane_rotation(alpha) @ np.diag([1.0, -1.0])
    return {"U": mirror, "I": np.eye(2)}


def commuting(rng):
    """Two matrices that commute, and share nothing else."""
    A = rng.normal(size=(3, 3))
    return {"A": A, "B": A @ A + rng.normal() * A + rng.normal() * np.eye(3)}


def shear(rng):
    del rng
    return {"G": np.array([[1.0, 1.0], [0.0, 1.0]]), "j": range(-3, 4)}


def powers_of_one_map(rng):
    """RoPE: the library's turn by m places, and its turn by one."""
    _, theta = some_frequencies(rng, D)
    turn = rotation_of_all_pairs(theta)
    return {"f": lambda m, x: x @ turn(m), "U": turn(1), "x": rng.normal(size=D)}


IDENTITY_HERE = "In the proof by contradiction this matrix is the identity."
ONE_VECTOR = "All places get one vector."
test_sentences = sentences(
    "deeper/uniqueness",
    first_index=0,
    where={
        "then … :": powers_of_one_map,
        "by the theorem … with": powers_of_one_map,
        "reflection and …": reflection,
        "Then … ,": powers_of_one_map,
        "step by step …": contents_changed_once,
        "content first, …": stretched,
        "Write $ and …": None,
        "So … with": kept_product,
        "So $ with … ,": not_real,
        "complex row …": not_zero,
        "with $, and …": isotropic,
        "$, we have …": None,
        "would give …": one_content,
        "and subtract: …": the_same_vector,
        "So … and": the_same_vector,
        "So $ and … :": the_same_vector,
        "By induction …": shear,
        "whatever $ is; so …": lambda rng: {"P": np.tile(rng.normal(size=3), (7, 1))},
        "with $, so …": commuting,
        "$, that is …": commuting,
        "identity is …": plane,
    },
    equivalent={
        "reflection and …": {"another symbol: U → {I}": "The identity is its own square."},
        "even and … ,": {"add transpose: ∅ → ^\\top": "A transpose has the same determinant."},
        "So … and": dict.fromkeys(
            ("another symbol: U → {I}", "another symbol: I → {U}"),
            "The sentence says that U is the identity.",
        ),
        "So $ and … :": {"off by one: 0 → 1": ONE_VECTOR},
        "whatever $ is; so …": {"flip sign: + → -": ONE_VECTOR},
    },
    fixed={
        "and subtract: …": {"U": IDENTITY_HERE},
        "By induction …": {"G": SHEAR},
        "So … and": {"U": IDENTITY_HERE},
        "reflection and …": {"U": "A reflection is symmetric."},
        "So $ and … :": {"P": ONE_VECTOR},
        "whatever $ is; so …": {"P": ONE_VECTOR},
    },
)(bindings)
