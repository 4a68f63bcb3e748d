"""Deeper, chapter 14, bytes: the relations inside its sentences."""

PAGE = "deeper/14-bytes"


def bindings(rng):
    """Its sentences state sizes of examples only."""
    del rng
    return {}


# Sizes of examples.
DEFINITIONS = [r"d_k = 64", r"N = d_k"]
