"""What the code of transformers 5.23.0 does in attention and a configuration does not say.

By model type, as in `model_types`, or by the name of a kind of layer. tests/peers compares the
patterns of layers with those of the classes.
"""

from typing import Any

# What a layer of this kind keeps: "full" all keys, "window" the last ones, "chunk" those of its
# part of the text, "compressed" a window and one row for several tokens, "recurrent" a state that
# does not grow, "none" nothing, because it is no attention.
ROLES = {
    "attention": "full",
    "chunked_attention": "chunk",
    "compressed_sparse_attention": "compressed",
    "conv": "recurrent",
    "full_attention": "full",
    "heavily_compressed_attention": "compressed",
    "hybrid": "full",
    "hybrid_sliding": "window",
    "indexed_attention": "full",
    "linear_attention": "recurrent",
    "local_attention": "window",
    "mamba": "recurrent",
    "mamba2": "recurrent",
    "mlp": "none",
    "moe": "none",
    "recurrent": "recurrent",
    "sliding_attention": "window",
}
# In layers of these kinds, recurrent parts work beside the attention, or share its layer.
HYBRID_KINDS = frozenset({"hybrid", "hybrid_sliding"})


def _every(
    period: int,
    *keys: str,
    place: str = "last",
    chosen: str = "full_attention",
    others: str = "sliding_attention",
    end: bool = False,
) -> dict[str, Any]:
    """One layer of each `period` is of another kind; end: and the last layer of all."""
    return {
        "period": period,
        "keys": list(keys),
        "place": place,
        "chosen": chosen,
        "others": others,
        "end": end,
    }


LINEAR = "linear_attention"
# The kinds of layers where a configuration has no `layer_types`; keys: the names of the period.
PATTERNS = {
    "afmoe": _every(4, "global_attn_every_n_layers"),
    "bailing_hybrid": _every(6, "layer_group_size", others=LINEAR),
    "beam": _every(6, end=True),
    "cohere2": _every(4, "sliding_window_pattern"),
    "cwm": _every(4, place="first"),
    "diffusion_gemma_text": _every(6, end=True),
    "embedding_gemma2_text": _every(6, "sliding_window_pattern", end=True),
    "exaone4": _every(4, "sliding_window_pattern"),
    "exaone_moe": _every(4, "sliding_window_pattern"),
    "gemma2": _every(2),
    "gemma3_text": _every(6, "sliding_window_pattern", "_sliding_window_pattern"),
    "gemma3n_text": _every(5),
    "gemma4_text": _every(6, end=True),
    "gemma4_unified_text": _every(6, end=True),
    "gpt_oss": _every(2),
    "granite_swa": _every(4, place="first"),
    "granitemoe_swa": _every(4, place="first"),
    "kolibri1": _every(5),
    "minimax": _every(2, place="first", others=LINEAR),
    "modernbert": _every(3, "global_attn_every_n_layers", place="first"),
    "modernbert-decoder": _every(3, "global_attn_every_n_layers", place="first"),
    "neomme": _every(6, end=True),
    "olmo3": _every(4),
    "olmo_hybrid": _every(4, others=LINEAR),
    "qwen3_5_moe_text": _every(4, "full_attention_interval", others=LINEAR),
    "qwen3_5_text": _every(4, "full_attention_interval", others=LINEAR),
    "qwen3_next": _every(4, "full_attention_interval", others=LINEAR),
    "t5_gemma_module": _every(2),
    "t5gemma2_text": _every(6, "sliding_window_pattern"),
    "ultrabert": _every(3),
    "vaultgemma": _every(2),
}
# Their layers are of several kinds in an order of their own, which a file must list.
MIXED_MODELS = frozenset(
    {
        "bamba",
        "cohere2_moe",
        "deepseek_v4",
        "dots3_note_text",
        "falcon_h1",
        "flint",
        "glm5_next_text",
        "granitemoehybrid",
        "inkling2_text",
        "inkling_text",
        "jamba",
        "kimi_linear",
        "lfm2",
        "lfm2_moe",
        "lfm3",
        "lfm3_vl_vision",
        "mimo_v2_flash",
        "muse_glimmer_assistant",
        "muse_glimmer_text",
        "muse_glimmer_vision",
        "muse_spark_text",
        "muse_spark_vision",
        "nemotron_h",
        "qwen4_exp_text",
        "recurrent_gemma",
        "t5gemma2_decoder",
        "unlimited_ocr_text",
        "zamba",
        "zamba2",
        "zaya",
    }
)
# Where a file does not name a window, their classes have one.
DEFAULT_WINDOW_MODELS = frozenset({"ministral", "mistral"})
# `sliding_window` holds for every layer.
ALL_WINDOW_MODELS = frozenset(
    {
        "doge",
        "ministral",
        "mistral",
        "mixtral",
        "phi3",
        "phi4_multimodal",
        "phimoe",
        "qwen3_moe",
        "starcoder2",
    }
)
# It holds from layer `max_window_layers` on.
LATER_WINDOW_MODELS = frozenset(
    {
        "dots1",
        "qwen2",
        "qwen2_5_omni_text",
        "qwen2_5_vl_text",
        "qwen2_vl_text",
        "qwen3",
    }
)
# Layers that rotate see chunks, the others everything.
CHUNK_MODELS = frozenset({"llama4_text"})
# `sliding_window` is not read unless `use_sliding_window` is true.
SWITCHED_WINDOW_MODELS = frozenset(
    {
        "deepseek_ocr2_text",
        "qwen2",
        "qwen2_5_omni_text",
        "qwen2_5_vl_text",
        "qwen2_moe",
        "qwen2_vl_text",
        "qwen3",
        "qwen3_moe",
        "smollm3",
    }
)
# A learned score without a value takes part in the softmax: of all layers, or of those with a
# window.
SINK_MODELS = frozenset(
    {
        "deepseek_v4",
        "flint",
        "gpt_oss",
        "granite_swa",
        "granitemoe_swa",
        "hy_v4",
        "openai_privacy_filter",
    }
)
WINDOW_SINK_MODELS = frozenset({"mimo_v2_flash"})
# Layers with a window have twice the key-value heads.
DOUBLED_WINDOW_HEADS_MODELS = frozenset({"mimo_v2_flash"})
# The scores are not divided by a root: their factor is 1.
UNSCALED_MODELS = frozenset(
    {
        "diffusion_gemma_text",
        "embedding_gemma2_text",
        "gemma3n_text",
        "gemma4_text",
        "gemma4_unified_text",
    }
)
# The key whose value is the factor of the scores, or the number whose root divides them.
MULTIPLIER_MODELS = frozenset(
    {
        "granite",
        "granite_docling_text",
        "granite_swa",
        "granitemoe",
        "granitemoe_swa",
        "granitemoehybrid",
        "granitemoeshared",
        "hyperclovax",
    }
)
QUERY_SCALAR_MODELS = frozenset(
    {"gemma2", "gemma3_text", "t5_gemma_module", "t5gemma2_text", "vaultgemma"}
)
# `attn_logit_softcapping` is read.
SOFTCAP_MODELS = frozenset({"gemma2", "t5_gemma_module", "vaultgemma"})
# One row of the cache is both key and value.
SAME_KEY_VALUE_MODELS = frozenset({"deepseek_v4"})
# Which of the rope parameters a kind of layer uses, where they are not named after the kinds.
ROPE_KINDS = {
    "deepseek_v4": {
        "compressed_sparse_attention": "compress",
        "heavily_compressed_attention": "compress",
        "sliding_attention": "main",
    }
}
# The kinds of layers by their entry in `compress_ratios`, and the rates by the kind.
COMPRESSED_KINDS = {
    "0": "sliding_attention",
    "4": "compressed_sparse_attention",
    "128": "heavily_compressed_attention",
}
COMPRESS_RATES = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
# They read a text at once and keep no keys and values.
ENCODER_MODELS = frozenset(
    {
        "esm",
        "esmc",
        "eurobert",
        "gte",
        "jina_embeddings_v3",
        "modernbert",
        "neomme",
        "nomic_bert",
        "roformer",
        "ultrabert",
    }
)
# The last dimensions of a head rotate, not the first ones.
TRAILING_MODELS = frozenset({"deepseek_v4"})
