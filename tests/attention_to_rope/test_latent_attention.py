"""Latent attention: both forms, the reference, the cache and what it holds."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal

B, H, D_H, D_R, D_C, D_V = 2, 3, 4, 2, 5, 6


def inputs(n_q: int, n_k: int, seed: int = 0) -> tuple[Tensor, ...]:
    shapes = [(B, H, n_q, D_H), (B, H, n_q, D_R), (B, n_k, D_C), (B, n_k, D_R)]
    shapes += [(H, D_C, D_H), (H, D_C, D_V)]
    return tuple(normal(*shape, seed=10 * seed + i) for i, shape in enumerate(shapes))


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 50))
def test_both_forms_equal_the_reference(n_q: int, earlier: int, seed: int) -> None:
    n_k = n_q + earlier
    tensors = inputs(n_q, n_k, seed)
    mask = book.causal_mask(n_q, n_k)
    naive = book.attend_to_latents(*tensors, form="naive", mask=mask)
    absorbed = book.attend_to_latents(*tensors, form="absorbed", mask=mask)
    assert naive.shape == absorbed.shape == (B, H, n_q, D_V)
    assert (naive - absorbed).abs().max() <= 1e-12
    q_c, q_r, c, k_r, W_UK, W_UV = (tensor.numpy() for tensor in tensors)
    for b in range(B):
        for h in range(H):
            expected = reference.latent_attention(
                q_c[b, h], q_r[b, h], c[b], k_r[b], W_UK[h], W_UV[h], mask.numpy()
            )
            assert np.abs(naive[b, h].numpy() - expected).max() <= 1e-12


def test_the_scale_counts_both_parts() -> None:
    tensors = inputs(2, 3)
    for form in ("naive", "absorbed"):
        default = book.attend_to_latents(*tensors, form=form)
        stated = book.attend_to_latents(*tensors, form=form, scale=1 / math.sqrt(D_H + D_R))
        other = book.attend_to_latents(*tensors, form=form, scale=1 / math.sqrt(D_H))
        assert torch.equal(default, stated)
        assert (default - other).abs().max() > 0.01


def test_gradients_of_both_forms_agree() -> None:
    gradients = []
    for form in ("naive", "absorbed"):
        tensors = [tensor.requires_grad_() for tensor in inputs(3, 3)]
        output = book.attend_to_latents(*tensors, form=form, mask=book.causal_mask(3))
        gradients.append(torch.autograd.grad((output**2).sum(), tensors))
    for naive, absorbed in zip(*gradients, strict=True):
        assert (naive - absorbed).abs().max() <= 1e-10


def layer(query_latent_dim: int | None = None) -> book.LatentAttention:
    made = book.LatentAttention(
        8,
        H,
        head_dim=D_H,
        rotary_dim=D_R,
        latent_dim=D_C,
        query_latent_dim=query_latent_dim,
        seed=0,
    )
    return made.double().requires_grad_(False)


ROTARY = book.Rotary(book.rotary_frequencies(D_R), layout="interleaved")


@pytest.mark.parametrize("query_latent_dim", [None, 7])
def test_layer_by_hand(query_latent_dim: int | None) -> None:
    module = layer(query_latent_dim)
    with torch.no_grad():
        module.latent_norm.gain.copy_(normal(D_C, seed=5))
    x = normal(B, 6, 8, seed=1)
    output, cache = module(x, position=ROTARY)
    for b in range(B):
        rows = x[b].numpy()
        source = rows
        if module.query_down is not None:
            source = np.array(
                [
                    reference.rms_norm(row, np.ones(7), 1e-6)
                    for row in rows @ module.query_down.W.numpy()
                ]
            )
        queries = (source @ module.query_up.W.numpy()).reshape(6, H, D_H + D_R)
        gain = module.latent_norm.gain.numpy()
        latents = np.array(
            [reference.rms_norm(r, gain, 1e-6) for r in rows @ module.latent_down.W.numpy()]
        )
        theta = reference.rotary_frequencies(D_R)
        turned = [
            reference.rotate(row, m, theta, "interleaved")
            for m, row in enumerate(rows @ module.rotary_key.W.numpy())
        ]
        joined = []
        for h in range(H):
            own = slice(h * D_H, (h + 1) * D_H)
            q_r = [reference.rotate(queries[m, h, D_H:], m, theta, "interleaved") for m in range(6)]
            joined.append(
                reference.latent_attention(
                    queries[:, h, :D_H],
                    np.array(q_r),
                    latents,
                    np.array(turned),
                    module.key_up.W.numpy()[:, own],
                    module.value_up.W.numpy()[:, own],
                    reference.causal_mask(6, 6),
                )
            )
        expected = np.concatenate(joined, axis=1) @ module.output.W.numpy()
        assert np.abs(output[b].numpy() - expected).max() <= 1e-12
        assert np.abs(cache.latents[b].numpy() - latents).max() <= 1e-12


def test_layer_has_these_weights_and_no_others() -> None:
    shapes = {name: tuple(weight.shape) for name, weight in layer(7).named_parameters()}
    assert shapes == {
        "query_down.W": (8, 7),
        "query_norm.gain": (7,),
        "query_up.W": (7, H * (D_H + D_R)),
        "latent_down.W": (8, D_C),
        "latent_norm.gain": (D_C,),
        "rotary_key.W": (8, D_R),
        "key_up.W": (D_C, H * D_H),
        "value_up.W": (D_C, H * D_H),
        "output.W": (H * D_H, 8),
    }
    plain = {name for name, _ in layer().named_parameters()}
    assert plain == shapes.keys() - {"query_down.W", "query_norm.gain"}


def test_a_cache_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        cached().latents = None


@pytest.mark.parametrize("query_latent_dim", [None, 7])
@pytest.mark.parametrize("position", [None, ROTARY])
def test_layer_with_a_cache_equals_the_whole(
    query_latent_dim: int | None, position: book.Rotary | None
) -> None:
    module = layer(query_latent_dim)
    x = normal(B, 7, 8, seed=1)
    whole, full = module(x, position=position)
    first, cache = module(x[:, :3], position=position)
    kept = cache
    pieces = [first]
    for start, stop in ((3, 4), (4, 7)):
        piece, cache = module(x[:, start:stop], cache, form="absorbed", position=position)
        pieces.append(piece)
    assert (torch.cat(pieces, dim=1) - whole).abs().max() <= 1e-12
    assert kept.length == 3
    assert cache.length == full.length == 7
    assert (cache.rotary_keys - full.rotary_keys).abs().max() <= 1e-12


def test_position_only_matters_as_a_difference() -> None:
    """The decoupled part carries relative position: shift all and nothing changes."""
    module = layer()
    x = normal(1, 4, 8, seed=2)

    class Shifted(book.Rotary):
        def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
            return super().rotate(x, positions + 1000)

    shifted = Shifted(book.rotary_frequencies(D_R), layout="interleaved")
    there, here = module(x, position=shifted)[0], module(x, position=ROTARY)[0]
    assert (there - here).abs().max() <= 1e-10
    assert (module(x)[0] - here).abs().max() > 1e-3


def test_numbers_per_token() -> None:
    def held(heads: int, tokens: int = 100) -> list[Tensor]:
        return [torch.zeros(2, heads, tokens, 128, device="meta")] * 2

    count = book.cache_numbers_per_token
    assert count(*held(128), length=100) == 2 * 128 * 128
    assert count(*held(8), length=100) == 2048
    assert count(*held(1), length=100) == 256
    assert count(*held(8, tokens=25), length=100) == 512
    assert count(*held(8), *held(8, tokens=25), length=100) == 2560
    # DeepSeek-V3: 576 numbers in each of 61 layers; GQA with 8 heads of 128 keeps 124 928.
    latent = [torch.zeros(1, 9, 512, device="meta"), torch.zeros(1, 9, 64, device="meta")]
    assert count(*(61 * latent), length=9) == 35136
    assert count(*(61 * held(8)), length=100) == 124928


def test_numbers_per_token_of_real_caches() -> None:
    _, cache = layer()(normal(B, 7, 8, seed=1))
    assert book.cache_numbers_per_token(cache.latents, cache.rotary_keys, length=7) == D_C + D_R
    heads = book.MultiHeadAttention(8, 4, kv_heads=2, seed=0).double()
    _, grouped = heads.extend(normal(B, 7, 8, seed=1), book.KeyValueCache())
    assert book.cache_numbers_per_token(grouped.keys, grouped.values, length=7) == 2 * 2 * 2


def cached() -> book.LatentCache:
    return book.LatentCache().append(torch.zeros(1, 2, D_C), torch.zeros(1, 2, D_R))


def spoil(index: int, tensor: Tensor) -> list[Tensor]:
    tensors = list(inputs(2, 3))
    tensors[index] = tensor
    return tensors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: book.attend_to_latents(*inputs(2, 3), form="folded"),
            ValueError,
            r"form must be one of 'naive', 'absorbed'; got 'folded'",
        ),
        (
            lambda: book.attend_to_latents(*spoil(2, torch.zeros(3, D_C).double()), form="naive"),
            ValueError,
            r"latents must have shape \(B, N_k, d_c\), got \(3, 5\)",
        ),
        (
            lambda: book.attend_to_latents(
                *spoil(3, torch.zeros(B, 4, D_R).double()), form="absorbed"
            ),
            ValueError,
            r"N_k is 3 in latents but 4 in k_rotary",
        ),
        (
            lambda: book.attend_to_latents(
                *spoil(4, torch.zeros(1, D_C, D_H).double()), form="naive"
            ),
            ValueError,
            r"H is 3 in q_content but 1 in W_UK",
        ),
        (
            lambda: book.attend_to_latents(*spoil(5, torch.zeros(H, D_C, D_V)), form="naive"),
            TypeError,
            r"q_content and W_UV must have the same dtype",
        ),
        (
            lambda: book.attend_to_latents(*spoil(0, torch.arange(3)), form="naive"),
            TypeError,
            r"q_content must be floating point",
        ),
        (lambda: layer()(torch.zeros(1, 2, 7)), ValueError, r"\(B, N, d=8\).*got \(1, 2, 7\)"),
        (lambda: layer()(torch.zeros(2, 8)), ValueError, r"\(B, N, d=8\).*got \(2, 8\)"),
        (lambda: layer()(torch.zeros(1, 0, 8)), ValueError, r"N ≥ 1, got \(1, 0, 8\)"),
        (lambda: layer()(torch.arange(3)), TypeError, r"x must be floating point"),
        (
            lambda: book.LatentAttention(8, 0, head_dim=1, rotary_dim=2, latent_dim=3, seed=0),
            ValueError,
            r"heads must be at least 1",
        ),
        (
            lambda: book.LatentAttention(8, 1, head_dim=0, rotary_dim=2, latent_dim=3, seed=0),
            ValueError,
            r"head_dim must be at least 1",
        ),
        (
            lambda: book.LatentAttention(8, 1, head_dim=1, rotary_dim=0, latent_dim=3, seed=0),
            ValueError,
            r"rotary_dim must be at least 1",
        ),
        (
            lambda: layer()(normal(1, 2, 8, seed=0), book.KeyValueCache()),
            TypeError,
            r"cache must be a LatentCache or None, got KeyValueCache",
        ),
        (
            lambda: layer()(normal(1, 2, 8, seed=0), position=book.ALiBi(H)),
            ValueError,
            r"position must be a Rotary of the rotary_dim, or None; got ALiBi",
        ),
        (
            lambda: layer()(
                normal(1, 2, 8, seed=0),
                position=book.LengthScaledRotary(
                    lambda length: book.rotary_frequencies(D_R), layout="half"
                ),
            ),
            ValueError,
            r"got LengthScaledRotary",
        ),
        (lambda: layer()(normal(1, 2, 8, seed=0), position="rope"), TypeError, r"position must"),
        (
            lambda: cached().append(torch.zeros(1, 2, D_C), torch.zeros(1, 3, D_R)),
            ValueError,
            r"shapes \(B, N, d_c\) and \(B, N, d_r\), got \(1, 2, 5\) and \(1, 3, 2\)",
        ),
        (
            lambda: cached().append(torch.zeros(2, D_C), torch.zeros(2, D_R)),
            ValueError,
            r"got \(2, 5\) and \(2, 2\)",
        ),
        (
            lambda: cached().append(torch.zeros(3, 2, D_C), torch.zeros(3, 2, D_R)),
            ValueError,
            r"but for the length, got \(3, 2, 5\) after \(1, 2, 5\)",
        ),
        (
            lambda: cached().append(torch.zeros(1, 2, D_C), torch.zeros(1, 2, D_R + 1)),
            ValueError,
            r"got \(1, 2, 3\) after \(1, 2, 2\)",
        ),
        (
            lambda: cached().append(torch.zeros(1, 2, D_C).double(), torch.zeros(1, 2, D_R)),
            TypeError,
            r"what is cached and what is new must have the same dtype",
        ),
        (
            lambda: cached().append(None, torch.zeros(1, 2, D_R)),
            TypeError,
            r"latents must be a torch.Tensor, got NoneType",
        ),
        (lambda: book.cache_numbers_per_token(length=3), ValueError, r"at least one tensor"),
        (
            lambda: book.cache_numbers_per_token(torch.zeros(1, 2, 3), length=0),
            ValueError,
            r"length must be at least 1",
        ),
        (
            lambda: book.cache_numbers_per_token(torch.zeros(2, 3), length=3),
            ValueError,
            r"\(B, ..., N, d\) with B ≥ 1, got \(2, 3\)",
        ),
        (
            lambda: book.cache_numbers_per_token(torch.zeros(0, 2, 3), length=3),
            ValueError,
            r"B ≥ 1, got \(0, 2, 3\)",
        ),
        (
            lambda: book.cache_numbers_per_token(torch.zeros(1, 4, 3), length=3),
            ValueError,
            r"holds 4 tokens, more than the length 3",
        ),
        (
            lambda: book.LatentCache(torch.zeros(1, 2, 3)),
            ValueError,
            r"latents and rotary_keys come together",
        ),
        (
            lambda: book.cache_numbers_per_token(None, length=3),
            TypeError,
            r"each tensor held must be a torch.Tensor, got NoneType",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
