"""What the formulas in the docstrings of `latent_attention` are compared with."""

import math
from unittest import mock

import numpy as np
import torch
from formulas import RESULT, tensor

import attention_to_rope as book
from attention_to_rope import latent_attention as module

N_Q, N_K, D_C, D_H, D_R, D_V, D = 2, 3, 4, 3, 2, 5, 6


def one_head(rng):
    return {
        "q^C": rng.normal(size=(N_Q, D_H)),
        "q^R": rng.normal(size=(N_Q, D_R)),
        "c": rng.normal(size=(N_K, D_C)),
        "k^R": rng.normal(size=(N_K, D_R)),
        "W^{UK}": rng.normal(size=(D_C, D_H)),
        "W^{UV}": rng.normal(size=(D_C, D_V)),
    }


def attended(form):
    def bindings(rng):
        symbols = one_head(rng)
        q_content, q_rotary, c, k_rotary, W_UK, W_UV = map(tensor, symbols.values())
        output = book.attend_to_latents(
            q_content[None, None],
            q_rotary[None, None],
            c[None],
            k_rotary[None],
            W_UK[None],
            W_UV[None],
            form=form,
        )
        return {**symbols, "z": 1 / math.sqrt(D_H + D_R), RESULT: output[0, 0].numpy()}

    return bindings


def scale(rng):
    """The scale that makes the one score of a query and a key 1 + 1 apart from another's 0."""
    size, rotary = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    q, latents = torch.zeros(1, 1, 1, size), torch.zeros(1, 2, size)
    q[..., 0] = latents[0, 0, 0] = 1.0
    rotated = torch.zeros(1, 1, 1, rotary), torch.zeros(1, 2, rotary)
    W_UV = torch.zeros(1, size, 1)
    W_UV[0, 0, 0] = 1.0
    weight = book.attend_to_latents(
        q, rotated[0], latents, rotated[1], torch.eye(size)[None], W_UV, form="naive"
    ).item()
    return {"d_h": size, "d_r": rotary, RESULT: math.log(weight / (1 - weight))}


def layer_bindings(query_latent_dim):
    """A layer of one head: what it caches, and the queries that it gives to `attend_to_latents`."""

    def bindings(rng):
        sizes = {"head_dim": D_H, "rotary_dim": D_R, "latent_dim": D_C}
        layer = book.LatentAttention(D, 1, **sizes, query_latent_dim=query_latent_dim, seed=rng)
        theta = book.rotary_frequencies(D_R, 3.0)
        x = rng.normal(size=(N_K, D))
        with mock.patch.object(module, "attend_to_latents", wraps=book.attend_to_latents) as seen:
            _, cache = layer(tensor(x)[None], position=book.Rotary(theta, layout="half"))
        q_content, q_rotary = (part[0, 0].detach().numpy() for part in seen.call_args.args[:2])
        W_Q = layer.query_up.W.detach().numpy()
        symbols = {
            "x": x,
            "c": cache.latents[0].detach().numpy(),
            "k^R": cache.rotary_keys[0].detach().numpy(),
            "q^C": q_content,
            "q^R": q_rotary,
            "W^{DKV}": layer.latent_down.W.detach().numpy(),
            "W^{KR}": layer.rotary_key.W.detach().numpy(),
            "W^{UQ}": W_Q[:, :D_H],
            "W^{QR}": W_Q[:, D_H:],
            r"\operatorname{norm}": lambda rows: book.rms_norm(tensor(rows)).numpy(),
            "R": lambda m: book.rotation_matrix(torch.tensor(int(m)), theta, layout="half").numpy(),
            "m": range(N_K),
        }
        if query_latent_dim is None:
            return {**symbols, "c^Q": x}
        W_DQ = layer.query_down.W.detach().numpy()
        # The latent from the library's own queries: they are it times a known matrix.
        latent = q_content @ np.linalg.pinv(W_Q[:, :D_H])
        return {**symbols, "c^Q": latent, "W^{DQ}": W_DQ, RESULT: latent}

    return bindings


def numbers_of_heads(rng):
    heads, d_k, length = (int(size) for size in rng.integers(2, 9, size=3))
    keys, values = torch.zeros(2, 1, heads, length, d_k)
    counted = book.cache_numbers_per_token(keys, values, length=length)
    return {"H_{kv}": heads, "d_k": d_k, RESULT: counted}


def numbers_of_latents(rng):
    d_c, d_r, length = (int(size) for size in rng.integers(2, 9, size=3))
    held = torch.zeros(1, length, d_c), torch.zeros(1, length, d_r)
    return {"d_c": d_c, "d_r": d_r, RESULT: book.cache_numbers_per_token(*held, length=length)}


def share_of_a_window(rng):
    length, window, d_k = (int(size) for size in rng.integers((20, 5, 2), (30, 19, 9)))
    whole, kept = torch.zeros(1, length, d_k), torch.zeros(1, window, d_k)
    counts = [book.cache_numbers_per_token(held, length=length) for held in (kept, whole)]
    return {"W": window, "N": length, RESULT: counts[0] / counts[1]}


BINDINGS = {
    "attend_to_latents": {
        r"\operatorname{softmax}(z (q^C (c W^{UK})^\top + q^R (k^R)^\top))\, (c W^{UV})": attended(
            "naive"
        ),
        r"(\operatorname{softmax}(z (q^C (W^{UK})^\top c^\top + q^R (k^R)^\top))\, c)\, W^{UV}": (
            attended("absorbed")
        ),
        r"1 / \sqrt{d_h + d_r}": scale,
    },
    "LatentAttention": {
        **{
            text: layer_bindings(query_latent_dim=None)
            for text in (
                r"c_m = \operatorname{norm}(x_m W^{DKV})",
                r"k^R_m = (x_m W^{KR}) R_m",
                r"q^C_m = c^Q_m W^{UQ}",
                r"q^R_m = (c^Q_m W^{QR}) R_m",
            )
        },
        # Fewer numbers than the content of a query has: the queries then show the latent.
        r"\operatorname{norm}(x W^{DQ})": layer_bindings(query_latent_dim=2),
    },
    "cache_numbers_per_token": {
        r"2 H_{kv} d_k": numbers_of_heads,
        r"d_c + d_r": numbers_of_latents,
        r"W/N": share_of_a_window,
    },
}
