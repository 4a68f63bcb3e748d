"""Rotary embedding: four forms agree, tables are exact, layouts convert, errors speak."""

import math
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference
from attention_to_rope.fast.turn import can_turn
from bookkit.randomness import generator, normal

LAYOUTS = ["half", "interleaved"]
layouts = st.sampled_from(LAYOUTS)
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def table_for(x: torch.Tensor, positions: torch.Tensor, dim: int | None = None) -> book.RotaryTable:
    frequencies = book.rotary_frequencies(x.shape[-1] if dim is None else dim)
    return book.rotary_table(positions, frequencies, dtype=x.dtype)


class TestTables:
    @given(st.integers(1, 64), st.floats(2, 1e7))
    def test_frequencies(self, pairs: int, base: float) -> None:
        got = book.rotary_frequencies(2 * pairs, base)
        assert got.dtype == torch.float64
        expected = reference.rotary_frequencies(2 * pairs, base)
        assert np.allclose(got.numpy(), expected, rtol=1e-14, atol=0)
        assert float(got[0]) == 1.0

    @given(st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=5), st.integers(1, 8))
    def test_table(self, positions: list[int], pairs: int) -> None:
        frequencies = book.rotary_frequencies(2 * pairs)
        for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 6e-8)):
            table = book.rotary_table(torch.tensor(positions), frequencies, dtype=dtype)
            assert table.cos.dtype == table.sin.dtype == dtype
            for n, position in enumerate(positions):
                for i, theta in enumerate(reference.rotary_frequencies(2 * pairs)):
                    angle = position * theta
                    assert float(table.cos[n, i]) == pytest.approx(math.cos(angle), abs=tolerance)
                    assert float(table.sin[n, i]) == pytest.approx(math.sin(angle), abs=tolerance)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_a_table_is_never_half(self, dtype: torch.dtype) -> None:
        table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4), dtype=dtype)
        assert table.cos.dtype == torch.float32
        default = book.rotary_table(torch.arange(3), book.rotary_frequencies(4))
        assert torch.equal(table.cos, default.cos)

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
    def test_any_integer_dtype(self, dtype: torch.dtype) -> None:
        positions = torch.tensor([0, 3, 100])
        frequencies = book.rotary_frequencies(4)
        got = book.rotary_table(positions.to(dtype), frequencies)
        assert torch.equal(got.cos, book.rotary_table(positions, frequencies).cos)

    def test_batched_positions(self) -> None:
        frequencies = book.rotary_frequencies(6)
        positions = torch.tensor([[0, 1], [7, 8]])
        table = book.rotary_table(positions, frequencies)
        assert table.sin.shape == (2, 2, 3)
        assert torch.equal(table.sin[1], book.rotary_table(positions[1], frequencies).sin)

    def test_attention_factor_multiplies_before_rounding(self) -> None:
        frequencies = book.rotary_frequencies(6)
        exact = book.rotary_table(torch.arange(9), frequencies, dtype=torch.float64)
        scaled = book.rotary_table(torch.arange(9), frequencies, attention_factor=1.3)
        assert torch.equal(scaled.cos, (exact.cos * 1.3).float())
        assert torch.equal(scaled.sin, (exact.sin * 1.3).float())

    def test_float32_angles_repeat_the_table_of_a_checkpoint(self) -> None:
        """The recipe of most published code, bit for bit, and not what float64 angles give."""
        theta = 1.0 / (10000.0 ** (torch.arange(0, 128, 2, dtype=torch.float32) / 128))
        positions = torch.tensor([0, 1, 4095, 131_071])
        angles = positions.float()[:, None] * theta
        table = book.rotary_table(positions, theta.double(), angle_dtype=torch.float32)
        assert torch.equal(table.cos, angles.cos())
        assert torch.equal(table.sin, angles.sin())
        assert not torch.equal(table.cos, book.rotary_table(positions, theta.double()).cos)

    def test_rotary_hands_the_type_of_the_angles_on(self) -> None:
        positions, frequencies = torch.tensor([131_071]), book.rotary_frequencies(8)
        scheme = book.Rotary(frequencies, layout="half", angle_dtype=torch.float32)
        table = book.rotary_table(positions, frequencies, angle_dtype=torch.float32)
        assert torch.equal(scheme.angles(positions, torch.float32, length=1).cos, table.cos)

    def test_largest_positions(self) -> None:
        positions = torch.tensor([-(2**31), 2**31])
        assert book.rotary_table(positions, book.rotary_frequencies(2)).cos.isfinite().all()

    def test_empty_batch(self) -> None:
        positions = torch.zeros(0, 3, dtype=torch.int64)
        assert book.rotary_table(positions, book.rotary_frequencies(4)).cos.shape == (0, 3, 2)


class TestRotate:
    @given(
        st.integers(1, 5),
        st.integers(1, 4),
        st.integers(0, 3),
        layouts,
        st.integers(-1000, 100_000),
        st.booleans(),
    )
    def test_equals_the_reference(
        self, n: int, pairs: int, rest: int, layout: str, offset: int, contiguous: bool
    ) -> None:
        dim = 2 * pairs + rest
        x = normal(2, n, dim, seed=n)
        if not contiguous:
            x = x.transpose(0, 1).contiguous().transpose(0, 1)
        positions = torch.arange(n) + offset
        table = table_for(x, positions, 2 * pairs)
        rotary_dim = 2 * pairs if rest else None
        got = book.rotate(x, table, layout=layout, rotary_dim=rotary_dim)
        back = book.rotate_back(got, table, layout=layout, rotary_dim=rotary_dim)
        assert (back - x).abs().max() <= 1e-14
        frequencies = reference.rotary_frequencies(2 * pairs)
        for b in range(2):
            for m in range(n):
                args = (x[b, m].numpy(), int(positions[m]), frequencies, layout)
                assert np.abs(got[b, m].numpy() - reference.rotate(*args)).max() <= 1e-10
                assert np.abs(got[b, m].numpy() - reference.rotate_complex(*args)).max() <= 1e-10

    @given(st.integers(1, 4), layouts, st.integers(-50, 10_000))
    def test_four_forms_agree(self, pairs: int, layout: str, offset: int) -> None:
        x = normal(3, 2 * pairs, seed=pairs)
        positions = torch.arange(3) + offset
        frequencies = book.rotary_frequencies(2 * pairs)
        rotated = book.rotate(x, table_for(x, positions), layout=layout)
        complex_form = book.rotate_complex(x, positions, frequencies, layout=layout)
        matrices = book.rotation_matrix(positions, frequencies, layout=layout)
        dense = (x.unsqueeze(-2) @ matrices).squeeze(-2)
        assert (rotated - complex_form).abs().max() <= 1e-14
        assert (rotated - dense).abs().max() <= 1e-14
        one = book.rotation_matrix(positions[0], frequencies, layout=layout)
        assert torch.equal(one, matrices[0])
        expected = reference.rotation_matrix(offset, frequencies.tolist(), layout)
        assert np.abs(one.numpy() - expected).max() <= 1e-12
        assert (one @ one.T - torch.eye(2 * pairs)).abs().max() <= 1e-15

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("rotary_dim", [None, 4])
    def test_dtypes_are_computed_in_float32_and_rounded_once(
        self, layout: str, dtype: torch.dtype, rotary_dim: int | None
    ) -> None:
        x = normal(2, 3, 50, 8, seed=0, dtype=dtype)
        table = table_for(x, torch.arange(50) + 70_000, rotary_dim)
        got = book.rotate(x, table, layout=layout, rotary_dim=rotary_dim)
        assert got.dtype == dtype
        if dtype in (torch.bfloat16, torch.float16):
            wide = book.rotate(x.float(), table, layout=layout, rotary_dim=rotary_dim)
            assert torch.equal(got, wide.to(dtype))
        if rotary_dim is not None:
            assert torch.equal(got[..., 4:], x[..., 4:])

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_sequence_axis(self, layout: str) -> None:
        x = normal(2, 3, 5, 4, seed=0)
        table = table_for(x, torch.arange(5))
        expected = book.rotate(x, table, layout=layout)
        swapped = book.rotate(x.transpose(1, 2), table, layout=layout, sequence_axis=-3)
        assert torch.equal(swapped.transpose(1, 2), expected)
        assert torch.equal(book.rotate(x, table, layout=layout, sequence_axis=2), expected)

    @pytest.mark.parametrize("axis", [-2, -3])
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_batched_positions(self, layout: str, axis: int) -> None:
        x = normal(2, 5, 5, 4, seed=0)
        positions = torch.tensor([[0, 1, 2, 3, 4], [9, 7, 5, 3, 1]])
        both = book.rotate(x, table_for(x, positions), layout=layout, sequence_axis=axis)
        for b in range(2):
            table = table_for(x, positions[b])
            alone = book.rotate(x[b], table, layout=layout, sequence_axis=axis)
            assert torch.equal(both[b], alone)

    def test_batched_positions_without_heads(self) -> None:
        x = normal(2, 3, 4, seed=0)
        positions = torch.tensor([[0, 1, 2], [5, 6, 7]])
        got = book.rotate(x, table_for(x, positions), layout="half")
        assert torch.equal(got[1], book.rotate(x[1], table_for(x, positions[1]), layout="half"))

    def test_empty_batch(self) -> None:
        x = torch.zeros(0, 2, 3, 4)
        for layout in LAYOUTS:
            assert book.rotate(x, table_for(x, torch.arange(3)), layout=layout).shape == x.shape

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("rotary_dim", [None, 2])
    def test_gradient_is_the_inverse_rotation(self, layout: str, rotary_dim: int | None) -> None:
        x = normal(2, 3, 4, seed=0).requires_grad_()
        table = table_for(x, torch.tensor([0, 5, 900]), rotary_dim)
        options = {"layout": layout, "rotary_dim": rotary_dim}
        upstream = normal(2, 3, 4, seed=1)
        (gradient,) = torch.autograd.grad(book.rotate(x, table, **options), x, upstream)
        assert torch.equal(gradient, book.rotate_back(upstream, table, **options))
        assert torch.autograd.gradcheck(lambda t: book.rotate(t, table, **options), (x,))
        assert torch.autograd.gradgradcheck(lambda t: book.rotate(t, table, **options), (x,))

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_gradient_of_the_table(self, layout: str) -> None:
        x = normal(3, 4, seed=0)
        cos, sin = (part.requires_grad_() for part in table_for(x, torch.arange(3)))
        assert torch.autograd.gradcheck(
            lambda c, s: book.rotate(x, book.RotaryTable(c, s), layout=layout), (cos, sin)
        )

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_norms_stay_and_the_caller_keeps_x(self, layout: str) -> None:
        x = normal(2, 50, 64, seed=0)
        before = x.clone()
        rotated = book.rotate(x, table_for(x, torch.arange(50)), layout=layout)
        assert (rotated.norm(dim=-1) - x.norm(dim=-1)).abs().max() <= 1e-13
        assert torch.equal(x, before)
        assert rotated.data_ptr() != x.data_ptr()


class TestExactness:
    """Issue bars: fp32 to 2²⁰ within 1e−6, bf16 within one rounding, shift-invariant scores."""

    def test_float32_is_within_1e_6_for_every_position_to_2_to_the_20(self) -> None:
        """Every eighth pair of head dim 128, the fastest among them, on vectors with unit pairs."""
        frequencies = book.rotary_frequencies(128)[::8]
        angle = torch.from_numpy(generator(0).uniform(0, 2 * math.pi, 8))
        first, second = angle.cos().float(), angle.sin().float()
        vectors = {
            "half": torch.cat((first, second)),
            "interleaved": torch.stack((first, second), dim=-1).flatten(),
        }
        for positions in torch.arange(2**20).split(2**17):
            table = book.rotary_table(positions, frequencies)
            turned = torch.polar(
                torch.ones((), dtype=torch.float64), positions.double().unsqueeze(-1) * frequencies
            ) * torch.complex(first.double(), second.double())
            for layout, vector in vectors.items():
                got = book.rotate(vector.expand(2**17, 16), table, layout=layout)
                got = book.convert_layout(got, source=layout, target="half").double()
                assert (got[:, :8] - turned.real).abs().max() <= 1e-6
                assert (got[:, 8:] - turned.imag).abs().max() <= 1e-6

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_bfloat16_is_within_one_rounding(self, layout: str) -> None:
        x = normal(4096, 128, seed=0, dtype=torch.bfloat16)
        positions = torch.arange(4096) + 2**20 - 4096
        got = book.rotate(x, table_for(x, positions), layout=layout).double()
        exact = book.rotate(x.double(), table_for(x.double(), positions), layout=layout)
        # One rounding to 8 bits is at most 2⁻⁸ of the number; fp32 arithmetic adds 1e−6.
        assert ((got - exact).abs() <= exact.abs() * 2**-8 + 1e-6).all()

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_scores_do_not_move_with_a_shift_of_a_million(self, layout: str) -> None:
        q, k = normal(64, 128, seed=0, dtype=torch.float32), normal(64, 128, seed=1).float()
        q, k = q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True)
        scores = []
        for offset in (0, 10**6):
            table = table_for(q, torch.arange(64) + offset)
            scores.append(
                book.rotate(q, table, layout=layout) @ book.rotate(k, table, layout=layout).T
            )
        assert (scores[0] - scores[1]).abs().max() <= 1e-5

    def test_positions_to_8191_stay_distinct_in_bfloat16(self) -> None:
        x = torch.ones(8192, 128, dtype=torch.bfloat16)
        for layout in LAYOUTS:
            rotated = book.rotate(x, table_for(x, torch.arange(8192)), layout=layout)
            assert len(torch.unique(rotated.float(), dim=0)) == 8192

    def test_float32_angles_would_fail_the_bar(self) -> None:
        """The guard can fail: angles multiplied in float32 are 1e−2 off near 2²⁰."""
        frequencies = book.rotary_frequencies(128)
        position = torch.tensor([2**20 - 1])
        spoiled = (position.float().unsqueeze(-1) * frequencies.float()).cos()
        exact = book.rotary_table(position, frequencies, dtype=torch.float64).cos
        assert (spoiled - exact).abs().max() > 1e-3


class TestLayouts:
    @given(st.integers(1, 6), st.integers(0, 3), layouts, layouts)
    def test_converted_vectors_rotate_alike(
        self, pairs: int, rest: int, source: str, target: str
    ) -> None:
        dim = 2 * pairs
        x = normal(3, dim + rest, seed=pairs)
        table = table_for(x, torch.arange(3) + 40, dim)
        convert = {"source": source, "target": target, "rotary_dim": dim}
        rotated = book.rotate(x, table, layout=source, rotary_dim=dim)
        converted = book.rotate(
            book.convert_layout(x, **convert), table, layout=target, rotary_dim=dim
        )
        assert (converted - book.convert_layout(rotated, **convert)).abs().max() <= 1e-15
        undone = book.convert_layout(
            book.convert_layout(x, **convert), source=target, target=source, rotary_dim=dim
        )
        assert torch.equal(undone, x)
        if source == target:
            assert torch.equal(book.convert_layout(x, **convert), x)

    def test_permutations(self) -> None:
        there = book.layout_permutation(6, source="interleaved", target="half")
        back = book.layout_permutation(6, source="half", target="interleaved")
        assert there.tolist() == [0, 2, 4, 1, 3, 5]
        assert back.tolist() == [0, 3, 1, 4, 2, 5]
        part = book.layout_permutation(6, source="interleaved", target="half", rotary_dim=4)
        assert part.tolist() == [0, 2, 1, 3, 4, 5]

    def test_converted_projections_keep_the_scores(self) -> None:
        """The reason why conversion scripts permute W_q and W_k, and only those."""
        heads, d_k, d = 3, 4, 6
        W_Q, W_K, b_Q = normal(d, 12, seed=0), normal(d, 12, seed=1), normal(12, seed=2)
        x = normal(5, d, seed=3)

        def scores(W_Q: torch.Tensor, W_K: torch.Tensor, b: torch.Tensor, layout: str) -> object:
            q, k = (y.reshape(5, heads, d_k).transpose(0, 1) for y in (x @ W_Q + b, x @ W_K))
            table = table_for(q, torch.arange(5))
            return book.rotate(q, table, layout=layout) @ book.rotate(k, table, layout=layout).mT

        def convert(W: torch.Tensor) -> torch.Tensor:
            return book.convert_projection_layout(W, heads, source="interleaved", target="half")

        original = scores(W_Q, W_K, b_Q, "interleaved")
        converted = scores(convert(W_Q), convert(W_K), convert(b_Q), "half")
        mixed = scores(W_Q, W_K, b_Q, "half")
        assert (original - converted).abs().max() <= 1e-13
        assert (original - mixed).abs().max() > 0.1


Z = torch.zeros
FREQUENCIES = book.rotary_frequencies(4)
TABLE = book.rotary_table(torch.arange(3), FREQUENCIES)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: book.rotary_frequencies(63),
            ValueError,
            r"rotary dim must be even, got 63.*62 or 64",
        ),
        (lambda: book.rotary_frequencies(0), ValueError, r"rotary dim must be at least 2, got 0"),
        (lambda: book.rotary_frequencies(4.0), TypeError, r"rotary dim must be an int, got float"),
        (lambda: book.rotary_frequencies(4, -1.0), ValueError, r"base must be finite and above 0"),
        (
            lambda: book.rotary_table(torch.arange(3.0), FREQUENCIES),
            TypeError,
            r"integer dtype, got torch.float32; floating-point positions collide",
        ),
        (
            lambda: book.rotary_table(torch.tensor([True]), FREQUENCIES),
            TypeError,
            r"integer dtype, got torch.bool",
        ),
        (
            lambda: book.rotary_table(3, FREQUENCIES),
            TypeError,
            r"such as torch.arange\(N\), got int",
        ),
        (
            lambda: book.rotary_table(torch.tensor(3), FREQUENCIES),
            ValueError,
            r"\(N,\) or \(B, N\), got a scalar",
        ),
        (
            lambda: book.rotary_table(torch.arange(0), FREQUENCIES),
            ValueError,
            r"at least one position, got \(0,\)",
        ),
        (
            lambda: book.rotary_table(torch.tensor([2**31 + 1]), FREQUENCIES),
            ValueError,
            r"lie in -2147483648…2147483648, got values from 2147483649 to 2147483649; beyond",
        ),
        (
            lambda: book.rotary_table(torch.tensor([-(2**31) - 1]), FREQUENCIES),
            ValueError,
            r"got values from -2147483649 to -2147483649",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), FREQUENCIES.float()),
            TypeError,
            r"frequencies must be float64, got torch.float32",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), FREQUENCIES[None]),
            ValueError,
            r"frequencies must have shape \(d/2,\) with d ≥ 2, got \(1, 2\)",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), FREQUENCIES[:0]),
            ValueError,
            r"with d ≥ 2, got \(0,\)",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), [1.0]),
            TypeError,
            r"frequencies must be a torch.Tensor, got list",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), FREQUENCIES.to("meta")),
            ValueError,
            r"positions and frequencies must be on the same device, got cpu and meta",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), FREQUENCIES, attention_factor=0.0),
            ValueError,
            r"attention_factor must be finite and above 0",
        ),
        (
            lambda: book.rotary_table(torch.arange(3), FREQUENCIES, dtype=torch.int32),
            TypeError,
            r"dtype must be floating point.*got torch.int32",
        ),
        (
            lambda: book.rotate(Z(3, 4), TABLE, layout="neox"),
            ValueError,
            r"layout must be one of 'half', 'interleaved'; got 'neox'",
        ),
        (lambda: book.rotate(Z(3, 4), TABLE), TypeError, r"layout"),
        (
            lambda: book.rotate(Z(4), TABLE, layout="half"),
            ValueError,
            r"\(\.\.\., N, d\), got \(4,\)",
        ),
        (
            lambda: book.rotate(Z(3, 4).int(), TABLE, layout="half"),
            TypeError,
            r"x must be floating",
        ),
        (lambda: book.rotate(Z(3, 5), TABLE, layout="half"), ValueError, r"must be even, got 5"),
        (
            lambda: book.rotate(Z(3, 8), TABLE, layout="half"),
            ValueError,
            r"2 pairs turns 4 dimensions, but 8 are to be turned.*pass rotary_dim=4",
        ),
        (
            lambda: book.rotate(Z(3, 4), TABLE, layout="half", rotary_dim=2),
            ValueError,
            r"2 pairs turns 4 dimensions, but 2 are",
        ),
        (
            lambda: book.rotate(Z(3, 4), TABLE, layout="half", rotary_dim=3),
            ValueError,
            r"rotary dim must be even, got 3",
        ),
        (
            lambda: book.rotate(Z(3, 4), TABLE, layout="half", rotary_dim=6),
            ValueError,
            r"rotary dim 6 exceeds the head dim 4",
        ),
        (
            lambda: book.rotate(Z(5, 4), TABLE, layout="half"),
            ValueError,
            r"table holds 3 positions but x has 5 on axis -2",
        ),
        (
            lambda: book.rotate(
                Z(5, 4), book.rotary_table(torch.arange(1), FREQUENCIES), layout="half"
            ),
            ValueError,
            r"table holds 1 positions but x has 5",
        ),
        (
            lambda: book.rotate(Z(1, 4), TABLE, layout="half"),
            ValueError,
            r"table holds 3 positions but x has 1",
        ),
        (
            lambda: book.rotate(Z(2, 3, 4), TABLE, layout="half", sequence_axis=-1),
            ValueError,
            r"sequence_axis must name an axis of x before the last, got -1 for 3 axes",
        ),
        (
            lambda: book.rotate(Z(2, 3, 4), TABLE, layout="half", sequence_axis=2),
            ValueError,
            r"got 2 for 3 axes",
        ),
        (
            lambda: book.rotate(Z(2, 3, 4), TABLE, layout="half", sequence_axis=-4),
            ValueError,
            r"got -4 for shape",
        ),
        (
            lambda: book.rotate(Z(2, 3, 4), TABLE, layout="half", sequence_axis=3),
            ValueError,
            r"got 3 for shape",
        ),
        (
            lambda: book.rotate(
                Z(2, 3, 4),
                book.rotary_table(torch.arange(3).expand(1, 3), FREQUENCIES),
                layout="half",
            ),
            ValueError,
            r"batch axes \(1,\) must equal the first axes of x, whose shape is \(2, 3, 4\)",
        ),
        (
            lambda: book.rotate(
                Z(3, 4), book.rotary_table(torch.arange(3).expand(3, 3), FREQUENCIES), layout="half"
            ),
            ValueError,
            r"batch axes \(3,\) must equal",
        ),
        (
            lambda: book.rotate(Z(3, 4).double(), TABLE, layout="half"),
            TypeError,
            r"x of torch.float64 needs a table of torch.float64, got torch.float32.*dtype=torch.fl",
        ),
        (
            lambda: book.rotate(
                Z(3, 4), book.RotaryTable(TABLE.cos, TABLE.sin.double()), layout="half"
            ),
            TypeError,
            r"needs a table of torch.float32",
        ),
        (
            lambda: book.rotate(
                Z(3, 4).half(), book.RotaryTable(*(t.half() for t in TABLE)), layout="half"
            ),
            TypeError,
            r"x of torch.float16 needs a table of torch.float32, got torch.float16",
        ),
        (
            lambda: book.rotate(Z(3, 4), book.RotaryTable(TABLE.cos, TABLE.sin[:1]), layout="half"),
            ValueError,
            r"cos and sin must have the same shape, got \(3, 2\) and \(1, 2\)",
        ),
        (
            lambda: book.rotate(Z(3, 4, device="meta"), TABLE, layout="half"),
            ValueError,
            r"x and table must be on the same device, got meta and cpu",
        ),
        (
            lambda: book.rotate_back(Z(3, 4), TABLE, layout="x"),
            ValueError,
            r"layout must be one of",
        ),
        (
            lambda: book.rotation_matrix(torch.arange(2), FREQUENCIES, layout="x"),
            ValueError,
            r"layout must be one of",
        ),
        (
            lambda: book.rotation_matrix(2, FREQUENCIES, layout="half"),
            TypeError,
            r"integer tensor such as",
        ),
        (
            lambda: book.rotate_complex(Z(3, 4), torch.arange(3), FREQUENCIES, layout="x"),
            ValueError,
            r"layout must be one of",
        ),
        (
            lambda: book.convert_layout(Z(4), source="x", target="half"),
            ValueError,
            r"source must be one of",
        ),
        (
            lambda: book.convert_layout(Z(4), source="half", target="x"),
            ValueError,
            r"target must be one of",
        ),
        (
            lambda: book.convert_layout(Z(5), source="half", target="half"),
            ValueError,
            r"must be even, got 5",
        ),
        (
            lambda: book.convert_layout(Z(4), source="half", target="half", rotary_dim=6),
            ValueError,
            r"rotary dim 6 exceeds the dim 4",
        ),
        (
            lambda: book.convert_projection_layout(Z(4, 8), 3, source="half", target="half"),
            ValueError,
            r"heads must divide the columns of W, got 8 and heads=3",
        ),
        (
            lambda: book.convert_projection_layout(Z(4, 8), 0, source="half", target="half"),
            ValueError,
            r"heads must be at least 1, got 0",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_vectors_that_begin_anywhere_in_memory(offset: int) -> None:
    """A complex view needs an even start; any other must be copied first."""
    x = normal(offset + 5 * 8, seed=0)[offset:].view(5, 8)
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8), dtype=x.dtype)
    moved, straight = (book.rotate(own, table, layout="interleaved") for own in (x, x.clone()))
    assert torch.equal(moved, straight)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rotate_back_along_another_axis(layout: str) -> None:
    x = normal(2, 5, 3, 8, seed=0)
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8), dtype=x.dtype)
    turned = book.rotate(x, table, layout=layout, sequence_axis=-3)
    back = book.rotate_back(turned, table, layout=layout, sequence_axis=-3)
    assert (back - x).abs().max() <= 1e-14


def test_rotation_matrices_of_a_batch_of_positions() -> None:
    positions, frequencies = torch.arange(6).view(2, 3), book.rotary_frequencies(4)
    matrices = book.rotation_matrix(positions, frequencies, layout="half")
    flat = book.rotation_matrix(positions.flatten(), frequencies, layout="half")
    assert torch.equal(matrices, flat.view(2, 3, 4, 4))


def test_convert_projection_of_partial_rotary() -> None:
    """Only the turned dimensions of each head change places."""
    W = torch.arange(16.0).view(1, 16)
    converted = book.convert_projection_layout(
        W, 2, source="interleaved", target="half", rotary_dim=4
    )
    assert converted.tolist() == [[0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15]]


def test_convert_the_weight_of_a_torch_linear() -> None:
    """`nn.Linear.weight` is (H · d_k, d): axis=0 converts it in place of its transpose."""
    W = normal(12, 12, seed=0)  # square: the wrong axis would raise nothing
    options = {"source": "interleaved", "target": "half"}
    straight = book.convert_projection_layout(W.T, 3, **options).T
    assert torch.equal(book.convert_projection_layout(W, 3, axis=0, **options), straight)
    assert not torch.equal(book.convert_projection_layout(W, 3, **options), straight)
    for axis in (2, -3):
        with pytest.raises(ValueError, match=rf"axis must name an axis of W, got {axis}"):
            book.convert_projection_layout(W, 3, axis=axis, **options)
    with pytest.raises(ValueError, match=r"heads must divide the columns of W, got 8.*axis=0"):
        book.convert_projection_layout(Z(8, 6), 3, axis=0, **options)


def test_what_is_no_vector_is_said() -> None:
    options = {"source": "interleaved", "target": "half"}
    for bad in ([1.0, 2.0], torch.tensor(1.0)):
        with pytest.raises(TypeError, match=r"x must be a torch.Tensor of shape \(\.\.\., d\)"):
            book.convert_layout(bad, **options)
    with pytest.raises(TypeError, match=r"W must be a torch.Tensor, got list"):
        book.convert_projection_layout([1.0], 1, **options)
    with pytest.raises(TypeError, match=r"x must be a torch.Tensor, got list"):
        book.rotate_complex([1.0], torch.arange(1), FREQUENCIES, layout="half")
    with pytest.raises(TypeError, match=r"dim must be an int, got float"):
        book.layout_permutation(4.0, **options)
    with pytest.raises(TypeError, match=r"^dim must be an int, got str"):
        book.layout_permutation("4", rotary_dim=4, **options)


class TestProportional:
    """p-RoPE cuts the slow end of the spectrum; partial rotary squeezes all of it."""

    @given(st.integers(1, 32), st.floats(0.01, 1.0))
    def test_frequencies(self, pairs: int, share: float) -> None:
        got = book.proportional_frequencies(2 * pairs, 500.0, share=share)
        expected = reference.proportional_frequencies(2 * pairs, 500.0, share)
        assert np.allclose(got.numpy(), expected, rtol=1e-14, atol=0)

    def test_gemma_4_stands_still_beyond_188_tokens(self) -> None:
        assert torch.equal(book.proportional_frequencies(8, share=1.0), book.rotary_frequencies(8))
        frequencies = book.proportional_frequencies(512, 1e6, share=0.25)
        turning = frequencies[frequencies > 0]
        assert len(turning) == 64
        assert 2 * math.pi / float(turning[-1]) == pytest.approx(188, abs=0.5)

    def test_is_not_partial_rotary(self) -> None:
        partial = book.rotary_frequencies(8)
        proportional = book.proportional_frequencies(16, share=0.5)[:4]
        assert torch.equal(partial[0], proportional[0])
        assert (partial[1:] < 0.5 * proportional[1:]).all()

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_scores_of_still_pairs_ignore_the_distance(self, layout: str) -> None:
        frequencies = book.proportional_frequencies(8, share=0.5)
        still = book.convert_layout(
            torch.tensor([0.0, 0, 1, 2, 0, 0, 3, 4]), source="half", target=layout
        )
        q = k = still.double().expand(50, 8)
        table = book.rotary_table(torch.arange(50), frequencies, dtype=torch.float64)
        scores = book.rotate(q, table, layout=layout) @ book.rotate(k, table, layout=layout).T
        assert torch.allclose(scores, torch.full_like(scores, 30.0))

    @pytest.mark.parametrize("share", [0.0, 1.5, math.nan])
    def test_share_is_a_part(self, share: float) -> None:
        with pytest.raises(ValueError, match=r"share must be"):
            book.proportional_frequencies(8, share=share)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("learned", ["cos", "sin"])
def test_a_learned_table_has_its_gradient_beside_learned_vectors(layout, learned: str) -> None:
    x = normal(3, 4, seed=0).requires_grad_()
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4), dtype=torch.float64)
    part = getattr(table, learned).clone().requires_grad_()
    upstream = normal(3, 4, seed=1)
    book.rotate(x, table._replace(**{learned: part}), layout=layout).backward(upstream)
    ahead = torch.zeros_like(part)
    for at in range(part.numel()):  # linear in the table: one step is the derivative
        one = part.detach().clone()
        one.view(-1)[at] += 1
        moved = book.rotate(x.detach(), table._replace(**{learned: one}), layout=layout)
        still = book.rotate(x.detach(), table, layout=layout)
        ahead.view(-1)[at] = ((moved - still) * upstream).sum()
    assert torch.allclose(part.grad, ahead, atol=1e-12)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_vectors_may_stand_in_memory_in_any_order(layout) -> None:
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8), dtype=torch.float64)
    x = normal(8, 5, seed=0).mT
    assert x.stride(-1) != 1
    assert torch.equal(
        book.rotate(x, table, layout=layout), book.rotate(x.contiguous(), table, layout=layout)
    )


def test_a_table_of_lists_is_refused() -> None:
    x, part = torch.zeros(1, 2), torch.zeros(1, 1)
    with pytest.raises(TypeError, match=r"cos must be a torch.Tensor, got list"):
        book.rotate(x, ([[1.0]], part), layout="half")
    with pytest.raises(TypeError, match=r"sin must be a torch.Tensor, got list"):
        book.rotate(x, (part, [[1.0]]), layout="half")


def test_the_largest_float_is_a_base() -> None:
    assert float(book.rotary_frequencies(4, sys.float_info.max)[1]) > 0


def test_one_dimension_or_no_head_beside_what_is_turned() -> None:
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4), dtype=torch.float64)
    x = normal(1, 2, 3, 5, seed=0)
    turned = book.rotate(x, table, layout="half", rotary_dim=4)
    assert torch.equal(turned[..., :4], book.rotate(x[..., :4], table, layout="half"))
    assert torch.equal(turned[..., 4:], x[..., 4:])
    assert book.rotate(x[:, :0], table, layout="half", rotary_dim=4).shape == (1, 0, 3, 5)


def test_the_quick_rotation_needs_numbers_in_memory() -> None:
    here, nowhere = torch.ones(2), torch.ones(2, device="meta")
    assert can_turn(here, here, here)
    for place in range(3):
        given = [here, here, here]
        given[place] = nowhere
        assert not can_turn(*given)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_a_single_dimension_that_is_not_turned_stays(layout: str) -> None:
    x = torch.arange(10.0).reshape(2, 5)
    table = book.rotary_table(torch.tensor([3, 4]), book.rotary_frequencies(4))
    got = book.rotate(x, table, layout=layout, rotary_dim=4)
    assert torch.equal(got[:, 4], x[:, 4])
    assert torch.equal(got[:, :4], book.rotate(x[:, :4], table, layout=layout))


def test_neighbours_at_an_even_place_of_memory_are_turned_without_a_copy() -> None:
    memory = torch.arange(34.0)
    x = memory[2:].reshape(4, 8)
    table = book.rotary_table(torch.arange(4), book.rotary_frequencies(8), dtype=torch.float32)
    with torch.profiler.profile() as seen:
        got = book.rotate(x, table, layout="interleaved")
    assert {"aten::clone", "aten::cat"}.isdisjoint(event.key for event in seen.key_averages())
    assert torch.equal(got, book.rotate(x.clone(), table, layout="interleaved"))
