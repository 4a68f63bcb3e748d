"""A state instead of a cache: linear attention and the delta rule, against the library."""

import numpy as np
import torch

from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps
from bookcheck.equations.checks import equation, sentences

SIZE, D_K, D_V = 5, 3, 4


def tokens(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


def state(rng, steps=linear_attention_steps, beta=None):
    """Tokens 1, 2, … and the library's states after them; before the first the state is 0."""
    q, k, v = tokens(rng, SIZE, D_K), tokens(rng, SIZE, D_K), tokens(rng, SIZE, D_V)
    rates = () if beta is None else (beta,)
    after = [
        steps(q[:n], k[:n], v[:n], *(rate[:n] for rate in rates))[1] for n in range(1, SIZE + 1)
    ]
    named = {"q": q, "k": k, "v": v, "o": steps(q, k, v, *rates)[0], r"\beta": beta}
    named = {name: x for name, x in named.items() if x is not None}
    # There is no token 0: a formula that uses it is wrong.
    named = {name: np.concatenate([x[:1] + 9, x]) for name, x in named.items()}
    return {**named, "C": np.stack([0 * after[0], *after]), "n": range(1, SIZE + 1)}


test_linear_state = equation("eq-linear-state", first_index=0)(state)


@equation("eq-delta-rule", first_index=0)
def test_delta_rule(rng):
    return state(rng, delta_rule_steps, torch.from_numpy(rng.uniform(0.2, 0.9, size=SIZE)))


def page(rng):
    q, k, c, C = (tokens(rng, *shape) for shape in ((7, D_K), (7, D_K), (7,), (D_K, D_V)))
    v = tokens(rng, 7, D_V)
    places = {"m": range(7), "n": range(7), "q": q, "k": k, "v": v}
    return {**places, "c": c, "C": C, r"\tilde{k}": c @ k}


def overwritten(rng):
    """At rate 1, reading with the last key, of length 1, gives the last value."""
    k, v, beta = tokens(rng, SIZE, D_K), tokens(rng, SIZE, D_V), torch.ones(SIZE)
    k /= k.norm(dim=-1, keepdim=True)
    assert torch.allclose(delta_rule_steps(k, k, v, beta)[0][-1], v[-1], rtol=0, atol=1e-12)
    return {r"\beta_n": beta[-1].item()}


test_sentences = sentences(
    "state-instead-of-cache",
    first_index=0,
    where={
        "say …": page,
        "With … and a key": overwritten,
    },
)(page)
