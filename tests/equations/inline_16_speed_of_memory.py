"""Chapter 16: the relations inside its sentences."""

PAGE = "16-speed-of-memory"


def bindings(rng):
    """Its sentences state sizes of examples only."""
    del rng
    return {}


DEFINITIONS = [r"w = 2", r"h = 32", r"B = 1", r"h = 2", r"N = 3", r"d_k = 4"]
