"""A softmax router, sinks, soft-caps, temperature and the delta rule against theirs."""

from types import SimpleNamespace

import pytest
import torch
from transformers import Qwen3MoeConfig
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward as capped
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward as with_sinks
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeTopKRouter
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

import attention_to_rope as book
from attention_to_rope.recurrent_attention import delta_rule_steps
from bookkit.randomness import normal

B, N, WIDTH = 2, 9, 24
FLOAT = torch.float32


@pytest.mark.parametrize("normalise", [True, False])
def test_the_softmax_router_is_qwen3(normalise: bool) -> None:
    config = Qwen3MoeConfig(
        hidden_size=WIDTH, num_experts=8, num_experts_per_tok=3, norm_topk_prob=normalise
    )
    router = Qwen3MoeTopKRouter(config).requires_grad_(False)
    router.weight.copy_(normal(8, WIDTH, seed=0))
    logits, gates, experts = router(normal(20, WIDTH, seed=2, dtype=FLOAT))
    got = book.route(logits, 3, normalise=normalise)
    assert torch.equal(got.experts, experts)
    assert (got.gates - gates).abs().max() <= 1e-6


def test_sinks_are_gpt_oss() -> None:
    q, k, v = (normal(B, 4, N, 8, seed=s, dtype=FLOAT) for s in range(3))
    sink = normal(4, seed=3, dtype=FLOAT)
    allowed = book.sliding_window_mask(N, window=4)
    mask = torch.zeros(N, N).masked_fill(~allowed, -torch.inf)[None, None]
    module = SimpleNamespace(num_key_value_groups=1, sinks=sink, training=False)
    expected, _ = with_sinks(module, q, k, v, mask, scaling=8**-0.5)
    got = book.attention(q, k, v, sink=sink.view(1, 4, 1, 1), mask=allowed)
    assert (got - expected.transpose(1, 2)).abs().max() <= 1e-6


def test_the_soft_cap_is_gemma_2() -> None:
    q, k, v = (3 * normal(B, 4, N, 8, seed=s, dtype=FLOAT) for s in range(3))
    module = SimpleNamespace(num_key_value_groups=1, head_dim=8, training=False)
    expected, _ = capped(module, q, k, v, None, softcap=5.0)
    scores = book.soft_cap(q @ k.mT / 8**0.5, 5.0)
    got = book.softmax(scores) @ v
    assert (got - expected.transpose(1, 2)).abs().max() <= 1e-5
    assert (book.attention(q, k, v, soft_cap=5.0) - got).abs().max() <= 1e-5


def test_the_gated_delta_rule_is_qwen3_next() -> None:
    q, k, v = (normal(B, 4, N, 8, seed=s, dtype=FLOAT) for s in range(3))
    k = torch.nn.functional.normalize(k, dim=-1)
    decay, rate = (normal(B, 4, N, seed=s, dtype=FLOAT).sigmoid() for s in (3, 4))
    theirs = [x.transpose(1, 2) for x in (q, k, v, decay.log(), rate)]
    expected, state = torch_recurrent_gated_delta_rule(*theirs, output_final_state=True)
    got, last = delta_rule_steps(q / 8**0.5, k, v, rate, decay=decay)
    assert (got - expected.transpose(1, 2)).abs().max() <= 1e-6
    assert (last - state).abs().max() <= 1e-6
