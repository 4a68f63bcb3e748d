"""Heads against sums of single heads, the cache against whole sequences, latents, recurrences."""

import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import attention_to_rope as book
from attention_to_rope.heads import visible
from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps

ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def layer_of(**options):
    return book.MultiHeadAttention(16, 4, seed=1, **options).double()


def sum_of_heads(m, x, context, mask, scheme=None):
    """The formula, head by head."""
    output = torch.zeros_like(x)
    for j in range(m.heads):
        g = j // (m.heads // m.kv_heads)
        own, shared = slice(j * 4, j * 4 + 4), slice(g * 4, g * 4 + 4)
        q = x @ m.query.W[:, own] + m.query.bias[own]
        k, v = (context @ p.W[:, shared] + p.bias[shared] for p in (m.key, m.value))
        if scheme is not None:
            at = torch.arange(x.shape[1])
            q, k = (scheme.rotate(y[:, None], at)[:, 0] for y in (q, k))
        output = output + book.attention(q, k, v, mask=mask) @ m.output.W[own]
    return output + m.output.bias


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("scheme", [None, ROTARY])
def test_many_heads_are_the_sum_of_single_ones(kv_heads, scheme):
    m, x = layer_of(kv_heads=kv_heads), normal(3, 5, 16)
    causal = book.causal_mask(5)
    expected = sum_of_heads(m, x, x, causal, scheme)
    torch.testing.assert_close(m(x, causal=True, scheme=scheme), expected)
    torch.testing.assert_close(m(x, mask=causal[None], scheme=scheme), expected)
    with torch.no_grad():  # torch's fused kernel
        torch.testing.assert_close(m(x, causal=True, scheme=scheme), expected)
        torch.testing.assert_close(m(x, scheme=scheme), sum_of_heads(m, x, x, None, scheme))
    context = normal(3, 7, 16, seed=2)
    allowed = book.padding_mask(torch.tensor([7, 2, 1]), 7)
    expected = sum_of_heads(m, x, context, allowed)
    torch.testing.assert_close(m(x, context, mask=allowed), expected)
    torch.testing.assert_close(m(x, m.remember(context), mask=allowed), expected)


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    options=st.fixed_dictionaries(
        {
            "kv_heads": st.sampled_from([1, 2, 4]),
            "qk_norm": st.booleans(),
            "sink": st.booleans(),
            "gate": st.booleans(),
            "soft_cap": st.none() | st.just(3.0),
        }
    ),
    window=st.none() | st.integers(1, 4),
    scheme=st.sampled_from(["none", "rotary", "alibi", "t5"]),
    grad=st.booleans(),
)
def test_extending_a_cache_equals_the_whole_sequence(sizes, options, window, scheme, grad):
    m, x = layer_of(**options), normal(2, sum(sizes), 16)
    scheme = {
        "none": None,
        "rotary": ROTARY,
        "alibi": book.ALiBi(4),
        "t5": book.T5Bias(4, bidirectional=False, seed=0).double(),
    }[scheme]
    with torch.set_grad_enabled(grad):
        expected = m(x, causal=True, window=window, scheme=scheme)
        cache, outputs = book.KeyValueCache(), []
        for part in x.split(sizes, dim=1):
            output, cache = m.extend(part, cache, window=window, scheme=scheme)
            outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs, dim=1), expected)
    assert cache.length == sum(sizes)


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    spare=st.integers(0, 3),
    options=st.fixed_dictionaries({"kv_heads": st.sampled_from([1, 2, 4]), "sink": st.booleans()}),
    window=st.none() | st.integers(1, 4),
    scheme=st.sampled_from([None, ROTARY, book.ALiBi(4)]),
)
def test_a_static_cache_equals_the_whole_sequence(sizes, spare, options, window, scheme):
    m, x = layer_of(**options), normal(2, sum(sizes), 16)
    with torch.no_grad():
        cache = m.static_cache(2, capacity=sum(sizes) + spare)
        cache.keys[:], cache.values[:] = 1e6, 1e6  # what an earlier text left
        outputs = []
        for part in x.split(sizes, dim=1):
            output, _ = m.extend(part, cache, window=window, scheme=scheme)
            outputs.append(output)
        expected = m(x, causal=True, window=window, scheme=scheme)
    torch.testing.assert_close(torch.cat(outputs, dim=1), expected)
    assert cache.length == sum(sizes)
    assert (cache.keys[:, :, sum(sizes) :] == 1e6).all()


@torch.no_grad()
@pytest.mark.parametrize("window", [None, 3])
def test_a_static_cache_with_padding_on_the_left(window):
    m, x = layer_of(kv_heads=2), normal(2, 6, 16)
    real = torch.tensor([[0, 0, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 0, 0]]).bool()[:, None]
    positions = (torch.arange(8) - torch.tensor([[2], [0]])).clamp_min(0)
    cache, outputs = m.static_cache(2, capacity=8), []
    for part in x.split([4, 1, 1], dim=1):
        output, _ = m.extend(
            part, cache, mask=real, positions=positions, scheme=ROTARY, window=window
        )
        outputs.append(output)
    got = torch.cat(outputs, dim=1)
    alone = m(x[:1, 2:], causal=True, scheme=ROTARY, window=window)
    torch.testing.assert_close(got[:1, 2:], alone)
    torch.testing.assert_close(got[1:], m(x[1:], causal=True, scheme=ROTARY, window=window))
    for nothing in (0, -1):
        with pytest.raises(ValueError, match="window must be at least 1"):
            m.extend(x[:, :1], m.static_cache(2, capacity=8), window=nothing)
    with pytest.raises(ValueError, match="m = 8 keys"):  # those of all slots are asked for
        inspect.unwrap(visible)(
            x[:, :1], 8, real[..., :7], causal=True, window=None, slots=torch.tensor([6])
        )


@torch.no_grad()
def test_a_static_cache_in_bfloat16_equals_the_growing_one():
    m, x = layer_of(kv_heads=2).bfloat16(), normal(2, 9, 16).bfloat16()
    static, growing = m.static_cache(2, capacity=16), book.KeyValueCache()
    assert static.keys.dtype == torch.bfloat16
    for part in x.split([4, 1, 1, 3], dim=1):
        one, static = m.extend(part, static, scheme=ROTARY)
        other, growing = m.extend(part, growing, scheme=ROTARY)
        torch.testing.assert_close(one, other, rtol=0, atol=2**-7 * float(other.abs().max()))


def test_a_static_cache_that_is_full_or_would_lose_gradients_says_so():
    m, x = layer_of(), normal(1, 5, 16)
    cache = m.static_cache(1, capacity=4)
    with pytest.raises(ValueError, match="keeps no gradients"):
        m.extend(x[:, :1], cache)
    with torch.no_grad():
        with pytest.raises(ValueError, match="capacity 4 has no room for 5 positions after 0"):
            m.extend(x, cache)
        m.extend(x[:, :3], cache)
        with pytest.raises(ValueError, match="capacity 4 has no room for 2 positions after 3"):
            m.extend(x[:, 3:], cache)
        first, _ = m.extend(x[:, 3:4], cache)  # what did not fit has changed nothing
        torch.testing.assert_close(first, m(x[:, :4], causal=True)[:, 3:])
        cache.length.zero_()  # a new text
        torch.testing.assert_close(m.extend(x[:, :2], cache)[0], m(x[:, :2], causal=True))
        with pytest.raises((RuntimeError, TypeError)):
            cache.append(x[:, None, :1, :4].float(), x[:, None, :1, :4].float())
    waiting = book.StaticCache(1, 2, capacity=4, d_k=3, d_v=5, device="meta")  # as on a GPU
    assert waiting.values.shape == (1, 2, 4, 5)
    with pytest.raises(ValueError, match="no room for 5"):
        waiting.slots(5)


def test_weights_positions_and_options():
    m, x = layer_of(), normal(2, 3, 16)
    output, weights = m(x, return_weights=True, window=2, causal=False)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 3).double())
    near = book.sliding_window_mask(3, window=2, causal=False)
    assert (weights[..., ~near] == 0).all()
    torch.testing.assert_close(output, m(x, window=2))
    moved = m(x, causal=True, scheme=ROTARY, positions=torch.arange(3) + 40)
    torch.testing.assert_close(moved, m(x, causal=True, scheme=ROTARY))
    rows = torch.tensor([[0, 1, 2], [5, 6, 9]])
    both = m(x, scheme=book.ALiBi(4), positions=rows)
    torch.testing.assert_close(both[1:], m(x[1:], scheme=book.ALiBi(4), positions=rows[1:]))
    scaled = layer_of(scale=0.25, head_dim=8)
    assert scaled.query.W.shape == (16, 32)
    _, equal = layer_of(scale=0.0)(x, return_weights=True)
    torch.testing.assert_close(equal, torch.full((2, 4, 3, 3), 1 / 3).double())


def test_what_would_be_silent_is_refused():
    m, x = layer_of(), normal(3, 3, 16)
    see = torch.ones(1, 3, 3, dtype=torch.bool)
    for batch in (x, x[:2]):  # whether or not two axes could be read in two ways
        for mask in (see[0], see[..., :1], see.float()):
            with pytest.raises(ValueError, match="mask must be boolean"):
                inspect.unwrap(visible)(batch, 3, mask, causal=False, window=None)
    with pytest.raises(ValueError, match="acts on the input"):
        m(x, scheme=book.Sinusoidal())
    with pytest.raises(ValueError, match="read by a scheme"):
        m(x, positions=torch.arange(3))
    with pytest.raises(ValueError, match="one sequence"):
        m(x, x, causal=True)
    for sizes in ({"heads": 3}, {"heads": 4, "kv_heads": 3}, {"heads": 4, "kv_heads": 0}):
        with pytest.raises(ValueError, match="divide"):
            book.MultiHeadAttention(16, seed=0, **sizes)


def test_padding_on_the_left_is_harmless_in_whole_and_in_chunks():
    m, x = layer_of(), normal(1, 5, 16)
    expected = m(x, causal=True, scheme=ROTARY)
    filled = torch.cat((torch.full((1, 3, 16), 1e6, dtype=x.dtype), x), dim=1)
    real = (torch.arange(8) >= 3)[None, None]
    positions = (torch.arange(8) - 3).clamp_min(0)
    whole = m(filled, mask=real, causal=True, scheme=ROTARY, positions=positions)
    torch.testing.assert_close(whole[:, 3:], expected)
    cache, outputs = book.KeyValueCache(), []
    for start, stop in ((0, 2), (2, 5), (5, 8)):  # the first chunk is padding alone
        output, cache = m.extend(
            filled[:, start:stop],
            cache,
            mask=real[..., :stop],
            scheme=ROTARY,
            positions=positions[:stop],
        )
        outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs, dim=1)[:, 3:], expected)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.usefixtures("unchecked")
def test_vmap_and_second_derivatives_as_torch_has_them():
    m, x = layer_of(), normal(3, 2, 4, 16)
    each = torch.stack([m(one, causal=True) for one in x])
    torch.testing.assert_close(torch.vmap(lambda one: m(one, causal=True))(x), each)

    def curvature(f):
        leaf = x[0].clone().requires_grad_()
        (first,) = torch.autograd.grad(f(leaf).square().sum(), leaf, create_graph=True)
        return torch.autograd.grad(first.square().sum(), leaf)[0]

    expected = curvature(lambda y: m(y, causal=True, return_weights=True)[0])
    with sdpa_kernel(SDPBackend.MATH):
        torch.testing.assert_close(curvature(lambda y: m(y, causal=True)), expected)


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_masks_reach_the_fused_kernel(kv_heads, monkeypatch):
    m, x = layer_of(kv_heads=kv_heads), normal(2, 5, 16)
    mask = torch.ones(2, 5, 5, dtype=torch.bool)
    mask[0, 3] = mask[1, :, 2] = False  # a query that sees nothing, a key that nobody sees
    expected, _ = m(x, mask=mask, causal=True, return_weights=True)
    monkeypatch.delattr("attention_to_rope.heads.attention")
    torch.testing.assert_close(m(x, mask=mask, causal=True), expected)
    torch.testing.assert_close(expected[0, 3], m.output.bias)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_no_kernel_gets_a_query_without_keys(dtype, monkeypatch):
    """Some kernels of a GPU answer it with NaN, in the output or in the gradient of the query."""
    m = layer_of(kv_heads=2).to(dtype)
    x = normal(2, 5, 16).to(dtype).requires_grad_()
    real = (torch.arange(5) >= torch.tensor([[2], [0]]))[:, None]  # padding on the left
    fused = functional.scaled_dot_product_attention

    def like_a_gpu(q, k, v, *, attn_mask, **options):
        assert attn_mask.any(-1).all()
        return fused(q, k, v, attn_mask=attn_mask, **options)

    expected, _ = m(x, mask=real, causal=True, return_weights=True)
    up = normal(2, 5, 16, seed=1).to(dtype)
    slope = torch.autograd.grad(expected, x, up)[0]
    monkeypatch.setattr(functional, "scaled_dot_product_attention", like_a_gpu)
    output = m(x, mask=real, causal=True)
    tolerance = {} if dtype == torch.float64 else {"rtol": 0.05, "atol": 0.05}
    torch.testing.assert_close(output, expected, **tolerance)
    torch.testing.assert_close(torch.autograd.grad(output, x, up)[0], slope, **tolerance)
    assert torch.equal(output[0, :2], m.output.bias.expand(2, -1))


def test_every_head_may_have_a_mask_of_its_own():
    m, x = layer_of(), normal(2, 3, 16)
    mask = torch.ones(2, 4, 3, 3, dtype=torch.bool)
    mask[0, 1, :, 2] = False  # one head of one sequence does not see one key
    _, weights = m(x, mask=mask, return_weights=True)
    assert torch.equal(weights == 0, ~mask)
    torch.testing.assert_close(m(x, mask=mask), m(x, mask=mask, return_weights=True)[0])
    _, causal = m(x, mask=mask, causal=True, return_weights=True)
    assert torch.equal(causal == 0, ~(mask & book.causal_mask(3)))


def test_training_through_a_cache_with_frozen_keys_and_values():
    """As LoRA on the queries does it."""
    m, x = layer_of(), normal(1, 4, 16)
    for frozen in (m.key, m.value):
        frozen.requires_grad_(False)
    cache, outputs = book.KeyValueCache(), []
    for part in x.split(1, dim=1):
        output, cache = m.extend(part, cache)
        outputs.append(output)
    torch.cat(outputs, dim=1).square().sum().backward()
    gradient = m.query.weight.grad.clone()
    m.zero_grad()
    m(x, causal=True).square().sum().backward()
    torch.testing.assert_close(gradient, m.query.weight.grad)


@torch.no_grad()
def test_a_cache_can_be_kept_branched_and_reordered():
    keys, values = normal(2, 1, 3, 4), normal(2, 1, 3, 4, seed=1)
    start = book.KeyValueCache(capacity=5).append(keys, values)  # no more than what is asked for
    assert start.keys.untyped_storage().nbytes() == 2 * 1 * 5 * 4 * 8
    new = normal(2, 1, 1, 4, seed=2)
    one, two = start.append(new, new), start.append(-new, -new)
    assert torch.equal(start.keys, keys)
    assert torch.equal(one.keys[:, :, 3:], new)
    assert torch.equal(two.keys[:, :, 3:], -new)
    assert one.keys.data_ptr() == start.keys.data_ptr() != two.keys.data_ptr()  # no copy for `one`
    swapped = one.reorder(torch.tensor([1, 0])).append(new, new)
    assert torch.equal(swapped.keys[:, :, :3], keys.flip(0))
    assert torch.equal(swapped.values[:, :, :3], values.flip(0))
    assert torch.equal(one.keys[:, :, :3], keys)
    assert book.KeyValueCache().reorder(torch.tensor([0])).length == 0
    for i in range(9):  # beyond the room
        one = one.append(new + i, new)
    assert torch.equal(one.keys[:, :, 4:, 0], torch.cat([new[..., 0] + i for i in range(9)], -1))
    with pytest.raises((ValueError, TypeError)):
        start.append(new[:1], new[:1])
    with pytest.raises((ValueError, TypeError)):
        start.append(new.float(), new.float())
    with pytest.raises(AttributeError):
        start.keys = keys


@pytest.mark.parametrize("grad", [False, True])
def test_a_cache_does_not_share_memory_with_what_it_was_given(grad):
    with torch.set_grad_enabled(grad):
        keys = normal(1, 1, 2, 4)
        cache = book.KeyValueCache().append(keys, keys)
        before = cache.keys.clone()
        keys.zero_()
        assert torch.equal(cache.keys, before)


def test_a_cache_goes_from_inference_mode_to_no_grad():
    new = normal(1, 1, 1, 4)
    with torch.inference_mode():
        cache = book.KeyValueCache(capacity=4).append(new, new)
    with torch.no_grad():
        assert torch.equal(cache.append(new, new).keys[:, :, 1:], new)
    assert book.cache_numbers_per_token(new, new, length=2) == 4


@torch.no_grad()
def test_a_cache_that_becomes_just_full_copies_nothing():
    keys, new = normal(1, 1, 7, 4), normal(1, 1, 1, 4, seed=1)
    cache = book.KeyValueCache(capacity=8).append(keys, keys)
    assert cache.append(new, new).keys.data_ptr() == cache.keys.data_ptr()


def test_a_gate_fits_heads_of_any_size_and_weights_are_not_scaled():
    layer = book.MultiHeadAttention(8, 2, head_dim=3, gate=True, seed=0)
    x, gate = normal(1, 4, 8).float(), layer.gate
    gate.W.data.zero_()
    halved, layer.gate = layer(x), None
    torch.testing.assert_close(halved, layer(x) / 2)  # the sigmoid of 0
    layer.gate = gate
    assert layer(torch.zeros(1, 2, 8)).shape == (1, 2, 8)
    assert layer.value.W.abs().max() <= math.sqrt(6 / (8 + 6))


def latent_layer(**options):
    sizes = {"head_dim": 3, "rotary_dim": 4, "latent_dim": 5}
    return book.LatentAttention(8, 2, seed=0, **sizes, **options).double()


@pytest.mark.parametrize("query_latent_dim", [None, 3])
@pytest.mark.parametrize("form", ["naive", "absorbed", None])
@pytest.mark.parametrize("scale", [None, 0.7])
def test_latent_attention(form, query_latent_dim, scale):
    layer = latent_layer(form=form, query_latent_dim=query_latent_dim, scale=scale)
    x = normal(2, 6, 8)
    c = layer.latent_norm(x @ layer.latent_down.W)
    shared = ROTARY.rotate((x @ layer.rotary_key.W)[:, None], torch.arange(6))
    q = layer.query_up(layer.query_norm(layer.query_down(x))).view(2, 6, 2, 7).transpose(1, 2)
    q = torch.cat((q[..., :3], ROTARY.rotate(q[..., 3:], torch.arange(6))), dim=-1)
    seen = torch.ones(2, 6, 6, dtype=torch.bool)
    seen[0, :, 2] = False
    causal = book.causal_mask(6)
    near = book.sliding_window_mask(6, window=3)
    for options, mask in (
        ({}, torch.ones_like(causal)),
        ({"causal": True}, causal),
        ({"causal": True, "window": 3}, near),
        ({"causal": True, "mask": seen}, seen & causal),
    ):
        heads, weights = [], []
        for h in range(2):
            own = slice(3 * h, 3 * h + 3)
            k = torch.cat((c @ layer.key_up.W[:, own], shared[:, 0]), dim=-1)
            v = c @ layer.value_up.W[:, own]
            head, weight = book.attention(
                q[:, h], k, v, mask=mask, scale=scale, return_weights=True
            )
            heads.append(head)
            weights.append(weight)
        expected = torch.cat(heads, dim=-1) @ layer.output.W
        torch.testing.assert_close(layer(x, scheme=ROTARY, **options), expected)
        _, got = layer(x, scheme=ROTARY, return_weights=True, **options)
        torch.testing.assert_close(got, torch.stack(weights, dim=1))
    moved = layer(x, causal=True, scheme=ROTARY, positions=torch.arange(6) + 30)
    torch.testing.assert_close(moved, layer(x, causal=True, scheme=ROTARY))
    with pytest.raises(ValueError, match="must rotate"):
        layer(x, scheme=book.ALiBi(2))


@pytest.mark.parametrize("form", ["naive", "absorbed", None])
@pytest.mark.parametrize("scheme", [None, ROTARY])
@pytest.mark.parametrize("window", [None, 3])
def test_latent_attention_with_either_cache_equals_the_whole_sequence(form, scheme, window):
    layer, x = latent_layer(form=form), normal(2, 6, 8)
    expected = layer(x, causal=True, scheme=scheme, window=window)
    with torch.no_grad():
        for cache in (book.KeyValueCache(), layer.static_cache(2, capacity=9)):
            outputs = []
            for part in x.split([3, 1, 2], dim=1):
                output, cache = layer.extend(part, cache, scheme=scheme, window=window)
                outputs.append(output)
            torch.testing.assert_close(torch.cat(outputs, dim=1), expected)
            assert cache.keys.shape[::3] == (2, 4)  # the rotated keys, of one head
            assert cache.values.shape[::3] == (2, 5)  # the latents
    hidden = torch.tensor([0, 1, 1, 1, 1, 1]).bool()[None, None].expand(2, 1, 6)
    cache, outputs = book.KeyValueCache(), []
    for n, part in zip((3, 6), x.split(3, dim=1), strict=True):
        output, cache = layer.extend(
            part, cache, scheme=scheme, window=window, mask=hidden[..., :n]
        )
        outputs.append(output)
    shorter = layer(x[:, 1:], causal=True, scheme=scheme, window=window)
    torch.testing.assert_close(torch.cat(outputs, dim=1)[:, 1:], shorter)


def test_latent_attention_takes_the_form_of_fewer_operations():
    layer = book.LatentAttention(8, 2, head_dim=128, rotary_dim=2, latent_dim=512, seed=0)
    assert [layer._cheaper_form(n) for n in (1, 170, 171, 4096)] == ["absorbed"] * 2 + ["naive"] * 2


def test_a_scale_of_latent_attention_and_a_form_that_does_not_exist():
    sizes = (1, 2, 3, 4), (1, 2, 3, 2), (1, 5, 3), (1, 5, 2), (2, 3, 4), (2, 3, 4)
    tensors = [normal(*size, seed=i) for i, size in enumerate(sizes)]
    plain = book.attend_to_latents(*tensors, form="naive")
    torch.testing.assert_close(
        book.attend_to_latents(*tensors, form="absorbed", scale=6**-0.5), plain
    )
    with pytest.raises(ValueError, match="form must be"):
        inspect.unwrap(book.attend_to_latents)(*tensors, form="folded")


@given(st.integers(1, 5), st.booleans(), st.integers(0, 50))
def test_recurrences_by_their_definition(n, decays, seed):
    q, k, v = (normal(2, n, 3, seed=seed + i) for i in range(3))
    decay = torch.sigmoid(normal(2, n, seed=seed + 3)) if decays else None
    rate = torch.sigmoid(normal(2, n, seed=seed + 4))
    linear, _ = linear_attention_steps(q, k, v, decay=decay)
    delta, _ = delta_rule_steps(q, k, v, rate, decay=decay)
    for b in range(2):
        S = np.zeros((3, 3))
        for t in range(n):
            alpha = 1.0 if decay is None else float(decay[b, t])
            expected = sum(
                np.prod(
                    [
                        1.0 if decay is None else float(a)
                        for a in (decay[b, j + 1 : t + 1] if decays else [])
                    ]
                )
                * float(q[b, t] @ k[b, j])
                * v[b, j].numpy()
                for j in range(t + 1)
            )
            np.testing.assert_allclose(linear[b, t], expected, atol=1e-12)
            kept = np.eye(3) - float(rate[b, t]) * np.outer(k[b, t], k[b, t])
            S = alpha * kept @ S + float(rate[b, t]) * np.outer(k[b, t], v[b, t])
            np.testing.assert_allclose(delta[b, t], q[b, t].numpy() @ S, atol=1e-9)


def test_a_state_continues_and_half_types_keep_it_in_float32():
    q, k, v = (normal(1, 6, 3, seed=i) for i in range(3))
    whole, end = linear_attention_steps(q, k, v)
    _, state = linear_attention_steps(q[:, :4], k[:, :4], v[:, :4])
    rest, last = linear_attention_steps(q[:, 4:], k[:, 4:], v[:, 4:], state=state)
    torch.testing.assert_close(rest, whole[:, 4:])
    torch.testing.assert_close(last, end)
    output, state = delta_rule_steps(*(x.half() for x in (q, k, v)), torch.ones(1, 6).half())
    assert (output.dtype, state.dtype) == (torch.float16, torch.float32)
