"""Deeper page of chapter 3: the relations inside its sentences."""

PAGE = "deeper/03-sum-and-rank"


def bindings(rng):
    """No sentence of the page claims a relation: all of them name cases."""
    del rng
    return {}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"h d_k = d",
    r"d_k < d",
    r"d_k = d",
    r"x W^Q_j = 0",
]
