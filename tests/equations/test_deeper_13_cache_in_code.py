"""Page on the cache in code of chapter 13: its equations, counted in the library."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import KeyValueCache, attention, causal_mask
from bookcheck.equations.checks import equation, sentences
from shared import tensor
from shared_03_many_heads import D_K, N_Q, D, H, N, layer_of


@equation("eq-cache-work")
def test_cache_work(rng):
    """The operations that PyTorch counts in the library, with and without its cache."""
    length = int(rng.integers(3, 20))
    layer, x = layer_of(rng), tensor(rng.normal(size=(1, length, D)))
    _, cache = layer.extend(x[:, :-1], KeyValueCache())
    with FlopCounterMode(display=False) as without:
        layer(x, mask=causal_mask(length))
    with FlopCounterMode(display=False) as cached:
        layer.extend(x[:, -1:], cache)
    counts = {
        r"F_{\text{all}}": without.get_total_flops(),
        r"F_{\text{new}}": cached.get_total_flops(),
    }
    return {"N": length, "d": D, **counts}


@equation("eq-causal-offset", first_index=0)
def test_causal_offset(rng):
    queries, keys = N_Q, int(rng.integers(N_Q, 9))
    M = causal_mask(queries, keys).int().numpy()
    return {"M": M, "N_q": queries, "N_k": keys, "m": range(queries), "n": range(keys)}


@equation("eq-intensity")
def test_intensity(rng):
    """Both numbers of the quotient are counted for one query beside N cached keys."""
    length, cases = int(rng.integers(2, 50)), []
    for g in (1, 2, 3):
        for dtype in (torch.float64, torch.float32):
            layer = layer_of(rng, kv_heads=g).to(dtype)
            x = tensor(rng.normal(size=(1, length, D))).to(dtype)
            _, cache = layer.extend(x, KeyValueCache())
            q, k = torch.ones(H, 1, D_K, dtype=dtype), torch.ones(H, length, D_K, dtype=dtype)
            with FlopCounterMode(display=False) as counter:
                attention(q, k, k)
            values = {"N": length, "h": H, "g": g, "d_k": D_K, "w": x.element_size()}
            counts = {
                r"F_{\text{core}}": counter.get_total_flops(),
                r"T_{\text{cache}}": cache.keys.nbytes + cache.values.nbytes,
            }
            cases.append({**values, **counts})
    return cases


@equation("eq-blocked", first_index=0)
def test_blocked(rng):
    q, c, W_UK = rng.normal(size=(N, 4)), rng.normal(size=(N, 5)), rng.normal(size=(H, 5, 4))
    angles = np.outer(np.arange(N), [1.0, 0.1])
    turns = np.zeros((N, 4, 4))
    for pair in range(2):
        cosine, sine = np.cos(angles[:, pair]), np.sin(angles[:, pair])
        a, b = 2 * pair, 2 * pair + 1
        turns[:, a, a], turns[:, b, b], turns[:, a, b], turns[:, b, a] = cosine, cosine, sine, -sine
    places = {"m": range(N), "n": range(N), "j": range(H)}
    return {"q": q, "c": c, "W^{UK}": W_UK, r"\mathbf{R}": turns, **places}


def bindings(rng):
    """No sentence of the page claims a relation: all of them name cases."""
    del rng
    return {}


test_sentences = sentences(
    "deeper/13-cache-in-code",
    unchecked={
        "queries and …": "Not executed yet.",
    },
)(bindings)
