"""The cache: the equations of the page, executed against the library where it has them."""

from functools import partial

import torch

from attention_to_rope import KeyValueCache, attention, causal_mask
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, tensor
from shared_counts import matrix_operations
from shared_many_heads import D_K, HEADS, D, G, H, N, layer_of, matrices, run, split


@equation("eq-prefix-output", first_index=0)
def test_prefix_output(rng):
    q, k, v = (rng.normal(size=(N, D_K)) for _ in range(3))
    o = attention(tensor(q), tensor(k), tensor(v), mask=causal_mask(N)).numpy()
    return {"S": library_scores(q, k), "v": v, "o": o, "m": range(N)}


def grouped(rng):
    """Layers of the library that share keys and values, what they hold, and what they compute."""
    B, L, cases = 6, 4, []
    for g, dtype in ((1, torch.float32), (G, torch.float64), (H, torch.float64)):
        layer = layer_of(rng, kv_heads=g, join=False)
        X, (W_Q, W_K, W_V, _) = rng.normal(size=(N, D)), matrices(layer)
        many = tensor(rng.normal(size=(B, N, D))).to(dtype)
        _, cache = layer.to(dtype).extend(many, KeyValueCache())
        held = cache.keys.nbytes + cache.values.nbytes
        q, k = (torch.ones(H, rows, D_K) for rows in (1, N))
        counts = {r"\text{bytes}": L * held, r"T_{\text{cache}}": held / B}
        counts |= {r"F_{\text{core}}": matrix_operations(partial(attention, q, k, k))}
        counts |= {"P": sum(p.numel() for p in layer.parameters()), "w": dtype.itemsize}
        per_head = run(layer.double(), X).reshape(N, H, D_K).transpose(1, 0, 2)
        given = {"Q": X @ split(W_Q, H), "K": X @ split(W_K, g), "V": X @ split(W_V, g)}
        given |= {"H": per_head, r"\operatorname{group}": lambda j, g=g: j // (H // g)}
        sizes = {"B": B, "L": L, "N": N, "h": H, "g": g, "d": D, "d_k": D_K}
        cases.append({**counts, **given, **sizes, **HEADS})
    return cases


test_cache_bytes = equation("eq-cache-bytes")(grouped)
test_intensity = equation("eq-intensity")(grouped)
test_grouped_head = equation("eq-grouped-head", first_index=0)(lambda rng: grouped(rng)[1:])
test_grouped_parameters = equation("eq-grouped-parameters")(grouped)


test_sentences = sentences("cache", first_index=0)(lambda rng: grouped(rng)[1])
