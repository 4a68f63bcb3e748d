"""Deeper, chapter 1: the relations inside its sentences."""

PAGE = "deeper/01-attention"


def bindings(rng):
    """Its sentences state nothing about its symbols yet."""
    del rng
    return {}


# What floating-point numbers do; a cell of the page shows it.
DEFINITIONS = [r"0 \cdot \text{NaN} = \text{NaN}"]
