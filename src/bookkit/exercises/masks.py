"""Checks of the exercises on masks: who sees whom, and which keys are kept."""

from typing import Any

import torch
from torch import Tensor

from bookkit.exercises.comparing import ANY, Cases, demand, numbers_of
from bookkit.randomness import normal


def _mask_of(case: str, result: Any, shape: tuple[int, int]) -> Tensor:
    """A result that must be a mask: a row for each query, a column for each key."""
    return numbers_of(case, result, shape, "a row for each query, a column for each key") != 0


def _first(case: str, wrong: Tensor, words: str) -> None:
    """Demand that nothing is wrong; `words` name the first query and key where something is."""
    places = wrong.nonzero().tolist()
    if places:
        query, key = places[0]
        demand(case, False, words.format(query=query, key=key))


def document_mask() -> Cases:
    """In encoder-decoder: who sees whom where several documents are packed into one sequence."""
    for documents in ([0, 0, 1, 1, 1], [3, 3, 3, 1, 2, 2], [5]):
        case = f"With the documents {documents}"
        numbers = torch.tensor(documents)
        m = torch.arange(len(documents))
        same = numbers[:, None] == numbers
        earlier = m <= m[:, None]
        found = _mask_of(case, (yield case, (numbers,), ANY), (len(m), len(m)))
        _first(case, found & ~earlier, "token {query} sees token {key}, which comes later")
        _first(case, found & ~same, "token {query} sees token {key}, which is in another document")
        own = torch.eye(len(m), dtype=torch.bool)
        _first(case, own & ~found, "token {query} does not see itself")
        words = "token {query} does not see token {key}, an earlier one of its own document"
        _first(case, same & earlier & ~found, words)


def best_keys() -> Cases:
    """In fewer-scores: the keys with the largest scores among those that a query may see."""
    for N, count in ((6, 2), (5, 1), (3, 4)):
        case = f"With N = {N} and the {count} best keys"
        S = normal(N, N, seed=N)
        found = _mask_of(case, (yield case, (S, count), ANY), (N, N))
        causal = torch.ones(N, N, dtype=torch.bool).tril()
        _first(case, found & ~causal, "query {query} keeps key {key}, which comes later")
        for m in range(N):
            wanted = min(count, m + 1)  # a query with fewer keys keeps them all
            kept = int(found[m].sum())
            words = f"query {m} keeps {kept} keys, and it must keep {wanted}"
            demand(case, kept == wanted, words)
            left_out = S[m, : m + 1][~found[m, : m + 1]]
            smallest = S[m][found[m]].min()
            words = f"query {m} leaves out a key with a larger score than one that it keeps"
            demand(case, (left_out <= smallest).all(), words)


def window_mask() -> Cases:
    """In one-file: which of N_k tokens the last N of them may see, W back."""
    for N, N_k, W in ((5, 5, 2), (2, 6, 3), (1, 7, 4), (3, 4, 9)):
        case = f"With N = {N}, N_k = {N_k} and W = {W}"
        found = _mask_of(case, (yield case, (N, N_k, W), ANY), (N, N_k))
        m = torch.arange(N_k - N, N_k)[:, None]
        n = torch.arange(N_k)
        first = N_k - N
        name = f"row {{query}} (position {first} + {{query}})"
        _first(case, found & (n > m), f"{name} sees position {{key}}, which comes later")
        own = n == m
        _first(case, own & ~found, f"{name} does not see itself")
        words = f"{name} sees position {{key}}, outside of its window of {W} tokens"
        _first(case, found & (m - n >= W), words)
        words = f"{name} does not see position {{key}}, inside of its window of {W} tokens"
        _first(case, (n <= m) & (m - n < W) & ~found, words)
