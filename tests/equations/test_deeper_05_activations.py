"""Deeper page of chapter 5: activations, dead units and the work of a layer, executed."""

import math

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import FeedForward, LayerNorm, RMSNorm, gelu, gelu_tanh, relu
from bookcheck.equations.checks import equation
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


@equation("eq-dead-sphere", first_index=0, vectors="row", library=[LayerNorm, RMSNorm])
def test_dead_sphere(rng):
    k, c = rng.normal(size=(D_F, D)), rng.normal(size=D_F)
    cases = []
    for norm in (LayerNorm(D, eps=1e-30), RMSNorm(D, eps=1e-30)):
        x = norm.double()(torch.from_numpy(rng.normal(size=D))).detach()
        cases.append({"x": x, "k": k, "c": c, "d": D, "j": range(D_F)})
    # Along its own key a unit reaches the bound.
    x = math.sqrt(D) * k[2] / np.linalg.norm(k[2])
    return [*cases, {"x": x, "k": k, "c": c, "d": D, "j": 2}]


@equation("eq-gelu", library=gelu)
def test_gelu(rng):
    functions = {r"\operatorname{GELU}": in_numpy(gelu), r"\Phi": normal_cdf}
    return [{"x": x, **functions} for x in PLACES]


@equation("eq-erf")
def test_erf(rng):
    return [{"x": x, r"\operatorname{erf}": math.erf} for x in PLACES]


@equation("eq-phi-erf")
def test_phi_erf(rng):
    return [{"x": x, r"\Phi": normal_cdf} for x in PLACES]


@equation("eq-slopes")
def test_slopes(rng):
    bell = {
        r"\varphi": lambda x: np.exp(-x * x / 2) / math.sqrt(math.tau),
        r"\Phi": in_numpy(lambda x: torch.erfc(-x / math.sqrt(2)) / 2),
    }
    return [{"x": x, r"\beta": 1.3, **SIGMOID, **bell} for x in PLACES]


@equation("eq-gelu-tanh", library=gelu_tanh)
def test_gelu_tanh(rng):
    # Below -4 almost nothing is left of 1 + tanh, so that rounding decides its digits.
    places = [x for x in PLACES if x > -4]
    return [{"x": x, r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh)} for x in places]


@equation("eq-gelu-taylor", approx=1e-3)
def test_gelu_taylor(rng):
    return {"a": math.sqrt(2 / math.pi)}


@equation("eq-gelu-error", library=[gelu, gelu_tanh])
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


@equation("eq-glu", library=FeedForward.forward)
def test_glu(rng):
    net, parts = layer(rng, "glu")
    return {"x": rng.normal(size=D), r"\operatorname{GLU}": applied(net), **SIGMOID, **parts}


@equation("eq-ffn-flops", library=FeedForward.forward)
def test_ffn_flops(rng):
    d, rows = int(rng.integers(2, 20)), int(rng.integers(2, 9))
    net = FeedForward(d, activation="relu", seed=0, bias=False).double()
    with FlopCounterMode(display=False) as counter:
        net(torch.ones(rows, d, dtype=torch.float64))
    weights = {r"P_{\text{FFN}}": counted(net), r"F_{\text{FFN}}": counter.get_total_flops()}
    return {"N": rows, "d": d, **weights}


@equation("eq-homogeneous", library=relu)
def test_homogeneous(rng):
    _, parts = layer(rng, "swiglu")
    return {"x": rng.normal(size=D), "r": 2.3, r"\operatorname{ReLU}": in_numpy(relu), **parts}


@equation("eq-swish-minimum")
def test_swish_minimum(rng):
    x = -1.0
    for _ in range(60):  # the slope is zero where x = -1 / (1 - σ(x))
        x = -1 - math.exp(x)
    return {"x^*": x, **SIGMOID}
