"""The chapter on fewer scores and its page of depth: what the formulas of both are bound to."""

import torch

from attention_to_rope import sliding_window_mask


def window(rng):
    N, W = int(rng.integers(7, 12)), int(rng.integers(2, 6))
    mask = sliding_window_mask(N, window=W).double().numpy()
    return {"N": N, "W": W, "M": mask}


def index_scores(q, k, a):
    """The indexer's scores (N, N_k) of queries (N, J, d), keys (N_k, d) and weights (N, J).

    tests/peers/test_sparse_indexer.py holds it to the keys that DeepSeek-V3.2's own code selects.
    """
    return torch.einsum("mj,mjn->mn", a, torch.relu(q @ k.mT))
