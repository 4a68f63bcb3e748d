"""Chapter 6: the relations inside its sentences."""

PAGE = "06-encoder-decoder"


def bindings(rng):
    """A width, and the length at which scores cost as much as projections."""
    d = int(rng.integers(2, 900))
    return {"d": d, "N": 2 * d}


LOOSE = {r"0.5 + 0.25 < 0.8": "Numbers of an example; that the third is needed is all it says."}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"\tau = 1", r"p = 0.8", r"d = 512"]
