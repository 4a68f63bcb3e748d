"""What the formulas in the docstrings of `activations` are compared with."""

import torch
from formulas import RESULT, array_function, tensor

from attention_to_rope import (
    FeedForward,
    geglu,
    geglu_tanh,
    gelu,
    gelu_tanh,
    glu,
    relu,
    silu,
    swiglu,
)


def of_number(function, rng, **symbols):
    x = float(rng.normal())
    return {"x": x, RESULT: function(tensor(x)).item(), **symbols}


def gate_bindings(function, rng, **symbols):
    a, b = rng.normal(size=(2, 4))
    return {"a": a, "b": b, RESULT: function(tensor(a), tensor(b)).numpy(), **symbols}


def swish(rng):
    beta, x = rng.uniform(0.5, 2), rng.normal()
    value = silu(tensor(x), beta).item()
    return {"x": x, r"\beta": beta, r"\sigma": array_function(torch.sigmoid), RESULT: value}


def exact_gelu(rng):
    phi = array_function(torch.special.ndtr)
    return of_number(gelu, rng, **{r"\Phi": lambda z: phi(z).item()})


def gelu_by_tanh(rng):
    return of_number(gelu_tanh, rng)


def layer(activation, rng):
    """A layer with biases that are not 0, and what it makes of one row."""
    network = FeedForward(3, 5, activation=activation, seed=rng)
    symbols = {}
    for name, part in (("1", network.up), ("2", network.down), ("3", network.value)):
        if part is not None:
            with torch.no_grad():
                part.b.copy_(tensor(rng.normal(size=part.b.shape)))
            symbols |= {f"W_{name}": part.W.detach().numpy(), f"b_{name}": part.b.detach().numpy()}
    x = rng.normal(size=3)
    return {**symbols, "x": x, RESULT: network(tensor(x)).detach().numpy()}


BINDINGS = {
    "relu": lambda rng: of_number(relu, rng),
    "silu": swish,
    "gelu": exact_gelu,
    "gelu_tanh": gelu_by_tanh,
    "glu": lambda rng: gate_bindings(glu, rng, **{r"\sigma": array_function(torch.sigmoid)}),
    "swiglu": lambda rng: gate_bindings(
        swiglu, rng, **{r"\operatorname{silu}": array_function(silu)}
    ),
    "geglu": lambda rng: gate_bindings(
        geglu, rng, **{r"\operatorname{gelu}": array_function(gelu)}
    ),
    "geglu_tanh": lambda rng: gate_bindings(geglu_tanh, rng, f=array_function(gelu_tanh)),
    "FeedForward": {
        r"f(x W_1 + b_1) W_2 + b_2": lambda rng: layer("gelu", rng) | {"f": array_function(gelu)},
        r"(f(x W_1 + b_1) \odot (x W_3 + b_3)) W_2 + b_2": lambda rng: (
            layer("swiglu", rng) | {"f": array_function(silu)}
        ),
    },
}
