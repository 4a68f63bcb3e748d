"""What the formulas in the docstrings of `transformer` are compared with."""

from formulas import array_function, tensor

import attention_to_rope as book
from attention_to_rope.transformer import Residual

D = 4


def residual(rng):
    """Beside the functions that do the same in one step."""
    x, W = rng.normal(size=D), rng.normal(size=(D, D))

    def sublayer(row):
        return row @ tensor(W)

    for placement in ("pre", "post"):
        architecture = book.Architecture(d=D, heads=2, hidden=8, layers=1, placement=placement)
        part = Residual(architecture, alpha=1.0)
        whole = {"pre": book.pre_norm, "post": book.post_norm}[placement]
        yield {
            "x": x,
            "x'": whole(tensor(x), sublayer, part.norm).detach().numpy(),
            "f": array_function(sublayer),
            r"\operatorname{enter}": array_function(part.enter),
            r"\operatorname{leave}": lambda row, y, part=part: (
                part.leave(tensor(row), tensor(y)).detach().numpy()
            ),
        }


BINDINGS = {"Residual": residual}
