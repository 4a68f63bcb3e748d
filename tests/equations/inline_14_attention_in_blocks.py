"""Chapter 14: the relations inside its sentences."""

import torch

from attention_to_rope.merge import Partial, log_total, merge, partial_attention
from bookcheck.equations.expressions import RESULT

PAGE = "14-attention-in-blocks"


def bindings(rng):
    """The state of one query and seven keys, with the library's logarithm of its sum."""
    s, v = torch.from_numpy(rng.normal(size=(7, 1))), torch.from_numpy(rng.normal(size=(7, 2)))
    state = partial_attention(torch.ones(1, 1, dtype=torch.float64), s, v, scale=1.0)
    names = {"c": state.largest.item(), r"\ell": state.total.item()}
    return {**names, r"\lambda": log_total(state).item()}


# Names of a proof, one number per query, the numbers of an exercise, a shape.
DEFINITIONS = [
    r"c_{12} = \max(c_1, c_2)",
    r"c = \max(c_{12}, c_3)",
    r"c_2 = -\infty",
    r"\lambda_m = c_m + \log \ell_m",
    r"c_1 = 2",
    r"\ell_1 = 1.5",
    r"u_1 = 3",
    r"c_2 = 2 + \ln 4",
    r"\ell_2 = 2",
    r"u_2 = 1",
    r"d_k = 64",
    r"N = 8192",
]


def merged(part):
    """The exercise's two states, merged by the library."""

    def values(rng):
        one, other = (
            Partial(*(torch.tensor([[number]], dtype=torch.float64) for number in state))
            for state in ((2.0, 1.5, 3.0), (2 + float(torch.tensor(4.0).double().log()), 2.0, 1.0))
        )
        return {RESULT: float(merge(one, other)[part])}

    return values


EXPRESSIONS = {r"1.5 / 4 + 2": merged(1), r"3 / 4 + 1": merged(2)}
