"""Chapter 13: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch

from attention_to_rope import (
    KeyValueCache,
    MultiHeadAttention,
    attend_to_latents,
    attention,
    causal_mask,
)
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, tensor
from shared_03_many_heads import D_K, HEADS, N_Q, D, G, H, N, layer_of, matrices, run, split
from shared_rotations import rotation_of_all_pairs, some_frequencies


@equation("eq-prefix-output", first_index=0)
def test_prefix_output(rng):
    q, k, v = (rng.normal(size=(N, D_K)) for _ in range(3))
    o = attention(tensor(q), tensor(k), tensor(v), mask=causal_mask(N)).numpy()
    return {"S": library_scores(q, k), "v": v, "o": o, "m": range(N)}


@equation("eq-cache-bytes")
def test_cache_bytes(rng):
    batch, layers = 6, 4
    used = 0
    for _ in range(layers):
        layer, x = layer_of(rng, kv_heads=G), tensor(rng.normal(size=(batch, N, D)))
        _, cache = layer.extend(x, KeyValueCache())
        used += cache.keys.nbytes + cache.values.nbytes
    return {r"\text{bytes}": used, "L": layers, "g": G, "d_k": D_K, "N": N, "B": batch, "w": 8}


def group(j):
    return j // (H // G)


@equation("eq-grouped-head", first_index=0)
def test_grouped_head(rng):
    X = rng.normal(size=(N, D))
    layer = layer_of(rng, kv_heads=G, join=False)
    W_Q, W_K, W_V, _ = matrices(layer)
    per_head = run(layer, X).reshape(N, H, D_K).transpose(1, 0, 2)
    values = {"Q": X @ split(W_Q, H), "K": X @ split(W_K, G), "V": X @ split(W_V, G)}
    values |= {"H": per_head, r"\operatorname{group}": group, "g": G, "h": H, "d_k": D_K}
    return {**values, **HEADS}


@equation("eq-grouped-parameters")
def test_grouped_parameters(rng):
    parameters = sum(p.numel() for p in layer_of(rng, kv_heads=G).parameters())
    return {"P": parameters, "d": D, "g": G, "d_k": D_K}


def latent(rng):
    """Latents, the keys and values that each head makes from them, and the library's weights."""
    x, W_D = rng.normal(size=(N, D)), rng.normal(size=(D, 4))
    W_UK, W_UV = rng.normal(size=(2, H, 4, D_K))
    c, q = x @ W_D, rng.normal(size=(N_Q, D_K))
    common = {"x": x, "c": c, "q": q, "W^{DKV}": W_D, "W^{UK}": W_UK, "W^{UV}": W_UV, "N": N}
    cases = []
    for j in (1, H - 1):
        k, v = c @ W_UK[j], c @ W_UV[j]
        _, A = attention(tensor(q), tensor(k), tensor(v), return_weights=True)
        cases.append({**common, "j": j, "k": k, "v": v, "A": A.numpy(), "n": range(N)})
    return cases


test_latent = equation("eq-latent", first_index=0)(latent)


@equation("eq-absorbed", first_index=0, draws=2)
def test_absorbed(rng):
    # The library's two forms agree; the page says why, for each pair and each head.
    cases = latent(rng)
    first = cases[0]
    q, c = (tensor(first[name])[None] for name in ("q", "c"))
    nothing = {"q_rotary": torch.zeros(1, H, N_Q, 2), "k_rotary": torch.zeros(1, N, 2)}
    given = {name: value.double() for name, value in nothing.items()}
    ups = {name: tensor(first[f"W^{{{name[2:]}}}"]) for name in ("W_UK", "W_UV")}
    naive, absorbed = (
        attend_to_latents(
            q[:, None].expand(-1, H, -1, -1), latents=c, form=form, scale=0.4, **given, **ups
        )
        for form in ("naive", "absorbed")
    )
    assert torch.allclose(naive, absorbed, atol=1e-12)
    return [{**case, "m": range(N_Q)} for case in cases]


@equation("eq-mla", first_index=0, draws=2)
def test_latent_with_rotary_part(rng):
    """Content and turned part side by side; the library's latent attention has the same weights."""
    _, theta = some_frequencies(rng, 4)
    turn = rotation_of_all_pairs(theta)
    x, W_DQ, W_KR = (rng.normal(size=size) for size in ((N, D), (D, 5), (D, 4)))
    W_UQ, W_QR = rng.normal(size=(H, 5, D_K)), rng.normal(size=(H, 5, 4))
    W_UK, W_UV = rng.normal(size=(2, H, 6, D_K))
    u, c = x @ W_DQ / 4, rng.normal(size=(N, 6))

    def turned(rows):
        return np.stack([row @ turn(place) for place, row in enumerate(rows)])

    key, content, rotary = turned(x @ W_KR), u @ W_UQ, np.stack([turned(y) for y in u @ W_QR])
    given = (content, rotary, c, key)
    mixed = attend_to_latents(
        *(tensor(value)[None] for value in given), tensor(W_UK), tensor(W_UV), form="absorbed"
    )
    matrices = {"W^{UQ}": W_UQ, "W^{QR}": W_QR, "W^{UK}": W_UK, "W^{DQ}": W_DQ / 4, "W^{KR}": W_KR}
    sizes = {"d_k": D_K, "d_R": 4, "m": range(N), "n": range(N), r"\mathbf{R}": turn}
    cases = []
    for j in (1, H - 1):
        q, k = np.hstack([content[j], rotary[j]]), np.hstack([c @ W_UK[j], key])
        scores = library_scores(q, k)
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        assert np.allclose(weights @ c @ W_UV[j], mixed[0, j].numpy())
        rows = {"x": x, "u": u, "c": c, "q": q, "k": k, "S": scores, "j": j}
        join = {r"\operatorname{concat}": lambda *parts: np.hstack(parts)}
        cases.append({**rows, **matrices, **sizes, **join})
    return cases


def bindings(rng):
    """A number of key-value heads, and the length of the library's heads."""
    return {"g": int(rng.integers(1, 9)), "d_k": MultiHeadAttention(512, 8, seed=rng).d_k}


test_sentences = sentences(
    "13-cache",
)(bindings)
