"""Deeper page of chapter 5: activations, dead units and the work of a layer, executed."""

import math

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import FeedForward, LayerNorm, RMSNorm, gelu, gelu_tanh, relu, rms_norm, silu
from bookcheck.equations.checks import Random, equation, sentences
from shared_05_feed_forward import (
    D_F,
    PLACES,
    SIGMOID,
    D,
    applied,
    counted,
    in_numpy,
    inside_tanh,
    layer,
    normal_cdf,
    tanh_step,
)


@equation("eq-dead-sphere", first_index=0, vectors="row")
def test_dead_sphere(rng):
    k, c = rng.normal(size=(D_F, D)), rng.normal(size=D_F)
    cases = []
    for norm in (LayerNorm(D, eps=1e-30), RMSNorm(D, eps=1e-30)):
        x = norm.double()(torch.from_numpy(rng.normal(size=D))).detach()
        cases.append({"x": x, "k": k, "c": c, "d": D, "j": range(D_F)})
    # Along its own key a unit reaches the bound.
    for j in range(D_F):
        x = math.sqrt(D) * k[j] / np.linalg.norm(k[j])
        cases.append({"x": x, "k": k, "c": c, "d": D, "j": range(j, j + 1)})
    return cases


@equation("eq-gelu")
def test_gelu(rng):
    functions = {r"\operatorname{GELU}": in_numpy(gelu), r"\Phi": normal_cdf}
    return [{"x": x, **functions} for x in PLACES]


@equation("eq-erf")
def test_erf(rng):
    return [{"x": x, r"\operatorname{erf}": math.erf} for x in PLACES]


test_phi_erf = equation("eq-phi-erf")(lambda rng: [{"x": x, r"\Phi": normal_cdf} for x in PLACES])


@equation("eq-slopes")
def test_slopes(rng):
    bell = {
        r"\varphi": lambda x: np.exp(-x * x / 2) / math.sqrt(math.tau),
        r"\Phi": in_numpy(lambda x: torch.erfc(-x / math.sqrt(2)) / 2),
    }
    return [{"x": x, r"\beta": 1.3, **SIGMOID, **bell} for x in PLACES]


@equation("eq-gelu-tanh")
def test_gelu_tanh(rng):
    # Below -4 almost nothing is left of 1 + tanh, so that rounding decides its digits.
    places = [x for x in PLACES if x > -4]
    return [{"x": x, r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh)} for x in places]


@equation("eq-gelu-taylor", approx=1e-3)
def test_gelu_taylor(rng):
    return {"a": math.sqrt(2 / math.pi)}


@equation("eq-gelu-error")
def test_gelu_error(rng):
    """At 2.7 the error is within half a percent of the bound."""
    functions = {
        r"\operatorname{GELU}": in_numpy(gelu),
        r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh),
    }
    return [{"x": x, **functions} for x in (*PLACES, 2.699, -2.699, rng.normal())]


@equation("eq-tanh-tail")
def test_tanh_tail(rng):
    return [{"x": x, "T": tanh_step, "u": inside_tanh} for x in PLACES]


@equation("eq-glu")
def test_glu(rng):
    net, parts = layer(rng, "glu")
    return {"x": rng.normal(size=D), r"\operatorname{GLU}": applied(net), **SIGMOID, **parts}


@equation("eq-ffn-flops")
def test_ffn_flops(rng):
    d, rows = int(rng.integers(2, 20)), int(rng.integers(2, 9))
    net = FeedForward(d, activation="relu", seed=0, bias=False).double()
    with FlopCounterMode(display=False) as counter:
        net(torch.ones(rows, d, dtype=torch.float64))
    weights = {r"P_{\text{FFN}}": counted(net), r"F_{\text{FFN}}": counter.get_total_flops()}
    return {"N": rows, "d": d, **weights}


@equation("eq-homogeneous")
def test_homogeneous(rng):
    _, parts = layer(rng, "swiglu")
    return {"x": rng.normal(size=D), "r": 2.3, r"\operatorname{ReLU}": in_numpy(relu), **parts}


@equation("eq-swish-minimum")
def test_swish_minimum(rng):
    x = -1.0
    for _ in range(60):  # the slope is zero where x = -1 / (1 - σ(x))
        x = -1 - math.exp(x)
    return {"x^*": x, **SIGMOID}


D_TEXT = 5


def bindings(rng):
    """A number, the steps of GELU and of its shortcut, and the library's functions."""
    return {
        "x": rng.uniform(0.1, 6),
        "T": tanh_step,
        "u": inside_tanh,
        "s": normal_cdf,
        r"\varphi": lambda x: math.exp(-x * x / 2) / math.sqrt(math.tau),
        r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh),
        r"\operatorname{ReLU}": in_numpy(relu),
        r"\operatorname{erfc}": math.erfc,
    }


def between(rng):
    """Three numbers in their order, and two steps that rise."""
    a, x, b = np.sort(rng.uniform(0, 6, size=3))
    steps = {"T": tanh_step, r"\Phi": normal_cdf}
    return [{"a": a, "x": x, "b": b, **steps}, {"a": x, "x": x, "b": x, **steps}]


def two_numbers(rng):
    a, b = rng.normal(size=2)
    return {**bindings(rng), "a": a, "b": b}


def normalised(rng):
    """A token behind RMSNorm."""
    x = rms_norm(torch.from_numpy(rng.normal(size=D_TEXT)), eps=1e-300).numpy()
    return {"x": x, "d": D_TEXT}


def lowest(rng):
    """The place of the minimum of Swish."""
    x = -1.0
    for _ in range(60):
        x = -1 - math.exp(x)
    return {"x^*": x, r"\sigma": lambda x: 1 / (1 + math.exp(-x))}


def symmetric(rng):
    """A symmetric number of mean square 1."""
    half = rng.normal(size=6)
    half = half / np.sqrt((half**2).mean())
    return {"z": Random([*half, *-half]), r"\operatorname{ReLU}": in_numpy(relu)}


def series(rng):
    """Near 0, but far enough for the term of the third order to count."""
    a = math.sqrt(2 / math.pi)
    return {"a": a, "x": rng.uniform(0.5, 0.6), "u": lambda x: math.atanh(math.erf(x / 2**0.5))}


def swish_minimum(rng):
    """Where the library's Swish is smallest, by halving the interval in which its slope rises."""
    del rng
    low, high = -2.0, -1.0
    for _ in range(60):
        x = torch.tensor((low + high) / 2, dtype=torch.float64, requires_grad=True)
        silu(x).backward()
        low, high = (low, x.item()) if x.grad > 0 else (x.item(), high)
    return {"x^*": low, r"\sigma": lambda x: 1 / (1 + math.exp(-x))}


test_sentences = sentences(
    "deeper/05-activations",
    first_index=0,
    where={
        "1, no bias) …": normalised,
        "fifth order, …": series,
        "the other: …": series,
        "as at $, and …": lambda rng: [{"x": 0.0}, {"x": 1.5}],
        "steps rise, so …": between,
        "falls: at most …": None,
        "second put …": None,
        "so … , which": lambda rng: [{"x": 0.0}, {"x": 3.0}],
        "numbers is ReLU, …": two_numbers,
        "The identity …": two_numbers,
        "which is not 0: …": swish_minimum,
        "not 0: $, so …": lowest,
        "Show that … .": symmetric,
        "carry half of …": symmetric,
    },
    loose={
        "falls: at most …": "A power of ten is enough beside the bound of the theorem.",
    },
)(bindings)
