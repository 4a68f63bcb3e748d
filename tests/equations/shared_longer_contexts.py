"""The chapter and its page of depth: what the formulas of both are bound to."""

from attention_to_rope import rotary_frequencies
from attention_to_rope.context_extension import ntk_by_parts

D, L, BASE = 16, 300, 900.0
PAIRS = D // 2
THETA = rotary_frequencies(D, BASE)


def stretch(changed):
    return (THETA / changed).numpy()


def scale(rng):
    return float(rng.uniform(2.5, 7))


ALPHA, BETA = 1.5, 13.0


def by_parts(s, theta=THETA, length=L, slow=ALPHA, fast=BETA):
    return ntk_by_parts(theta, s, original_length=length, slow=slow, fast=fast)
