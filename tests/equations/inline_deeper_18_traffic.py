"""Deeper, chapter 18: the relations inside its sentences."""

PAGE = "deeper/18-traffic"


def bindings(rng):
    """Its sentences name cases only; displayed formulas compute them."""
    del rng
    return {}


DEFINITIONS = [r"g = 8", r"h = 40", r"g = 1", r"g = h", r"g \ge h"]
