"""Latent attention, routers, sinks, soft-caps, temperature and the delta rule against theirs."""

from types import SimpleNamespace

import pytest
import torch
from transformers import DeepseekV3Config, Qwen3MoeConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
    DeepseekV3TopkRouter,
)
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward as capped
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward as with_sinks
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeTopKRouter
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

import attention_to_rope as book
from attention_to_rope.recurrent_attention import delta_rule_steps
from bookkit.randomness import normal

B, N, WIDTH, HEADS, NOPE, ROPE, LATENT, QUERY = 2, 9, 24, 3, 8, 4, 10, 14
FLOAT = torch.float32


def deepseek(query_rank: int | None) -> tuple[DeepseekV3Attention, DeepseekV3RotaryEmbedding]:
    config = DeepseekV3Config(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        qk_nope_head_dim=NOPE,
        v_head_dim=NOPE,
        qk_rope_head_dim=ROPE,
        kv_lora_rank=LATENT,
        q_lora_rank=query_rank,
        max_position_embeddings=64,
        attn_implementation="eager",
    )
    layer = DeepseekV3Attention(config, 0).requires_grad_(False).eval()
    for seed, parameter in enumerate(layer.parameters()):
        parameter.copy_(normal(*parameter.shape, seed=seed) * 0.4 + 0.1)
    return layer, DeepseekV3RotaryEmbedding(config)


def ours_from(layer: DeepseekV3Attention, query_rank: int | None) -> book.LatentAttention:
    ours = book.LatentAttention(
        WIDTH,
        HEADS,
        head_dim=NOPE,
        rotary_dim=ROPE,
        latent_dim=LATENT,
        query_latent_dim=query_rank,
        seed=0,
    ).requires_grad_(False)
    down = layer.kv_a_proj_with_mqa.weight
    up = layer.kv_b_proj.weight.reshape(HEADS, 2 * NOPE, LATENT)
    weights = {
        "latent_down.weight": down[:LATENT],
        "rotary_key.weight": down[LATENT:],
        "latent_norm.gain": layer.kv_a_layernorm.weight,
        "key_up.weight": up[:, :NOPE].flatten(0, 1),
        "value_up.weight": up[:, NOPE:].flatten(0, 1),
        "output.weight": layer.o_proj.weight,
    }
    if query_rank is None:
        weights["query_up.weight"] = layer.q_proj.weight
    else:
        weights["query_down.weight"] = layer.q_a_proj.weight
        weights["query_norm.gain"] = layer.q_a_layernorm.weight
        weights["query_up.weight"] = layer.q_b_proj.weight
    ours.load_state_dict(weights)
    return ours


@pytest.mark.parametrize("form", ["naive", "absorbed"])
@pytest.mark.parametrize("query_rank", [None, QUERY])
def test_latent_attention_is_deepseek_v3(form: str, query_rank: int | None) -> None:
    layer, rotary = deepseek(query_rank)
    ours = ours_from(layer, query_rank)
    x = normal(B, N, WIDTH, seed=99, dtype=FLOAT)
    mask = torch.zeros(N, N).masked_fill(~book.causal_mask(N), -torch.inf)[None, None]
    table = rotary(x, torch.arange(N)[None])
    expected, _ = layer(x, table, mask)
    scheme = book.Rotary(book.rotary_frequencies(ROPE), layout="interleaved")
    got, _ = ours(x, form=form, scheme=scheme)
    assert expected.std() > 0.1
    assert (got - expected).abs().max() <= 1e-5


def test_the_biased_sigmoid_router_is_deepseek_v3() -> None:
    config = DeepseekV3Config(
        hidden_size=WIDTH,
        num_local_experts=8,
        n_routed_experts=8,
        num_experts_per_tok=3,
        n_group=1,
        topk_group=1,
        routed_scaling_factor=1.0,
    )
    router = DeepseekV3TopkRouter(config).requires_grad_(False)
    router.weight.copy_(normal(8, WIDTH, seed=0))
    router.e_score_correction_bias.copy_(normal(8, seed=1))
    x = normal(20, WIDTH, seed=2, dtype=FLOAT)
    logits, gates, experts = router(x)
    got = book.route(logits, 3, gate="sigmoid", bias=router.e_score_correction_bias)
    for row in range(20):
        theirs = dict(zip(experts[row].tolist(), gates[row].tolist(), strict=True))
        ours = dict(zip(got.experts[row].tolist(), got.gates[row].tolist(), strict=True))
        assert ours == pytest.approx(theirs, abs=1e-6)


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
