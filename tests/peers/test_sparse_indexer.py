"""The indexer that the book prints selects the keys that DeepSeek-V3.2's own code selects."""

import runpy
from pathlib import Path

import torch
from transformers import DeepseekV32Config
from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Indexer

from bookkit.randomness import normal

SHARED = Path(__file__).parents[1] / "equations" / "shared_beyond_softmax.py"
N, KEPT, TURNED = 24, 5, 4


def test_the_printed_indexer_selects_the_same_keys():
    config = DeepseekV32Config(
        hidden_size=16,
        q_lora_rank=12,
        qk_rope_head_dim=TURNED,
        index_n_heads=3,
        index_head_dim=8,
        index_topk=KEPT,
    )
    indexer = DeepseekV32Indexer(config, 0)
    with torch.no_grad():
        for number, weights in enumerate(indexer.parameters()):
            weights.copy_(normal(*weights.shape, seed=number).float())
    x, short = normal(1, N, 16, seed=10).float(), normal(1, N, 12, seed=11).float()
    still = (torch.ones(1, N, TURNED), torch.zeros(1, N, TURNED))
    everything = torch.ones(1, N, N, dtype=torch.bool)
    with torch.no_grad():
        selected = indexer(x, short, still, everything, torch.arange(N)[None])
        q = indexer.wq_b(short[0]).view(N, 3, 8)
        k, w = indexer.k_norm(indexer.wk(x[0])), indexer.weights_proj(x[0])
    scores = runpy.run_path(str(SHARED))["index_scores"](q, k, w)
    ours = scores.topk(KEPT, dim=-1).indices
    assert torch.equal(ours.sort().values, selected[0].long().sort().values)
