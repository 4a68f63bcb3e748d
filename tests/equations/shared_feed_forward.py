"""The chapter and the pages beside it: what the formulas of all of them are bound to."""

import math

import torch

from attention_to_rope import FeedForward
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS

N, D, D_F = 5, 3, 7
PLACES = (-5.5, -2.7, -1.3, -0.4, 0.6, 1.5, 2.7, 4.1)


def in_numpy(function):
    """A function of tensors as a function of NumPy arrays or numbers."""

    def call(*values):
        return function(*(torch.as_tensor(x, dtype=torch.float64) for x in values)).numpy()

    return call


SIGMOID = {r"\sigma": in_numpy(torch.sigmoid)}


def layer(rng, activation, d_f=D_F):
    """A layer of the library with random biases too, and its parts under the page's symbols."""
    net = FeedForward(D, d_f, activation=activation, seed=int(rng.integers(1000))).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.from_numpy(rng.normal(size=tuple(parameter.shape))))
    maps = {"1": net.up, "2": net.down} | ({"3": net.value} if net.value is not None else {})
    parts = {f"W_{i}": linear.W.detach() for i, linear in maps.items()}
    parts |= {f"b_{i}": linear.bias.detach() for i, linear in maps.items()}
    return net, parts | {"d": D, "d_f": d_f}


def applied(net):
    return lambda X: net(torch.as_tensor(X)).detach().numpy()


def counted(module):
    return sum(parameter.numel() for parameter in module.parameters())


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def listing(page):
    """What the listing of a page defines when it runs alone."""
    cells = [
        cell.source for cell in read(CHAPTERS / f"{page}.ipynb").cells if "class " in cell.source
    ]
    (source,) = [source for source in cells if source.startswith("import torch")]
    assert "attention_to_rope" not in source
    names = {}
    exec(source, names)
    return names
