"""How activations differ: slopes, dead units, GELU and its tanh form, executed."""

import functools
import math

import numpy as np
import torch

from attention_to_rope import FeedForward, LayerNorm, Linear, RMSNorm, gelu, gelu_tanh, relu, silu
from bookcheck.equations.checks import Random, equation, sentences
from shared import every, sizes
from shared_feed_forward import D_F, PLACES, SIGMOID, D, applied, in_numpy, layer, normal_cdf

A = math.sqrt(2 / math.pi)


def inside_tanh(x):
    return A * (x + 0.044715 * x**3)


def lowest():
    """Where the library's Swish is smallest, by halving the interval in which its slope rises."""
    low, high = -2.0, -1.0
    for _ in range(60):
        x = torch.tensor((low + high) / 2, dtype=torch.float64, requires_grad=True)
        silu(x).backward()
        low, high = (low, x.item()) if x.grad > 0 else (x.item(), high)
    return {"x^*": low, **SIGMOID}


FUNCTIONS = {
    r"\operatorname{GELU}": in_numpy(gelu),
    r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh),
    r"\operatorname{ReLU}": in_numpy(relu),
    r"\Phi": in_numpy(lambda x: torch.erfc(-x / math.sqrt(2)) / 2),
    r"\varphi": lambda x: np.exp(-x * x / 2) / math.sqrt(math.tau),
    "T": lambda x: (1 + math.tanh(inside_tanh(x))) / 2,
    "u": inside_tanh,
}


def at(*places):
    def draw(rng):
        beta = rng.uniform(1.1, 2)
        return [{"x": x, **FUNCTIONS, **SIGMOID, r"\beta": beta} for x in places]

    return draw


def slope(function, place):
    """The derivative of a function of the library at a place."""
    x = torch.tensor(place, dtype=torch.float64, requires_grad=True)
    function(x).backward()
    return x.grad.item()


@equation("eq-slopes", names={1: "s", 2: "t"})
def test_slopes(rng):
    cases = at(*PLACES)(rng)
    for case in cases:
        case["s"] = slope(functools.partial(silu, beta=case[r"\beta"]), case["x"])
        case["t"] = slope(gelu, case["x"])
    return cases


test_gelu = equation("eq-gelu", equivalent=every("x"), symbols=r"x, \operatorname{GELU}, \Phi")(
    lambda rng: [{**case, r"\Phi": normal_cdf} for case in at(*PLACES)(rng)]
)
test_phi_erf = equation("eq-phi-erf", equivalent=every("x"), symbols=r"x, \Phi")(at(*PLACES))
# Below -4 almost nothing is left of 1 + tanh, so that rounding decides its digits.
test_gelu_tanh = equation(
    "eq-gelu-tanh", equivalent=every("x"), symbols=r"x, \operatorname{GELU}_{\tanh}"
)(at(*PLACES[1:]))


@equation(
    "eq-gelu-taylor",
    fixed=dict.fromkeys("at", "It is a number of the normal distribution."),
    names={1: "t"},
)
def test_gelu_taylor(rng):
    """The coefficient of the cube in the u whose tanh is erf(x/√2), by autograd at 0."""
    del rng
    x = torch.zeros((), dtype=torch.float64, requires_grad=True)
    slopes = [torch.atanh(torch.erf(x / math.sqrt(2)))]
    for _ in range(3):
        (derivative,) = torch.autograd.grad(slopes[-1], x, create_graph=True)
        slopes.append(derivative)
    first, third = slopes[1].item(), slopes[3].item()
    return {"a": A, "t": third / 6 / first}


# At 2.7 the error is within half a percent of the bound.
test_gelu_error = equation(
    "eq-gelu-error",
    equivalent={
        "last digit: 4.75 → 4.74": "True, but the proof's cell prints its bound, 4.735, as 4.74.",
        r"drop absolute value: \lvert\operatorname{GELU}_{\tanh}(x)-"
        r"\operatorname{GELU}(x)\rvert → (\operatorname{GELU}_{\tanh}(x)-"
        r"\operatorname{GELU}(x))": "Where the difference is largest, it is positive.",
    },
    symbols=r"x, \operatorname{GELU}, \operatorname{GELU}_{\tanh}",
)(at(*PLACES, 2.699, -2.699))
test_tanh_tail = equation("eq-tanh-tail", symbols="x, T, u")(at(*PLACES))
test_swish_minimum = equation("eq-swish-minimum", fixed={"x^*": "There is one minimum."})(
    lambda rng: lowest()
)


def inside_units(k, c, x):
    """What the library's layer with these keys and biases has inside its units."""
    up = Linear(k.shape[1], len(k), seed=0).double()
    with torch.no_grad():
        up.W.copy_(torch.from_numpy(k.T))
        up.bias.copy_(torch.from_numpy(c))
        return up(torch.as_tensor(x)).numpy()


@equation("eq-dead-sphere", first_index=0, vectors="row", names={1: "z_j"})
def test_dead_sphere(rng):
    d, units = sizes(rng, 3, 7)
    k, c = rng.normal(size=(units, d)), rng.normal(size=units)
    norms = (norm(d, eps=1e-30).double() for norm in (LayerNorm, RMSNorm))
    inputs = [norm(torch.from_numpy(rng.normal(size=d))).detach() for norm in norms]
    cases = [{"x": x, "k": k, "c": c, "d": d, "j": range(units)} for x in inputs]
    for j in range(units):  # along its own key a unit reaches the bound
        x = math.sqrt(d) * k[j] / np.linalg.norm(k[j])
        cases.append({"x": x, "k": k, "c": c, "d": d, "j": range(j, j + 1)})
    return [{**case, "z": inside_units(k, c, case["x"])} for case in cases]


@equation("eq-gpt-oss")
def test_gpt_oss(rng):
    """As OpenAI's reference code computes it: inside its limits, on them and beyond."""
    numbers = [(9.0, -8.0), (7.0, 7.0), (-9.0, -7.0), (2.0, 11.0), *rng.normal(size=(3, 2))]
    cases = []
    for a, u in torch.tensor(np.array(numbers)).unbind():
        gate, linear = a.clamp(max=7), u.clamp(-7, 7)
        z = gate * torch.sigmoid(1.702 * gate) * (linear + 1)
        cases.append({"a": a, "u": u, r"\bar{a}": gate, r"\bar{u}": linear, "z": z, **SIGMOID})
    return cases


@equation("eq-homogeneous", names={1: "y", 2: "z"})
def test_homogeneous(rng):
    """The library's layers without biases, plain and gated, at r x."""
    x = rng.normal(size=D)
    r = rng.uniform(1.5, 4)
    gated, parts = layer(rng, "glu")
    plain = FeedForward(D, D_F, activation="relu", seed=0).double()
    gated.f = relu
    with torch.no_grad():
        for linear in (gated.up, gated.value, gated.down):
            linear.bias.zero_()
        for linear in (plain.up, plain.down):
            linear.bias.zero_()
        plain.up.W.copy_(gated.up.W)
        plain.down.W.copy_(gated.down.W)
    results = {"y": applied(plain)(r * x), "z": applied(gated)(r * x)}
    return {"x": x, "r": r, **FUNCTIONS, **parts, **results}


def bindings(rng):
    """A number right of 0, and the functions of the page."""
    return {
        "x": rng.uniform(0.1, 6),
        r"\psi": normal_cdf,
        r"\operatorname{erfc}": math.erfc,
    } | FUNCTIONS


def between(rng):
    """Three numbers in their order, and the same number three times."""
    a, x, b = np.sort(rng.uniform(0, 6, size=3))
    return [{"a": a, "x": x, "b": b, **FUNCTIONS}, {"a": x, "x": x, "b": x, **FUNCTIONS}]


def two_numbers(rng):
    return {**bindings(rng), **dict(zip("ab", rng.normal(size=2), strict=True))}


def symmetric(rng):
    """A symmetric number of mean square 1."""
    half = rng.normal(size=6)
    half = half / np.sqrt((half**2).mean())
    return {"z": Random([*half, *-half]), **FUNCTIONS}


def series(rng):
    """Near 0, but far enough for the term of the third order to count."""
    return {"a": A, "x": rng.uniform(0.5, 0.6), "u": lambda x: math.atanh(math.erf(x / 2**0.5))}


test_sentences = sentences(
    "deeper/activations",
    first_index=0,
    where={
        "fifth order, …": series,
        "the other gives …": series,
        "as at $, and …": lambda rng: [{"x": 0.0}, {"x": 1.5}, {"x": 2.2}],
        "steps increase, so …": between,
        "decreases: at most …": None,
        "second put …": None,
        "so … , which": lambda rng: [{"x": 0.0}, {"x": 3.0}, {"x": 4.1}],
        "numbers exactly, …": two_numbers,
        "The identity …": two_numbers,
        "which is not 0: …": lambda rng: lowest(),
        "not 0: $, so …": lambda rng: lowest(),
        "Show that … .": symmetric,
        "carry half of …": symmetric,
    },
    approx={
        "fifth order, …": {1: (0.005, "It leaves out the terms from the fifth order on.")},
        "the other gives …": {1: (1.2e-5, "It leaves out the terms from the fifth order on.")},
    },
    equivalent={
        "steps increase, so …": dict.fromkeys(
            (
                rf"another symbol: {one} → {{{other}}}, after {function}("
                for one, other, function in (
                    ("a", "x", r"\Phi"),
                    ("b", "x", "T"),
                    ("x", "a", r"\Phi"),
                    ("x", "b", r"\Phi"),
                    ("x", "a", "T"),
                    ("x", "b", "T"),
                    ("b", "x", r"\Phi"),
                    ("a", "x", "T"),
                )
            ),
            "Both steps increase, so this is true as well; the sentence takes the ends.",
        ),
        "decreases: at most …": {
            r"strictness: < → \le": "A power of ten is enough, as loose= tells.",
        },
    },
    fixed={"a": "It is the square root of 2/pi.", "x^*": "There is one minimum."},
    loose={
        "decreases: at most …": {
            1: (0.4, "A power of ten is enough beside the bound of the theorem.")
        },
    },
)(bindings)
