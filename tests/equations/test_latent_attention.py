"""Latent attention: the equations of the page, executed against the library."""

from unittest import mock

import numpy as np
import torch

from attention_to_rope import KeyValueCache, LatentAttention, Rotary, attention
from attention_to_rope import latent_attention as latent
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, tensor
from shared_counts import matrix_operations
from shared_many_heads import D_K, D, G, H, N, layer_of
from shared_rotations import rotation_of_all_pairs, some_frequencies

D_R, D_C, D_U = 10, 11, 9


def latents(rng):
    """What the library's layer, without its norms, hands to its attention; two heads of it."""
    sizes = {"head_dim": D_K, "rotary_dim": D_R, "latent_dim": D_C, "query_latent_dim": D_U}
    layer = LatentAttention(D, H, **sizes, seed=rng).double()
    layer.latent_norm = layer.query_norm = torch.nn.Identity()
    x, (_, theta) = tensor(rng.normal(size=(1, N, D))), some_frequencies(rng, D_R)
    scheme = Rotary(theta, layout="interleaved")
    with mock.patch.object(latent, "attention", wraps=attention) as spied, torch.no_grad():
        layer.form = "naive"
        naive, cache = layer.extend(x, KeyValueCache(), scheme=scheme)
        q, k, v = (part[0].numpy() for part in spied.call_args.args)
        layer.form = "absorbed"
        assert torch.allclose(naive, layer(x, causal=True, scheme=scheme))
    per_head = {"W^{UK}": layer.key_up, "W^{UV}": layer.value_up, "W": layer.query_up}
    W = {
        name: part.W.detach().reshape(len(part.W), H, -1).transpose(0, 1).numpy()
        for name, part in per_head.items()
    }
    W["W^{UQ}"], W["W^{QR}"] = np.split(W.pop("W"), [D_K], axis=-1)
    shared = {"DQ": layer.query_down, "DKV": layer.latent_down, "KR": layer.rotary_key}
    W |= {f"W^{{{name}}}": part.W.detach().numpy() for name, part in shared.items()}
    common = {**W, "x": x[0].numpy(), "c": cache.values[0, 0].detach().numpy(), "N": N, "d_k": D_K}
    common |= {"d_R": D_R, r"\mathbf{R}": rotation_of_all_pairs(theta), "n": range(N)}
    common |= {"u": common["x"] @ W["W^{DQ}"], "m": range(N)}
    common |= {r"\operatorname{concat}": lambda *parts: np.hstack(parts)}
    cases = []
    for j in (1, H - 1):
        S = library_scores(q[j], k[j])
        given = {"q": q[j], "k": k[j], "v": v[j], "S": S, "A": np.exp(S)}
        cases.append({**common, **given, "j": j})
    return cases


def without_position(rng):
    """The same, with the part of queries and keys alone that has no position."""
    turn = rotation_of_all_pairs(some_frequencies(rng, D_K - 1)[1])
    cases = latents(rng)
    for case in cases:
        case |= {"q": case["q"][:, :D_K], "k": case["k"][:, :D_K]}
    return [{**case, r"\mathbf{R}": turn} for case in cases]


test_latent = equation("eq-latent", first_index=0)(without_position)
test_absorbed = equation("eq-absorbed", first_index=0, draws=2)(without_position)
test_mla = equation("eq-mla", first_index=0, draws=2)(latents)


@equation("eq-blocked", first_index=0, draws=2)
def test_blocked(rng):
    case = without_position(rng)[0]
    even = {"q": case["q"][:, 1:], "W^{UK}": case["W^{UK}"][:, :, 1:]}  # pairs of dimensions
    return {**case, **even, r"\mathbf{R}": np.stack([case[r"\mathbf{R}"](m) for m in range(N)])}


def cost_of_rows(form, queries=1, d_v=D_K):
    """What N more rows cost the library."""

    def cost(rows):
        q, stored = ((1, H, queries, D_K), (1, H, queries, D_R)), ((1, rows, D_C), (1, rows, D_R))
        shapes = (*q, *stored, (H, D_C, D_K), (H, D_C, d_v))
        inputs = [torch.ones(shape) for shape in shapes]
        return matrix_operations(lambda: latent.attend_to_latents(*inputs, form=form))

    return cost(2 * N) - cost(N)


@equation("eq-latent-intensity")
def test_latent_intensity(rng):
    """What N more rows cost the library's absorbed form, and the bytes that they take."""
    counts = {r"F_{\text{latent}}": cost_of_rows("absorbed"), "h": H, "d_c": D_C, "d_R": D_R}
    return {**counts, "N": N, r"T_{\text{latent}}": torch.ones(N, D_C + D_R).nbytes, "w": 4}


def equal_cost(rng):
    """For how many queries the two forms cost the same: both costs are linear in this number."""
    d_v = D_K + 1
    difference = [
        cost_of_rows("naive", queries, d_v) - cost_of_rows("absorbed", queries, d_v)
        for queries in (1, 2)
    ]
    N_q = 1 + difference[0] / (difference[0] - difference[1])
    return {"N_q": N_q, "d_c": D_C, "d_k": D_K, "d_v": d_v}


def stored_by_groups(rng):
    """The numbers that the library's layer with shared keys and values keeps per token."""
    _, cache = layer_of(rng, kv_heads=G).extend(torch.ones(1, 1, D).double(), KeyValueCache())
    return {"d_c": cache.keys.numel() + cache.values.numel(), "g": G, "d_k": D_K}


test_sentences = sentences(
    "latent-attention",
    first_index=0,
    where={
        "The two cost the same for … queries": equal_cost,
        "is latent attention with … .": stored_by_groups,
    },
)(lambda rng: latents(rng)[0])
