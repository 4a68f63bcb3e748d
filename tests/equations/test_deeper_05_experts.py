"""Mixture of experts: the equations of the page, executed against the library."""

import numpy as np
import torch

from attention_to_rope import MixtureOfExperts, balance_loss, balanced_bias
from bookcheck.equations.checks import equation, sentences
from shared_05_feed_forward import D_F, D, counted


@equation("eq-experts", first_index=0, vectors="row")
def test_experts(rng):
    """A mixture of the library; s and the set from its router."""
    mixture = MixtureOfExperts(D, D_F, experts=6, k=3, seed=int(rng.integers(1000))).double()
    x = torch.from_numpy(rng.normal(size=D))
    with torch.no_grad():
        scores = torch.softmax(mixture.router(x), -1).numpy()
        chosen, gates = mixture.route(x)
    every = np.zeros(6)
    every[chosen.numpy()] = gates.numpy()

    def expert(i, x):
        return mixture.experts[int(i)](torch.as_tensor(x)).detach().numpy()

    values = {
        "x": x,
        "y": mixture(x).detach(),
        r"\mathcal{T}": set(chosen.tolist()),
        "s": scores,
        "g": every,
        r"\operatorname{FFN}": expert,
    }
    return [{**values, "j": j} for j in chosen.tolist()]


@equation("eq-expert-weights")
def test_expert_weights(rng):
    experts, k, d, width = (int(rng.integers(2, 9)) for _ in range(4))
    k = min(k, experts - 1)
    mixture = MixtureOfExperts(d, width, experts=experts, k=k, seed=0)
    one = counted(mixture.experts[0])
    return {
        "E": experts,
        "k": k,
        "d": d,
        "d_g": width,
        r"P_{\text{held}}": counted(mixture.experts),
        r"P_{\text{used}}": k * one,
    }


@equation("eq-balance-loss", first_index=0)
def test_balance_loss(rng):
    scores = torch.softmax(torch.from_numpy(rng.normal(size=(20, 4))), -1)
    chosen = scores.topk(2).indices
    shares = np.bincount(chosen.numpy().ravel(), minlength=4) / 40
    return {
        r"\mathcal{L}": balance_loss(scores, chosen).item(),
        "E": 4,
        "f": shares,
        r"\bar{s}": scores.numpy().mean(0),
    }


@equation("eq-balance-bias", first_index=0)
def test_balance_bias(rng):
    bias, chosen = rng.normal(size=4), rng.integers(0, 4, size=(21, 1))
    after = balanced_bias(torch.from_numpy(bias), torch.from_numpy(chosen), step=0.3).numpy()
    shares = np.bincount(chosen.ravel(), minlength=4) / 21
    return {"b": bias, "b'": after, r"\gamma": 0.3, "E": 4, "f": shares, "i": range(4)}


def bindings(rng):
    """The gate that the library's mixture gives to its one chosen expert, and all scores."""
    mixture = MixtureOfExperts(4, 6, experts=5, k=1, seed=rng).double()
    x = torch.from_numpy(rng.normal(size=4))
    with torch.no_grad():
        scores = torch.softmax(mixture.router(x), -1).numpy()
        chosen, gates = mixture.route(x)
    every = np.zeros(5)
    every[chosen.numpy()] = gates.numpy()
    return {"g": every, "s": scores, "i": int(chosen)}


test_sentences = sentences("deeper/05-experts", first_index=0)(bindings)
