"""Deeper, chapter 16: the relations inside its sentences."""

PAGE = "deeper/16-speed-of-memory"


def bindings(rng):
    """Its sentences name cases only; displayed formulas compute them."""
    del rng
    return {}


DEFINITIONS = [r"g = 8", r"h = 40", r"g = 1", r"g = h", r"g \ge h"]
