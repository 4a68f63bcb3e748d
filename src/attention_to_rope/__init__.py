"""The library of the book From Attention to RoPE.

scaled_dot_product attention in four lines, and softmax
heads              attention in many heads, grouped queries
key_value_cache    the keys and values seen so far
masks              causal, padding, sliding window, dilated, global; True = attend
softmax_gradient   the Jacobian of softmax, its norms and bounds
norms              LayerNorm, RMSNorm, DeepNorm, and where a norm stands
activations        ReLU, Swish, GELU, gated units, the feed-forward layer
layers             Linear and Embedding for row vectors, started from a NumPy seed
positions          sinusoidal, learned, T5, ALiBi, Rotary: the schemes a model takes
rope               frequencies, tables, rotation in both layouts, layout conversion
rope_axes          two or three coordinates: images, video, M-RoPE
rope_values        rows that are keys and values: the output turned back
relative           scores with a term for the distance: Shaw, Transformer-XL, DeBERTa, …
rotary_config      rotary settings out of a Hugging Face style configuration
rope_families      rotations of model families, and test vectors as JSON
doctor             what somebody else's rotation does, and what is wrong with it
context_extension  frequencies for longer contexts: PI, NTK, YaRN, Llama 3, LongRoPE
score_shaping      QK-norm, soft-cap, QK-clip, sinks, gates, temperature by length
latent_attention   DeepSeek's attention to one short row per token; what a cache holds
recurrent_attention linear attention and the delta rule, token by token
experts            mixture of experts: routers, balance, the layer
transformer        block, encoder, decoder, encoder–decoder
generation         greedy and sampled continuation, with a cache or without
hugging_face       Llama, Qwen 3 and Gemma 3 checkpoints run by the decoder
hugging_face_config what their configs say
fast               the same, tuned: block by block, over several processes, on a GPU
reference          the same formulas in NumPy float64, as they read; the tests compare with it
"""

from attention_to_rope.activations import (
    FeedForward,
    geglu,
    geglu_tanh,
    gelu,
    gelu_tanh,
    glu,
    parity_width,
    relu,
    silu,
    swiglu,
)
from attention_to_rope.context_extension import (
    YarnFactors,
    dynamic_ntk,
    llama3,
    longrope,
    longrope_attention_factor,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    yarn,
    yarn_attention_factor,
    yarn_factors,
)
from attention_to_rope.experts import (
    MixtureOfExperts,
    Routing,
    balance_loss,
    balanced_bias,
    expert_load,
    route,
)
from attention_to_rope.fast.blockwise import blockwise_attention
from attention_to_rope.generation import generate, keep_top_k, keep_top_p, sample_token
from attention_to_rope.heads import MultiHeadAttention, repeat_heads
from attention_to_rope.hugging_face import load_hugging_face
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.latent_attention import (
    LatentAttention,
    LatentCache,
    attend_to_latents,
    cache_numbers_per_token,
)
from attention_to_rope.layers import Embedding, Linear
from attention_to_rope.masks import (
    causal_mask,
    dilated_mask,
    global_mask,
    padding_mask,
    sliding_window_mask,
)
from attention_to_rope.norms import (
    DeepNormConstants,
    DeepNormPair,
    LayerNorm,
    RMSNorm,
    deep_norm,
    deepnorm_constants,
    deepnorm_pair,
    layer_norm,
    post_norm,
    pre_norm,
    rms_norm,
    sandwich_norm,
)
from attention_to_rope.positions import (
    ALiBi,
    Learned,
    LengthScaledRotary,
    PositionalScheme,
    Rotary,
    Sinusoidal,
    T5Bias,
    alibi_bias,
    alibi_slopes,
    relative_positions,
    sinusoidal,
    t5_bucket,
)
from attention_to_rope.recurrent_attention import (
    delta_rule_steps,
    linear_attention,
    linear_attention_steps,
)
from attention_to_rope.relative import (
    cope_positions,
    cope_scores,
    deberta_scores,
    fire_bias,
    fope_table,
    kerple_log_bias,
    relative_rows,
    shaw_output,
    shaw_scores,
    transformer_xl_scores,
    tupe_scores,
)
from attention_to_rope.rope import (
    RotaryTable,
    convert_layout,
    convert_projection_layout,
    layout_permutation,
    proportional_frequencies,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotate_back,
    rotate_complex,
    rotation_matrix,
)
from attention_to_rope.rope_axes import axes_in_sections, axes_interleaved, axial_table
from attention_to_rope.rope_values import attention_over_turned_rows
from attention_to_rope.rotary_config import RotarySettings, rotary_settings
from attention_to_rope.scaled_dot_product import attention, softmax
from attention_to_rope.score_shaping import (
    gated_attention,
    log_length_factor,
    query_key_clip,
    query_key_norm,
    sink_attention,
    sink_gate,
    soft_cap,
    stepped_length_factor,
)
from attention_to_rope.softmax_gradient import (
    gap_bound,
    jacobian_norm_bound,
    saturation,
    saturation_bound,
    softmax_jacobian,
    softmax_jacobian_norm,
)
from attention_to_rope.transformer import (
    Architecture,
    Block,
    BlockWeights,
    Decoder,
    Encoder,
    EncoderDecoder,
    LayerPattern,
)

__all__ = [
    "ALiBi",
    "Architecture",
    "Block",
    "BlockWeights",
    "Decoder",
    "DeepNormConstants",
    "DeepNormPair",
    "Embedding",
    "Encoder",
    "EncoderDecoder",
    "FeedForward",
    "KeyValueCache",
    "LatentAttention",
    "LatentCache",
    "LayerNorm",
    "LayerPattern",
    "Learned",
    "LengthScaledRotary",
    "Linear",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "PositionalScheme",
    "RMSNorm",
    "Rotary",
    "RotarySettings",
    "RotaryTable",
    "Routing",
    "Sinusoidal",
    "T5Bias",
    "YarnFactors",
    "alibi_bias",
    "alibi_slopes",
    "attend_to_latents",
    "attention",
    "attention_over_turned_rows",
    "axes_in_sections",
    "axes_interleaved",
    "axial_table",
    "balance_loss",
    "balanced_bias",
    "blockwise_attention",
    "cache_numbers_per_token",
    "causal_mask",
    "convert_layout",
    "convert_projection_layout",
    "cope_positions",
    "cope_scores",
    "deberta_scores",
    "deep_norm",
    "deepnorm_constants",
    "deepnorm_pair",
    "delta_rule_steps",
    "dilated_mask",
    "dynamic_ntk",
    "expert_load",
    "fire_bias",
    "fope_table",
    "gap_bound",
    "gated_attention",
    "geglu",
    "geglu_tanh",
    "gelu",
    "gelu_tanh",
    "generate",
    "global_mask",
    "glu",
    "jacobian_norm_bound",
    "keep_top_k",
    "keep_top_p",
    "kerple_log_bias",
    "layer_norm",
    "layout_permutation",
    "linear_attention",
    "linear_attention_steps",
    "llama3",
    "load_hugging_face",
    "log_length_factor",
    "longrope",
    "longrope_attention_factor",
    "ntk_aware",
    "ntk_by_parts",
    "padding_mask",
    "parity_width",
    "position_interpolation",
    "post_norm",
    "pre_norm",
    "proportional_frequencies",
    "query_key_clip",
    "query_key_norm",
    "relative_positions",
    "relative_rows",
    "relu",
    "repeat_heads",
    "rms_norm",
    "rotary_frequencies",
    "rotary_settings",
    "rotary_table",
    "rotate",
    "rotate_back",
    "rotate_complex",
    "rotation_matrix",
    "route",
    "sample_token",
    "sandwich_norm",
    "saturation",
    "saturation_bound",
    "shaw_output",
    "shaw_scores",
    "silu",
    "sink_attention",
    "sink_gate",
    "sinusoidal",
    "sliding_window_mask",
    "soft_cap",
    "softmax",
    "softmax_jacobian",
    "softmax_jacobian_norm",
    "stepped_length_factor",
    "swiglu",
    "t5_bucket",
    "transformer_xl_scores",
    "tupe_scores",
    "yarn",
    "yarn_attention_factor",
    "yarn_factors",
]
