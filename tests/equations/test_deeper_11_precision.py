"""Deeper 11: the forms of RoPE, its positions and its angles, from the page's text."""

import numpy as np
import torch

from attention_to_rope import rotary_table, rotate_complex, rotation_matrix
from bookcheck.equations.checks import equation, sentences
from shared_11_implementing_rope import D_K, THETA, R, common, query_and_key


def plane(angle):
    """The library's rotation of one pair by this angle."""
    frequency = torch.tensor([float(angle)], dtype=torch.float64)
    return rotation_matrix(torch.tensor(1), frequency, layout="interleaved").numpy()


def with_blocks(rng):
    return common(rng) | {r"\mathbf{R}": R, "R": plane}


@equation("eq-form-dense", first_index=0)
def test_dense(rng):
    symbols = with_blocks(rng)
    return {name: symbols[name] for name in ("m", "d_k", r"\theta", "R", r"\mathbf{R}")}


test_block = equation("eq-form-block", first_index=0)(with_blocks)


@equation("eq-quarter-turn", first_index=0)
def test_quarter_turn(rng):
    symbols = common(rng)
    table = rotary_table(torch.tensor([symbols["m"]]), THETA, dtype=torch.float64)
    c, s = (np.repeat(part[0].numpy(), 2) for part in table)
    return symbols | {r"\tilde{x}": quarter_turned(symbols["x"]), "c": c, "s": s}


def quarter_turned(x):
    """Each pair turned by 90 degrees, by complex numbers."""
    z = 1j * (x[0::2] + 1j * x[1::2])
    return np.stack([z.real, z.imag], axis=1).ravel()


@equation("eq-form-elementwise", first_index=0)
def test_elementwise(rng):
    symbols = common(rng)
    angles = np.repeat(symbols["m"] * THETA.numpy(), 2)
    return symbols | {
        r"\tilde{x}": quarter_turned(symbols["x"]),
        "c": np.cos(angles),
        "s": np.sin(angles),
    }


@equation("eq-form-complex", first_index=0)
def test_complex(rng):
    symbols = common(rng)
    x, m = torch.as_tensor(symbols["x"])[None], torch.tensor([symbols["m"]])
    y = rotate_complex(x, m, THETA, layout="interleaved")[0].numpy()
    z = symbols["x"][0::2] + 1j * symbols["x"][1::2]
    return symbols | {"y": y, "z": z, "w": y[0::2] + 1j * y[1::2]}


@equation("eq-two-directions")
def test_two_directions(rng):
    return query_and_key(rng) | {r"\mathbf{R}": R}


@equation("eq-distinct-positions", draws=1)
def test_distinct_positions(rng):
    """Counted by rounding: bfloat16 keeps 8 binary digits, float16 keeps 11."""
    types = {8: torch.bfloat16, 11: torch.float16}
    return [
        {"p": p, "L": L, "D": len(torch.unique(torch.arange(2**L).to(dtype)))}
        for p, dtype in types.items()
        for L in (12, 13, 15)
    ]


def relative_errors(rng):
    """Angles whose two roundings err by δ_1 and δ_2, at most ε: large ones, so that each term of
    the bound counts, both at the bound and with opposite signs."""
    return [
        {
            "m": m,
            r"\theta": np.array([0.4, theta]),
            "i": 1,
            r"\epsilon": 0.3,
            r"\delta_1": first,
            r"\delta_2": second,
            r"\hat{a}": m * theta * (1 + first) * (1 + second),
        }
        for first, second in ((0.3, 0.3), (0.3, 0.2), (0.2, 0.3), (-0.29, 0.17), (0.17, -0.29))
        for m, theta in [(int(rng.integers(2, 9)), rng.uniform(1.5, 3))]
    ]


def float32_angles(rng):
    """Of 20000 angles computed in float32 the one that comes nearest to the bound."""
    m = rng.integers(2**10, 2**24, size=20_000).astype(np.float64)
    theta = np.exp(rng.uniform(-6, 0, size=m.size))
    angle = (m.astype(np.float32) * theta.astype(np.float32)).astype(np.float64)
    error = np.abs(angle - m * theta) / (m * theta)
    worst = int(np.argmax(error))
    assert error[worst] > 1.2 * 2.0**-24  # near enough to say something about the factor 2
    return {"m": m[worst], r"\theta": theta[[worst]], "i": 0, r"\epsilon": 2.0**-24} | {
        r"\hat{a}": angle[worst]
    }


@equation("eq-angle-error", first_index=0)
def test_angle_error(rng):
    bound = [
        {name: value for name, value in draw.items() if "delta" not in name}
        for draw in relative_errors(rng)
    ]
    return [*bound, float32_angles(rng)]


test_angle_error_proof = equation("eq-angle-error-proof", first_index=0)(relative_errors)


def bindings(rng):
    """The rotation as a matrix, and a gradient."""
    return {r"\mathbf{R}": R, "m": range(2, 6), "g": rng.normal(size=D_K)}


test_sentences = sentences("deeper/11-precision", first_index=0)(bindings)
