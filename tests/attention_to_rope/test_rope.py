"""Rotations against complex numbers in float64, layouts, axes and longer contexts."""

import cmath
import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import context_extension as extend
from attention_to_rope.rope_axes import axes_in_sections, axes_interleaved, axial_table

LAYOUTS = ["half", "interleaved"]


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def pair(i, dim, layout):
    return (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + dim // 2)


def rotated_by_hand(x, position, frequencies, layout):
    """One vector, pair by pair, as complex numbers."""
    y, dim = x.clone(), 2 * len(frequencies)
    for i, theta in enumerate(frequencies.tolist()):
        a, b = pair(i, dim, layout)
        z = complex(x[a], x[b]) * cmath.exp(1j * position * theta)
        y[a], y[b] = z.real, z.imag
    return y


@given(
    pairs=st.integers(1, 5),
    rest=st.integers(0, 3),
    layout=st.sampled_from(LAYOUTS),
    batched=st.booleans(),
    seed=st.integers(0, 99),
    base=st.floats(2, 1e6),
    factor=st.floats(0.5, 2),
)
def test_rotate_turns_every_pair_by_its_angle(pairs, rest, layout, batched, seed, base, factor):
    rng = np.random.default_rng(seed)
    theta = book.rotary_frequencies(2 * pairs, base)
    np.testing.assert_allclose(theta, [base ** (-i / pairs) for i in range(pairs)], rtol=1e-14)
    positions = torch.from_numpy(rng.integers(-9, 10**5, (2, 3) if batched else (3,)))
    x = normal(2, 2, 3, 2 * pairs + rest, seed=seed)
    table = book.rotary_table(positions, theta, dtype=x.dtype, attention_factor=factor)
    options = {"layout": layout, "rotary_dim": 2 * pairs}
    got = book.rotate(x, table, **options)
    for b, h, n in np.ndindex(2, 2, 3):
        at = int(positions[b, n] if batched else positions[n])
        expected = rotated_by_hand(x[b, h, n], at, theta, layout)
        expected[: 2 * pairs] *= factor
        np.testing.assert_allclose(got[b, h, n], expected, atol=1e-9)
    heads_last = book.rotate(x.transpose(1, 2), table, sequence_axis=-3, **options)
    torch.testing.assert_close(heads_last.transpose(1, 2), got, rtol=1e-12, atol=1e-12)
    if factor == 1:
        torch.testing.assert_close(book.rotate_back(got, table, **options), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_rotation_as_a_matrix_as_complex_numbers_and_back(layout):
    theta, positions, x = book.rotary_frequencies(6), torch.tensor([0, 3, 1000]), normal(2, 3, 6)
    table = book.rotary_table(positions, theta, dtype=x.dtype)
    rotated = book.rotate(x, table, layout=layout)
    R = book.rotation_matrix(positions, theta, layout=layout)
    torch.testing.assert_close((x.unsqueeze(-2) @ R).squeeze(-2), rotated)
    product = book.rotate_complex(x, positions, theta, layout=layout)
    torch.testing.assert_close(product, rotated, rtol=0, atol=1e-12)
    assert book.rotate_complex(x.half(), positions, theta, layout=layout).dtype == torch.float16
    torch.testing.assert_close(book.rotate_back(rotated, table, layout=layout), x)
    assert book.rotation_matrix(torch.tensor(5), theta, layout=layout).shape == (6, 6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_angles_are_exact_far_out_and_half_types_are_rounded_once(dtype):
    x, positions = normal(1, 2, 8, dtype=dtype), torch.tensor([10**6, 2**30])
    theta = book.rotary_frequencies(8)
    table = book.rotary_table(positions, theta, dtype=dtype)
    assert table.cos.dtype == torch.float32
    exact = torch.stack(
        [rotated_by_hand(x[0, n].double(), int(positions[n]), theta, "half") for n in range(2)]
    )
    got = book.rotate(x, table, layout="half")[0]
    assert got.dtype == dtype
    assert (got.double() - exact).abs().max() < 4 * torch.finfo(dtype).eps


def test_the_frequencies_of_hugging_face_repeat_its_tables_bit_for_bit_and_rounded_ones_do_not():
    inv_freq = 1.0 / (10000.0 ** (torch.arange(0, 128, 2, dtype=torch.int64).float() / 128))
    positions = torch.tensor([0, 1, 4095, 131_071])
    theirs = positions[:, None].float() * inv_freq
    ours = book.rotary_table(positions, inv_freq)
    assert torch.equal(ours.cos, theirs.cos())
    assert torch.equal(ours.sin, theirs.sin())
    rounded = book.rotary_frequencies(128).float()
    torch.testing.assert_close(rounded, inv_freq)
    assert not torch.equal(rounded, inv_freq)


def test_the_score_depends_on_the_offset_alone_and_the_gradient_is_the_inverse_rotation():
    q, k, theta = normal(1, 8), normal(1, 8, seed=1), book.rotary_frequencies(8)

    def at(x, m):
        table = book.rotary_table(torch.tensor([m]), theta, dtype=x.dtype)
        return book.rotate(x, table, layout="half")

    assert math.isclose(at(q, 7) @ at(k, 3).mT, at(q, 107) @ at(k, 103).mT, rel_tol=1e-9)
    x = normal(1, 8).requires_grad_()
    (gradient,) = torch.autograd.grad(at(x, 5), x, k)
    table = book.rotary_table(torch.tensor([5]), theta, dtype=k.dtype)
    torch.testing.assert_close(gradient, book.rotate_back(k, table, layout="half"))
    assert torch.autograd.gradgradcheck(lambda y: at(y, 5).sin(), x)


def test_vmap_over_vectors_positions_and_tables_and_batched_gradients():
    theta, x = book.rotary_frequencies(8), normal(4, 3, 8)
    positions = torch.arange(12).view(4, 3)

    def f(x, positions):
        return book.rotate(x, book.rotary_table(positions, theta, dtype=x.dtype), layout="half")

    expected = torch.stack([f(*both) for both in zip(x, positions, strict=True)])
    torch.testing.assert_close(torch.vmap(f)(x, positions), expected)
    torch.testing.assert_close(torch.vmap(f, (None, 0))(x[0], positions)[1], f(x[0], positions[1]))
    leaf = x[0].clone().requires_grad_()
    directions = torch.eye(24, dtype=x.dtype).view(24, 3, 8)
    (J,) = torch.autograd.grad(f(leaf, positions[0]), leaf, directions, is_grads_batched=True)
    assert J.shape == (24, 3, 8)
    weights = normal(4, 8).requires_grad_()  # autograd outside of vmap, as for several models
    outputs = torch.vmap(lambda w, at: f(x[0] * w, at))(weights, positions)
    (gradient,) = torch.autograd.grad(outputs.square().sum(), weights)
    torch.testing.assert_close(gradient, 2 * weights.detach() * x[0].square().sum(0))


def test_what_would_be_silent_is_refused():
    theta, x = book.rotary_frequencies(4), normal(5, 4)
    table = book.rotary_table(torch.arange(5), theta, dtype=x.dtype)
    with pytest.raises(ValueError, match="must be even, got 7"):
        book.rotary_frequencies(7)
    with pytest.raises(TypeError):
        book.rotary_table(torch.arange(5).bfloat16(), theta)
    with pytest.raises(TypeError):
        book.rotate(x, table)
    for layout in ("Half", "neox"):
        with pytest.raises((ValueError, TypeError)):
            book.rotate(x, table, layout=layout)
    one = book.rotary_table(torch.arange(1), theta, dtype=x.dtype)
    with pytest.raises(ValueError, match=r"expected \(5, 2"):
        book.rotate(x, one, layout="half")
    with pytest.raises(ValueError, match="does not fit"):
        book.rotate(normal(5, 8), table, layout="half")  # half of the head would stay
    with pytest.raises(ValueError, match="does not fit"):
        book.rotate(normal(3, 2, 5, 4), (table[0].expand(2, 5, 2),) * 2, layout="half")
    with pytest.raises(TypeError, match=r"cos in torch\.float32 does not fit x in torch\.float64"):
        book.rotate(x, book.rotary_table(torch.arange(5), theta), layout="half")
    cos, sin = table
    with pytest.raises(ValueError, match=r"sin of shape .* does not fit"):
        book.rotate(x, (cos, sin[:1]), layout="half")
    with pytest.raises(TypeError, match=r"sin in torch\.float32 does not fit x in torch\.float64"):
        book.rotate(x, (cos, sin.float()), layout="half")


def test_checks_by_hand_without_the_hook():
    from attention_to_rope.rope import _join, _pairs, check_integer_positions

    with pytest.raises(ValueError, match="layout must be"):
        inspect.unwrap(_pairs)(normal(4), "neox")
    with pytest.raises(ValueError, match="layout must be"):
        inspect.unwrap(_join)(normal(2), normal(2), "neox")
    with pytest.raises(TypeError, match="collide"):
        check_integer_positions(torch.ones(2))
    for call, arguments in (
        (book.rotary_table, (torch.ones(2), book.rotary_frequencies(4))),
        (book.relative_positions, (torch.arange(2), torch.ones(2))),
        (book.Learned.embed, (book.Learned(4, 2, seed=0), torch.ones(1, 2, 2), torch.ones(2))),
    ):
        with pytest.raises(TypeError, match="collide"):
            inspect.unwrap(call)(*arguments)


@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_converted_vectors_and_weights_rotate_to_the_converted_result(rotary_dim):
    dim = 4 if rotary_dim else 6
    theta, x = book.rotary_frequencies(dim), normal(3, 2, 6)
    table = book.rotary_table(torch.arange(2), theta, dtype=x.dtype)
    options = {"source": "interleaved", "target": "half", "rotary_dim": rotary_dim}
    converted = book.convert_layout(x, **options)
    torch.testing.assert_close(
        book.rotate(converted, table, layout="half", rotary_dim=rotary_dim),
        book.convert_layout(
            book.rotate(x, table, layout="interleaved", rotary_dim=rotary_dim), **options
        ),
    )
    W = normal(5, 12)
    new = book.convert_projection_layout(W, 2, axis=-1, **options)
    y = normal(5, seed=2)
    torch.testing.assert_close(
        (y @ new).view(2, 6), book.convert_layout((y @ W).view(2, 6), **options)
    )
    assert torch.equal(book.convert_projection_layout(W.T, 2, axis=0, **options), new.T)
    back = book.convert_layout(
        converted, source="half", target="interleaved", rotary_dim=rotary_dim
    )
    assert torch.equal(back, x)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.integers(0, 9))
def test_every_pair_reads_its_own_axis(sections, seed):
    sections = [16, *sections]
    pairs, theta = sum(sections), book.rotary_frequencies(2 * sum(sections))
    coordinates = torch.from_numpy(np.random.default_rng(seed).integers(0, 50, (len(sections), 4)))
    for axes in (axes_in_sections(sections), axes_interleaved(sections)):
        assert [axes.count(a) for a in range(len(sections))] == sections
        table = axial_table(coordinates, theta, axes, dtype=torch.float64)
        for i in range(pairs):
            angle = coordinates[axes[i]].double() * theta[i]
            torch.testing.assert_close(table.cos[:, i], angle.cos())
            torch.testing.assert_close(table.sin[:, i], angle.sin())
    with pytest.raises(ValueError, match=f"for each of the {pairs} pairs, got {pairs - 1}"):
        axial_table(coordinates, theta, axes[1:])


def test_proportional_frequencies_stop_the_slowest():
    for share in (0.5, 0.6, 0.74):  # of four pairs; rounded down, as Hugging Face's models do
        theta = book.proportional_frequencies(8, 1e3, share=share)
        assert torch.equal(theta[:2], book.rotary_frequencies(8, 1e3)[:2])
        assert theta[2:].tolist() == [0, 0]
    with pytest.raises(ValueError, match="between 0 and 1"):
        book.proportional_frequencies(8, share=-0.5)


def yarn_by_hand(dim, base, scale, length, slow, fast, truncate):
    def index(turns):
        return dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    start, stop = index(fast), index(slow)
    if truncate:
        start, stop = math.floor(start), math.ceil(stop)
    if start >= dim // 2:
        start, stop = dim // 2, dim // 2 + 1  # nothing is interpolated
    elif stop < 0:
        start, stop = -2, -1  # everything is
    else:
        start, stop = max(start, 0), min(stop, dim - 1)
    width = stop - start or 0.001
    keep = [1 - min(max((i - start) / width, 0), 1) for i in range(dim // 2)]
    theta = [base ** (-2 * i / dim) for i in range(dim // 2)]
    return [k * t + (1 - k) * t / scale for k, t in zip(keep, theta, strict=True)]


@given(
    pairs=st.integers(2, 40),
    base=st.floats(100, 1e6),
    scale=st.floats(1, 40),
    length=st.integers(2, 10**6),
    limits=st.tuples(st.floats(0.5, 4), st.floats(0.5, 40)),
    truncate=st.booleans(),
)
# A ramp that starts beyond all pairs and the limit of its end, and one that only this limit ends.
@example(pairs=4, base=100.0, scale=2.0, length=10**6, limits=(0.5, 0.5), truncate=False)
@example(pairs=10, base=30.0, scale=2.0, length=2733, limits=(0.5, 40.0), truncate=False)
def test_longer_contexts(pairs, base, scale, length, limits, truncate):
    dim, slow, fast = 2 * pairs, limits[0], limits[0] + limits[1]
    theta = book.rotary_frequencies(dim, base)
    torch.testing.assert_close(extend.position_interpolation(theta, scale), theta / scale)
    raised = base * scale ** (dim / (dim - 2))
    torch.testing.assert_close(extend.ntk_aware(theta, scale), book.rotary_frequencies(dim, raised))
    options = {"original_length": length, "slow": slow, "fast": fast}
    got = extend.yarn(theta, scale, truncate=truncate, **options)
    expected = yarn_by_hand(dim, base, scale, length, slow, fast, truncate)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    turns = length * theta / (2 * math.pi)
    keep = ((turns - slow) / (fast - slow)).clamp(0, 1)
    expected = keep * theta + (1 - keep) * theta / scale
    torch.testing.assert_close(extend.ntk_by_parts(theta, scale, **options), expected)
    step = torch.where(turns >= slow, theta, theta / scale)
    got = extend.ntk_by_parts(theta, scale, original_length=length, slow=slow, fast=slow)
    torch.testing.assert_close(got, step)


def test_dynamic_ntk_longrope_and_factors():
    theta = book.rotary_frequencies(8)
    short = extend.dynamic_ntk(theta, 4.0, length=90, original_length=100)
    assert torch.equal(short, theta)
    longer = extend.dynamic_ntk(theta, 4.0, length=300, original_length=100)
    torch.testing.assert_close(longer, extend.ntk_aware(theta, 4 * 3 - 3.0))
    torch.testing.assert_close(extend.longrope(theta, theta + 1), theta / (theta + 1))
    assert extend.longrope_attention_factor(8.0, 4096) == math.sqrt(
        1 + math.log(8) / math.log(4096)
    )
    assert extend.longrope_attention_factor(1.0, 4096) == 1
    assert extend.yarn_attention_factor(8.0, 0.5) == 0.05 * math.log(8) + 1
    assert extend.yarn_attention_factor(1.5) == 0.1 * math.log(1.5) + 1
    assert extend.yarn_attention_factor(0.5) == 1
    torch.testing.assert_close(
        extend.llama3(theta), extend.ntk_by_parts(theta, 8.0, original_length=8192, fast=4.0)
    )
    step = extend.yarn(theta, 2.0, original_length=6)  # a ramp of no width
    torch.testing.assert_close(theta / step, torch.tensor([1.0, 2, 2, 2]).double())
    narrow = extend.yarn(theta, 2.0, original_length=3, slow=1.0, fast=2.0, truncate=False)
    torch.testing.assert_close(narrow, theta / 2)
    with pytest.raises(ValueError, match="geometric"):
        extend.yarn(torch.tensor([1.0, 0.5, 0.1]).double(), 2.0, original_length=100)
