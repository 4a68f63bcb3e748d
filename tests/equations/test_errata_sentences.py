"""The errata: the formulas inside their sentences, those that are right."""

import torch

from attention_to_rope import FeedForward, MultiHeadAttention, attention
from bookcheck.equations.checks import sentences
from shared import sizes
from shared_counts import layer_operations, matrix_operations


def bindings(rng):
    return {}


def layer(rng):
    """The operations of the library's layer of 2017, and the length where the core has the most."""
    n, d = sizes(rng, 9, 3)
    one_head = torch.ones(1, n, d)
    core = matrix_operations(lambda: attention(one_head, one_head, one_head))
    projections = layer_operations(MultiHeadAttention(d, 1, seed=rng), n, d) - core
    hidden = layer_operations(FeedForward(d, hidden=4 * d, activation="relu", seed=rng), n, d)
    return {"n": n, "d": d, "C": core, "P": projections, "F": hidden}


def balance(rng):
    """The length at which the core has as many operations as the rest."""
    counts = layer(rng)
    return {**counts, "n": counts["n"] * (counts["P"] + counts["F"]) / counts["C"]}


test_sentences = sentences(
    "errata",
    first_index=0,
    where={
        "A layer costs …": layer,
        "core of attention, …": layer,
        "four projections and …": layer,
        "is the largest from …": balance,
    },
    names={"A layer costs …": "C", "core of attention, …": "P", "four projections and …": "F"},
)(bindings)
