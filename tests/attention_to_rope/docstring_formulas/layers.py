"""What the formulas in the docstrings of `layers` are compared with."""

import numpy as np
from formulas import RESULT, tensor

from attention_to_rope import Linear


class Extreme(np.random.Generator):
    """Draws the bound b of a uniform number, whose variance is b²/3."""

    def uniform(self, low=0.0, high=1.0, size=None):
        return np.full(size, high)


def product(rng):
    layer = Linear(3, 4, seed=rng)
    layer.b.data.copy_(tensor(rng.normal(size=4)))
    x, W, b = rng.normal(size=3), layer.W.detach().numpy(), layer.b.detach().numpy()
    return {"x": x, "W": W, "b": b, RESULT: layer(tensor(x)).detach().numpy()}


def variance(rng):
    d_in, d_out, gain = int(rng.integers(2, 9)), int(rng.integers(9, 20)), rng.uniform(0.5, 2)
    layer = Linear(d_in, d_out, gain=gain, seed=Extreme(np.random.PCG64(0)))
    sizes = {r"d_{\text{in}}": d_in, r"d_{\text{out}}": d_out, "g": gain}
    return {**sizes, RESULT: layer.W[0, 0].item() ** 2 / 3}


BINDINGS = {
    "Linear": {
        r"x W + b": product,
        r"2 g^2 / (d_{\text{in}} + d_{\text{out}})": variance,
    }
}
