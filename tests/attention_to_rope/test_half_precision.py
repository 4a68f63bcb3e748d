"""In half precision, the library computes in float32 and rounds its result once."""

from functools import reduce

import numpy as np
import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast.blockwise import blockwise_attention
from attention_to_rope.merge import (
    finish,
    log_total,
    merge,
    partial_attention,
    partial_gradients,
)
from attention_to_rope.relative import (
    cope_scores,
    deberta_scores,
    relative_positions,
    shaw_scores,
    transformer_xl_scores,
    tupe_scores,
)
from attention_to_rope.scaled_dot_product import saturation, softmax_jacobian_norm

N, D = 400, 16
RELATIVE = relative_positions(torch.arange(N), torch.arange(N))


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def in_blocks(q, k, v):
    """Attention from the states of four sets of keys."""
    parts = zip(k.chunk(4, dim=-2), v.chunk(4, dim=-2), strict=True)
    return finish(reduce(merge, [partial_attention(q, *part) for part in parts]))


def gradients(q, k, v):
    """The gradients of queries, keys and values, one below the other, for the upstream v."""
    state = partial_attention(q, k, v)
    share = (v * finish(state)).sum(-1, keepdim=True)
    found = partial_gradients(q, k, v, log_total(state), v, share, scale=D**-0.5)
    return torch.cat((found.q, found.k, found.v), dim=-2)


FUNCTIONS = {
    "attention": lambda q, k, v: book.attention(q, k, v, mask=book.causal_mask(N)),
    "blockwise attention": lambda q, k, v: blockwise_attention(q, k, v, causal=True, k_block=64),
    "merged states": in_blocks,
    "gradients of states": gradients,
    "softmax": lambda q, k, v: book.softmax(q),
    "spectral norm": lambda q, k, v: softmax_jacobian_norm(v[:20].abs(), "spectral"),
    "frobenius norm": lambda q, k, v: softmax_jacobian_norm(v[:20].abs(), "frobenius"),
    "Shaw": lambda q, k, v: shaw_scores(q, k, RELATIVE, v[:31]),
    "Transformer-XL": lambda q, k, v: transformer_xl_scores(q, k, RELATIVE, v[:31], v[31], v[32]),
    "DeBERTa": lambda q, k, v: deberta_scores(q, k, RELATIVE, v[:31], v[31:62]),
    "TUPE": lambda q, k, v: tupe_scores(q, k, v, v.flip(0)),
    "CoPE": lambda q, k, v: cope_scores(q, k, v),  # counts up to about half of N
    "layer norm": lambda q, k, v: book.layer_norm(q, k[0], v[0]),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_result_is_as_good_as_the_exact_one_rounded(name, dtype):
    half = [normal(N, D, seed=seed).to(dtype) for seed in range(3)]
    with torch.no_grad():
        found = FUNCTIONS[name](*half)
        exact = FUNCTIONS[name](*(x.double() for x in half))
    assert found.dtype in (dtype, torch.float32)
    rounded_once = (exact.to(dtype) - exact).norm()
    assert (found - exact).norm() <= 1.01 * rounded_once


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_saturation_adds_up_many_small_weights(dtype):
    p = torch.full((70_000,), 2.0**-17, dtype=dtype)
    assert saturation(p).item() == pytest.approx(69_999 / 2**17, rel=torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_seventy_thousand_equal_keys_give_their_value(dtype):
    """Their sum of exponentials is larger than every number of float16."""
    q = torch.zeros(1, 1, 4, dtype=dtype)
    k = torch.zeros(1, 70_000, 4, dtype=dtype)
    v = torch.ones(1, 70_000, 1, dtype=dtype)
    for output in (book.attention(q, k, v), blockwise_attention(q, k, v), in_blocks(q, k, v)):
        assert output.item() == pytest.approx(1.0, rel=1e-3)  # float32 adds up 70,000 roundings


def test_a_nan_behind_the_mask_reaches_no_gradient():
    q, k, v = (normal(4, 6, seed=seed) for seed in range(3))
    mask = torch.tensor([True, True, True, False]).expand(4, 4)
    spoilt = k.clone()
    spoilt[3] = torch.nan
    found = []
    for keys in (k, spoilt):
        state = partial_attention(q, keys, v, mask=mask)
        share = (v * finish(state)).sum(-1, keepdim=True)
        found.append(
            partial_gradients(q, keys, v, log_total(state), v, share, mask=mask, scale=1.0)
        )
    torch.testing.assert_close(found[0].q, found[1].q)
    torch.testing.assert_close(found[0].k[:3], found[1].k[:3])
    torch.testing.assert_close(found[0].v[:3], found[1].v[:3])
