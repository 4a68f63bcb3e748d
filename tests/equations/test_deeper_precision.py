"""Deeper 11: the forms of RoPE, its positions and its angles, from the page's text."""

import numpy as np
import torch

from attention_to_rope import rotation_matrix
from bookcheck.equations.checks import equation, sentences
from shared_implementing_rope import common, frequencies, matrix, turned


def plane(angle):
    """The library's rotation of one pair by this angle."""
    frequency = torch.tensor([float(angle)], dtype=torch.float64)
    return rotation_matrix(torch.tensor(1), frequency, layout="interleaved").numpy()


def symbols(rng):
    """What the four forms name: y is the library's, the quarter turn is a product with i."""
    found = common(rng)
    theta = torch.from_numpy(found[r"\theta"])
    found |= {r"\mathbf{R}": matrix("interleaved", theta), "R": plane}
    z, w = (found[name][0::2] + 1j * found[name][1::2] for name in "xy")
    angles = np.repeat(found["m"] * theta.numpy(), 2)
    quarter = np.stack([(1j * z).real, (1j * z).imag], axis=1).ravel()
    return found | {"z": z, "w": w, "c": np.cos(angles), "s": np.sin(angles), r"\tilde{x}": quarter}


test_dense = equation("eq-form-dense", first_index=0, symbols=r"m, \theta, d_k, \mathbf{R}, R")(
    symbols
)
test_block = equation("eq-form-block", first_index=0, symbols=r"x, m, y, \theta, i, \mathbf{R}, R")(
    symbols
)
test_quarter_turn = equation(
    "eq-quarter-turn", first_index=0, symbols=r"x, m, \theta, i, c, s, \tilde{x}"
)(symbols)
test_elementwise = equation("eq-form-elementwise", first_index=0, symbols=r"x, y, c, s, \tilde{x}")(
    symbols
)
test_complex = equation("eq-form-complex", first_index=0, symbols=r"x, m, y, \theta, i, z, w")(
    symbols
)


def bindings(rng):
    """The rotation as a matrix, a query and a key at two positions, and a gradient."""
    theta = frequencies(rng)
    q, k, g = rng.normal(size=(3, 2 * len(theta)))
    return {
        r"\mathbf{R}": matrix("interleaved", theta),
        "m": range(2, 6),
        "n": range(5, 8),
        "q": q,
        "k": k,
        "g": g,
    }


@equation("eq-two-directions", first_index=0, names={1: "s_{mn}", 2: "t_{mn}"})
def test_two_directions(rng):
    """The dot products of rows that the library has turned."""
    theta = frequencies(rng)
    q, k = rng.normal(size=(2, 2 * len(theta)))
    places = {"m": range(2, 6), "n": range(5, 8), "q": q, "k": k}
    rows = [np.stack([turned(x, m, theta) for m in range(8)]) for x in (q, k)]
    back = [np.stack([turned(x, -m, theta) for m in range(8)]) for x in (q, k)]
    products = {"s": rows[0] @ rows[1].T, "t": back[0] @ back[1].T}
    return {**places, r"\mathbf{R}": matrix("interleaved", theta), **products}


@equation("eq-distinct-positions", draws=1)
def test_distinct_positions(rng):
    """Counted by rounding: bfloat16 keeps 8 binary digits, float16 11, and float8_e5m2 keeps 3."""
    types = {8: torch.bfloat16, 11: torch.float16, 3: torch.float8_e5m2}
    return [
        {"p": p, "u": u, "D": len(torch.unique(torch.arange(2**u).to(dtype).float()))}
        for p, dtype in types.items()
        for u in (12, 13, 15)
    ]


def of_float16(rng):
    """The positions below 2^14 that float16 tells apart."""
    del rng
    counted = len(torch.unique(torch.arange(2**14).to(torch.float16)))
    return {"p": 11, "u": 14, "D": counted}


test_sentences = sentences(
    "deeper/precision",
    first_index=0,
    where={"the formula gives …": of_float16},
    numbers={"the formula gives …": "2^p, u - p, 2^{p - 1}, 1, D"},
)(bindings)


def relative_errors(rng, epsilon, i):
    """Angles whose two roundings err by at most ε: by much, so that each term of the bound counts,
    both at the bound and with opposite signs."""
    found = []
    shares = ((1, 1), (1, 0.7), (0.7, 1), (-0.97, 0.57), (0.57, -0.97))
    for one, two in (epsilon * np.array(both) for both in shares):
        m, theta = int(rng.integers(2, 9)), rng.uniform(1.5, 3)
        angle = {
            "m": m,
            r"\theta": np.append(np.linspace(0.2, 0.4, i), theta),
            "i": i,
            r"\epsilon": epsilon,
        }
        found.append(angle | {r"\hat{a}": m * theta * (1 + one) * (1 + two)})
    return found


def float32_angles(rng):
    """Of 20000 angles computed in float32 the one that comes nearest to the bound."""
    m = rng.integers(2**10, 2**24, size=20_000).astype(np.float64)
    theta = np.exp(rng.uniform(-6, 0, size=m.size))
    angle = (m.astype(np.float32) * theta.astype(np.float32)).astype(np.float64)
    error = np.abs(angle - m * theta) / (m * theta)
    worst = int(np.argmax(error))
    assert error[worst] > 1.2 * 2.0**-24  # near enough to say something about the factor 2
    values = {"m": m[worst], r"\theta": theta[[worst]], "i": 0, r"\epsilon": 2.0**-24}
    return values | {r"\hat{a}": angle[worst]}


BARS = r"drop absolute value: \lvert\hat{a}-m\theta_i\rvert → (\hat{a}-m\theta_i)"


@equation("eq-angle-error", first_index=0, equivalent={BARS: "A weaker bound, and true."})
def test_angle_error(rng):
    return [*relative_errors(rng, 0.3, 1), *relative_errors(rng, 0.17, 2), float32_angles(rng)]
