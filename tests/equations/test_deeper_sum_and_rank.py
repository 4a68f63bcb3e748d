"""Deeper page of the chapter: its equations, executed against the library where it has them."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import attention
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, sizes, tensor
from shared_many_heads import layer_of, layer_values, some_sizes, without

SHARED = {"d": "The heads share the d columns, as the last side needs."}


@equation("eq-mha-parameters", fixed=SHARED)
def test_mha_parameters(rng):
    shape = some_sizes(rng)
    layer = layer_of(rng, shape["h"], d=shape["d"])
    return {**shape, "P": sum(p.numel() for p in layer.parameters())}


@equation("eq-mha-flops", fixed=SHARED)
def test_mha_flops(rng):
    shape = some_sizes(rng)
    Q, K, V = tensor(rng.normal(size=(3, shape["h"], shape["N"], shape["d_k"])))
    with FlopCounterMode(display=False) as counter:
        attention(Q, K, V)
    return {**shape, r"F_{\text{core}}": counter.get_total_flops()}


WHOLE = dict.fromkeys(
    (r"drop range: _{l=0}^{hd_k-1} → _{l}", "drop range: _{r=0}^{d_k-1} → _{r}, before H"),
    "The sum is over the whole of C_m, or of H_j.",
)


@equation("eq-sum-proof", first_index=0, equivalent=WHOLE)
def test_sum_proof(rng):
    return {**without(layer_values(rng), "d"), "m": range(3), "c": range(3)}


def weights_of(rng, length, d_k, used):
    """Scores and weights of one head whose queries use only the first `used` directions."""
    q, k = rng.normal(size=(2, length, d_k))
    q[:, used:] = 0
    A = attention(tensor(q), tensor(k), torch.eye(length, dtype=torch.float64)).numpy()
    return library_scores(q, k), A


@equation("eq-log-weights", first_index=0)
def test_log_weights(rng):
    N, d_k = sizes(rng, 7, 5)
    S, A = weights_of(rng, N, d_k, d_k)
    z = np.log(np.exp(S).sum(axis=1))
    return {"S": S, "A": A, "z": z, "N": N, "m": range(N), "n": range(N)}


SAME_RANK = {r"add transpose: ∅ → ^\top": "A matrix and its transpose have the same rank."}


@equation("eq-log-rank", equivalent=SAME_RANK)
def test_log_rank(rng):
    (d_k,) = sizes(rng, 3)
    tables = [weights_of(rng, d_k + 4, d_k, used)[1] for used in (d_k, d_k - 1)]
    return [{"A": A, "d_k": d_k, r"\log": np.log} for A in tables]


test_sentences = sentences("deeper/sum-and-rank")(some_sizes)
