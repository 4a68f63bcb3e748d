"""Chapter 14 and its page of depth: what the formulas of both are bound to."""

from attention_to_rope import sliding_window_mask


def window(rng):
    N, w = int(rng.integers(7, 12)), int(rng.integers(2, 5))
    mask = sliding_window_mask(N, window=w).double().numpy()
    return {"N": N, "w": w, "M": mask}
