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
    same = book.tupe_scores(0 * Q, 0 * KEYS, P, P[[0, 1, 2, 3, 0]])
    assert abs(float(same[0, 1, 0] - same[0, 2, 1])) > 1e-3  # one distance, two scores
    with pytest.raises(ValueError, match=r"with one d"):
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
