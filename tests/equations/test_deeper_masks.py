"""Page on masks of chapter 3: its equation, executed against the library."""

import torch

from attention_to_rope import causal_mask, padding_mask
from bookcheck.equations.checks import equation, sentences
from shared_many_heads import N


@equation("eq-batch-mask", first_index=0)
def test_batch_mask(rng):
    lengths = rng.integers(0, N + 1, size=3)
    M = causal_mask(N) & padding_mask(torch.from_numpy(lengths), N)
    indices = {"u": range(3), "m": range(N), "n": range(N)}
    return {"M": M.int().numpy(), "N": lengths, **indices}


test_sentences = sentences("deeper/masks")(lambda _: {})
