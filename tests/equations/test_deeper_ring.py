"""The page of depth: the ring, executed against the library."""

from fractions import Fraction

import torch

from attention_to_rope import attention
from attention_to_rope.fast.ring import ring_attention, ring_positions, simulate_ring
from bookcheck.equations.checks import equation, sentences
from shared_counts import matrix_operations


def pairs_of(rank, ranks, N, order):
    """How many pairs a rank computes: a query at m sees m + 1 keys."""
    return int((ring_positions(N, rank, ranks, order=order) + 1).sum())


@equation("eq-ring-contiguous")
def test_ring_contiguous(rng):
    P, N_b = int(rng.integers(2, 6)), 2 * int(rng.integers(1, 5))
    r = int(rng.integers(1, P))
    return {"r": r, "N_b": N_b, "C": lambda rank: pairs_of(rank, P, P * N_b, "contiguous")}


@equation(
    "eq-ring-zigzag",
    fixed={"C": "All ranks have the same work.", "N": "The sentence before it says a = N / (2P)."},
    equivalent={"index off by one: r → {r+1}": "All ranks have the same work."},
    symbols="r, a, P, N, C",
)
def test_ring_zigzag(rng):
    P, a = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    N, r = 2 * P * a, int(rng.integers(1, P))
    return {"r": r, "a": a, "P": P, "N": N, "C": lambda rank: pairs_of(rank, P, N, "zigzag")}


def work_of_long_texts(order, P):
    """What the last rank computes, in pairs of blocks: without what grows as N and not as N²."""
    size = 4
    once = pairs_of(P - 1, P, P * size, order)
    twice = pairs_of(P - 1, P, 2 * P * size, order)
    return Fraction(twice - 2 * once, 2 * size**2)


@equation("eq-ring-speedup", names={1: r"\sigma"})
def test_ring_speedup(rng):
    """How much longer the last rank works where each has one piece of the text."""
    P = int(rng.integers(2, 20))
    speedup = work_of_long_texts("contiguous", P) / work_of_long_texts("zigzag", P)
    return {"P": P, r"\sigma": speedup}


def traffic(rng):
    """What each rank sends; the threads run ring_attention."""
    P, d_k, N = int(rng.integers(2, 5)), int(rng.integers(2, 6)), 24 * int(rng.integers(1, 4))
    greeting = 9

    def work(ring):
        q, k, v = (torch.ones(N // P, d_k, dtype=torch.float64).requires_grad_() for _ in range(3))
        output = ring_attention(q, k, v, order="zigzag", ring=ring)
        forward = ring.sent_numbers - greeting
        output.sum().backward()
        return forward, ring.sent_numbers - greeting - forward

    ((forward, backward),) = set(simulate_ring(P, work))
    names = {r"T_{\text{forward}}": forward, r"T_{\text{backward}}": backward}
    return {"P": P, "N": N, "d_k": d_k, **names}


test_ring_traffic = equation(
    "eq-ring-traffic", symbols=r"P, N, d_k, T_{\text{forward}}, T_{\text{backward}}"
)(traffic)


@equation("eq-ring-overlap", names={1: r"\tau"})
def test_ring_overlap(rng):
    """The time for the products of one block, which are counted, at a rate."""
    alpha, w = rng.uniform(50, 90), rng.uniform(2, 4)
    N_b, d_k = (int(size) for size in rng.choice(range(3, 30), size=2, replace=False))
    q, k, v = (torch.ones(N_b, d_k) for _ in range(3))
    operations = matrix_operations(lambda: attention(q, k, v))
    rates = {r"\alpha": alpha, r"\beta": w * alpha / (2 * N_b)}
    return {"N_b": N_b, **rates, "w": w, "d_k": d_k, r"\tau": operations / alpha}


@sentences(
    "deeper/ring",
    where={
        "$ holds the …": None,
        "$ chunks of …": lambda rng: {"N_b": rng.uniform(1, 9)},
        "a rank sends …": traffic,
    },
)
def test_sentences(rng):
    P, a = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    N = 2 * P * a
    return {"P": P, "N": N, "a": a, "N_b": len(ring_positions(N, 0, P, order="contiguous"))}
