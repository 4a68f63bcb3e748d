"""Page on masks of chapter 3: the relations inside its sentences."""

PAGE = "deeper/03-masks"


def bindings(rng):
    """No sentence of the page claims a relation: all of them name cases."""
    del rng
    return {}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"u = 0, \dots, B - 1", r"B = N"]
