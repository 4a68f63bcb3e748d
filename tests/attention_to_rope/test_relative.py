"""Scores with a term for the distance: equal to the reference, and relative where they say so."""

import numpy as np
import pytest
import torch
from torch import Tensor

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal

D, K = 6, 3
Q, KEYS = normal(2, 4, D, seed=0), normal(2, 5, D, seed=1)
TABLE, OTHER = normal(2 * K + 1, D, seed=2), normal(2 * K + 1, D, seed=3)
U, W = normal(D, seed=4), normal(D, seed=5)
SCORES = {
    "shaw": (
        lambda q, k, r: book.shaw_scores(q, k, r, TABLE),
        lambda q, k, r: reference.shaw_score(q, k, r, TABLE.numpy()),
    ),
    "transformer_xl": (
        lambda q, k, r: book.transformer_xl_scores(q, k, r, TABLE, U, W),
        lambda q, k, r: reference.transformer_xl_score(
            q, k, r, TABLE.numpy(), U.numpy(), W.numpy()
        ),
    ),
    "deberta": (
        lambda q, k, r: book.deberta_scores(q, k, r, TABLE, OTHER),
        lambda q, k, r: reference.deberta_score(q, k, r, TABLE.numpy(), OTHER.numpy()),
    ),
}


def distances(shift: int = 0) -> Tensor:
    return book.relative_positions(torch.arange(4) + shift, torch.arange(5) + shift)


@pytest.mark.parametrize("name", SCORES)
class TestScores:
    def test_equals_the_reference(self, name: str) -> None:
        ours, theirs = SCORES[name]
        got = ours(Q, KEYS, distances())
        for b in range(2):
            for m in range(4):
                for n in range(5):
                    expected = theirs(Q[b, m].numpy(), KEYS[b, n].numpy(), n - m)
                    assert float(got[b, m, n]) == pytest.approx(expected, abs=1e-13)

    def test_only_the_distance_counts(self, name: str) -> None:
        ours, _ = SCORES[name]
        assert torch.equal(ours(Q, KEYS, distances(1000)), ours(Q, KEYS, distances()))
        moved = ours(Q, KEYS, distances() + 1)
        assert (moved - ours(Q, KEYS, distances())).abs().max() > 0.1

    def test_errors(self, name: str) -> None:
        ours, _ = SCORES[name]
        for q, k, r, message in (
            (Q[..., :3], KEYS, distances(), r"with one d, got \(2, 4, 3\) and \(2, 5, 6\)"),
            (Q, KEYS, distances().T, r"\(N_q, N_k\) = \(4, 5\), got \(5, 4\)"),
            (Q.float(), KEYS, distances(), r"q and k must have the same dtype"),
            ([1.0], KEYS, distances(), r"q must be a torch.Tensor, got list"),
            (Q, KEYS, distances().double(), r"relative must have an integer dtype"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                ours(q, k, r)


def test_far_distances_share_a_row() -> None:
    rows = book.relative_rows(torch.tensor([[-9, -3, 0, 3, 9]]), TABLE)
    assert torch.equal(rows[0], TABLE[[0, 0, K, 2 * K, 2 * K]])
    with pytest.raises(ValueError, match=r"\(2K \+ 1, d\), an odd number of rows, got \(6, 6\)"):
        book.relative_rows(distances(), TABLE[:-1])
    with pytest.raises(TypeError, match=r"^relative must have an integer dtype"):
        book.relative_rows(distances().double(), TABLE)


def test_shaw_adds_a_vector_to_the_values_too() -> None:
    weights, v = torch.softmax(normal(2, 4, 5, seed=6), -1), normal(2, 5, D, seed=7)
    got, rows = book.shaw_output(weights, v, distances(), TABLE), TABLE.numpy()
    for m in range(4):
        expected = sum(
            float(weights[1, m, n]) * (v[1, n].numpy() + reference.relative_row(n - m, rows))
            for n in range(5)
        )
        assert np.abs(got[1, m].numpy() - expected).max() <= 1e-13


def test_tupe_keeps_content_and_position_apart_and_is_not_relative() -> None:
    P, R = normal(4, D, seed=8), normal(5, D, seed=9)
    both = book.tupe_scores(Q, KEYS, P, R)
    content = book.tupe_scores(Q, KEYS, 0 * P, R)
    position = book.tupe_scores(0 * Q, KEYS, P, R)
    assert torch.allclose(both, content + position)
    assert torch.allclose(content, Q @ KEYS.mT / (2 * D) ** 0.5)
    for m in range(4):
        for n in range(5):
            rows = (x.numpy() for x in (Q[1, m], KEYS[1, n], P[m], R[n]))
            assert float(both[1, m, n]) == pytest.approx(reference.tupe_score(*rows), abs=1e-13)
    same = book.tupe_scores(0 * Q, 0 * KEYS, P, P[[0, 1, 2, 3, 0]])
    assert abs(float(same[0, 1, 0] - same[0, 2, 1])) > 1e-3  # one distance, two scores
    stacked = book.tupe_scores(Q, KEYS, torch.stack((P, 2 * P)), torch.stack((R, R)))
    assert torch.allclose(stacked[1], book.tupe_scores(Q[1], KEYS[1], 2 * P, R))  # one per head
    with pytest.raises(ValueError, match=r"last axes of q and k, \(4, 6\) and \(5, 6\); got .*2\)"):
        book.tupe_scores(Q, KEYS, P, R[:, :2])


def test_kerple_and_its_limit_alibi() -> None:
    relative = distances()
    got = book.kerple_log_bias(relative, 0.7, 0.3)
    expected = [[reference.kerple_log_bias(n - m, 0.7, 0.3) for n in range(5)] for m in range(4)]
    assert np.allclose(got.numpy(), expected, rtol=1e-14)
    slope = torch.tensor([0.5], dtype=torch.float64)
    alibi = book.alibi_bias(slope, torch.arange(4), torch.arange(5))[0]
    near = book.kerple_log_bias(relative, 0.5e6, 1e-6)
    assert (near - alibi).abs().max() <= 1e-5
    for bad in ((0.0, 1.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match=r"r[12] must be finite and above 0"):
            book.kerple_log_bias(relative, *bad)


def square(x: Tensor) -> Tensor:
    return 3 * x * x - x


def test_fire_equals_the_reference_and_stays_in_the_unit_interval() -> None:
    q_at, k_at = torch.tensor([0, 3, 512, 4000]), torch.tensor([0, 2, 500, 3900, 4000])
    got = book.fire_bias(q_at, k_at, square, c=0.3, threshold=100.0)
    for i, m in enumerate(q_at.tolist()):
        for j, n in enumerate(k_at.tolist()):
            x = reference.fire_argument(m, n, 0.3, 100.0)
            assert float(got[i, j]) == pytest.approx(3 * x * x - x, abs=1e-13)
    whole = book.fire_bias(torch.arange(2000), torch.arange(2000), lambda x: x)
    assert whole.tril().max() <= 1
    assert whole[-1, 0] == 1


def test_fire_sees_a_distance_shrink_as_the_query_goes_on() -> None:
    """By the default constants, distance 100 seen from 100, 512 and 4000."""
    at = torch.tensor([100, 512, 4000])
    argument = book.fire_bias(at, at - 100, lambda x: x).diagonal()
    assert argument.tolist() == pytest.approx([0.606, 0.606, 0.400], abs=5e-4)
    # The threshold is 512: a query there sees all that lies before it as the whole.
    first = torch.tensor([0])
    assert float(book.fire_bias(first + 512, first, lambda x: x)) == 1
    assert float(book.fire_bias(first + 511, first, lambda x: x)) < 1


def test_fire_errors() -> None:
    at = torch.arange(3)
    for options, message in (
        ({"c": 0.0}, r"c must be finite and above 0"),
        ({"threshold": -1.0}, r"threshold must be finite and above 0"),
        ({"f": 1.0}, r"f must be a function of a tensor, got float"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            book.fire_bias(at, at, **{"f": square, **options})


@pytest.mark.parametrize("rows", [3, 9])
def test_cope_equals_the_reference(rows: int) -> None:
    q, k, table = normal(2, 5, D, seed=10), normal(2, 5, D, seed=11), normal(rows, D, seed=12)
    got = book.cope_scores(q, k, table, book.causal_mask(5))
    for b in range(2):
        for m in range(5):
            for n in range(m + 1):
                expected = reference.cope_score(q[b, m].numpy(), k[b].numpy(), n, m, table.numpy())
                assert float(got[b, m, n]) == pytest.approx(expected, abs=1e-13)


def test_cope_counts_what_lies_between() -> None:
    q, k = normal(4, D, seed=13), normal(4, D, seed=14)
    open_gates = book.cope_positions(q * 0, k)
    assert torch.allclose(open_gates, 0.5 * torch.arange(4, 0, -1).double().expand(4, 4))
    causal = book.cope_positions(q * 0, k, book.causal_mask(4))
    assert causal[1].tolist() == pytest.approx([1.0, 0.5, 0.0, 0.0])
    moved = k.clone()
    moved[2] = -moved[2]  # a token in between: the distance to those before it changes
    change = book.cope_positions(q, moved)[3] - book.cope_positions(q, k)[3]
    assert change[3] == 0
    assert (change[:3].abs() > 1e-3).all()


def test_cope_has_gradients_through_its_distances() -> None:
    q, k = (normal(3, D, seed=s).requires_grad_() for s in (15, 16))
    table = normal(4, D, seed=17).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *x: book.cope_scores(*x, book.causal_mask(3)), (q, k, table)
    )
    with pytest.raises(ValueError, match=r"\(P, d\) with the d of q, 6; got \(4, 3\)"):
        book.cope_scores(q, k, table[:, :3])
    with pytest.raises(ValueError, match=r"\(P, d\) with the d of q, 6; got \(0, 6\)"):
        book.cope_scores(q, k, table[:0])
    with pytest.raises(ValueError, match=r"\(P, d\) with the d of q, 6; got \(6,\)"):
        book.cope_scores(q, k, table[0])


def test_fope_is_rotation_only_without_mixing() -> None:
    frequencies = book.rotary_frequencies(D)

    def scores(at: Tensor, mixing: Tensor) -> Tensor:
        table = book.rotary_table(at, frequencies, dtype=torch.float64)
        table = book.fope_table(table, mixing)
        q, k = (book.rotate(x, table, layout="half") for x in (Q, KEYS[:, :4]))
        return q @ k.mT

    at, mixing = torch.arange(4), normal(3, 3, seed=18)
    plain = torch.eye(3, dtype=torch.float64)
    assert (scores(at + 100, plain) - scores(at, plain)).abs().max() <= 1e-12
    assert (scores(at + 100, mixing) - scores(at, mixing)).abs().max() > 0.1
    scaled = plain[:, [2, 0, 1]] * torch.tensor([0.5, -2.0, 3.0])  # one frequency in each pair
    assert (scores(at + 100, scaled) - scores(at, scaled)).abs().max() <= 1e-12


def test_fope_of_a_batch_of_tables() -> None:
    at = torch.tensor([[0, 7, 1000, 3], [1, 2, 3, 4]])
    tables = book.rotary_table(at, book.rotary_frequencies(D), dtype=torch.float64)
    mixing = normal(3, 3, seed=18)
    mixed = book.fope_table(tables, mixing)
    one = book.fope_table(book.RotaryTable(tables.cos[1], tables.sin[1]), mixing)
    assert torch.allclose(mixed.cos[1], one.cos)
    assert torch.allclose(mixed.sin[1], one.sin)


def test_fope_equals_the_reference() -> None:
    frequencies, mixing = book.rotary_frequencies(D), normal(3, 3, seed=18)
    at = torch.tensor([0, 7, 1000])
    table = book.rotary_table(at, frequencies, dtype=torch.float64)
    mixed = book.fope_table(table, mixing)
    for row, position in enumerate(at.tolist()):
        cos, sin = reference.fope_row(position, frequencies.tolist(), mixing.numpy())
        assert mixed.cos[row].tolist() == pytest.approx(cos, abs=1e-12)
        assert mixed.sin[row].tolist() == pytest.approx(sin, abs=1e-12)
    with pytest.raises(ValueError, match=r"\(d/2, d/2\) = \(3, 3\), got \(2, 3\)"):
        book.fope_table(table, mixing[:2])
    with pytest.raises(TypeError, match=r"cos and mixing must have the same dtype"):
        book.fope_table(table, mixing.float())


def test_cope_with_one_row_or_none_between() -> None:
    q, k, row = normal(2, 3, 4, seed=0), normal(2, 3, 4, seed=1), normal(1, 4, seed=2)
    expected = (q @ k.mT + q @ row.mT) / 2
    assert torch.allclose(book.cope_scores(q, k, row), expected, atol=1e-12)
