"""Every public function refuses what it cannot use, and says which argument and what arrived.

Kinds of bad input are made, not listed: each argument of a sound call is replaced, one at a time,
by values of the wrong type, shape, dtype or range. No kind may be accepted, and no error may come
from inside Python or PyTorch.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import attention_to_rope as book
from attention_to_rope import doctor
from attention_to_rope.fast import ring
from attention_to_rope.fast.blockwise import BiasByPosition
from attention_to_rope.fast.rope_triton import rotate_queries_and_keys

Z = torch.zeros
NOT_TENSORS = {
    "list": [1.0],
    "ragged": [[1.0, 2.0], [3.0]],
    "tensors": [Z(2), Z(3)],
    "None": None,
    "float": 1.5,
    "text": "x",
    "array": np.zeros(3),
}
NOT_COUNTS = {
    "float": 2.0,
    "text": "2",
    "bool": True,
    "zero": 0,
    "negative": -1,
    "None": None,
    "NumPy's float": np.float64(2),
    "NumPy's truth": np.True_,
    "tensor": torch.tensor(2),
    "list": [2],
}
NOT_POSITIVE = {
    "zero": 0.0,
    "negative": -1.0,
    "nan": math.nan,
    "infinite": math.inf,
    "text": "1",
    "bool": True,
    "too large for a float": 10**400,
    "complex": 1j,
    "tensor": torch.tensor(1.0),
}
NOT_FLAGS = {"text": "yes", "one": 1, "None": None}
NOT_CHOICES = {"unknown": "unknown", "number": 1, "None": None, "list": ["half"], "empty": ""}
NOT_SEEDS = {
    "negative": -1,
    "text": "0",
    "float": 0.5,
    "bool": True,
    "None": None,
    "list": [1, 2],
    "tensor": torch.tensor(1),
}
NOT_SCHEMES = {"text": "rope", "number": 1, "class": book.ALiBi}

REAL = {
    **NOT_TENSORS,
    "whole": Z(2, 4).long(),
    "complex": Z(2, 4).cfloat(),
    "truth": Z(2, 4).bool(),
    "sparse": Z(2, 4).to_sparse(),
}
WHOLE = {**NOT_TENSORS, "real": Z(2), "truth": Z(2).bool()}
MASK = {
    "list": [[True]],
    "float": 1.5,
    "text": "x",
    "real": Z(3, 3),
    "whole": Z(3, 3).long(),
    "no axis": torch.tensor(True),
    "one axis": Z(3).bool(),
    "one column": Z(3, 1).bool(),
    "one": Z(1, 1).bool(),
    "too long": Z(4, 4).bool(),
    "five axes": Z(1, 1, 1, 3, 3).bool(),
}
POSITIONS = {
    **{k: v for k, v in WHOLE.items() if k != "None"},
    "no axis": torch.tensor(3),
    "one": torch.tensor([3]),
    "too many": torch.arange(4),
    "other batch": torch.arange(9).view(3, 3),
    "empty": torch.zeros(0, dtype=torch.int64),
    "huge": torch.tensor([0, 1, 2**40]),
}
X = Z(2, 3, 8)
TOKENS = torch.tensor([[1, 2, 3], [4, 5, 6]])
TOKEN_KINDS = {
    **WHOLE,
    "one axis": TOKENS[0],
    "three axes": TOKENS[None],
    "empty": TOKENS[:, :0],
    "negative": TOKENS - 4,
    "too large": TOKENS + 9,
}
SHAPE = book.Architecture(d=8, heads=2, layers=2)
ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")
HEADS = book.MultiHeadAttention(8, 2, seed=0)
BLOCK = book.Block(SHAPE, seed=0)
CROSS = book.Block(SHAPE, seed=0, cross=True)
DECODER = book.Decoder(9, SHAPE, seed=0, position=ROTARY)
ENCODER = book.Encoder(9, SHAPE, seed=0)
BOTH = book.EncoderDecoder(ENCODER, book.Decoder(9, SHAPE, seed=0, cross=True))
CACHES = DECODER.extend(TOKENS, DECODER.empty_caches())[1]
VECTORS = {**REAL, "other width": Z(2, 3, 6), "two axes": Z(3, 8), "empty": Z(2, 0, 8)}
LOGITS = {**REAL, "one axis": Z(3), "three axes": Z(2, 2, 3), "no token": Z(2, 0)}
SIZES = {"d": NOT_COUNTS, "heads": {**NOT_COUNTS, "no divisor": 3}}
OPTIONAL_COUNT = {k: v for k, v in NOT_COUNTS.items() if k != "None"}
HOOKS = {
    "kv_heads": {**OPTIONAL_COUNT, "no divisor": 3},
    "head_dim": OPTIONAL_COUNT,
    "bias": NOT_FLAGS,
    "scale": NOT_POSITIVE,
    "qk_norm": NOT_FLAGS,
    "soft_cap": NOT_POSITIVE,
    "sink": NOT_FLAGS,
    "gate": NOT_FLAGS,
}

Case = tuple[Callable[..., object], dict[str, object], dict[str, dict[str, object]]]
CASES: dict[str, Case] = {
    "softmax": (
        book.softmax,
        {"logits": Z(3)},
        {"logits": {**REAL, "empty": Z(2, 0)}, "dim": {"far": 5, "float": 0.0, "None": None}},
    ),
    "attention": (
        book.attention,
        {"q": Z(3, 4), "k": Z(3, 4), "v": Z(3, 4)},
        {
            **{
                name: {
                    **REAL,
                    "one axis": Z(4),
                    "empty": Z(0, 4),
                    "no width": Z(3, 0),
                    "other dtype": Z(3, 4).double(),
                    "more axes": Z(1, 3, 4),
                }
                for name in "qkv"
            },
            "mask": MASK,
            "bias": {**{k: v for k, v in REAL.items() if k != "None"}, "one column": Z(3, 1)},
            "scale": NOT_POSITIVE,
            "soft_cap": NOT_POSITIVE,
            "sink": {"list": [0.0], "whole": Z(3, 1).long(), "one axis": Z(3), "wide": Z(3, 3)},
        },
    ),
    "repeat_heads": (
        book.repeat_heads,
        {"x": Z(2, 3, 4), "times": 2},
        {"x": {**NOT_TENSORS, "two axes": Z(3, 4)}, "times": NOT_COUNTS},
    ),
    "causal_mask": (
        book.causal_mask,
        {"q_len": 3, "k_len": 4},
        {"q_len": {**NOT_COUNTS, "longer than the keys": 5}, "k_len": OPTIONAL_COUNT},
    ),
    "padding_mask": (
        book.padding_mask,
        {"lengths": torch.tensor([1, 2]), "N": 3},
        {
            "lengths": {
                **WHOLE,
                "no axis": torch.tensor(1),
                "two axes": Z(1, 1).long(),
                "too long": torch.tensor([4]),
                "negative": torch.tensor([-1]),
            },
            "N": NOT_COUNTS,
        },
    ),
    "dilated_mask": (
        book.dilated_mask,
        {"q_len": 3, "window": 2, "dilation": 1},
        {
            "q_len": NOT_COUNTS,
            "window": NOT_COUNTS,
            "dilation": NOT_COUNTS,
            "causal": NOT_FLAGS,
        },
    ),
    "sliding_window_mask": (
        book.sliding_window_mask,
        {"q_len": 3, "window": 2},
        {"q_len": NOT_COUNTS, "window": NOT_COUNTS, "causal": NOT_FLAGS},
    ),
    "global_mask": (
        book.global_mask,
        {"N": 3, "tokens": torch.tensor([1])},
        {
            "N": NOT_COUNTS,
            "tokens": {**WHOLE, "no axis": torch.tensor(1), "far": torch.tensor([3])},
        },
    ),
    "Linear": (
        book.Linear,
        {"d_in": 2, "d_out": 3, "seed": 0},
        {
            "d_in": NOT_COUNTS,
            "d_out": NOT_COUNTS,
            "seed": NOT_SEEDS,
            "bias": NOT_FLAGS,
            "gain": NOT_POSITIVE,
        },
    ),
    "Linear call": (
        book.Linear(4, 3, seed=0),
        {"x": Z(2, 4)},
        {"x": {**REAL, "no axis": torch.tensor(1.0), "narrow": Z(2, 3), "half": Z(2, 4).half()}},
    ),
    "Embedding": (
        book.Embedding,
        {"count": 2, "d": 3, "seed": 0},
        {"count": NOT_COUNTS, "d": NOT_COUNTS, "seed": NOT_SEEDS, "deviation": NOT_POSITIVE},
    ),
    "Embedding call": (
        book.Embedding(9, 3, seed=0),
        {"tokens": TOKENS},
        {"tokens": {**WHOLE, "negative": TOKENS - 4, "too large": TOKENS + 9}},
    ),
    "KeyValueCache.append": (
        book.KeyValueCache(Z(1, 2, 3, 4), Z(1, 2, 3, 4)).append,
        {"keys": Z(1, 2, 1, 4), "values": Z(1, 2, 1, 4)},
        {
            name: {**REAL, "one axis": Z(4), "other heads": Z(1, 1, 1, 4), "wide": Z(1, 2, 1, 5)}
            for name in ("keys", "values")
        },
    ),
    "KeyValueCache": (
        book.KeyValueCache,
        {"keys": Z(1, 2, 3, 4), "values": Z(1, 2, 3, 4)},
        {
            "keys": {**REAL, "other length": Z(1, 2, 2, 4)},
            "values": REAL,
            "capacity": {k: v for k, v in NOT_COUNTS.items() if k != "zero"},
        },
    ),
    "MultiHeadAttention": (
        book.MultiHeadAttention,
        {"d": 8, "heads": 2, "seed": 0},
        {**SIZES, **HOOKS, "seed": NOT_SEEDS, "gain": NOT_POSITIVE},
    ),
    "MultiHeadAttention call": (
        HEADS,
        {"x": X},
        {
            "x": VECTORS,
            "context": {
                **{k: v for k, v in VECTORS.items() if k not in ("None", "empty")},
                "other batch": Z(1, 3, 8),
                "empty cache": book.KeyValueCache(),
            },
            "mask": MASK,
            "position": {
                **NOT_SCHEMES,
                "acts on the input": book.Sinusoidal(),
                "for 1": book.ALiBi(1),
            },
            "positions": POSITIONS,
            "return_weights": NOT_FLAGS,
        },
    ),
    "MultiHeadAttention.extend": (
        HEADS.extend,
        {"x": X, "cache": book.KeyValueCache()},
        {
            "x": VECTORS,
            "cache": {"None": None, "list": [], "tensor": X},
            "mask": {**MASK, "nobody sees": ~book.causal_mask(3)},
            "position": NOT_SCHEMES,
            "positions": POSITIONS,
            "window": OPTIONAL_COUNT,
        },
    ),
    "Architecture": (
        book.Architecture,
        {"d": 8, "heads": 2, "layers": 2},
        {
            **SIZES,
            **HOOKS,
            "layers": NOT_COUNTS,
            "hidden": OPTIONAL_COUNT,
            "activation": NOT_CHOICES,
            "norm": NOT_CHOICES,
            "placement": NOT_CHOICES,
            "eps": NOT_POSITIVE,
        },
    ),
    "LayerPattern": (
        book.LayerPattern,
        {},
        {"window": OPTIONAL_COUNT, "position": {**NOT_SCHEMES, "input": book.Sinusoidal()}},
    ),
    "Block": (
        book.Block,
        {"architecture": SHAPE, "seed": 0},
        {"architecture": {"None": None, "dict": {}}, "seed": NOT_SEEDS, "cross": NOT_FLAGS},
    ),
    "Block call": (
        BLOCK,
        {"x": X},
        {
            "x": VECTORS,
            "mask": MASK,
            "position": NOT_SCHEMES,
            "positions": POSITIONS,
            "memory": {"unasked": X},
            "memory_mask": {"unasked": Z(3, 3).bool()},
            "return_weights": NOT_FLAGS,
        },
    ),
    "Block with memory": (
        CROSS,
        {"x": X, "memory": X},
        {"memory": {**VECTORS, "other batch": Z(1, 3, 8)}, "memory_mask": MASK},
    ),
    "Encoder": (
        book.Encoder,
        {"vocabulary": 9, "architecture": SHAPE, "seed": 0},
        {
            "vocabulary": NOT_COUNTS,
            "architecture": {"None": None, "dict": {}},
            "seed": NOT_SEEDS,
            "position": NOT_SCHEMES,
            "decoder_layers": OPTIONAL_COUNT,
        },
    ),
    "Encoder call": (
        ENCODER,
        {"tokens": TOKENS},
        {
            "tokens": TOKEN_KINDS,
            "mask": MASK,
            "positions": POSITIONS,
            "return_weights": NOT_FLAGS,
        },
    ),
    "Decoder": (
        book.Decoder,
        {"vocabulary": 9, "architecture": SHAPE, "seed": 0},
        {
            "vocabulary": NOT_COUNTS,
            "architecture": {"None": None, "dict": {}},
            "seed": NOT_SEEDS,
            "position": NOT_SCHEMES,
            "cross": NOT_FLAGS,
            "layers": {
                "empty": [],
                "too many": [book.LayerPattern()] * 3,
                "windows": [2, 2],
                "number": 2,
            },
        },
    ),
    "Decoder call": (
        DECODER,
        {"tokens": TOKENS},
        {
            "tokens": TOKEN_KINDS,
            "mask": {**MASK, "nobody sees": ~book.causal_mask(3), "batch of 3": Z(3, 1, 3).bool()},
            "positions": POSITIONS,
            "memory": {"unasked": X, "text": "x"},
            "return_weights": NOT_FLAGS,
        },
    ),
    "Decoder.extend": (
        DECODER.extend,
        {"tokens": TOKENS, "caches": DECODER.empty_caches()},
        {
            "tokens": TOKEN_KINDS,
            "caches": {
                "None": None,
                "empty": [],
                "other things": [1, 2],
                "lengths": [CACHES[0], book.KeyValueCache()],
            },
            "mask": MASK,
            "positions": POSITIONS,
        },
    ),
    "EncoderDecoder": (
        book.EncoderDecoder,
        {"encoder": ENCODER, "decoder": BOTH.decoder},
        {
            "encoder": {"None": None, "decoder": DECODER},
            "decoder": {"None": None, "encoder": ENCODER, "without cross": DECODER},
        },
    ),
    "EncoderDecoder call": (
        BOTH,
        {"source": TOKENS, "target": TOKENS},
        {
            "source": TOKEN_KINDS,
            "target": TOKEN_KINDS,
            "source_mask": {**MASK, "a row per query": book.causal_mask(3)},
            "target_mask": MASK,
        },
    ),
    "keep_top_k": (
        book.keep_top_k,
        {"logits": Z(2, 3), "k": 2},
        {"logits": LOGITS, "k": NOT_COUNTS},
    ),
    "keep_top_p": (
        book.keep_top_p,
        {"logits": Z(2, 3), "p": 0.5},
        {"logits": LOGITS, "p": {**NOT_POSITIVE, "beyond 1": 1.1}},
    ),
    "sample_token": (
        book.sample_token,
        {"logits": Z(2, 3), "temperature": 1.0, "rng": np.random.default_rng(0)},
        {
            "logits": {**LOGITS, "nan": Z(1, 2) * math.nan, "nothing": Z(1, 2) - math.inf},
            "temperature": NOT_POSITIVE,
            "top_k": OPTIONAL_COUNT,
            "top_p": {**NOT_POSITIVE, "beyond 1": 1.1},
        },
    ),
    "generate": (
        book.generate,
        {"decoder": DECODER, "prompt": TOKENS, "steps": 1, "temperature": 1.0, "seed": 0},
        {
            "decoder": {"None": None, "both": BOTH, "encoder": ENCODER},
            "prompt": TOKEN_KINDS,
            "steps": {k: v for k, v in NOT_COUNTS.items() if k != "zero"},
            "lengths": {
                **{k: v for k, v in WHOLE.items() if k != "None"},
                "zero": torch.tensor([0, 1]),
                "too long": torch.tensor([1, 4]),
                "one": torch.tensor([1]),
            },
            "end": {"far": 9, "negative": -1, "float": 1.0},
            "temperature": NOT_POSITIVE,
            "top_k": OPTIONAL_COUNT,
            "top_p": NOT_POSITIVE,
            "seed": NOT_SEEDS,
            "use_cache": NOT_FLAGS,
        },
    ),
}


FREQUENCIES = {
    **REAL,
    "single precision": Z(2),
    "two axes": Z(2, 2).double(),
    "empty": Z(0).double(),
    "nan": torch.tensor([1.0, math.nan]).double(),
    "infinite": torch.tensor([1.0, math.inf]).double(),
}
EVEN = {**NOT_COUNTS, "odd": 3}
TABLE = book.rotary_table(torch.arange(3), book.rotary_frequencies(4))
FREE_POSITIONS = {**WHOLE, "no axis": torch.tensor(3), "empty": Z(0).long()}
BASE_SCALE = {**NOT_POSITIVE, "None": None}
NARROW = {"half": torch.float16, "bfloat16": torch.bfloat16, "whole": torch.int64, "text": "x"}

# The rest of the library: rotations, positions, longer contexts, norms, activations.
CASES |= {
    "rotary_frequencies": (
        book.rotary_frequencies,
        {"dim": 4},
        {"dim": EVEN, "base": BASE_SCALE},
    ),
    "rotary_table": (
        book.rotary_table,
        {"positions": torch.arange(3), "frequencies": book.rotary_frequencies(4)},
        {
            "positions": FREE_POSITIONS,
            "frequencies": FREQUENCIES,
            "attention_factor": BASE_SCALE,
            "angle_dtype": NARROW,
        },
    ),
    "rotate": (
        book.rotate,
        {"x": Z(2, 3, 4), "table": TABLE, "layout": "half"},
        {
            "x": {**REAL, "one axis": Z(4), "odd": Z(3, 5), "long": Z(2, 5, 4)},
            "table": {"None": None, "tensor": TABLE.cos, "text": "x", "three": (*TABLE, TABLE.cos)},
            "layout": NOT_CHOICES,
            "sequence_axis": {"last": -1, "far": 7},
        },
    ),
    "rotate_back": (
        book.rotate_back,
        {"x": Z(2, 3, 4), "table": TABLE, "layout": "half"},
        {
            "x": {**REAL, "one axis": Z(4), "odd": Z(3, 5)},
            "table": {"None": None, "tensor": TABLE.cos, "text": "x"},
            "layout": NOT_CHOICES,
        },
    ),
    "Rotary": (
        book.Rotary,
        {"frequencies": book.rotary_frequencies(4), "layout": "half"},
        {
            "frequencies": FREQUENCIES,
            "layout": NOT_CHOICES,
            "attention_factor": BASE_SCALE,
            "angle_dtype": NARROW,
        },
    ),
    "Learned": (
        book.Learned,
        {"length": 4, "d": 8, "seed": 0},
        {"length": NOT_COUNTS, "d": NOT_COUNTS, "seed": NOT_SEEDS, "deviation": NOT_POSITIVE},
    ),
    "ALiBi": (book.ALiBi, {"heads": 2}, {"heads": NOT_COUNTS}),
    "alibi_slopes": (book.alibi_slopes, {"heads": 2}, {"heads": NOT_COUNTS}),
    "sinusoidal": (
        book.sinusoidal,
        {"positions": torch.arange(3), "d": 4},
        {"positions": FREE_POSITIONS, "d": EVEN, "base": BASE_SCALE},
    ),
    "layer_norm": (
        book.layer_norm,
        {"x": Z(2, 4)},
        {"x": {**REAL, "no axis": torch.tensor(1.0), "empty": Z(2, 0)}, "eps": BASE_SCALE},
    ),
    "rms_norm": (
        book.rms_norm,
        {"x": Z(2, 4)},
        {"x": {**REAL, "no axis": torch.tensor(1.0), "empty": Z(2, 0)}, "eps": BASE_SCALE},
    ),
    "LayerNorm": (book.LayerNorm, {"d": 4}, {"d": NOT_COUNTS, "eps": BASE_SCALE}),
    "RMSNorm": (book.RMSNorm, {"d": 4}, {"d": NOT_COUNTS, "eps": BASE_SCALE}),
    "deepnorm_constants": (book.deepnorm_constants, {"layers": 2}, {"layers": NOT_COUNTS}),
    **{
        function.__name__: (function, {"x": Z(3)}, {"x": REAL})
        for function in (book.relu, book.silu, book.gelu, book.gelu_tanh)
    },
    **{
        function.__name__: (
            function,
            {"gate": Z(3), "value": Z(3)},
            {"gate": {**REAL, "long": Z(4)}, "value": {**REAL, "double": Z(3).double()}},
        )
        for function in (book.glu, book.swiglu, book.geglu)
    },
    "FeedForward": (
        book.FeedForward,
        {"d": 4, "activation": "relu", "seed": 0},
        {
            "d": NOT_COUNTS,
            "hidden": OPTIONAL_COUNT,
            "activation": NOT_CHOICES,
            "seed": NOT_SEEDS,
            "bias": NOT_FLAGS,
            "gain": NOT_POSITIVE,
        },
    ),
    "position_interpolation": (
        book.position_interpolation,
        {"frequencies": book.rotary_frequencies(4), "scale": 2.0},
        {"frequencies": FREQUENCIES, "scale": NOT_POSITIVE},
    ),
    "ntk_aware": (
        book.ntk_aware,
        {"frequencies": book.rotary_frequencies(4), "scale": 2.0},
        {"frequencies": FREQUENCIES, "scale": NOT_POSITIVE},
    ),
    "yarn": (
        book.yarn,
        {"frequencies": book.rotary_frequencies(4), "scale": 2.0, "original_length": 64},
        {"frequencies": FREQUENCIES, "scale": NOT_POSITIVE, "original_length": NOT_COUNTS},
    ),
    "blockwise_attention": (
        book.blockwise_attention,
        {"q": Z(1, 3, 4), "k": Z(1, 3, 4), "v": Z(1, 3, 4)},
        {
            **{name: {**REAL, "one axis": Z(4), "empty": Z(1, 0, 4)} for name in "qkv"},
            "scale": NOT_POSITIVE,
            "q_block": NOT_COUNTS,
            "k_block": NOT_COUNTS,
        },
    ),
}

# What models of today add: latents, experts, shaped scores, recurrences.
LATENT = book.LatentAttention(8, 2, head_dim=4, rotary_dim=2, latent_dim=5, seed=0)
MIXTURE = book.MixtureOfExperts(8, 4, experts=3, k=2, balanced=True, seed=0)
CHOICES = torch.tensor([[0, 1], [2, 0]])
CHOICE_KINDS = {**WHOLE, "negative": CHOICES - 1, "too large": CHOICES + 1}
SEQUENCE = {**REAL, "one axis": Z(4), "empty": Z(0, 4), "no width": Z(3, 0), "batched": Z(1, 3, 4)}
SCORED = {**REAL, "one axis": Z(4), "two axes": Z(3, 4), "other dtype": Z(2, 3, 4).double()}
PER_TOKEN = {k: v for k, v in REAL.items() if k != "None"} | {"long": Z(4), "axes": Z(3, 1)}
QKV: dict[str, object] = {"q": Z(3, 4), "k": Z(3, 4), "v": Z(3, 4)}
HEADED: dict[str, object] = {"q": Z(2, 3, 4), "k": Z(2, 3, 4), "v": Z(2, 3, 4)}
CASES |= {
    "attend_to_latents": (
        book.attend_to_latents,
        {
            "q_content": Z(1, 2, 3, 4),
            "q_rotary": Z(1, 2, 3, 2),
            "latents": Z(1, 3, 5),
            "k_rotary": Z(1, 3, 2),
            "W_UK": Z(2, 5, 4),
            "W_UV": Z(2, 5, 4),
            "form": "naive",
        },
        {
            **{
                name: {**REAL, "one axis": Z(4), "other sizes": Z(*shape), "half": Z(4).half()}
                for name, shape in {
                    "q_content": (1, 2, 3, 3),
                    "q_rotary": (1, 2, 4, 2),
                    "latents": (2, 3, 5),
                    "k_rotary": (1, 4, 2),
                    "W_UK": (2, 6, 4),
                    "W_UV": (3, 5, 4),
                }.items()
            },
            "form": NOT_CHOICES,
            "mask": MASK,
            "causal": NOT_FLAGS,
            "scale": NOT_POSITIVE,
        },
    ),
    "LatentAttention": (
        book.LatentAttention,
        {"d": 8, "heads": 2, "head_dim": 4, "rotary_dim": 2, "latent_dim": 5, "seed": 0},
        {
            **{n: NOT_COUNTS for n in ("d", "heads", "head_dim", "rotary_dim", "latent_dim")},
            "query_latent_dim": OPTIONAL_COUNT,
            "seed": NOT_SEEDS,
        },
    ),
    "latent attention": (
        LATENT,
        {"x": X},
        {
            "x": VECTORS,
            "cache": {"text": "x", "other": book.KeyValueCache()},
            "form": NOT_CHOICES,
            "position": {**NOT_SCHEMES, "a bias": book.ALiBi(2), "an input": book.Sinusoidal()},
        },
    ),
    "cache_numbers_per_token": (
        lambda length: book.cache_numbers_per_token(Z(1, 3, 4), length=length),
        {"length": 3},
        {"length": {**NOT_COUNTS, "short": 2}},
    ),
    "route": (
        book.route,
        {"logits": Z(2, 3), "k": 2},
        {
            "logits": REAL,
            "k": {**NOT_COUNTS, "too many": 4},
            "gate": NOT_CHOICES,
            "normalise": NOT_FLAGS,
            "bias": {k: v for k, v in REAL.items() if k != "None"} | {"long": Z(4)},
        },
    ),
    "expert_load": (
        book.expert_load,
        {"experts": CHOICES, "count": 3},
        {"experts": CHOICE_KINDS, "count": NOT_COUNTS},
    ),
    "balance_loss": (
        book.balance_loss,
        {"scores": Z(2, 3), "experts": CHOICES},
        {
            "scores": {**REAL, "other tokens": Z(3, 3), "no axis": torch.tensor(1.0)},
            "experts": CHOICE_KINDS,
        },
    ),
    "balanced_bias": (
        book.balanced_bias,
        {"bias": Z(3), "experts": CHOICES, "step": 0.1},
        {"bias": {**REAL, "two axes": Z(1, 3)}, "experts": CHOICE_KINDS, "step": NOT_POSITIVE},
    ),
    "MixtureOfExperts": (
        book.MixtureOfExperts,
        {"d": 8, "hidden": 4, "experts": 3, "k": 2, "seed": 0},
        {
            **{name: NOT_COUNTS for name in ("d", "hidden", "experts")},
            "k": {**NOT_COUNTS, "too many": 4},
            "shared": {k: v for k, v in NOT_COUNTS.items() if k != "zero"},
            "gate": NOT_CHOICES,
            "activation": NOT_CHOICES,
            "balanced": NOT_FLAGS,
            "seed": NOT_SEEDS,
        },
    ),
    "mixture": (MIXTURE, {"x": X}, {"x": {**REAL, "other width": Z(2, 6)}}),
    "soft_cap function": (
        book.soft_cap,
        {"scores": Z(3), "cap": 2.0},
        {"scores": REAL, "cap": NOT_POSITIVE},
    ),
    "query_key_norm": (
        book.query_key_norm,
        {"q": Z(3, 4), "k": Z(3, 4)},
        {"eps": NOT_POSITIVE},
    ),
    "query_key_clip": (
        book.query_key_clip,
        {"W_Q": Z(3, 4), "W_K": Z(3, 4), "largest": Z(2), "threshold": 1.0},
        {
            "W_Q": {**REAL, "one axis": Z(4), "odd": Z(3, 5), "other d": Z(2, 4)},
            "W_K": {**REAL, "one axis": Z(4), "odd": Z(3, 3), "half": Z(3, 4).half()},
            "largest": {**REAL, "empty": Z(0), "two axes": Z(1, 2)},
            "threshold": NOT_POSITIVE,
        },
    ),
    "sink_attention": (
        book.sink_attention,
        HEADED | {"sink": Z(2)},
        {
            "q": SCORED,
            "sink": {**REAL, "long": Z(3), "two axes": Z(2, 1), "half": Z(2).half()},
            "mask": MASK,
            "scale": NOT_POSITIVE,
        },
    ),
    "sink_gate": (
        book.sink_gate,
        {"log_sum_exp": Z(2, 3), "sink": Z(2)},
        {"log_sum_exp": {**REAL, "one axis": Z(2)}, "sink": {**REAL, "long": Z(3)}},
    ),
    "gated_attention": (
        book.gated_attention,
        HEADED | {"gate": Z(2, 3, 4)},
        {"gate": {**REAL, "narrow": Z(2, 3, 2), "one": Z(1), "batch of 1": Z(1, 3, 4)}},
    ),
    "log_length_factor": (
        book.log_length_factor,
        {"lengths": torch.tensor([3]), "slope": 0.4},
        {"lengths": {**WHOLE, "zero": torch.tensor([0])}, "slope": NOT_POSITIVE},
    ),
    "stepped_length_factor": (
        book.stepped_length_factor,
        {"positions": torch.arange(3)},
        {
            "positions": {**WHOLE, "negative": torch.tensor([-1]), "no axis": torch.tensor(1)},
            "step": NOT_COUNTS,
            "slope": NOT_POSITIVE,
            "first": {k: v for k, v in NOT_COUNTS.items() if k != "zero"},
        },
    ),
    "linear_attention": (
        book.linear_attention,
        QKV,
        {**{name: SEQUENCE for name in QKV}, "decay": PER_TOKEN | {"zero": Z(3)}},
    ),
    "linear_attention_steps": (
        book.linear_attention_steps,
        QKV,
        {
            **{name: SEQUENCE for name in QKV},
            "decay": PER_TOKEN,
            "state": {"list": [0.0], "text": "x", "other": Z(3, 4), "half": Z(4, 4).half()},
        },
    ),
    "delta_rule_steps": (
        book.delta_rule_steps,
        QKV | {"rate": Z(3)},
        {
            **{name: SEQUENCE for name in QKV},
            "rate": {**REAL, "long": Z(4)},
            "decay": PER_TOKEN,
        },
    ),
}


# Somebody else's rotation, a checkpoint, a ring of one: what comes from outside.
FREQUENCIES = book.rotary_frequencies(8)


def turn(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """A rotation for the doctor to examine."""
    return book.rotate(x, book.rotary_table(positions, FREQUENCIES), layout="half")


CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 5,
    "hidden_size": 8,
    "intermediate_size": 6,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "num_hidden_layers": 1,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100.0,
    "hidden_act": "silu",
}


def checkpoint() -> dict[str, torch.Tensor]:
    """The tensors of the smallest Llama that `CONFIG` describes."""
    shapes = {
        "model.embed_tokens.weight": (5, 8),
        "model.norm.weight": (8,),
        "lm_head.weight": (5, 8),
        **{
            f"model.layers.0.{name}.weight": shape
            for name, shape in {
                "input_layernorm": (8,),
                "post_attention_layernorm": (8,),
                "self_attn.q_proj": (8, 8),
                "self_attn.k_proj": (4, 8),
                "self_attn.v_proj": (4, 8),
                "self_attn.o_proj": (8, 8),
                "mlp.gate_proj": (6, 8),
                "mlp.up_proj": (6, 8),
                "mlp.down_proj": (8, 6),
            }.items()
        },
    }
    return {name: torch.ones(shape) for name, shape in shapes.items()}


def load(**entries: Any) -> book.Decoder:
    """A checkpoint whose config has these entries."""
    return book.load_hugging_face({**CONFIG, **entries}, checkpoint())


def alone(**options: Any) -> torch.Tensor:
    """Ring attention of a ring of one rank."""
    given = {"q": Z(2, 4), "k": Z(2, 4), "v": Z(2, 4), "order": "zigzag", **options}
    return ring.simulate_ring(1, lambda one: ring.ring_attention(**given, ring=one))[0]


OTHER_TENSORS = {
    "list": [Z(2)],
    "text": "x",
    "None": None,
    "empty": {},
    "not a tensor": {**checkpoint(), "model.norm.weight": [1.0]},
    "missing": {k: v for k, v in checkpoint().items() if k != "lm_head.weight"},
    "left over": {**checkpoint(), "model.layers.1.mlp.up_proj.weight": Z(6, 8)},
    "other shape": {**checkpoint(), "lm_head.weight": Z(4, 8)},
    "other dtype": {**checkpoint(), "lm_head.weight": Z(5, 8).double()},
    "whole numbers": {**checkpoint(), "model.norm.weight": Z(8).long()},
}
RANK = {"too large": 2, "negative": -1, "float": 0.0, "text": "0", "None": None, "bool": True}
TABLE = {**REAL, "even": Z(4, 4), "one axis": Z(3), "other d": Z(3, 6)}
DISTANCES = book.relative_positions(torch.arange(3), torch.arange(3))
RELATIVE = {**{k: v for k, v in WHOLE.items()}, "other": DISTANCES[:2], "one axis": DISTANCES[0]}
PAIR = {"q": Z(3, 4), "k": Z(3, 4), "relative": DISTANCES}
PAIR_KINDS = {
    "q": {**REAL, "one axis": Z(4), "other d": Z(3, 6), "half": Z(3, 4).half()},
    "k": {**REAL, "one axis": Z(4), "other d": Z(3, 6), "half": Z(3, 4).half()},
    "relative": RELATIVE,
}
COUNTED = {**WHOLE, "no axis": torch.tensor(3)}
SPECTRUM = {**REAL, "half": Z(4).half(), "two axes": Z(2, 2).double(), "empty": Z(0).double()}
CASES |= {
    "examine": (
        doctor.examine,
        {"function": turn, "head_dim": 8},
        {
            "function": {"text": "rotate", "None": None, "number": 1, "tensor": Z(2)},
            "head_dim": {**NOT_COUNTS, "odd": 7},
            "dtype": {"text": "float32", "None": None, "whole": torch.int64},
            "family": {"unknown": "GPT-5", "number": 1},
        },
    ),
    "load": (
        doctor.load,
        {"name": "math:sin"},
        {
            "name": {
                "no colon": "math.sin",
                "no module": ":sin",
                "no function": "math:",
                "no such function": "math:sine",
                "no such module": "nowhere_at_all:f",
                "not a function": "math:pi",
                "number": 3,
                "None": None,
            }
        },
    ),
    "load_hugging_face": (
        book.load_hugging_face,
        {"config": CONFIG, "state_dict": checkpoint()},
        {
            "config": {
                "list": [1],
                "text": "llama",
                "None": None,
                "empty": {},
                "family": {**CONFIG, "model_type": "mamba"},
                "unknown key": {**CONFIG, "alibi": True},
                "no width": {k: v for k, v in CONFIG.items() if k != "hidden_size"},
            },
            "state_dict": OTHER_TENSORS,
        },
    ),
    "config": (
        load,
        {},
        {
            "vocab_size": NOT_COUNTS,
            "hidden_size": NOT_COUNTS,
            "intermediate_size": NOT_COUNTS,
            "num_attention_heads": {**NOT_COUNTS, "no divisor": 3},
            "num_key_value_heads": {**OPTIONAL_COUNT, "no divisor": 3},
            "num_hidden_layers": NOT_COUNTS,
            "head_dim": {**OPTIONAL_COUNT, "odd": 3},
            "rms_norm_eps": {**NOT_POSITIVE, "None": None},
            "rope_theta": NOT_POSITIVE,
            "hidden_act": {"unknown": "tanh", "number": 1},
            "rope_scaling": {
                "text": "linear",
                "unknown": {"rope_type": "magic", "factor": 2.0},
                "no factor": {"rope_type": "linear"},
                "factor zero": {"rope_type": "linear", "factor": 0.0},
                "factor text": {"rope_type": "linear", "factor": "2"},
            },
        },
    ),
    "ring_chunks": (
        ring.ring_chunks,
        {"rank": 0, "ranks": 2, "order": "zigzag"},
        {"rank": RANK, "ranks": NOT_COUNTS, "order": NOT_CHOICES},
    ),
    "ring_positions": (
        ring.ring_positions,
        {"N": 8, "rank": 0, "ranks": 2, "order": "zigzag"},
        {"N": {**NOT_COUNTS, "no multiple": 6}, "rank": RANK, "ranks": NOT_COUNTS},
    ),
    "visible_chunks": (
        ring.visible_chunks,
        {"rank": 0, "source": 1, "ranks": 2, "order": "zigzag", "causal": True},
        {"rank": RANK, "source": RANK, "ranks": NOT_COUNTS, "order": NOT_CHOICES},
    ),
    "join_parts": (
        ring.join_parts,
        {"parts": [Z(2, 4), Z(2, 4)], "order": "zigzag"},
        {
            "parts": {
                "tensor": Z(2, 4),
                "none": [],
                "not tensors": [[1.0]],
                "odd": [Z(1, 4), Z(1, 4)],
                "unequal": [Z(2, 4), Z(6, 4)],
                "one axis": [Z(4), Z(4)],
            },
            "order": NOT_CHOICES,
        },
    ),
    "simulate_ring": (
        ring.simulate_ring,
        {"ranks": 2, "work": lambda one: one.rank},
        {"ranks": NOT_COUNTS, "work": {"text": "x", "None": None}},
    ),
    "ring_attention": (
        alone,
        {},
        {
            **{
                name: {**REAL, "one axis": Z(4), "odd": Z(3, 4), "other dtype": Z(2, 4).double()}
                for name in "qkv"
            },
            "order": NOT_CHOICES,
            "causal": NOT_FLAGS,
            "scale": NOT_POSITIVE,
            "block": NOT_COUNTS,
        },
    ),
    "shaw_scores": (
        book.shaw_scores,
        PAIR | {"table": Z(3, 4)},
        PAIR_KINDS | {"table": TABLE},
    ),
    "shaw_output": (
        book.shaw_output,
        {"weights": Z(3, 3), "v": Z(3, 4), "relative": DISTANCES, "table": Z(3, 4)},
        {
            "weights": {**REAL, "other": Z(3, 2), "one axis": Z(3)},
            "v": {**REAL, "other": Z(2, 4), "one axis": Z(4)},
            "relative": RELATIVE,
            "table": TABLE,
        },
    ),
    "transformer_xl_scores": (
        book.transformer_xl_scores,
        PAIR | {"table": Z(3, 4), "u": Z(4), "w": Z(4)},
        PAIR_KINDS
        | {
            "table": TABLE,
            "u": {**REAL, "long": Z(6), "two axes": Z(3, 4)},
            "w": {**REAL, "long": Z(6), "two axes": Z(3, 4)},
        },
    ),
    "deberta_scores": (
        book.deberta_scores,
        PAIR | {"key_table": Z(3, 4), "query_table": Z(3, 4)},
        PAIR_KINDS | {"key_table": TABLE, "query_table": TABLE},
    ),
    "tupe_scores": (
        book.tupe_scores,
        {"q": Z(3, 4), "k": Z(3, 4), "position_q": Z(3, 4), "position_k": Z(3, 4)},
        {
            "q": PAIR_KINDS["q"],
            "k": PAIR_KINDS["k"],
            "position_q": {**REAL, "long": Z(4, 4), "other d": Z(3, 6)},
            "position_k": {**REAL, "long": Z(4, 4), "other d": Z(3, 6)},
        },
    ),
    "kerple_log_bias": (
        book.kerple_log_bias,
        {"relative": DISTANCES, "r1": 1.0, "r2": 1.0},
        {"relative": WHOLE, "r1": NOT_POSITIVE, "r2": NOT_POSITIVE},
    ),
    "fire_bias": (
        book.fire_bias,
        {"q_positions": torch.arange(3), "k_positions": torch.arange(3), "f": torch.neg},
        {
            "q_positions": {**COUNTED, "negative": torch.tensor([-1])},
            "k_positions": {**COUNTED, "negative": torch.tensor([-1])},
            "f": {"number": 1.0, "None": None, "text": "x"},
            "c": NOT_POSITIVE,
            "threshold": NOT_POSITIVE,
        },
    ),
    "cope_scores": (
        book.cope_scores,
        {"q": Z(3, 4), "k": Z(3, 4), "table": Z(5, 4)},
        {
            "q": {**REAL, "one axis": Z(4), "half": Z(3, 4).half()},
            "k": {**REAL, "one axis": Z(4), "other d": Z(3, 6), "half": Z(3, 4).half()},
            "table": {**REAL, "one axis": Z(4), "other d": Z(5, 6), "half": Z(5, 4).half()},
            "mask": MASK,
        },
    ),
    "fope_table": (
        book.fope_table,
        {"table": book.rotary_table(torch.arange(3), FREQUENCIES), "mixing": Z(4, 4)},
        {
            "table": {"tensor": Z(3, 4), "list": [1.0], "None": None},
            "mixing": {**REAL, "narrow": Z(4, 3), "one axis": Z(4), "half": Z(4, 4).half()},
        },
    ),
    "T5Bias": (
        book.T5Bias,
        {"heads": 2, "bidirectional": False, "seed": 0},
        {
            "heads": NOT_COUNTS,
            "bidirectional": NOT_FLAGS,
            "buckets": {**NOT_COUNTS, "one": 1},
            "max_distance": {**NOT_COUNTS, "near": 4},
            "deviation": NOT_POSITIVE,
            "seed": NOT_SEEDS,
        },
    ),
    "alibi_bias": (
        book.alibi_bias,
        {"slopes": Z(2), "q_positions": torch.arange(3), "k_positions": torch.arange(3)},
        {
            "slopes": {**REAL, "two axes": Z(2, 1)},
            "q_positions": COUNTED,
            "k_positions": COUNTED,
        },
    ),
    "t5_bucket": (
        book.t5_bucket,
        {"relative": DISTANCES, "bidirectional": True},
        {
            "relative": WHOLE,
            "bidirectional": NOT_FLAGS,
            "buckets": {**NOT_COUNTS, "odd": 7},
            "max_distance": {**NOT_COUNTS, "near": 4},
        },
    ),
    "llama3": (
        book.llama3,
        {"frequencies": FREQUENCIES, "scale": 8.0, "original_length": 8192},
        {"frequencies": SPECTRUM, "scale": NOT_POSITIVE, "original_length": NOT_COUNTS},
    ),
    "dynamic_ntk": (
        book.dynamic_ntk,
        {"frequencies": FREQUENCIES, "scale": 2.0, "original_length": 64, "length": 128},
        {
            "frequencies": SPECTRUM,
            "scale": NOT_POSITIVE,
            "original_length": NOT_COUNTS,
            "length": NOT_COUNTS,
        },
    ),
    "parity_width": (book.parity_width, {"d": 8}, {"d": NOT_COUNTS}),
    "deepnorm_pair": (
        book.deepnorm_pair,
        {"encoder_layers": 2, "decoder_layers": 2},
        {"encoder_layers": NOT_COUNTS, "decoder_layers": NOT_COUNTS},
    ),
    "layout_permutation": (
        book.layout_permutation,
        {"dim": 8, "source": "half", "target": "interleaved"},
        {
            "dim": {**NOT_COUNTS, "odd": 7},
            "rotary_dim": {**OPTIONAL_COUNT, "odd": 7, "too wide": 10},
            "source": NOT_CHOICES,
            "target": NOT_CHOICES,
        },
    ),
}


# What is right but for one thing: a typo, another device, a cache of another model.
def meta(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, device="meta")


def cache(*shape: int, dtype: torch.dtype = torch.float32) -> book.KeyValueCache:
    return book.KeyValueCache(Z(*shape, dtype=dtype), Z(*shape, dtype=dtype))


BY_POSITION = BiasByPosition(lambda m, n: Z(3, 3), torch.arange(3), torch.arange(3))
OTHER_CACHES = {
    "other heads": cache(2, 3, 1, 4),
    "other width": cache(2, 2, 1, 5),
    "other batch": cache(1, 2, 1, 4),
    "other dtype": cache(2, 2, 1, 4, dtype=torch.float64),
    "elsewhere": book.KeyValueCache(meta(2, 2, 1, 4), meta(2, 2, 1, 4)),
}
CASES |= {
    "attention elsewhere": (
        book.attention,
        {"q": Z(3, 4), "k": Z(3, 4), "v": Z(3, 4)},
        {
            "k": {"elsewhere": meta(3, 4)},
            "v": {"elsewhere": meta(3, 4)},
            "mask": {"elsewhere": meta(3, 3).bool()},
            "bias": {"elsewhere": meta(3, 3), "double": Z(3, 3).double()},
            "sink": {"elsewhere": meta(3, 1), "double": Z(3, 1).double()},
            "return_weights": NOT_FLAGS,
        },
    ),
    "blockwise_attention, the rest": (
        book.blockwise_attention,
        {"q": Z(3, 4), "k": Z(3, 4), "v": Z(3, 4)},
        {
            "causal": NOT_FLAGS,
            "window": OPTIONAL_COUNT,
            "positions": {"without a window": torch.arange(3)},
            "soft_cap": NOT_POSITIVE,
            "sink": {"list": [0.0], "elsewhere": meta(3, 1), "double": Z(3, 1).double()},
            "mask": MASK,
            "bias": {
                "function": lambda m, n: Z(3, 3),
                "no function": BY_POSITION._replace(function=None),
                "lists": BY_POSITION._replace(q_positions=[0, 1, 2]),
                "real positions": BY_POSITION._replace(k_positions=Z(3)),
                "short": BY_POSITION._replace(k_positions=torch.arange(2)),
                "other shape": BY_POSITION._replace(function=lambda m, n: Z(2, 3, 3)),
            },
        },
    ),
    "blockwise_attention, a window by positions": (
        book.blockwise_attention,
        {"q": Z(2, 1, 3, 4), "k": Z(2, 1, 3, 4), "v": Z(2, 1, 3, 4), "window": 2},
        {
            "positions": {
                **POSITIONS,
                "elsewhere": torch.arange(3, device="meta"),
                "of the heads": torch.arange(6).view(2, 1, 3),
            },
            "window": OPTIONAL_COUNT,
        },
    ),
    "heads with another cache": (
        HEADS.extend,
        {"x": X, "cache": book.KeyValueCache()},
        {"cache": {**OTHER_CACHES, "dictionary": {}, "three axes": (Z(2, 1, 4), Z(2, 1, 4))}},
    ),
    "heads with another context": (
        HEADS,
        {"x": X},
        {
            "context": {"elsewhere": meta(2, 3, 8), "double": X.double()},
            "causal": NOT_FLAGS,
            "window": OPTIONAL_COUNT,
            "positions": {"elsewhere": torch.arange(3, device="meta"), "range": range(3)},
        },
    ),
    "KeyValueCache of other axes": (
        book.KeyValueCache,
        {"keys": Z(1, 2, 3, 4), "values": Z(1, 2, 3, 4)},
        {"keys": {"three": Z(2, 3, 4), "five": Z(1, 1, 2, 3, 4), "elsewhere": meta(1, 2, 3, 4)}},
    ),
    "Decoder elsewhere": (
        DECODER,
        {"tokens": TOKENS},
        {
            "tokens": {"elsewhere": TOKENS.to("meta"), "ragged": [[1, 2], [3]]},
            "positions": {
                "elsewhere": torch.arange(3, device="meta"),
                "not a number": torch.tensor([0, math.nan, 1]),
                "range": range(3),
            },
        },
    ),
    "Decoder without a scheme": (
        book.Decoder(9, SHAPE, seed=0),
        {"tokens": TOKENS},
        {"positions": {"elsewhere": torch.arange(3, device="meta"), "text": "x"}},
    ),
    "Embedding elsewhere": (
        book.Embedding(9, 3, seed=0),
        {"tokens": TOKENS},
        {"tokens": {"elsewhere": TOKENS.to("meta")}},
    ),
    "Learned call": (
        book.Learned(4, 8, seed=0).embed,
        {"x": X, "positions": torch.arange(3)},
        {"x": {"other width": Z(2, 3, 6)}, "positions": {"negative": torch.tensor([0, -1, 2])}},
    ),
    "Rotary, the rest": (
        book.Rotary,
        {"frequencies": book.rotary_frequencies(4), "layout": "half"},
        {
            "frequencies": {"to be learned": book.rotary_frequencies(4).requires_grad_()},
            "layout": {"typo": "interleave", "other name": "neox", "capital": "Half"},
            "rotary_dim": {**OPTIONAL_COUNT, "odd": 3, "other": 6, "none": 0},
        },
    ),
    "LengthScaledRotary": (
        book.LengthScaledRotary,
        {"frequencies": lambda n: book.rotary_frequencies(4), "layout": "half"},
        {
            "frequencies": {"fixed": book.rotary_frequencies(4), "nothing": lambda n: None},
            "layout": NOT_CHOICES,
            "rotary_dim": {"other": 6, "text": "4"},
            "attention_factor": {"text": "x", "zero": 0.0, "nothing": lambda n: None},
        },
    ),
    "rotate, the rest": (
        book.rotate,
        {
            "x": Z(2, 3, 4),
            "table": book.rotary_table(torch.arange(3), book.rotary_frequencies(4)),
            "layout": "half",
        },
        {
            "x": {"elsewhere": meta(2, 3, 4)},
            "rotary_dim": {"odd": 3, "negative": -2, "float": 4.0, "bool": True},
            "sequence_axis": {"float": -2.0, "bool": True, "None": None, "text": "-2"},
            "layout": {"typo": "interleave", "other name": "neox"},
        },
    ),
    "typos of an architecture": (
        book.Architecture,
        {"d": 8, "heads": 2, "layers": 2},
        {
            "activation": {"typo": "swigl", "capitals": "ReLU"},
            "norm": {"typo": "rmsnorm", "capitals": "RMS"},
            "placement": {"typo": "pre-norm", "capitals": "Pre"},
            "embedding_scale": NOT_POSITIVE,
        },
    ),
    "typos of experts": (
        book.MixtureOfExperts,
        {"d": 8, "hidden": 4, "experts": 3, "k": 2, "seed": 0},
        {"gate": {"typo": "softmx"}, "activation": {"typo": "swigl"}},
    ),
    "norms elsewhere": (
        book.rms_norm,
        {"x": Z(2, 4), "gain": Z(4)},
        {
            "gain": {
                "elsewhere": meta(4),
                "long": Z(5),
                "one": Z(1),
                "two axes": Z(2, 4),
                "list": [1.0] * 4,
                "double": Z(4).double(),
            }
        },
    ),
    "sample_token, the rest": (
        book.sample_token,
        {"logits": Z(2, 3), "temperature": 1.0, "rng": np.random.default_rng(0)},
        {"rng": {"number": 0, "None": None, "torch's": torch.Generator(), "module": np.random}},
    ),
    "generate elsewhere": (
        book.generate,
        {"decoder": DECODER, "prompt": TOKENS, "steps": 1},
        {
            "lengths": {"elsewhere": torch.tensor([1, 2], device="meta"), "list": [1, 2]},
            "memory": {"unasked": X},
            "end": {"bool": True, "text": "."},
        },
    ),
    "alibi_bias elsewhere": (
        book.alibi_bias,
        {"slopes": Z(2), "q_positions": torch.arange(3), "k_positions": torch.arange(3)},
        {
            "slopes": {"elsewhere": meta(2)},
            "k_positions": {"elsewhere": torch.arange(3, device="meta")},
        },
    ),
    "T5Bias, far": (
        book.T5Bias,
        {"heads": 2, "bidirectional": False, "seed": 0},
        {"max_distance": {"beyond all positions": 2**70}},
    ),
    "rotate_queries_and_keys": (
        rotate_queries_and_keys,
        {
            "q": Z(1, 2, 3, 4),
            "k": Z(1, 2, 3, 4),
            "table": book.rotary_table(torch.arange(3), book.rotary_frequencies(4)),
            "layout": "half",
        },
        {
            "q": REAL,
            "k": {**REAL, "elsewhere": meta(1, 2, 3, 4), "double": Z(1, 2, 3, 4).double()},
            "layout": NOT_CHOICES,
        },
    ),
}


def kinds(function: str) -> Iterator[tuple[str, str]]:
    """All arguments of a function, and what is wrong with the values that each is given."""
    for argument, values in CASES[function][2].items():
        for kind in values:
            yield argument, kind


# What an error from inside Python or PyTorch says, and ours never do.
INTERNAL = (
    "object has no attribute",
    "unexpected keyword",
    "unsupported operand",
    "The size of tensor",
    "index out of range",
    "not subscriptable",
    "mat1 and mat2",
    "expected scalar type",
    "Expected ",
    "must be Tensor, not",
    "invalid combination",
)


def names_the_argument(message: str, argument: str) -> bool:
    """Whether the message names the argument, or the part of the call it stands for."""
    beside = {
        "x": ("x ", "rotary dim"),
        "source": ("source", "tokens"),
        "target": ("tokens", "target"),
        "context": ("context",),
        "memory": ("memory", "context", "cross-attention"),
        "memory_mask": ("mask", "cross-attention"),
        "target_mask": ("mask",),
        "source_mask": ("source_mask",),
        "encoder": ("Encoder", "encoder"),
        "decoder": ("Decoder", "decoder"),
        "top_p": ("top_p", "p must"),
        "prompt": ("prompt", "tokens"),
        "position": ("position",),
        "cache": ("cache",),
        "state_dict": ("state_dict", "weight"),
        "rotary_dim": ("rotary_dim", "rotary dim"),
        "rope_scaling": ("rope", "factor", "scaling", "scale"),
        "rope_theta": ("rope_theta",),
    }.get(argument, (argument,))
    return any(name in message for name in beside)


def fault(function: str, argument: str, kind: str) -> str | None:
    """What is wrong with the answer to one bad value; None where it is refused as it should be."""
    call, sound, arguments = CASES[function]
    try:
        call(**{**sound, argument: arguments[argument][kind]})
    except (TypeError, ValueError) as error:
        message = str(error)
        if any(part in message for part in INTERNAL):
            return f"an error from inside: {message}"
        return None if names_the_argument(message, argument) else f"not named: {message}"
    except Exception as error:
        return f"an error of another type: {error!r}"
    return "accepted"


@pytest.mark.parametrize("function", CASES)
def test_bad_input_is_refused_by_name(function: str) -> None:
    """Thousands of kinds, all of a function in one test, which tells each that is not refused."""
    wrong = [
        f"{argument}: {kind}: {problem}"
        for argument, kind in kinds(function)
        if (problem := fault(function, argument, kind))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda x: x, "accepted"),
        (lambda x: x.shape, "an error of another type: AttributeError"),
        (lambda x: Z(3) + Z(2), "an error of another type: RuntimeError"),
        (lambda x: x + 1, "an error from inside: unsupported operand"),
        (lambda x: book.causal_mask(x), "not named: q_len must be"),
    ],
)
def test_a_bad_answer_is_told(
    answer: Callable[..., object], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CASES, "planted", (answer, {"x": 1}, {"x": {"None": None, "same": None}}))
    with pytest.raises(AssertionError) as told:
        test_bad_input_is_refused_by_name("planted")
    assert f"x: None: {problem}" in str(told.value)
    assert f"x: same: {problem}" in str(told.value)


@pytest.mark.parametrize("function", CASES)
def test_the_sound_call_is_accepted(function: str) -> None:
    call, sound, _ = CASES[function]
    call(**sound)


def test_there_are_enough_kinds() -> None:
    assert sum(len(list(kinds(function))) for function in CASES) >= 400


@pytest.mark.parametrize("number", [np.int64(2), np.int32(2), np.uint8(2)])
def test_numpy_numbers_are_whole_numbers(number: Any) -> None:
    assert book.causal_mask(number).shape == (2, 2)
    assert torch.equal(book.Linear(number, 2, seed=number).W, book.Linear(2, 2, seed=2).W)
    assert book.generate(DECODER, TOKENS, number).shape == (2, 5)
    assert book.attention(Z(2, 2), Z(2, 2), Z(2, 2), scale=np.float32(0.5)).shape == (2, 2)
