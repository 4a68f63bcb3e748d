"""Chapter 5: the relations inside its sentences."""

from attention_to_rope import FeedForward, gelu, parity_width, relu, silu
from shared_05_feed_forward import in_numpy

PAGE = "05-feed-forward"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """Two numbers, a width that 3 divides, and the library's width of a gated layer."""
    d = 3 * int(rng.integers(2, 50))
    return {
        "x": rng.normal(size=2),
        "d": d,
        "d_g": parity_width(d),
        r"\operatorname{ReLU}": in_numpy(relu),
    }


def steps(rng):
    """Each of the three activations that are x times a step."""
    f = (relu, silu, gelu)[int(rng.integers(3))]
    return {"x": rng.normal(), "f": in_numpy(f)}


def usual_width(rng):
    """The width that the library's layer takes where none is given."""
    d = int(rng.integers(2, 9))
    return {"d": d, "d_f": FeedForward(d, activation="relu", seed=rng).up.W.shape[1]}


CHECKS = {r"d_f = 4d": usual_width, r"f(x) - f(-x) = x": steps}
# Definitions, conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"\beta = 1",
    r"d = 768",
    r"k = (1, -1)",
    r"c = -2",
    r"b_2 = 0",
    r"x_0 = x_1 = t",
]
