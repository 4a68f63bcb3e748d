"""Deeper, chapter 18: the relations inside its sentences."""

from bookcheck.equations.checks import sentences


def bindings(rng):
    """Its sentences name cases only; displayed formulas compute them."""
    del rng
    return {}


test_sentences = sentences(
    "deeper/18-traffic",
    unchecked={
        "exactly when …": "Not executed yet.",
    },
)(bindings)
