"""What the formulas in the docstrings of `masks` are compared with."""

from attention_to_rope import causal_mask, sliding_window_mask

N = 6
PLACES = {"m": range(N), "n": range(N)}


def window(causal):
    def bindings(rng):
        w = int(rng.integers(2, N))
        return {
            "M": sliding_window_mask(N, window=w, causal=causal).int().numpy(),
            "w": w,
            **PLACES,
        }

    return bindings


BINDINGS = {
    "causal_mask": lambda rng: {"M": causal_mask(N).int().numpy(), **PLACES},
    "sliding_window_mask": {
        r"M_{mn} = \mathbf{1}[0 \le m - n < w]": window(causal=True),
        r"M_{mn} = \mathbf{1}[\lvert n - m \rvert < w]": window(causal=False),
    },
}
