"""What the checks of several chapters bind their formulas to."""

import numpy as np
import torch

from attention_to_rope import attention
from attention_to_rope.merge import log_total, partial_attention

# Outcomes and probabilities of a variable with mean 0 and variance 1.
UNIT = ([2.0, -0.5], [0.2, 0.8])

FOR_EVERY = "It is stated for every value of the letter."
ANY_NUMBERS = "Both letters are any number."
SOLVED = "It is the same equation, solved for another symbol."


def every(*letters):
    """Reasons for letters whose sign may be another everywhere: the display is for all of them."""
    return {f"sign everywhere: {letter} → -{letter}": FOR_EVERY for letter in letters}


def exchanged(*pairs, reason):
    """A reason for symbols that may be exchanged everywhere, each pair as `a ↔ b`."""
    return {f"exchange everywhere: {pair}": reason for pair in pairs}


def turned_back(*letters, kinds=("transpose", "inverse")):
    """Reasons for matrices whose transposes or inverses obey the same rules."""
    changes = [f"{kind} everywhere: {name}" for name in letters for kind in kinds]
    return dict.fromkeys(changes, "The rotations in the other sense obey the same rules.")


# The inverse of a permutation is its transpose, and another permutation.
PERMUTATION = dict.fromkeys(
    (r"transpose everywhere: \Pi", r"inverse everywhere: \Pi"),
    "It is stated for every permutation.",
)
TWO_MATRICES = {"exchange everywhere: Q ↔ K": "It is stated for any two matrices."}


def tensor(values):
    """A NumPy array or a list as a tensor of float64."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64))


def library_attention(Q, K, V):
    """The library's attention on NumPy matrices."""
    return attention(*map(tensor, (Q, K, V))).numpy()


def library_weights(Q, K, bias=None, mask=None):
    """The library's weights: values that are unit vectors show them."""
    unit = torch.eye(len(K), dtype=torch.float64)
    bias = None if bias is None else tensor(bias)
    return attention(tensor(Q), tensor(K), unit, bias=bias, mask=mask).numpy()


def library_scores(Q, K, bias=None):
    """The library's scores: each weight is exp(score - log of the row's total)."""
    unit = torch.eye(len(K), dtype=torch.float64)
    given = None if bias is None else tensor(bias)
    totals = log_total(partial_attention(tensor(Q), tensor(K), unit, bias=given)).numpy()
    return np.log(library_weights(Q, K, bias)) + totals


def sizes(rng, *usual):
    """Sizes near the usual ones, all different, so that no number stands for one of them."""
    while True:
        found = [size + int(rng.integers(5)) for size in usual]
        if len({*found}) == len(found):
            return found


def even(rng, usual):
    """An even size near the usual one."""
    return usual + 2 * int(rng.integers(3))
