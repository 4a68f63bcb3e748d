"""Chapter 3: the relations inside its sentences."""

from attention_to_rope import MultiHeadAttention

PAGE = "03-many-heads"


def bindings(rng):
    """A number of key-value heads."""
    return {"g": int(rng.integers(1, 9))}


CHECKS = {
    r"d_k = 64": lambda rng: {"d_k": MultiHeadAttention(512, 8, seed=rng).d_k},
}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"j = 0, \dots, h - 1",
    r"d_k = d / h",
    r"h d_k = d",
    r"d = 2880",
    r"g = h",
    r"g = 1",
    r"g = 8",
    r"d = 512",
    r"h = 8",
    r"d_k = 128",
    r"d_R = 64",
    r"d_c = 512",
    r"g = 2",
    r"d_k = 1",
    r"N = 5",
    r"d_k = 2",
    r"q_m > 0",
    r"q_m < 0",
    r"n = m",
    r"d_k = d / 2",
    r"d_k = d",
    r"x_n = c_n w",
]
