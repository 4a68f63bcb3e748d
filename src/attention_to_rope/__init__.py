"""The library of the book From Attention to RoPE: what the chapters teach, as functions to read.

Vectors are rows, positions count from 0, True in a mask means attend, and every module with weights
asks for a seed. Shapes are in the signatures; `jaxtyping.install_import_hook` checks them. In a
docstring, `eq-attention` and the like are the labels of equations in the book.

Attention
    attention, softmax, soft_cap, softmax_jacobian, softmax_jacobian_norm, saturation, gap_bound,
    log_length_factor, sink_gate
Heads, masks and cache
    MultiHeadAttention, KeyValueCache, StaticCache, cache_numbers_per_token, LatentAttention,
    attend_to_latents, causal_mask, padding_mask, sliding_window_mask, dilated_mask, global_mask
Norms, feed-forward layers, experts
    layer_norm, rms_norm, LayerNorm, RMSNorm, pre_norm, post_norm, sandwich_norm, deep_norm,
    deepnorm_constants, relu, silu, gelu, gelu_tanh, parity_width, FeedForward, Linear,
    route, expert_load, balance_loss, balanced_bias, MixtureOfExperts
Transformer and generation
    Architecture, Block, Encoder, Decoder, EncoderDecoder, LayerPattern, generate, sample_token,
    keep_top_k, keep_top_p
Positions
    PositionalScheme, Sinusoidal, Learned, T5Bias, ALiBi, Rotary, sinusoidal, relative_positions,
    t5_bucket, alibi_slopes, alibi_bias; more in the module relative
Rotary position embedding
    rotary_frequencies, proportional_frequencies, RotaryTable, rotary_table, rotate, rotate_back,
    rotate_complex, rotation_matrix, layout_permutation, convert_layout, convert_projection_layout;
    images and videos in the module rope_axes
In modules of their own
    context_extension (15), merge (14), recurrent_attention (17), relative (9), rope_axes;
    fast: tuned kernels; checkpoints: released models
"""

from attention_to_rope import context_extension as context_extension
from attention_to_rope.activations import FeedForward as FeedForward
from attention_to_rope.activations import gelu as gelu
from attention_to_rope.activations import gelu_tanh as gelu_tanh
from attention_to_rope.activations import parity_width as parity_width
from attention_to_rope.activations import relu as relu
from attention_to_rope.activations import silu as silu
from attention_to_rope.block import Architecture as Architecture
from attention_to_rope.block import Block as Block
from attention_to_rope.experts import MixtureOfExperts as MixtureOfExperts
from attention_to_rope.experts import balance_loss as balance_loss
from attention_to_rope.experts import balanced_bias as balanced_bias
from attention_to_rope.experts import expert_load as expert_load
from attention_to_rope.experts import route as route
from attention_to_rope.generation import generate as generate
from attention_to_rope.generation import keep_top_k as keep_top_k
from attention_to_rope.generation import keep_top_p as keep_top_p
from attention_to_rope.generation import sample_token as sample_token
from attention_to_rope.heads import MultiHeadAttention as MultiHeadAttention
from attention_to_rope.key_value_cache import KeyValueCache as KeyValueCache
from attention_to_rope.key_value_cache import StaticCache as StaticCache
from attention_to_rope.key_value_cache import cache_numbers_per_token as cache_numbers_per_token
from attention_to_rope.latent_attention import LatentAttention as LatentAttention
from attention_to_rope.latent_attention import attend_to_latents as attend_to_latents
from attention_to_rope.layers import LayerNorm as LayerNorm
from attention_to_rope.layers import Linear as Linear
from attention_to_rope.layers import RMSNorm as RMSNorm
from attention_to_rope.layers import deep_norm as deep_norm
from attention_to_rope.layers import deepnorm_constants as deepnorm_constants
from attention_to_rope.layers import layer_norm as layer_norm
from attention_to_rope.layers import post_norm as post_norm
from attention_to_rope.layers import pre_norm as pre_norm
from attention_to_rope.layers import rms_norm as rms_norm
from attention_to_rope.layers import sandwich_norm as sandwich_norm
from attention_to_rope.masks import causal_mask as causal_mask
from attention_to_rope.masks import dilated_mask as dilated_mask
from attention_to_rope.masks import global_mask as global_mask
from attention_to_rope.masks import padding_mask as padding_mask
from attention_to_rope.masks import sliding_window_mask as sliding_window_mask
from attention_to_rope.positions import ALiBi as ALiBi
from attention_to_rope.positions import Learned as Learned
from attention_to_rope.positions import PositionalScheme as PositionalScheme
from attention_to_rope.positions import Rotary as Rotary
from attention_to_rope.positions import Sinusoidal as Sinusoidal
from attention_to_rope.positions import T5Bias as T5Bias
from attention_to_rope.positions import alibi_bias as alibi_bias
from attention_to_rope.positions import alibi_slopes as alibi_slopes
from attention_to_rope.positions import sinusoidal as sinusoidal
from attention_to_rope.relative import relative_positions as relative_positions
from attention_to_rope.relative import t5_bucket as t5_bucket
from attention_to_rope.rope import RotaryTable as RotaryTable
from attention_to_rope.rope import convert_layout as convert_layout
from attention_to_rope.rope import convert_projection_layout as convert_projection_layout
from attention_to_rope.rope import layout_permutation as layout_permutation
from attention_to_rope.rope import proportional_frequencies as proportional_frequencies
from attention_to_rope.rope import rotary_frequencies as rotary_frequencies
from attention_to_rope.rope import rotary_table as rotary_table
from attention_to_rope.rope import rotate as rotate
from attention_to_rope.rope import rotate_back as rotate_back
from attention_to_rope.rope import rotate_complex as rotate_complex
from attention_to_rope.rope import rotation_matrix as rotation_matrix
from attention_to_rope.scaled_dot_product import attention as attention
from attention_to_rope.scaled_dot_product import gap_bound as gap_bound
from attention_to_rope.scaled_dot_product import log_length_factor as log_length_factor
from attention_to_rope.scaled_dot_product import saturation as saturation
from attention_to_rope.scaled_dot_product import sink_gate as sink_gate
from attention_to_rope.scaled_dot_product import soft_cap as soft_cap
from attention_to_rope.scaled_dot_product import softmax as softmax
from attention_to_rope.scaled_dot_product import softmax_jacobian as softmax_jacobian
from attention_to_rope.scaled_dot_product import softmax_jacobian_norm as softmax_jacobian_norm
from attention_to_rope.transformer import Decoder as Decoder
from attention_to_rope.transformer import Encoder as Encoder
from attention_to_rope.transformer import EncoderDecoder as EncoderDecoder
from attention_to_rope.transformer import LayerPattern as LayerPattern
