"""Deeper, chapter 14, rings: the relations inside its sentences."""

PAGE = "deeper/14-ring"


def bindings(rng):
    """Its sentences state how a sequence is cut and the sizes of an example only."""
    del rng
    return {}


# How a sequence is cut, and the sizes of an example.
DEFINITIONS = [r"b = N / P", r"a = N / (2P)", r"N = 10^9", r"d = 4096"]
