"""Chapter 5: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import (
    FeedForward,
    LayerNorm,
    RMSNorm,
    gelu,
    gelu_tanh,
    parity_width,
    relu,
    silu,
)
from attention_to_rope.activations import GATED, PLAIN
from bookcheck.equations.checks import equation

N, D, D_F = 5, 3, 7

SIGMOID = {r"\sigma": lambda x: 1 / (1 + np.exp(-x))}
PLACES = (-5.5, -2.7, -1.3, -0.4, 0.6, 1.5, 2.7, 4.1)


def in_numpy(function):
    """A function of tensors as a function of NumPy arrays or numbers."""

    def call(*values):
        return function(*(torch.as_tensor(x, dtype=torch.float64) for x in values)).numpy()

    return call


def layer(rng, activation):
    """A layer of the library with random biases too, and its parts under the page's symbols."""
    net = FeedForward(D, D_F, activation=activation, seed=int(rng.integers(1000))).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.from_numpy(rng.normal(size=tuple(parameter.shape))))
    parts = {
        "W_1": net.up.W.detach(),
        "b_1": net.up.b.detach(),
        "W_2": net.down.W.detach(),
        "b_2": net.down.b.detach(),
        "d": D,
        "d_f": D_F,
    }
    if net.value is not None:
        parts |= {"W_3": net.value.W.detach(), "b_3": net.value.b.detach()}
    return net, parts


def applied(net):
    return lambda X: net(torch.as_tensor(X)).detach().numpy()


@equation("eq-ffn", broadcast=True, library=FeedForward.forward)
def test_ffn(rng):
    cases = []
    for activation, f in PLAIN.items():
        net, parts = layer(rng, activation)
        functions = {r"\operatorname{FFN}": applied(net), "f": in_numpy(f)}
        cases.append({"X": rng.normal(size=(N, D)), **parts, **functions})
    return cases


@equation("eq-ffn-shapes", library=FeedForward, sizes=True)
def test_ffn_shapes(rng):
    return layer(rng, "relu")[1]


@equation("eq-ffn-units", first_index=0, vectors="row", library=FeedForward.forward)
def test_ffn_units(rng):
    net, parts = layer(rng, "gelu")
    units = {"k": parts["W_1"].T, "c": parts["b_1"], "v": parts["W_2"], "b_2": parts["b_2"]}
    functions = {r"\operatorname{FFN}": applied(net), "f": in_numpy(gelu)}
    return {"x": rng.normal(size=D), "d_f": D_F, **units, **functions}


@equation("eq-ffn-equivariant", library=FeedForward.forward)
def test_ffn_equivariant(rng):
    net, _ = layer(rng, "swiglu")
    order = np.eye(N)[rng.permutation(N)]
    return {"X": rng.normal(size=(N, D)), r"\Pi": order, r"\operatorname{FFN}": applied(net)}


@equation("eq-two-linear", broadcast=True)
def test_two_linear(rng):
    _, parts = layer(rng, "relu")
    return {"X": rng.normal(size=(N, D)), **parts}


def counted(module):
    return sum(parameter.numel() for parameter in module.parameters())


@equation("eq-ffn-parameters", library=FeedForward, sizes=True)
def test_ffn_parameters(rng):
    d = int(rng.integers(2, 20))
    attention = torch.nn.MultiheadAttention(d, 1, bias=False)
    return {
        "d": d,
        "d_f": 4 * d,
        r"P_{\text{FFN}}": counted(FeedForward(d, activation="relu", seed=0, bias=False)),
        r"P_{\text{attention}}": counted(attention),
    }


@equation("eq-ffn-flops", library=FeedForward.forward)
def test_ffn_flops(rng):
    d, rows = int(rng.integers(2, 20)), int(rng.integers(2, 9))
    net = FeedForward(d, activation="relu", seed=0, bias=False).double()
    with FlopCounterMode(display=False) as counter:
        net(torch.ones(rows, d, dtype=torch.float64))
    weights = {r"P_{\text{FFN}}": counted(net), r"F_{\text{FFN}}": counter.get_total_flops()}
    return {"N": rows, "d": d, **weights}


@equation("eq-relu", library=relu)
def test_relu(rng):
    return [{"x": x, r"\operatorname{ReLU}": in_numpy(relu)} for x in PLACES]


@equation("eq-unit-gradient", first_index=0, library=FeedForward.forward)
def test_unit_gradient(rng):
    """G comes from backpropagation through the library; D and E from their definitions."""
    net, _ = layer(rng, "gelu")
    X = torch.from_numpy(rng.normal(size=(N, D)))
    target = torch.from_numpy(rng.normal(size=(N, D)))
    (net(X) - target).square().sum().backward()
    Z = net.up(X).detach().requires_grad_()
    H = gelu(Z)
    (slope,) = torch.autograd.grad(H.sum(), Z)
    H = H.detach().requires_grad_()
    (upstream,) = torch.autograd.grad((net.down(H) - target).square().sum(), H)
    every = {"c": range(D), "j": range(D_F), "N": N}
    return {"X": X, "G": net.up.W.grad, "D": slope, "E": upstream, **every}


@equation("eq-dead-sphere", first_index=0, vectors="row", library=[LayerNorm, RMSNorm])
def test_dead_sphere(rng):
    k, c = rng.normal(size=(D_F, D)), rng.normal(size=D_F)
    cases = []
    for norm in (LayerNorm(D, eps=1e-12), RMSNorm(D, eps=1e-12)):
        x = norm.double()(torch.from_numpy(rng.normal(size=D))).detach()
        cases.append({"x": x, "k": k, "c": c, "d": D, "j": range(D_F)})
    # Along its own key a unit reaches the bound.
    x = math.sqrt(D) * k[2] / np.linalg.norm(k[2])
    return [*cases, {"x": x, "k": k, "c": c, "d": D, "j": 2}]


def steps():
    return {
        "relu": (relu, lambda x: float(x > 0)),
        "silu": (silu, lambda x: 1 / (1 + math.exp(-x))),
        "gelu": (gelu, lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    }


@equation("eq-soft-step", library=[relu, silu, gelu])
def test_soft_step(rng):
    return [{"x": x, "f": in_numpy(f), "s": s} for f, s in steps().values() for x in PLACES]


@equation("eq-swish", library=silu)
def test_swish(rng):
    def swish(beta, x):
        return silu(torch.tensor(x, dtype=torch.float64), beta).numpy()

    cases = [(x, beta) for x in PLACES for beta in (0.7, 1.9)]
    return [
        {"x": x, r"\beta": beta, r"\operatorname{Swish}": swish, **SIGMOID} for x, beta in cases
    ]


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


@equation("eq-gelu", library=gelu, tolerance=1e-8)
def test_gelu(rng):
    functions = {r"\operatorname{GELU}": in_numpy(gelu), r"\Phi": normal_cdf}
    return [{"x": x, **functions} for x in PLACES]


@equation("eq-erf")
def test_erf(rng):
    return [{"x": x, r"\operatorname{erf}": math.erf} for x in PLACES]


@equation("eq-phi-erf", absolute=1e-15)
def test_phi_erf(rng):
    return [{"x": x, r"\Phi": normal_cdf} for x in PLACES]


@equation("eq-gelu-erf", library=gelu)
def test_gelu_erf(rng):
    return [{"x": x, r"\operatorname{GELU}": in_numpy(gelu)} for x in PLACES]


@equation("eq-slopes", tolerance=1e-6)
def test_slopes(rng):
    bell = {
        r"\varphi": lambda x: np.exp(-x * x / 2) / math.sqrt(math.tau),
        r"\Phi": in_numpy(lambda x: torch.erfc(-x / math.sqrt(2)) / 2),
    }
    return [{"x": x, r"\beta": 1.3, **SIGMOID, **bell} for x in PLACES]


@equation("eq-gelu-tanh", library=gelu_tanh)
def test_gelu_tanh(rng):
    return [{"x": x, r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh)} for x in PLACES]


@equation("eq-gelu-taylor", approx=2e-3)
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


def tanh_step(x):
    return (1 + math.tanh(inside_tanh(x))) / 2


def inside_tanh(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


@equation("eq-tanh-tail")
def test_tanh_tail(rng):
    return [{"x": x, "T": tanh_step, "u": inside_tanh} for x in PLACES]


@equation("eq-glu", library=FeedForward.forward)
def test_glu(rng):
    net, parts = layer(rng, "glu")
    return {"x": rng.normal(size=D), r"\operatorname{GLU}": applied(net), **SIGMOID, **parts}


@equation("eq-glu-family", library=FeedForward.forward)
def test_glu_family(rng):
    gates = {"glu": torch.sigmoid, "swiglu": silu, "geglu": gelu}
    assert gates.keys() == GATED.keys()
    cases = []
    for activation, f in gates.items():
        net, parts = layer(rng, activation)
        functions = {r"\operatorname{GLU}_f": applied(net), "f": in_numpy(f)}
        cases.append({"x": rng.normal(size=D), **parts, **functions})
    return cases


@equation("eq-parity", library=parity_width)
def test_parity(rng):
    d = 3 * int(rng.integers(2, 50))
    return {"d": d, "d_f": 4 * d, "d_g": parity_width(d)}


@equation("eq-product", first_index=0, library=[relu, silu, gelu])
def test_product(rng):
    return [{"x": rng.normal(size=2), "f": in_numpy(f)} for f in (relu, silu, gelu)]


@equation("eq-homogeneous", library=relu)
def test_homogeneous(rng):
    _, parts = layer(rng, "swiglu")
    return {"x": rng.normal(size=D), "r": 2.3, r"\operatorname{ReLU}": in_numpy(relu), **parts}


@equation("eq-swish-minimum", tolerance=1e-7)
def test_swish_minimum(rng):
    x = -1.0
    for _ in range(60):  # the slope is zero where x = -1 / (1 - σ(x))
        x = -1 - math.exp(x)
    return {"x^*": x, **SIGMOID}
