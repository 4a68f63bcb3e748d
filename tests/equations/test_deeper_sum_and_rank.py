"""Deeper page of chapter 3: its equations, executed against the library where it has them."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import attention
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, tensor
from shared_many_heads import D_K, SIZES, H, N, layer_of, layer_values


@equation("eq-mha-parameters")
def test_mha_parameters(rng):
    return {**SIZES, "P": sum(p.numel() for p in layer_of(rng).parameters())}


@equation("eq-mha-flops")
def test_mha_flops(rng):
    Q, K, V = (tensor(rng.normal(size=(H, N, D_K))) for _ in range(3))
    with FlopCounterMode(display=False) as counter:
        attention(Q, K, V)
    return {**SIZES, r"F_{\text{core}}": counter.get_total_flops()}


@equation("eq-sum-proof", first_index=0)
def test_sum_proof(rng):
    return {**layer_values(rng), "m": range(3), "c": range(3)}


def weights_of(rng, length, used=D_K):
    """Scores and weights of one head whose queries use only the first `used` directions."""
    q, k = rng.normal(size=(length, D_K)), rng.normal(size=(length, D_K))
    q[:, used:] = 0
    A = attention(tensor(q), tensor(k), torch.eye(length, dtype=torch.float64)).numpy()
    return library_scores(q, k), A


@equation("eq-log-weights", first_index=0)
def test_log_weights(rng):
    S, A = weights_of(rng, N)
    z = np.log(np.exp(S).sum(axis=1))
    return {"S": S, "A": A, "z": z, "N": N, "m": range(N), "n": range(N)}


SAME_RANK = {r"add transpose: ∅ → ^\top": "A matrix and its transpose have the same rank."}


@equation("eq-log-rank", equivalent=SAME_RANK)
def test_log_rank(rng):
    tables = [weights_of(rng, 9, used)[1] for used in (D_K, D_K - 1)]
    return [{"A": A, "d_k": D_K, r"\log": np.log} for A in tables]


test_sentences = sentences("deeper/sum-and-rank")(lambda _: SIZES)
