"""Chapter 8: the relations inside its sentences."""

from attention_to_rope import MultiHeadAttention, causal_mask
from bookcheck.equations.expressions import RESULT
from shared_counts import layer_operations

PAGE = "08-encoder-decoder"


def bindings(rng):
    """A width, and the length at which scores cost as much as projections."""
    d = int(rng.integers(2, 900))
    return {"d": d, "N": 2 * d}


LOOSE = {r"0.5 + 0.25 < 0.8": "Numbers of an example; that the third is needed is all it says."}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"\tau = 1", r"p = 0.8", r"d = 512"]


def layer(rng):
    return {"N": 5, "d": 6, RESULT: layer_operations(MultiHeadAttention(6, 2, seed=0), 5, 6)}


EXPRESSIONS = {
    r"1 + 2 + 3 + 4": lambda rng: {RESULT: int(causal_mask(4).sum())},
    r"8 N d^2 + 4 N^2 d": layer,
}
