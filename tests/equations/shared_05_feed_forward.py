"""Chapter 5 and its pages of depth: what the formulas of all of them are bound to."""

import math

import torch

from attention_to_rope import FeedForward

N, D, D_F = 5, 3, 7
PLACES = (-5.5, -2.7, -1.3, -0.4, 0.6, 1.5, 2.7, 4.1)


def in_numpy(function):
    """A function of tensors as a function of NumPy arrays or numbers."""

    def call(*values):
        return function(*(torch.as_tensor(x, dtype=torch.float64) for x in values)).numpy()

    return call


SIGMOID = {r"\sigma": in_numpy(torch.sigmoid)}


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


def counted(module):
    return sum(parameter.numel() for parameter in module.parameters())


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def inside_tanh(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def tanh_step(x):
    return (1 + math.tanh(inside_tanh(x))) / 2
