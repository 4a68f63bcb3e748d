"""Latent attention: the equations of the page, executed against the library."""

from unittest import mock

import numpy as np
import torch

from attention_to_rope import KeyValueCache, LatentAttention, Rotary, attention
from attention_to_rope import latent_attention as latent
from bookcheck.equations.checks import equation, sentences
from shared import even, library_scores, sizes, tensor
from shared_counts import matrix_operations
from shared_many_heads import layer_of, some_sizes
from shared_rotations import rotation_of_all_pairs, some_frequencies, turned_row


def latents(rng):
    """What the library's layer, without its norms, hands to its attention; two heads of it."""
    shape, d_R, (d_c, d_u) = some_sizes(rng), even(rng, 6), sizes(rng, 11, 9)
    N, h, d, d_k = (shape[name] for name in ("N", "h", "d", "d_k"))
    widths = {"head_dim": d_k, "rotary_dim": d_R, "latent_dim": d_c, "query_latent_dim": d_u}
    layer = LatentAttention(d, h, **widths, seed=rng).double()
    layer.latent_norm = layer.query_norm = torch.nn.Identity()
    x, (_, theta) = tensor(rng.normal(size=(1, N, d))), some_frequencies(rng, d_R)
    scheme = Rotary(theta, layout="interleaved")
    with mock.patch.object(latent, "attention", wraps=attention) as spied, torch.no_grad():
        layer.form = "naive"
        naive, cache = layer.extend(x, KeyValueCache(), scheme=scheme)
        q, k, v = (part[0].numpy() for part in spied.call_args.args)
        layer.form = "absorbed"
        assert torch.allclose(naive, layer(x, causal=True, scheme=scheme))
    per_head = {"W^{UK}": layer.key_up, "W^{UV}": layer.value_up, "W": layer.query_up}
    W = {
        name: part.W.detach().reshape(len(part.W), h, -1).transpose(0, 1).numpy()
        for name, part in per_head.items()
    }
    W["W^{UQ}"], W["W^{QR}"] = np.split(W.pop("W"), [d_k], axis=-1)
    shared = {"DQ": layer.query_down, "DKV": layer.latent_down, "KR": layer.rotary_key}
    W |= {f"W^{{{name}}}": part.W.detach().numpy() for name, part in shared.items()}
    common = {**W, "x": x[0].numpy(), "c": cache.values[0, 0].detach().numpy(), "N": N, "d_k": d_k}
    common |= {"d_R": d_R, r"\mathbf{R}": rotation_of_all_pairs(theta), "n": range(N)}
    common |= {"u": common["x"] @ W["W^{DQ}"], "m": range(N)}
    common |= {r"\operatorname{concat}": lambda *parts: np.hstack(parts)}
    cases = []
    for j in (1, h - 1):
        S = library_scores(q[j], k[j])
        given = {"q": q[j], "k": k[j], "v": v[j], "S": S, "A": np.exp(S)}
        cases.append({**common, **given, "j": j})
    return cases


def without_position(rng):
    """The same, with the part of queries and keys alone that has no position."""
    cases = latents(rng)
    d_k = cases[0]["d_k"]
    _, theta = some_frequencies(rng, d_k - d_k % 2)
    turn = rotation_of_all_pairs(theta)
    found = []
    for case in cases:
        q = case["q"][:, :d_k]
        k = case["k"][:, :d_k]
        # The dot products of the library's queries and keys, and any averages of its values.
        s = library_scores(q, k) * d_k**0.5
        o = case["A"] @ case["v"]
        known = {"q": q, "k": k, "s": s, "o": o, r"\theta": theta.numpy()}
        found.append({**case, **known, r"\mathbf{R}": turn})
    return found


test_latent = equation(
    "eq-latent", first_index=0, symbols="W^{UK}, W^{UV}, W^{DKV}, x, c, n, k, v, j"
)(without_position)
test_absorbed = equation("eq-absorbed", first_index=0, draws=2, names={1: "s_{mn}", 2: "o_m"})(
    without_position
)
test_mla = equation("eq-mla", first_index=0, draws=3)(latents)


@equation("eq-blocked", first_index=0, draws=2, names={1: "s_{mn}"})
def test_blocked(rng):
    """The scores of queries and keys that the library has rotated."""
    cases = without_position(rng)
    N, odd = cases[0]["N"], cases[0]["d_k"] % 2
    R = np.stack([cases[0][r"\mathbf{R}"](m) for m in range(N)])
    found = []
    for case in cases:
        # Pairs of dimensions.
        q = case["q"][:, odd:]
        k = case["k"][:, odd:]
        theta = case[r"\theta"]
        turned_q = np.stack([turned_row(q[m], m, theta) for m in range(N)])
        turned_k = np.stack([turned_row(k[n], n, theta) for n in range(N)])
        s = library_scores(turned_q, turned_k) * q.shape[1] ** 0.5
        W_UK = case["W^{UK}"][:, :, odd:]
        found.append({**case, "q": q, "s": s, "W^{UK}": W_UK, r"\mathbf{R}": R})
    return found


def cost_of_rows(form, sizes, queries=1):
    """What N more rows cost the library."""
    N, h, d_k, d_v, d_c, d_R = (sizes[name] for name in ("N", "h", "d_k", "d_v", "d_c", "d_R"))

    def cost(rows):
        q, stored = ((1, h, queries, d_k), (1, h, queries, d_R)), ((1, rows, d_c), (1, rows, d_R))
        shapes = (*q, *stored, (h, d_c, d_k), (h, d_c, d_v))
        inputs = [torch.ones(shape) for shape in shapes]
        return matrix_operations(lambda: latent.attend_to_latents(*inputs, form=form))

    return cost(2 * N) - cost(N)


RATIO = dict.fromkeys(
    (
        r"exchange everywhere: F_{\text{latent}} ↔ w",
        r"exchange everywhere: T_{\text{latent}} ↔ h",
    ),
    "The equation is only multiplied by one symbol and divided by the other.",
)


@equation("eq-latent-intensity", equivalent=RATIO)
def test_latent_intensity(rng):
    """What N more rows cost the library's absorbed form, and the bytes that they take."""
    cases = []
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        shape = latent_sizes(rng)
        stored = torch.ones(shape["N"], shape["d_c"] + shape["d_R"], dtype=dtype)
        traffic = {r"T_{\text{latent}}": stored.nbytes, "w": stored.element_size()}
        cases.append({**shape, r"F_{\text{latent}}": cost_of_rows("absorbed", shape), **traffic})
    return cases


def latent_sizes(rng):
    """Sizes of a layer, all different; the values have a width of their own."""
    names = ("N", "h", "d_k", "d_v", "d_c", "d_R")
    return dict(zip(names, sizes(rng, 7, 6, 5, 4, 11, 10), strict=True))


def equal_cost(rng):
    """For how many queries the two forms cost the same: both costs are linear in this number."""
    shape = latent_sizes(rng)
    difference = [
        cost_of_rows("naive", shape, queries) - cost_of_rows("absorbed", shape, queries)
        for queries in (1, 2)
    ]
    return {**shape, "N_q": 1 + difference[0] / (difference[0] - difference[1])}


def stored_by_groups(rng):
    """The numbers that the library's layer with shared keys and values keeps per token."""
    shape = some_sizes(rng)
    d, g, d_k = shape["d"], shape["g"], shape["d_k"]
    layer = layer_of(rng, shape["h"], kv_heads=g, d=d)
    _, cache = layer.extend(torch.ones(1, 1, d).double(), KeyValueCache())
    return {"d_c": cache.keys.numel() + cache.values.numel(), "g": g, "d_k": d_k}


test_sentences = sentences(
    "latent-attention",
    first_index=0,
    where={
        "The two cost the same for … queries": equal_cost,
        "is latent attention with … .": stored_by_groups,
    },
)(lambda rng: latents(rng)[0])
