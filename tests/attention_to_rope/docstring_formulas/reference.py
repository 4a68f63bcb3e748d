"""What the formulas in the docstrings of `reference` are compared with."""

import math

import numpy as np
from formulas import RESULT

from attention_to_rope import reference as ref

D, N = 6, 4


def numbers(function, *names):
    """A function of positive numbers, with the symbols of its arguments in their order."""

    def bindings(rng):
        values = [float(value) for value in rng.uniform(0.3, 2, size=len(names))]
        return {**dict(zip(names, values, strict=True)), RESULT: function(*values)}

    return bindings


def signed(function, **more):
    """A function of one number of either sign."""

    def bindings(rng):
        for x in (float(rng.uniform(0.3, 2)), -float(rng.uniform(0.3, 2))):
            yield {"x": x, "e": math.e, RESULT: function(x), **more}

    return bindings


def softmax(rng):
    x = rng.normal(size=N)
    return {"x": x, "p": ref.softmax(x), "j": range(N)}


def attention(rng):
    q, k, v = rng.normal(size=(3, N, D))
    o, A = ref.attention(q, k, v)
    return {"A": A, "v": v, "o": o, "m": range(N)}


def jacobian(rng):
    p = ref.softmax(rng.normal(size=N))
    places = {"i": range(N), "j": range(N), r"\delta": np.eye(N)}
    return {"p": p, "J": ref.softmax_jacobian(p), **places}


def layer_norm(rng):
    x, g, b = rng.normal(size=(3, D))
    result = ref.layer_norm(x, g, b, 0.3)
    moments = {r"\mu": float(x.mean()), r"\sigma": float(x.std()), r"\epsilon": 0.3}
    for j in range(D):
        yield {"x": x, "g": g, "b": b, "j": j, RESULT: float(result[j]), **moments}


def rms_norm(rng):
    x, g = rng.normal(size=(2, D))
    result = ref.rms_norm(x, g, 0.3)
    for j in range(D):
        yield {"x": x, "g": g, "d": D, r"\epsilon": 0.3, "j": j, RESULT: float(result[j])}


def swish(rng):
    x, beta = rng.normal(size=2)
    return {"x": x, r"\beta": beta, r"\sigma": ref.sigmoid, RESULT: ref.silu(x, beta)}


def feed_forward(gated):
    def bindings(rng):
        x, W_1, W_3 = rng.normal(size=D), *rng.normal(size=(2, D, N))
        W_2 = rng.normal(size=(N, D))
        given = {"W_3": W_3} if gated else {}
        result = ref.feed_forward(x, W_1, W_2, math.tanh, **given)
        return {"x": x, "W_1": W_1, "W_2": W_2, **given, "f": np.tanh, RESULT: result}

    return bindings


def sinusoidal(rng):
    m, b = int(rng.integers(1, 9)), float(rng.uniform(5, 60))
    return {"P": ref.sinusoidal(m, D, b), "m": m, "b": b, "d": D, "i": range(D // 2)}


def frequencies(rng):
    b = float(rng.uniform(5, 60))
    return {r"\theta": ref.rotary_frequencies(D, b), "b": b, "d": D, "i": range(D // 2)}


def proportional(rng):
    b = float(rng.uniform(5, 60))
    theta = ref.proportional_frequencies(8, b, 0.5)
    return {r"\theta": theta, "b": b, "d": 8, "p": 0.5, "i": range(4)}


def turned(rng):
    x, m, theta = rng.normal(size=2), int(rng.integers(1, 9)), float(rng.uniform(0.2, 0.6))
    return x, m, theta


def rotate(rng):
    x, m, theta = turned(rng)
    y = ref.rotate(x, m, [theta], "half")
    return {"x_a": x[0], "x_b": x[1], "y_a": y[0], "y_b": y[1], "m": m, r"\theta": theta}


def rotate_complex(rng):
    x, m, theta = turned(rng)
    y = ref.rotate_complex(x, m, [theta], "half")
    parts = {"x_a": x[0], "x_b": x[1], "m": m, r"\theta": theta, "e": math.e}
    return {**parts, RESULT: complex(*y)}


def dynamic(rng):
    """The scale is read off the last frequency, which is divided by it."""
    s, L = float(rng.uniform(1.5, 4)), 700
    changed = ref.dynamic_ntk(D, 50.0, s, L, 300)
    scale = ref.rotary_frequencies(D, 50.0)[-1] / changed[-1]
    return {"s": s, "L": L, "L_0": 300, RESULT: scale}


def by_parts(rng):
    """Half way between the limits, and beyond both."""
    s = float(rng.uniform(2, 5))
    for turns, keep in ((2.5, 0.5), (9.0, 1.0), (0.5, 0.0)):
        theta = turns * 2 * math.pi / 300
        result = ref.ntk_by_parts(theta, s, 300, 1.0, 4.0)
        yield {r"\gamma": keep, r"\theta": theta, "s": s, RESULT: result}


def factors(part):
    def bindings(rng):
        s, a, c = (float(value) for value in rng.uniform(1.5, 4, size=3))
        return {"s": s, "a": a, "c": c, RESULT: ref.yarn_factors(s, a, c)[part]}

    return bindings


def turned_rows(rng):
    """Weights by attention over rows that are turned by their own place, as the model does it."""
    theta = ref.rotary_frequencies(D, 20.0)
    q, u = rng.normal(size=(2, N, D))

    def place(rows):
        return np.stack([ref.rotate(row, m, theta, "half") for m, row in enumerate(rows)])

    _, A = ref.attention(place(q), place(u), u)
    o = ref.attention_over_turned_rows(q, u, theta, "half")
    R = {r"\mathbf{R}": lambda r: ref.rotation_matrix(int(r), theta, "half")}
    return {"A": A, "u": u, "o": o, "m": range(N), **R}


def relative(function, *names, tables=1):
    """A score of one query and one key with rows of tables, at a distance inside them."""

    def bindings(rng):
        q, k = rng.normal(size=(2, D))
        held = rng.normal(size=(tables, 5, D))
        extra = rng.normal(size=(len(names) - tables, D))
        rows = [held[0][3], held[1][1]] if tables == 2 else [held[0][3]]
        bound = dict(zip(names, [*rows, *extra], strict=True))
        return {"q": q, "k": k, "d": D, **bound, RESULT: function(q, k, 1, *held, *extra)}

    return bindings


def tupe(rng):
    q, k, p, r = rng.normal(size=(4, D))
    return {"q": q, "k": k, "p": p, "r": r, "d": D, RESULT: ref.tupe_score(q, k, p, r)}


def kerple(rng):
    r_1, r_2 = (float(value) for value in rng.uniform(0.3, 2, size=2))
    for delta in (3, -2):
        bound = {"r_1": r_1, "r_2": r_2, r"\delta": delta}
        yield {**bound, RESULT: ref.kerple_log_bias(delta, r_1, r_2)}


def fire(rng):
    c = float(rng.uniform(0.3, 2))
    for m, n, L in ((9, 4, 5.0), (2, 4, 5.0)):
        yield {"c": c, "m": m, "n": n, "L": L, RESULT: ref.fire_argument(m, n, c, L)}


def stepped(rng):
    a = float(rng.uniform(0.1, 0.5))
    for i in (3, 17, 40):
        yield {"a": a, "i": i, "f": 1, "L": 6, RESULT: ref.stepped_length_factor(i, 6, a, 1)}


BINDINGS = {
    "softmax": softmax,
    "attention": attention,
    "softmax_jacobian": jacobian,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "relu": signed(ref.relu),
    "sigmoid": signed(ref.sigmoid),
    "silu": swish,
    "gelu": signed(ref.gelu, **{r"\operatorname{erfc}": math.erfc}),
    "gelu_tanh": signed(ref.gelu_tanh),
    "feed_forward": {
        r"f(x W_1) W_2": feed_forward(False),
        r"(f(x W_1) \odot x W_3) W_2": feed_forward(True),
    },
    "sinusoidal": sinusoidal,
    "rotary_frequencies": frequencies,
    "proportional_frequencies": proportional,
    "rotate": rotate,
    "rotate_complex": rotate_complex,
    "dynamic_ntk": dynamic,
    "ntk_by_parts": by_parts,
    "yarn_factors": {
        r"(0.1 a \ln s + 1) / (0.1 c \ln s + 1)": factors(0),
        r"(0.1 c \ln s + 1)^2": factors(1),
    },
    "attention_over_turned_rows": turned_rows,
    "shaw_score": relative(ref.shaw_score, "a"),
    "transformer_xl_score": relative(ref.transformer_xl_score, "r", "u", "w"),
    "deberta_score": relative(ref.deberta_score, r"\kappa", r"\rho", tables=2),
    "tupe_score": tupe,
    "kerple_log_bias": kerple,
    "fire_argument": fire,
    "soft_cap": numbers(ref.soft_cap, "s", "c"),
    "log_length_factor": numbers(ref.log_length_factor, "n", "s"),
    "stepped_length_factor": stepped,
}
