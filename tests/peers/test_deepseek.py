"""Latent attention with YaRN, experts, and a whole decoder of both, against DeepSeek-V3's."""

from functools import partial

import pytest
import torch
from torch import nn
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3MoE,
    DeepseekV3RotaryEmbedding,
)

import attention_to_rope as book
from attention_to_rope.checkpoints import rotary_settings
from bookkit.randomness import normal

B, N, WIDTH, HEADS, NOPE, ROPE, LATENT, QUERY = 2, 9, 24, 3, 8, 4, 10, 14
FLOAT = torch.float32
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 40.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 0.707,
    "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 64,
}


def configuration(rope: dict | None = None, **changes: object) -> DeepseekV3Config:
    """A tiny DeepSeek-V3: 3 layers, the first of them dense, 4 groups of 3 experts."""
    given = {
        "vocab_size": 50,
        "hidden_size": WIDTH,
        "intermediate_size": 20,
        "num_hidden_layers": 3,
        "first_k_dense_replace": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "qk_nope_head_dim": NOPE,
        "v_head_dim": NOPE,
        "qk_rope_head_dim": ROPE,
        "kv_lora_rank": LATENT,
        "q_lora_rank": QUERY,
        "max_position_embeddings": 2560,
        "rope_parameters": rope or YARN,
        "num_local_experts": 12,
        "n_routed_experts": 12,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 7,
        "n_shared_experts": 1,
        "n_group": 4,
        "topk_group": 2,
        "routed_scaling_factor": 2.5,
        "norm_topk_prob": True,
        "pad_token_id": None,
        "attn_implementation": "eager",
        "experts_implementation": "eager",
    }
    return DeepseekV3Config(**(given | changes))


def with_numbers(module: nn.Module) -> nn.Module:
    """The module with weights of which every one counts."""
    module.requires_grad_(False).eval()
    for seed, parameter in enumerate(module.parameters()):
        offset = 1.0 if parameter.ndim == 1 else 0.0  # gains of norms
        parameter.copy_(normal(*parameter.shape, seed=seed) * 0.3 + offset)
    for name, buffer in module.named_buffers():
        if name.endswith("e_score_correction_bias"):
            buffer.copy_(normal(*buffer.shape, seed=7) * 0.3)
    return module


def new_attention(config: DeepseekV3Config, seed: int, form: str | None) -> book.LatentAttention:
    settings = rotary_settings(config.to_dict())
    return book.LatentAttention(
        WIDTH,
        HEADS,
        head_dim=NOPE,
        rotary_dim=ROPE,
        latent_dim=LATENT,
        query_latent_dim=config.q_lora_rank,
        scale=settings.score_factor * (NOPE + ROPE) ** -0.5,
        form=form,
        seed=seed,
    )


def new_experts(config: DeepseekV3Config, seed: int) -> book.MixtureOfExperts:
    return book.MixtureOfExperts(
        WIDTH,
        config.moe_intermediate_size,
        experts=config.n_routed_experts,
        k=config.num_experts_per_tok,
        shared=config.n_shared_experts,
        gate="sigmoid",
        balanced=True,
        scaling=config.routed_scaling_factor,
        groups=config.n_group,
        kept_groups=config.topk_group,
        seed=seed,
    )


def rotary(config: DeepseekV3Config) -> book.Rotary:
    settings = rotary_settings(config.to_dict())
    assert settings.layout == "interleaved"
    return book.Rotary(
        settings.frequencies,
        layout=settings.layout,
        attention_factor=settings.attention_factor,
    )


def load_attention(ours: book.LatentAttention, theirs: DeepseekV3Attention) -> None:
    down = theirs.kv_a_proj_with_mqa.weight
    up = theirs.kv_b_proj.weight.reshape(HEADS, 2 * NOPE, LATENT)
    weights = {
        "latent_down.weight": down[:LATENT],
        "rotary_key.weight": down[LATENT:],
        "latent_norm.gain": theirs.kv_a_layernorm.weight,
        "key_up.weight": up[:, :NOPE].flatten(0, 1),
        "value_up.weight": up[:, NOPE:].flatten(0, 1),
        "output.weight": theirs.o_proj.weight,
    }
    if theirs.q_proj is not None:
        weights["query_up.weight"] = theirs.q_proj.weight
    else:
        weights["query_down.weight"] = theirs.q_a_proj.weight
        weights["query_norm.gain"] = theirs.q_a_layernorm.weight
        weights["query_up.weight"] = theirs.q_b_proj.weight
    ours.load_state_dict(weights)


def load_feed_forward(ours: book.FeedForward, gate: object, up: object, down: object) -> None:
    ours.load_state_dict({"up.weight": gate, "value.weight": up, "down.weight": down})


def load_experts(ours: book.MixtureOfExperts, theirs: DeepseekV3MoE) -> None:
    ours.router.weight.copy_(theirs.gate.weight)
    ours.bias.copy_(theirs.gate.e_score_correction_bias)
    every = theirs.experts
    for expert, both, down in zip(ours.experts, every.gate_up_proj, every.down_proj, strict=True):
        load_feed_forward(expert, *both.chunk(2), down)
    shared = theirs.shared_experts
    load_feed_forward(
        ours.shared[0], shared.gate_proj.weight, shared.up_proj.weight, shared.down_proj.weight
    )


@pytest.mark.parametrize("form", ["naive", "absorbed", None])
@pytest.mark.parametrize("query_rank", [None, QUERY])
@pytest.mark.parametrize("rope", [YARN, {"rope_type": "default", "rope_theta": 10000.0}])
def test_latent_attention_is_deepseek_v3(
    form: str | None, query_rank: int | None, rope: dict
) -> None:
    config = configuration(rope, q_lora_rank=query_rank)
    theirs = with_numbers(DeepseekV3Attention(config, 0))
    ours = new_attention(config, 0, form).requires_grad_(False)
    load_attention(ours, theirs)
    x = normal(B, N, WIDTH, seed=99, dtype=FLOAT)
    mask = torch.zeros(N, N).masked_fill(~book.causal_mask(N), -torch.inf)[None, None]
    expected, _ = theirs(x, DeepseekV3RotaryEmbedding(config)(x, torch.arange(N)[None]), mask)
    got = ours(x, causal=True, scheme=rotary(config))
    assert expected.std() > 0.1
    assert (got - expected).abs().max() <= 1e-5
    ours.scale = None
    without = ours(x, causal=True, scheme=rotary(config))
    assert ((without - expected).abs().max() > 0.01) == (rope is YARN)  # the factor counts


def test_experts_are_deepseek_v3() -> None:
    config = configuration()
    theirs = with_numbers(DeepseekV3MoE(config))
    ours = new_experts(config, 0).requires_grad_(False)
    load_experts(ours, theirs)
    x = normal(B, 20, WIDTH, seed=2, dtype=FLOAT)
    _, gates, experts = theirs.gate(x)
    routing = ours.route(x.flatten(0, 1))
    for row in range(2 * 20):
        expected = dict(zip(experts[row].tolist(), gates[row].tolist(), strict=True))
        got = dict(zip(routing.experts[row].tolist(), routing.gates[row].tolist(), strict=True))
        assert got == pytest.approx(expected, abs=1e-6)
    expected = theirs(x)
    assert expected.std() > 0.1
    assert (ours(x) - expected).abs().max() <= 1e-5
    everywhere = book.route(ours.router(x), 3, gate="sigmoid", bias=ours.bias).experts
    assert not torch.equal(everywhere.flatten(0, 1), routing.experts)  # the groups count


def decoder_from(theirs: DeepseekV3ForCausalLM, config: DeepseekV3Config) -> book.Decoder:
    first = book.LayerPattern(
        scheme=rotary(config), attention=partial(new_attention, config, form=None)
    )
    rest = first._replace(feed_forward=partial(new_experts, config))
    shape = book.Architecture(
        d=WIDTH,
        heads=HEADS,
        layers=3,
        hidden=20,
        activation="swiglu",
        norm="rms",
        bias=False,
        eps=config.rms_norm_eps,
        embedding_scale=1.0,
    )
    ours = book.Decoder(50, shape, layers=[first, rest, rest], seed=0).requires_grad_(False)
    ours.embedding.rows.copy_(theirs.model.embed_tokens.weight)
    ours.norm.gain.copy_(theirs.model.norm.weight)
    ours.head.weight.copy_(theirs.lm_head.weight)
    for mine, layer in zip(ours.blocks, theirs.model.layers, strict=True):
        mine.attention_residual.norm.gain.copy_(layer.input_layernorm.weight)
        mine.feed_forward_residual.norm.gain.copy_(layer.post_attention_layernorm.weight)
        load_attention(mine.attention, layer.self_attn)
        if isinstance(layer.mlp, DeepseekV3MoE):
            load_experts(mine.feed_forward, layer.mlp)
        else:
            mlp = layer.mlp
            load_feed_forward(
                mine.feed_forward, mlp.gate_proj.weight, mlp.up_proj.weight, mlp.down_proj.weight
            )
    return ours


def test_a_decoder_of_both_is_deepseek_v3() -> None:
    config = configuration()
    theirs = with_numbers(DeepseekV3ForCausalLM(config))
    ours = decoder_from(theirs, config)
    tokens = (torch.arange(2 * 100) * 7919 % 50).view(2, 100)
    expected = theirs(tokens).logits
    assert expected.std() > 0.1
    assert (ours(tokens) - expected).abs().max() <= 5e-5
    for caches in (ours.empty_caches(), ours.static_caches(2, capacity=128)):
        parts = []
        for part in tokens.split([90, 1, 1, 8], dim=1):
            logits, caches = ours.extend(part, caches)
            parts.append(logits)
        assert (torch.cat(parts, dim=1) - expected).abs().max() <= 5e-5
    written = theirs.generate(tokens[:, :8], max_new_tokens=8, do_sample=False)
    for options in ({}, {"capacity": 16}):
        assert torch.equal(book.generate(ours, tokens[:, :8], 8, **options), written)
