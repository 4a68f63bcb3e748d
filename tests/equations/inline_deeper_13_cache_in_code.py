"""Page on the cache in code of chapter 13: the relations inside its sentences."""

PAGE = "deeper/13-cache-in-code"


def bindings(rng):
    """No sentence of the page claims a relation: all of them name cases."""
    del rng
    return {}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"N_k > N_q", r"N_q = N_k"]
