"""The chapter: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch

from attention_to_rope import FeedForward, gelu, gelu_tanh, parity_width, relu, silu
from attention_to_rope.activations import GATED, PLAIN
from bookcheck.equations.checks import Silent, equation, sentences
from shared import PERMUTATION, every, tensor
from shared_feed_forward import (
    D_F,
    PLACES,
    SIGMOID,
    D,
    N,
    applied,
    counted,
    in_numpy,
    layer,
    listing,
    normal_cdf,
)


@equation(
    "eq-ffn",
    broadcast=True,
    equivalent=every("X"),
    symbols=r"X, W_1, W_2, b_1, b_2, \operatorname{FFN}, f",
)
def test_ffn(rng):
    cases = []
    for activation, f in PLAIN.items():
        net, parts = layer(rng, activation)
        functions = {r"\operatorname{FFN}": applied(net), "f": in_numpy(f)}
        cases.append({"X": rng.normal(size=(N, D)), **parts, **functions})
    return cases


@equation(
    "eq-ffn-units",
    first_index=0,
    vectors="row",
    equivalent=every("x"),
    symbols=r"x, b_2, d_f, k, c, v, \operatorname{FFN}, f",
)
def test_ffn_units(rng):
    net, parts = layer(rng, "gelu", int(rng.integers(5, 9)))
    units = {"k": parts["W_1"].T, "c": parts["b_1"], "v": parts["W_2"], "b_2": parts["b_2"]}
    functions = {r"\operatorname{FFN}": applied(net), "f": in_numpy(gelu)}
    return {"x": rng.normal(size=D), **parts, **units, **functions}


@equation("eq-ffn-equivariant", equivalent={**every("X"), **PERMUTATION})
def test_ffn_equivariant(rng):
    net, _ = layer(rng, "swiglu")
    order = np.eye(N)[rng.permutation(N)]
    return {"X": rng.normal(size=(N, D)), r"\Pi": order, r"\operatorname{FFN}": applied(net)}


@equation("eq-two-linear", broadcast=True, names={1: "Y"})
def test_two_linear(rng):
    """The library's layer without what is between its two linear maps."""
    net, parts = layer(rng, "relu")
    X = rng.normal(size=(N, D))
    Y = net.down(net.up(tensor(X))).detach().numpy()
    return {"X": X, "Y": Y, **parts}


def slope_of_relu(place):
    """The derivative of the library's function at a place, by autograd."""
    x = torch.tensor(place, dtype=torch.float64, requires_grad=True)
    relu(x).backward()
    return x.grad.item()


@equation("eq-relu", names={2: "s"})
def test_relu(rng):
    name = r"\operatorname{ReLU}"
    # At 0 the page gives no slope, neither that of the right side nor that of the left.
    sides = [
        Silent({"x": 0.0, name: lambda x: x, "s": 1.0}),
        Silent({"x": 0.0, name: lambda x: 0.0 * x, "s": 0.0}),
    ]
    return [{"x": x, name: in_numpy(relu), "s": slope_of_relu(x)} for x in PLACES] + sides


@equation("eq-soft-step", equivalent=every("x"))
def test_soft_step(rng):
    steps = {relu: lambda x: float(x > 0), silu: SIGMOID[r"\sigma"], gelu: normal_cdf}
    return [{"x": x, "f": in_numpy(f), r"\psi": s} for f, s in steps.items() for x in PLACES]


ANY = {**every("x", r"\beta"), r"exchange everywhere: \beta ↔ x": "Both are any number."}


@equation("eq-swish", equivalent=ANY)
def test_swish(rng):
    def swish(beta, x):
        return silu(torch.tensor(x, dtype=torch.float64), beta).numpy()

    given = {r"\operatorname{Swish}": swish, **SIGMOID}
    return [{"x": x, r"\beta": beta, **given} for x in PLACES for beta in (0.7, 1.9, -1.1)]


@equation("eq-gelu-erf", equivalent=every("x"))
def test_gelu_erf(rng):
    functions = {r"\operatorname{GELU}": in_numpy(gelu), r"\Phi": normal_cdf}
    return [{"x": x, **functions} for x in PLACES]


@equation("eq-glu-family", equivalent=every("x"))
def test_glu_family(rng):
    gates = {"glu": torch.sigmoid, "swiglu": silu, "geglu": gelu, "geglu_tanh": gelu_tanh}
    assert gates.keys() == GATED.keys()
    cases = []
    for activation, f in gates.items():
        net, parts = layer(rng, activation)
        functions = {r"\operatorname{GLU}_f": applied(net), "f": in_numpy(f)}
        cases.append({"x": rng.normal(size=D), **parts, **functions})
    return cases


WIDE = "The page is about a layer four times as wide."
GATED_WIDTH = "The width at which both layers have as many parameters."


@equation("eq-parity", names={1: "P"}, fixed={"d": WIDE, "d_g": GATED_WIDTH})
def test_parity(rng):
    """P is counted in the library's gated layer without biases."""
    d = 3 * int(rng.integers(2, 20))
    gated = FeedForward(d, activation="swiglu", bias=False, seed=0)
    return {"P": counted(gated), "d": d, "d_f": 4 * d, "d_g": parity_width(d)}


@equation("eq-product", names={1: "y"}, first_index=0, symbols="x, f, y")
def test_product(rng):
    """The library's gated layer with two units, one for each sign of the first feature."""
    cases = []
    for f in (relu, silu, gelu):
        x = rng.normal(size=2)
        layer = FeedForward(2, 2, activation="glu", bias=False, seed=0).double()
        layer.f = f
        with torch.no_grad():
            layer.up.W.copy_(tensor([[1, -1], [0, 0]]))
            layer.value.W.copy_(tensor([[0, 0], [1, 1]]))
            layer.down.W[:, 0] = tensor([1, -1])
            y = layer(tensor(x)[None])[0, 0].item()
        cases.append({"x": x, "f": in_numpy(f), "y": y})
    return cases


@equation("eq-square-product", names={1: "y"}, first_index=0)
def test_square_product(rng):
    """The library's layer with the square of ReLU, and units for the sum and the difference."""
    x = rng.normal(size=2)
    layer = FeedForward(2, 4, activation="relu", bias=False, seed=0).double()
    layer.f = lambda inside: relu(inside) ** 2
    with torch.no_grad():
        layer.up.W.copy_(tensor([[1, -1, 1, -1], [1, -1, -1, 1]]))
        layer.down.W[:, 0] = tensor([1, 1, -1, -1]) / 4
        y = layer(tensor(x)[None])[0, 0].item()
    return {"x": x, "y": y}


def test_the_listing_runs_alone_and_agrees_with_the_library():
    with torch.random.fork_rng():
        mine = listing("feed-forward")["GatedFeedForward"](D, D_F)
    library = FeedForward(D, D_F, activation="swiglu", bias=False, seed=0)
    for own, other in ((mine.gate, "up"), (mine.up, "value"), (mine.down, "down")):
        getattr(library, other).weight.data = own.weight.detach()
    x = torch.linspace(-2, 2, 2 * N * D).view(2, N, D)
    torch.testing.assert_close(mine(x), library.float()(x))


def bindings(rng):
    """Two numbers, one of the activations, and widths as the library takes them."""
    d = 3 * int(rng.integers(2, 50))
    return {
        "x": rng.normal(size=2),
        "d": d,
        "d_f": FeedForward(d, activation="relu", seed=rng).up.W.shape[1],
        "d_g": parity_width(d),
        r"\operatorname{ReLU}": in_numpy(relu),
    }


def one_number(rng):
    f = (relu, silu, gelu)[int(rng.integers(3))]
    return {"x": rng.normal(), "f": in_numpy(f), r"\operatorname{ReLU}": in_numpy(relu)}


test_sentences = sentences(
    "feed-forward",
    first_index=0,
    fixed={
        "without biases, …": {"d": WIDE},
        "instead of two: …": {"d": GATED_WIDTH},
    },
    where={
        "With a smooth step as in we have …": one_number,
        "square of a number: …": one_number,
        "without biases, …": lambda rng: {"d": (d := int(rng.integers(3, 9))), "d_f": 4 * d},
    },
)(bindings)
