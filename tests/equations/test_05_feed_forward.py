"""Chapter 5: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch

from attention_to_rope import (
    FeedForward,
    gelu,
    gelu_tanh,
    parity_width,
    relu,
    silu,
)
from attention_to_rope.activations import GATED, PLAIN
from bookcheck.equations.checks import Silent, equation, sentences
from shared_05_feed_forward import (
    D_F,
    PLACES,
    SIGMOID,
    D,
    N,
    applied,
    counted,
    in_numpy,
    layer,
    normal_cdf,
)


@equation("eq-ffn", broadcast=True)
def test_ffn(rng):
    cases = []
    for activation, f in PLAIN.items():
        net, parts = layer(rng, activation)
        functions = {r"\operatorname{FFN}": applied(net), "f": in_numpy(f)}
        cases.append({"X": rng.normal(size=(N, D)), **parts, **functions})
    return cases


test_ffn_shapes = equation("eq-ffn-shapes")(lambda rng: layer(rng, "relu")[1])


@equation("eq-ffn-units", first_index=0, vectors="row")
def test_ffn_units(rng):
    net, parts = layer(rng, "gelu")
    units = {"k": parts["W_1"].T, "c": parts["b_1"], "v": parts["W_2"], "b_2": parts["b_2"]}
    functions = {r"\operatorname{FFN}": applied(net), "f": in_numpy(gelu)}
    return {"x": rng.normal(size=D), "d_f": D_F, **units, **functions}


@equation("eq-ffn-equivariant")
def test_ffn_equivariant(rng):
    net, _ = layer(rng, "swiglu")
    order = np.eye(N)[rng.permutation(N)]
    return {"X": rng.normal(size=(N, D)), r"\Pi": order, r"\operatorname{FFN}": applied(net)}


@equation("eq-two-linear", broadcast=True)
def test_two_linear(rng):
    _, parts = layer(rng, "relu")
    return {"X": rng.normal(size=(N, D)), **parts}


@equation("eq-ffn-parameters")
def test_ffn_parameters(rng):
    d = int(rng.integers(2, 20))
    attention = torch.nn.MultiheadAttention(d, 1, bias=False)
    return {
        "d": d,
        "d_f": 4 * d,
        r"P_{\text{FFN}}": counted(FeedForward(d, activation="relu", seed=0, bias=False)),
        r"P_{\text{attention}}": counted(attention),
    }


@equation("eq-relu")
def test_relu(rng):
    name = r"\operatorname{ReLU}"
    # At 0 the page gives no slope, neither that of the right side nor that of the left.
    sides = [Silent({"x": 0.0, name: side}) for side in (lambda x: x, lambda x: 0.0 * x)]
    return [{"x": x, name: in_numpy(relu)} for x in PLACES] + sides


@equation("eq-unit-gradient", first_index=0)
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
    every = {"l": range(D), "j": range(D_F), "N": N}
    return {"X": X, "G": net.up.W.grad, "D": slope, "E": upstream, **every}


def steps():
    return {
        "relu": (relu, lambda x: float(x > 0)),
        "silu": (silu, lambda x: 1 / (1 + math.exp(-x))),
        "gelu": (gelu, lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    }


@equation("eq-soft-step")
def test_soft_step(rng):
    return [{"x": x, "f": in_numpy(f), "s": s} for f, s in steps().values() for x in PLACES]


@equation("eq-swish")
def test_swish(rng):
    def swish(beta, x):
        return silu(torch.tensor(x, dtype=torch.float64), beta).numpy()

    cases = [(x, beta) for x in PLACES for beta in (0.7, 1.9)]
    return [
        {"x": x, r"\beta": beta, r"\operatorname{Swish}": swish, **SIGMOID} for x, beta in cases
    ]


@equation("eq-gelu-erf")
def test_gelu_erf(rng):
    functions = {r"\operatorname{GELU}": in_numpy(gelu), r"\Phi": normal_cdf}
    return [{"x": x, **functions} for x in PLACES]


@equation("eq-glu-family")
def test_glu_family(rng):
    gates = {"glu": torch.sigmoid, "swiglu": silu, "geglu": gelu, "geglu_tanh": gelu_tanh}
    assert gates.keys() == GATED.keys()
    cases = []
    for activation, f in gates.items():
        net, parts = layer(rng, activation)
        functions = {r"\operatorname{GLU}_f": applied(net), "f": in_numpy(f)}
        cases.append({"x": rng.normal(size=D), **parts, **functions})
    return cases


@equation("eq-parity")
def test_parity(rng):
    d = 3 * int(rng.integers(2, 50))
    return {"d": d, "d_f": 4 * d, "d_g": parity_width(d)}


@equation("eq-product", first_index=0)
def test_product(rng):
    return [{"x": rng.normal(size=2), "f": in_numpy(f)} for f in (relu, silu, gelu)]


@equation("eq-square-product", first_index=0)
def test_square_product(rng):
    return {"x": rng.normal(size=2)}


def bindings(rng):
    """Two numbers, a width that 3 divides, and the library's width of a gated layer."""
    d = 3 * int(rng.integers(2, 50))
    return {
        "x": rng.normal(size=2),
        "d": d,
        "d_g": parity_width(d),
        r"\operatorname{ReLU}": in_numpy(relu),
    }


def steps_in_text(rng):
    """Each of the three activations that are x times a step."""
    f = (relu, silu, gelu)[int(rng.integers(3))]
    return {"x": rng.normal(), "f": in_numpy(f)}


def usual_width(rng):
    """The width that the library's layer takes where none is given."""
    d = int(rng.integers(2, 9))
    return {"d": d, "d_f": FeedForward(d, activation="relu", seed=rng).up.W.shape[1]}


test_sentences = sentences(
    "05-feed-forward",
    first_index=0,
    where={
        "usual width is …": usual_width,
        "step of has …": steps_in_text,
    },
    unchecked={
        "the diagonal …": "Not executed yet.",
    },
)(bindings)
