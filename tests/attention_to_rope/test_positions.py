"""Positional schemes and the family of relative scores against loops in float64."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import relative as family


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(2, 1e5))
def test_sinusoids_are_sines_and_cosines(position, pairs, base):
    row = book.sinusoidal(torch.tensor([position]), 2 * pairs, base, dtype=torch.float64)[0]
    for i in range(pairs):
        angle = position * base ** (-i / pairs)
        assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-8)
        assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-8)


def t5_by_hand(offset, bidirectional, buckets, max_distance):
    start = 0
    if bidirectional:
        buckets //= 2
        start, distance = buckets if offset > 0 else 0, abs(offset)
    else:
        distance = max(-offset, 0)
    exact = buckets // 2
    if distance < exact:
        return start + distance
    # In whole numbers: the last bucket k with (distance / exact)^far >= (max / exact)^k.
    far, k = buckets - exact, 0
    while k < far - 1 and distance**far >= max_distance ** (k + 1) * exact ** (far - k - 1):
        k += 1
    return start + exact + k


@given(
    st.integers(-5000, 5000),
    st.booleans(),
    st.sampled_from([4, 8, 32, 64]),
    st.sampled_from([64, 128, 1000, 4096]),
)
def test_t5_buckets_in_whole_numbers(offset, bidirectional, buckets, max_distance):
    got = book.t5_bucket(
        torch.tensor([offset]),
        bidirectional=bidirectional,
        buckets=buckets,
        max_distance=max_distance,
    )
    assert got.item() == t5_by_hand(offset, bidirectional, buckets, max_distance)


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 20])
def test_alibi(heads):
    def slopes(h):
        if h & (h - 1) == 0:
            return [2.0 ** (-8 * i / h) for i in range(1, h + 1)]
        power = 1 << (h.bit_length() - 1)
        return slopes(power) + slopes(2 * power)[0::2][: h - power]

    assert book.alibi_slopes(heads).tolist() == pytest.approx(slopes(heads))
    q, k = torch.tensor([[2, 9]]), torch.tensor([[0, 3, 9]])
    bias = book.ALiBi(heads).bias(q, k)
    for h, i, j in np.ndindex(heads, 2, 3):
        expected = -slopes(heads)[h] * abs(int(q[0, i] - k[0, j]))
        assert bias[0, h, i, j] == pytest.approx(expected)


def test_an_absurd_number_of_heads_fails_at_once():
    with pytest.raises((RuntimeError, OverflowError, TypeError)):
        book.alibi_slopes(2**70)


def test_offsets_of_small_integer_types_do_not_wrap():
    q, k = torch.tensor([200], dtype=torch.uint8), torch.tensor([0, 250], dtype=torch.uint8)
    assert book.relative_positions(q, k).tolist() == [[-200, 50]]
    with pytest.raises(TypeError):
        book.relative_positions(q.float(), k)


def test_schemes_act_where_they_say():
    x, positions = normal(2, 3, 4), torch.arange(3)
    nothing = book.PositionalScheme()
    assert nothing.embed(x, positions) is x
    assert nothing.rotate(x[None], positions) is not None
    assert nothing.bias(positions, positions) is None
    code = book.sinusoidal(positions, 4, dtype=x.dtype)
    torch.testing.assert_close(book.Sinusoidal().embed(x, positions), x + code)
    learned = book.Learned(5, 4, seed=0).double()
    torch.testing.assert_close(learned.embed(x, positions), x + learned.table.rows[:3])
    with pytest.raises(IndexError):
        learned.embed(x, positions + 3)
    with pytest.raises(TypeError):
        learned.embed(x, positions.double())
    t5, far = book.T5Bias(2, bidirectional=True, seed=0), torch.arange(300)
    bucket = book.t5_bucket(book.relative_positions(far, far), bidirectional=True)
    torch.testing.assert_close(t5.bias(far, far), t5.table(bucket).movedim(-1, 0))
    assert len(t5.table.rows) == bucket.max() + 1 == 32
    rotated = book.Rotary(book.rotary_frequencies(4), layout="half").rotate(x[None], positions)
    torch.testing.assert_close(rotated.norm(dim=-1), x[None].norm(dim=-1))
    assert book.ALiBi(1).at(positions, x.dtype).bias.shape == (1, 3, 3)


def test_rotary_keeps_its_frequencies_in_half_precision():
    scheme = book.Rotary(book.rotary_frequencies(8), layout="half", attention_factor=1.5).half()
    assert torch.equal(scheme.frequencies, book.rotary_frequencies(8))
    x, positions = normal(1, 2, 3, 8), torch.tensor([5, 6, 7])
    table = book.rotary_table(positions, scheme.frequencies, dtype=x.dtype, attention_factor=1.5)
    expected = book.rotate(x, table, layout="half")
    assert torch.equal(scheme.rotate(x, positions), expected)
    assert torch.equal(scheme.rotate(x, scheme.angles(positions, x.dtype)), expected)


def row_of(offset, table):
    K = len(table) // 2
    return table[min(max(offset, -K), K) + K]


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_relative_scores_by_loops(n, m, d, seed):
    q, k = normal(2, n, d, seed=seed), normal(2, m, d, seed=seed + 1)
    table, other = normal(5, d, seed=seed + 2), normal(5, d, seed=seed + 3)
    u, w = normal(d, seed=seed + 4), normal(d, seed=seed + 5)
    p_q, p_k = normal(n, d, seed=seed + 6), normal(m, d, seed=seed + 7)
    relative = torch.from_numpy(np.random.default_rng(seed).integers(-6, 7, (n, m)))
    got = {
        "shaw": family.shaw_scores(q, k, relative, table),
        "xl": family.transformer_xl_scores(q, k, relative, table, u, w),
        "deberta": family.deberta_scores(q, k, relative, table, other),
        "tupe": family.tupe_scores(q, k, p_q, p_k),
    }
    for b, i, j in np.ndindex(2, n, m):
        a, c, at = q[b, i], k[b, j], int(relative[i, j])
        content = a @ c
        expected = {
            "shaw": a @ (c + row_of(at, table)) / d**0.5,
            "xl": ((a + u) @ c + (a + w) @ row_of(at, table)) / d**0.5,
            "deberta": (content + a @ row_of(at, table) + row_of(-at, other) @ c) / (3 * d) ** 0.5,
            "tupe": (content + p_q[i] @ p_k[j]) / (2 * d) ** 0.5,
        }
        for name, value in expected.items():
            assert got[name][b, i, j] == pytest.approx(float(value), abs=1e-12)


def test_distances_in_uint8_are_no_mask_and_tables_have_a_middle():
    table = normal(5, 2)
    small = torch.tensor([[0, 1]], dtype=torch.uint8)
    torch.testing.assert_close(family.relative_rows(small, table), table[None, 2:4])
    with pytest.raises(ValueError, match="odd"):
        family.relative_rows(small, normal(4, 2))
    with pytest.raises(ValueError, match="meta"):
        family.relative_rows(torch.zeros(1, 2, dtype=torch.long, device="meta"), table)


def test_kerple_and_fire():
    offsets = torch.tensor([[-3, 0, 2]])
    expected = [-0.5 * math.log(1 + 0.3 * d) for d in (3, 0, 2)]
    assert family.kerple_log_bias(offsets, 0.5, 0.3)[0].tolist() == pytest.approx(expected)
    q, k = torch.tensor([3, 1000]), torch.tensor([0, 7])
    bias = family.fire_bias(q, k, lambda x: 2 * x, c=0.2, threshold=10.0)
    for i, j in np.ndindex(2, 2):
        m, n = int(q[i]), int(k[j])
        value = 2 * math.log(1 + 0.2 * abs(n - m)) / math.log(1 + 0.2 * max(10, m))
        assert bias[i, j] == pytest.approx(value)
    far = torch.tensor([3, 900])
    named = family.fire_bias(far, k, torch.exp, c=0.1, threshold=512.0)
    assert torch.equal(family.fire_bias(far, k, torch.exp), named)


@pytest.mark.parametrize("masked", [False, True])
def test_cope_by_loops(masked):
    q, k, table = normal(3, 4), normal(3, 4, seed=1), normal(3, 4, seed=2)
    mask = book.causal_mask(3) if masked else None
    got = family.cope_scores(q, k, table, mask)
    for i, j in np.ndindex(3, 3):
        seen = [n for n in range(j, 3) if not masked or n <= i]
        place = min(sum(1 / (1 + math.exp(-float(q[i] @ k[n]) / 2)) for n in seen), 2)
        below = math.floor(place)
        above = min(below + 1, 2)
        row = table[below] + (place - below) * (table[above] - table[below])
        assert got[i, j] == pytest.approx(float(q[i] @ k[j] + q[i] @ row) / 2)
    both = family.cope_scores(torch.stack((q, k)), torch.stack((k, q)), table, mask)
    torch.testing.assert_close(both[0], got)
    torch.testing.assert_close(both[1], family.cope_scores(k, q, table, mask))
