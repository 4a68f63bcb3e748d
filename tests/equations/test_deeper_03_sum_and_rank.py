"""Deeper page of chapter 3: its equations, executed against the library where it has them."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import (
    KeyValueCache,
    MultiHeadAttention,
    attention,
    causal_mask,
    padding_mask,
)
from bookcheck.equations.checks import equation
from shared import library_scores, tensor
from shared_03_many_heads import (
    D_K,
    HEADS,
    N_Q,
    SIZES,
    D,
    H,
    N,
    layer_of,
    layer_values,
    matrices,
    pick,
    run,
    split,
)


@equation("eq-mha-parameters", library=MultiHeadAttention, sizes=True)
def test_mha_parameters(rng):
    parameters = sum(p.numel() for p in layer_of(rng).parameters())
    return {**SIZES, "P": parameters}


@equation("eq-mha-flops", library=attention)
def test_mha_flops(rng):
    Q, K, V = (tensor(rng.normal(size=(H, N, D_K))) for _ in range(3))
    with FlopCounterMode(display=False) as counter:
        attention(Q, K, V)
    return {**SIZES, r"F_{\text{core}}": counter.get_total_flops()}


@equation("eq-sum-proof", first_index=0, library=[MultiHeadAttention, attention])
def test_sum_proof(rng):
    values = pick(layer_values(rng), "C", "W^O", "H", "U")
    return {**values, "m": range(N), "c": range(D)}


def weights_of(rng, length, used=D_K):
    """Scores of one head and the library's weights: values that are unit vectors give them back.

    Only the first `used` directions of the queries are not 0.
    """
    q, k = rng.normal(size=(length, D_K)), rng.normal(size=(length, D_K))
    q[:, used:] = 0
    A = attention(tensor(q), tensor(k), torch.eye(length, dtype=torch.float64)).numpy()
    return library_scores(q, k), A


@equation("eq-log-weights", first_index=0, library=attention)
def test_log_weights(rng):
    S, A = weights_of(rng, N)
    z = np.log(np.exp(S).sum(axis=1))
    return {"S": S, "A": A, "z": z, "N": N, "m": range(N), "n": range(N)}


@equation("eq-log-rank", library=attention)
def test_log_rank(rng):
    tables = [weights_of(rng, 9, used)[1] for used in (D_K, D_K - 1)]
    return [{"A": A, "d_k": D_K, r"\log": np.log} for A in tables]


@equation("eq-batch-mask", first_index=0, library=[causal_mask, padding_mask])
def test_batch_mask(rng):
    lengths = rng.integers(0, N + 1, size=3)
    M = causal_mask(N) & padding_mask(torch.from_numpy(lengths), N)
    indices = {"u": range(3), "m": range(N), "n": range(N)}
    return {"M": M.int().numpy(), "N": lengths, **indices}


@equation("eq-cross-head", first_index=0, library=MultiHeadAttention)
def test_cross_head(rng):
    X, Y = rng.normal(size=(N, D)), rng.normal(size=(N_Q, D))
    layer = layer_of(rng, join=False)
    W_Q, W_K, W_V, _ = (split(W, H) for W in matrices(layer))
    per_head = run(layer, Y, X).reshape(N_Q, H, D_K).transpose(1, 0, 2)
    projections = {"W^Q": W_Q, "W^K": W_K, "W^V": W_V}
    return {"X": X, "Y": Y, "H": per_head, "d_k": D_K, **projections, **HEADS}


@equation("eq-cache-work", library=MultiHeadAttention)
def test_cache_work(rng):
    """The operations that PyTorch counts in the library, with and without its cache."""
    t = int(rng.integers(3, 20))
    layer, x = layer_of(rng), tensor(rng.normal(size=(1, t, D)))
    _, cache = layer.extend(x[:, :-1], KeyValueCache())
    with FlopCounterMode(display=False) as without:
        layer(x, mask=causal_mask(t))
    with FlopCounterMode(display=False) as cached:
        layer.extend(x[:, -1:], cache)
    counts = {
        r"F_{\text{all}}": without.get_total_flops(),
        r"F_{\text{new}}": cached.get_total_flops(),
    }
    return {"t": t, "d": D, **counts}


@equation("eq-causal-offset", first_index=0, library=causal_mask)
def test_causal_offset(rng):
    queries, keys = N_Q, int(rng.integers(N_Q, 9))
    M = causal_mask(queries, keys).int().numpy()
    return {"M": M, "N_q": queries, "N_k": keys, "m": range(queries), "n": range(keys)}


@equation("eq-intensity", library=attention)
def test_intensity(rng):
    """Both numbers of the quotient are counted for one query beside t cached keys."""
    t, cases = int(rng.integers(2, 50)), []
    for g in (1, 2, 4):
        for dtype in (torch.float64, torch.float32):
            layer = layer_of(rng, kv_heads=g).to(dtype)
            x = tensor(rng.normal(size=(1, t, D))).to(dtype)
            _, cache = layer.extend(x, KeyValueCache())
            q, k = torch.ones(H, 1, D_K, dtype=dtype), torch.ones(H, t, D_K, dtype=dtype)
            with FlopCounterMode(display=False) as counter:
                attention(q, k, k)
            values = {"t": t, "h": H, "g": g, "d_k": D_K, "s": x.element_size()}
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
