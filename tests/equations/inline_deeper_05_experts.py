"""Mixture of experts: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import MixtureOfExperts

PAGE = "deeper/05-experts"
OPTIONS = {"first_index": 0}


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


# Definitions, conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"k = 1", r"k = 2", r"b_3 = 10"]
