"""A complete modern decoder in one file; it needs only PyTorch, and safetensors to read files.

Llama's architecture, and Qwen3's, which adds a norm on queries and keys: RMSNorm, grouped-query
attention with RoPE, SwiGLU, a key-value cache, batches with padding, generation that stops at end
tokens. Released checkpoints load as they are, from a folder with config.json and safetensors files:

    model = load_checkpoint("folder")  # in the dtype of its weights
    tokens = generate(model, prompt, 50, temperature=0)

Shapes: B sequences, N new tokens, N_k tokens in all, those in the cache included, d = hidden_size,
h query heads, g key-value heads, d_k = head_dim, V = vocab_size.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

# Cosines and sines of the new positions, times YaRN's factor, (N, d_k/2) each, or
# (B, 1, N, d_k/2) with padding.
Table = tuple[Tensor, Tensor]
ROPE_SETTINGS = (
    "rope_type",
    "type",  # the older name of rope_type
    "rope_theta",
    "partial_rotary_factor",
    "factor",
    "original_max_position_embeddings",
    "low_freq_factor",
    "high_freq_factor",
    "beta_fast",
    "beta_slow",
    "attention_factor",
    "mscale",
    "mscale_all_dim",
    "truncate",
    "finetuned",  # says only how a checkpoint was made
)


class Cache(NamedTuple):
    """What one layer keeps of all tokens so far."""

    k: Tensor  # rotated keys, (B, g, N_k, d_k)
    v: Tensor  # values, (B, g, N_k, d_k)
    mask: Tensor | None = None  # (B, N_k), False for padding; None if there is none


Caches = tuple[Cache, ...]  # one for each layer; empty before the first token


def expect(config: dict[str, Any], name: str, *accepted: Any) -> None:
    """Raise unless the setting has one of the accepted values; None stands for a missing one."""
    value = config.get(name)
    if value not in accepted:
        expected = " or ".join("nothing" if one is None else repr(one) for one in accepted)
        raise ValueError(f"{name}: expected {expected}, got {value!r}")


def positive_integer(config: dict[str, Any], name: str, default: int | None = None) -> int:
    """A setting that counts something; without a default it must be there."""
    value = config.get(name)
    if value is None:
        value = default
    if type(value) is not int or value < 1:
        raise ValueError(f"{name}: expected a positive integer, got {value!r}")
    return value


def positive_number(config: dict[str, Any], name: str, default: float | None = None) -> float:
    """A setting that is a positive number; without a default it must be there."""
    value: Any = config.get(name)
    if value is None:
        value = default
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise ValueError(f"{name}: expected a positive number, got {value!r}")
    return float(value)


def token_numbers(config: dict[str, Any], name: str) -> tuple[int, ...]:
    """A setting that names one token, several in a list, or none; a negative number is none."""
    value = config.get(name)
    if value is None:
        value = []
    numbers = value if isinstance(value, list) else [value]
    for number in numbers:
        if type(number) is not int:
            raise ValueError(f"{name}: expected a token number or a list of them, got {value!r}")
    return tuple(number for number in numbers if number >= 0)


def rope_settings(config: dict[str, Any]) -> dict[str, Any]:
    """The settings of the rotation; one that this file does not know is refused, not ignored."""
    expect(config, "partial_rotary_factor", 1.0, None)
    known = ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor")
    # A setting may change the rotation if a word of its name begins or ends like this: "mrope" may,
    # "properties" does not.
    stems = ("rope", "rotary", "partial", "scaling", "theta")
    for name, value in config.items():
        words = name.lower().split("_")
        about_rope = any(word.startswith(stems) or word.endswith(stems) for word in words)
        if about_rope and name not in known and value is not None:
            raise ValueError(f"{name}: expected no such setting, got {value!r}")

    # Older files have rope_theta and rope_scaling, newer ones have rope_parameters.
    scaling = config.get("rope_scaling") or {}
    parameters = config.get("rope_parameters") or {}
    if scaling and parameters:
        raise ValueError(f"rope_scaling: expected nothing beside rope_parameters, got {scaling}")
    rope = {"rope_theta": config.get("rope_theta")} | scaling | parameters
    for name, value in rope.items():
        if name not in ROPE_SETTINGS and value is not None:
            raise ValueError(f"{name}: expected no such setting of RoPE, got {value!r}")
    rope["rope_theta"] = positive_number(rope, "rope_theta", default=10_000.0)
    expect(rope, "partial_rotary_factor", 1.0, None)
    return rope


@dataclass(frozen=True)
class Config:
    """The settings of a checkpoint, by their names in config.json."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rope_parameters: dict[str, Any]
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = False
    qk_norm: bool = False
    eos_token_id: tuple[int, ...] = ()  # each of these tokens ends a text
    pad_token_id: int | None = None  # what follows the end; if None, the first end token

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit together."""
        if self.head_dim % 2 == 1:
            raise ValueError(f"head_dim: expected an even number, got {self.head_dim}")
        if self.num_attention_heads % self.num_key_value_heads != 0:
            raise ValueError(
                "num_attention_heads: expected a multiple of num_key_value_heads, "
                f"{self.num_key_value_heads}, got {self.num_attention_heads}"
            )

    @classmethod
    def from_dict(
        cls, config: dict[str, Any], generation_config: dict[str, Any] | None = None
    ) -> "Config":
        """Read the config.json of a Llama or Qwen3; what this model does not have is refused.

        If both files name end tokens or a padding token, generation_config.json wins.
        """
        expect(config, "model_type", "llama", "qwen3")
        expect(config, "hidden_act", "silu", None)
        expect(config, "attention_bias", False, None)
        expect(config, "mlp_bias", False, None)
        expect(config, "use_sliding_window", False, None)
        expect(config, "tie_word_embeddings", True, False, None)
        expect(config, "quantization_config", None)
        layer_types = config.get("layer_types") or []
        if any(layer_type != "full_attention" for layer_type in layer_types):
            raise ValueError(f"layer_types: expected only 'full_attention', got {layer_types}")

        special = {name: config.get(name) for name in ("eos_token_id", "pad_token_id")}
        for name in special:
            value = (generation_config or {}).get(name)
            if value is not None:  # also if it is an empty list, which says that there is none
                special[name] = value
        end = token_numbers(special, "eos_token_id")
        padding = token_numbers(special, "pad_token_id")
        d = positive_integer(config, "hidden_size")
        h = positive_integer(config, "num_attention_heads")
        if config.get("head_dim") is None and d % h != 0:
            raise ValueError(
                f"hidden_size: expected a multiple of num_attention_heads, {h}, because there is "
                f"no head_dim, got {d}"
            )
        return cls(
            vocab_size=positive_integer(config, "vocab_size"),
            hidden_size=d,
            intermediate_size=positive_integer(config, "intermediate_size"),
            num_hidden_layers=positive_integer(config, "num_hidden_layers"),
            num_attention_heads=h,
            num_key_value_heads=positive_integer(config, "num_key_value_heads", default=h),
            head_dim=positive_integer(config, "head_dim", default=d // h),
            rope_parameters=rope_settings(config),
            rms_norm_eps=positive_number(config, "rms_norm_eps", default=1e-6),
            tie_word_embeddings=bool(config.get("tie_word_embeddings")),
            qk_norm=config["model_type"] == "qwen3",
            eos_token_id=end,
            pad_token_id=padding[0] if padding else None,
        )


def kept_by_llama3(turns: Tensor, rope: dict[str, Any]) -> Tensor:
    """Which share of its frequency each pair keeps, (d_k/2,), by Llama 3's rule.

    A pair that turned often in training has seen all angles and keeps its frequency. A slow pair
    keeps none of it, and in between the share rises in a straight line.
    """
    low = positive_number(rope, "low_freq_factor")
    high = positive_number(rope, "high_freq_factor")
    if low >= high:
        raise ValueError(f"high_freq_factor: expected more than low_freq_factor, {low}, got {high}")
    return ((turns - low) / (high - low)).clamp(0, 1)


def kept_by_yarn(turns: Tensor, rope: dict[str, Any]) -> Tensor:
    """Which share of its frequency each pair keeps, (d_k/2,), by YaRN's rule."""
    expect(rope, "mscale", None)
    expect(rope, "mscale_all_dim", None)
    expect(rope, "truncate", True, None)
    fast = positive_number(rope, "beta_fast", default=32)  # pairs with more turns keep all of it
    slow = positive_number(rope, "beta_slow", default=1)  # pairs with fewer turns keep nothing
    if slow >= fast:
        raise ValueError(f"beta_fast: expected more than beta_slow, {slow}, got {fast}")
    d_k = 2 * len(turns)
    most = turns[0].item()  # the turns of the fastest pair
    per_pair = 2 * math.log(rope["rope_theta"]) / d_k  # the logarithm of turns falls by this

    def pair_with(count: float) -> float:
        """The index i, with a fraction, at which most * exp(-i * per_pair) = count."""
        return math.log(most / count) / per_pair

    # From pair `first` to pair `last`, the share falls from 1 to 0. The limit d_k - 1 is that of
    # the authors' code (github.com/jquesnelle/yarn), although there are only d_k/2 pairs.
    first = max(math.floor(pair_with(fast)), 0)
    last = min(math.ceil(pair_with(slow)), d_k - 1)
    width = max(last - first, 0.001)  # the next line divides by it; 0.001 is theirs
    pairs = torch.arange(d_k // 2, dtype=torch.float64, device="cpu")
    ramp = (pairs - first) / width
    return 1 - ramp.clamp(0, 1)


def rope_frequencies(d_k: int, rope: dict[str, Any]) -> tuple[Tensor, float]:
    """Radians per position of each pair, (d_k/2,), and a factor for cosines and sines.

    Pair i has `theta ** (-2i / d_k)`: 1 radian per position for the first, then less and less.
    """
    theta = rope["rope_theta"]
    # On the CPU even if the model is built elsewhere: on "meta" there would be no numbers.
    even = torch.arange(0, d_k, 2, dtype=torch.float64, device="cpu")  # (d_k/2,)
    frequencies = theta ** -(even / d_k)  # (d_k/2,)
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return frequencies, 1.0
    if kind not in ("linear", "llama3", "yarn"):
        raise ValueError(
            f"rope_type: expected 'default', 'linear', 'llama3' or 'yarn', got {kind!r}"
        )
    s = positive_number(rope, "factor")
    if kind == "linear":
        return frequencies / s, 1.0
    # For contexts s times as long as in training, llama3 and yarn divide the frequencies of slow
    # pairs by s and keep those of fast pairs.
    length = positive_integer(rope, "original_max_position_embeddings")
    turns = length * frequencies / (2 * math.pi)  # of each pair, over a whole text of training
    if kind == "llama3":
        keep = kept_by_llama3(turns, rope)  # (d_k/2,), 1: as it was, 0: divided by s
        factor = 1.0
    else:
        keep = kept_by_yarn(turns, rope)  # (d_k/2,)
        # From the paper on YaRN, arXiv 2309.00071. Queries and keys are both multiplied by it, so
        # scores are multiplied by its square.
        factor = positive_number(rope, "attention_factor", default=0.1 * math.log(max(s, 1)) + 1)
    return keep * frequencies + (1 - keep) * frequencies / s, factor


def rotate(x: Tensor, table: Table) -> Tensor:
    """Rotate each pair of dimensions (i, i + d_k/2) of x, (B, heads, N, d_k), by its angle.

    After it, the dot product of a query and a key depends on the distance of their tokens, and not
    on where in the text they are.
    """
    cos, sin = table  # in float32 or more, also if x is in half precision
    first, second = x.chunk(2, dim=-1)  # (B, heads, N, d_k/2) each
    rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return rotated.to(x.dtype)  # (B, heads, N, d_k)


def visible_tokens(N: int, N_k: int, mask: Tensor | None, device: torch.device) -> Tensor:
    """Which of N_k tokens each of the last N may see: (N, N_k), or (B, 1, N, N_k) with a mask."""
    columns = torch.arange(N_k, device=device)  # (N_k,)
    rows = columns[N_k - N :, None]  # (N, 1)
    # A token sees those up to itself. Whoever changes this rule, for example to a sliding window,
    # must also change `Model.forward`, which skips the matrix for whole texts and single tokens.
    causal = columns <= rows  # (N, N_k)
    if mask is None:
        return causal
    real = mask[:, None, None, :]  # (B, 1, 1, N_k), the same for all heads
    # Padding sees itself: for a row that sees nothing, some GPU kernels return garbage.
    itself = columns == rows  # (N, N_k)
    return (causal & real) | itself  # (B, 1, N, N_k)


class Attention(nn.Module):
    """Causal attention of h query heads, of which each group shares one of g key-value heads.

    Each head computes `softmax(q @ k.T / sqrt(d_k)) @ v`. Fewer key-value heads make the cache
    smaller by the factor g / h. The names of the layers are those of the checkpoints.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        d = config.hidden_size
        h = config.num_attention_heads
        g = config.num_key_value_heads
        self.d_k = config.head_dim
        self.q_proj = nn.Linear(d, h * self.d_k, bias=False)
        self.k_proj = nn.Linear(d, g * self.d_k, bias=False)
        self.v_proj = nn.Linear(d, g * self.d_k, bias=False)
        self.o_proj = nn.Linear(h * self.d_k, d, bias=False)
        self.q_norm = nn.RMSNorm(self.d_k, config.rms_norm_eps) if config.qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(self.d_k, config.rms_norm_eps) if config.qk_norm else nn.Identity()

    def split(self, x: Tensor) -> Tensor:
        """One vector per head, (B, N, heads · d_k) to (B, heads, N, d_k)."""
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def forward(
        self, x: Tensor, table: Table, cache: Cache | None, visible: Tensor | None = None
    ) -> tuple[Tensor, Cache]:
        """Attend from the new tokens x, (B, N, d), to all tokens so far that they may see.

        `visible` says which these are. None has two meanings. Without a cache, x is a whole text,
        in which a token sees those up to itself; with a cache, x is one token, which sees all.
        """
        q = self.split(self.q_proj(x))  # (B, h, N, d_k)
        k = self.split(self.k_proj(x))  # (B, g, N, d_k)
        v = self.split(self.v_proj(x))  # (B, g, N, d_k)
        # Queries and keys carry the position, values do not. The norm, if any, comes first.
        q = rotate(self.q_norm(q), table)  # (B, h, N, d_k)
        k = rotate(self.k_norm(k), table)  # (B, g, N, d_k)
        # Keys are kept after their rotation: the angle of a token never changes.
        if cache is not None:
            k = torch.cat((cache.k, k), dim=2)  # (B, g, N_k, d_k)
            v = torch.cat((cache.v, v), dim=2)  # (B, g, N_k, d_k)
        # One call for all heads; `enable_gqa` lets each group of h / g query heads share a key.
        whole_text = visible is None and cache is None
        out = scaled_dot_product_attention(q, k, v, visible, is_causal=whole_text, enable_gqa=True)
        joined = out.transpose(1, 2).flatten(-2)  # (B, h, N, d_k) to (B, N, h · d_k)
        # The first cache has the memory order of later ones, so that a compiled model needs fewer
        # graphs.
        return self.o_proj(joined), Cache(k, v.contiguous())  # (B, N, d)


class FeedForward(nn.Module):
    """SwiGLU: a linear map, gated by the SiLU of a second one, and a third one back to width d."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token by itself, (B, N, d) to (B, N, d)."""
        gate = silu(self.gate_proj(x))  # (B, N, intermediate_size)
        return self.down_proj(gate * self.up_proj(x))  # (B, N, d)


class Block(nn.Module):
    """Attention, then the feed-forward layer; each reads a normalized copy and adds its result."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = FeedForward(config)

    def forward(
        self, x: Tensor, table: Table, cache: Cache | None, visible: Tensor | None = None
    ) -> tuple[Tensor, Cache]:
        """Add to the residual stream x, (B, N, d), which itself is never normalized."""
        attended, cache = self.self_attn(self.input_layernorm(x), table, cache, visible)
        x = x + attended  # (B, N, d)
        x = x + self.mlp(self.post_attention_layernorm(x))  # (B, N, d)
        return x, cache


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a checkpoint by their names in `Model`; integers are refused."""
    named = {}
    for name, weight in weights.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue  # older checkpoints store frequencies, which `Model` computes
        if not weight.is_floating_point():
            raise ValueError(f"{name}: expected floating-point numbers, got {weight.dtype}")
        named[name.removeprefix("model.")] = weight
    if "embed_tokens.weight" not in named:
        some = sorted(named)[:3]
        raise ValueError(f"embed_tokens.weight: expected among the weights, got {some} …")
    return named


def check_input(tokens: Tensor, mask: Tensor | None) -> None:
    """Refuse shapes, and dtypes of a mask, that would mean something else."""
    if tokens.dim() != 2 or tokens.shape[1] == 0:
        raise ValueError(f"tokens: expected a shape (B, N) with N > 0, got {tuple(tokens.shape)}")
    if mask is None:
        return
    expected = tuple(tokens.shape)
    if tuple(mask.shape) != expected:
        raise ValueError(
            f"mask: expected the shape (B, N) of the new tokens, {expected}, "
            f"got {tuple(mask.shape)}"
        )
    if mask.is_floating_point():
        raise ValueError(f"mask: expected Booleans or integers, got {mask.dtype}")


def whole_mask(tokens: Tensor, caches: Caches, mask: Tensor | None) -> Tensor | None:
    """The mask of all tokens so far, (B, N_k): that of the cache, then that of the new tokens."""
    old = caches[0].mask if caches else None
    if old is None and mask is None:
        return None  # there is no padding
    if old is None:
        start = caches[0].k.shape[2] if caches else 0
        old = torch.ones(tokens.shape[0], start, dtype=torch.bool, device=tokens.device)
    if mask is None:
        mask = torch.ones_like(tokens)
    return torch.cat((old, mask.bool()), dim=1)


class Model(nn.Module):
    """From tokens to the logits of each next token."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        d = config.hidden_size
        self.embed_tokens = nn.Embedding(config.vocab_size, d)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(d, config.rms_norm_eps)
        self.lm_head = nn.Linear(d, config.vocab_size, bias=False)
        self.tie()
        # load_state_dict(assign=True) unties the two, so this ties them again after each loading.
        self.register_load_state_dict_post_hook(Model.tie)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
        # No buffer: model.bfloat16() would round the frequencies, and to_empty() would lose them.
        self.frequencies, self.factor = rope_frequencies(config.head_dim, config.rope_parameters)

    def tie(self, _incompatible_keys: Any = None) -> None:
        """Let the output layer share the embedding's matrix, if the configuration says so."""
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight

    def load(self, weights: dict[str, Tensor], dtype: torch.dtype | None = None) -> "Model":
        """Take the weights of a checkpoint, in the dtype of its embedding or in another one.

        They are not copied where dtype and device agree, so a model that was built on "meta" needs
        no memory of its own. A name that is missing or unknown is an error.
        """
        named = renamed(weights)
        embedding = named["embed_tokens.weight"]
        if self.config.tie_word_embeddings:
            head = named.setdefault("lm_head.weight", embedding)
            if not torch.equal(head, embedding):
                raise ValueError("lm_head.weight: expected the embedding's matrix, got another one")
        dtype = dtype or embedding.dtype
        device = self.embed_tokens.weight.device
        if device.type == "meta":  # the model has no place yet
            device = embedding.device
        converted = {name: weight.to(device, dtype) for name, weight in named.items()}
        self.load_state_dict(converted, assign=True)
        return self

    def table(self, positions: Tensor) -> Table:
        """Cosines and sines of the angles at these positions, (..., N) to (..., N, d_k/2) each."""
        device = positions.device
        in_float64 = "cpu" if device.type == "mps" else device  # MPS has no float64
        # Angles in float64: in float32 their error grows with the position. The finished table is
        # rounded once, to float32 even if the model computes in half precision.
        frequencies = self.frequencies.to(in_float64)
        angles = positions[..., None].to(in_float64) * frequencies  # (..., N, d_k/2)
        # A compiler keeps a stack, and would compute two tensors anew in each layer.
        cos_and_sin = torch.stack((angles.cos(), angles.sin())) * self.factor
        dtype = torch.promote_types(self.embed_tokens.weight.dtype, torch.float32)
        cos, sin = cos_and_sin.to(device, dtype)
        return cos, sin

    def forward(
        self, tokens: Tensor, caches: Caches = (), mask: Tensor | None = None
    ) -> tuple[Tensor, Caches]:
        """Logits (B, N, V) of the tokens that follow `tokens`, (B, N), and the cache with these.

        If texts of different lengths are padded, `mask`, (B, N), is 1 for tokens of a text and 0
        for padding; without it, no new token is padding. The cache keeps the mask of its tokens.
        """
        check_input(tokens, mask)
        start = caches[0].k.shape[2] if caches else 0  # the number of tokens before
        N = tokens.shape[1]
        N_k = start + N
        real = whole_mask(tokens, caches, mask)  # (B, N_k), or None if there is no padding
        if real is None:
            positions = torch.arange(start, N_k, device=tokens.device)  # (N,)
        else:
            # A position counts the tokens of the same text before it, and no padding. Padding on
            # the left gets position -1; it is masked, so the value does not matter.
            in_text = real.cumsum(-1) - 1  # (B, N_k)
            positions = in_text[:, None, start:]  # (B, 1, N), the same for all heads
        # One table of angles and one matrix of what is visible serve all layers.
        table = self.table(positions)  # (N, d_k/2) each, or (B, 1, N, d_k/2)
        # Without padding, two cases need no matrix: a whole text, for which `is_causal` says the
        # same, and one new token, which sees everything.
        visible = None
        if real is not None or (caches and N > 1):
            visible = visible_tokens(N, N_k, real, tokens.device)
        # The stream: each token's vector, to which every block adds.
        x = self.embed_tokens(tokens)  # (B, N, d)
        old_caches = caches or (None,) * len(self.layers)
        new_caches: Caches = ()
        for block, cache in zip(self.layers, old_caches, strict=True):
            x, new_cache = block(x, table, cache, visible)  # (B, N, d)
            new_caches += (Cache(new_cache.k, new_cache.v, real),)
        return self.lm_head(self.norm(x)), new_caches  # logits (B, N, V)


def sample(logits: Tensor, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """Draw a token per row of logits: (B, V) to (B,).

    Only the top_k likeliest can be drawn (0: all), and of these the fewest whose probabilities,
    after the softmax over them, sum to top_p.
    A temperature of 0 takes the likeliest token of each row, without a draw.
    """
    if not 0 <= temperature < math.inf:  # also refuses NaN
        raise ValueError(
            f"temperature: expected 0 (greedy) or a positive number, got {temperature}"
        )
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p: expected a number above 0 and at most 1, got {top_p}")
    if not 0 <= top_k <= logits.shape[-1]:
        raise ValueError(f"top_k: expected 0 (all) to {logits.shape[-1]}, got {top_k}")
    if not logits.amax(-1).isfinite().all():
        raise ValueError("logits: expected a finite maximum in each row, got NaN or infinity")
    if temperature == 0:
        return logits.argmax(-1)  # (B,)
    best, tokens = logits.float().topk(top_k or logits.shape[-1])  # descending, (B, top_k) each
    # Differences from the largest: divided by a small temperature, they become -infinite at worst.
    below = best - best[:, :1]
    scaled = below / temperature
    # The largest stays at 0. Where float32 rounds the temperature to 0, 0 / 0 would be NaN.
    scaled = scaled.masked_fill(below == 0, 0)
    p = scaled.softmax(-1)  # (B, top_k), in descending order
    if top_p < 1:  # at 1 all stay; rounded sums would remove some
        before = p.cumsum(-1) - p  # the probability of all likelier tokens
        p[before >= top_p] = 0
    chosen = torch.multinomial(p, 1)  # (B, 1)
    return tokens.gather(-1, chosen).squeeze(-1)


def check_prompt_mask(prompt: Tensor, mask: Tensor) -> None:
    """Refuse a mask with which the last token would not be the one to continue."""
    check_input(prompt, mask)
    if not ((mask == 0) | (mask == 1)).all():
        raise ValueError(f"mask: expected only 0 and 1, got {mask.unique().tolist()}")
    if not (mask[:, -1] == 1).all():
        raise ValueError("mask: expected padding on the left, got a prompt that ends with padding")


@torch.no_grad()
def generate(
    model: Model,
    prompt: Tensor,
    count: int,
    mask: Tensor | None = None,
    end: int | Sequence[int] | None = None,
    **sampling: Any,
) -> Tensor:
    """Continue each prompt, (B, N), by at most `count` sampled tokens: (B, N + count or less).

    A text ends with one of the tokens `end`, by default those of the configuration; padding follows
    until all texts have ended. Shorter prompts are padded on the left, where their `mask` is 0.
    """
    if count < 0:
        raise ValueError(f"count: expected 0 or more, got {count}")
    if mask is not None:
        check_prompt_mask(prompt, mask)
    if end is None:
        end = model.config.eos_token_id
    if isinstance(end, int):
        end = (end,)
    end_tokens = torch.tensor(end, dtype=torch.long, device=prompt.device)
    padding = model.config.pad_token_id
    if padding is None:
        padding = end[0] if end else 0
    ended = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)  # (B,)
    tokens = prompt
    unread = prompt  # the prompt first, then one token at a time
    caches: Caches = ()
    # The first step reads the whole prompt, each later one only the token chosen before it.
    for _ in range(count):
        logits, caches = model(unread, caches, mask)  # (B, 1, V), for the prompt (B, N, V)
        chosen = sample(logits[:, -1], **sampling)  # (B,)
        chosen = chosen.masked_fill(ended, padding)
        ended = ended | torch.isin(chosen, end_tokens)
        unread = chosen[:, None]  # (B, 1)
        tokens = torch.cat((tokens, unread), dim=1)
        mask = None  # the cache keeps that of the prompt, and new tokens need none
        if ended.all():
            break
    return tokens


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """All weights of a safetensors file, or of a folder with one file or several and an index."""
    from safetensors.torch import load_file  # the only part that needs more than PyTorch

    path = Path(path)
    if path.is_file():
        return load_file(path)
    if (path / "model.safetensors").exists():
        return load_file(path / "model.safetensors")
    index = path / "model.safetensors.index.json"
    if not index.exists():
        raise FileNotFoundError(
            f"{path}: expected model.safetensors or {index.name} in this folder"
        )
    file_of = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
    weights = {}
    for file in sorted(set(file_of.values())):
        weights.update(load_file(path / file))
    missing = sorted(set(file_of) - set(weights))
    if missing:
        raise ValueError(f"{index}: expected these weights in its files, found none: {missing}")
    return weights


def load_checkpoint(
    path: str | Path, dtype: torch.dtype | None = None, device: str | torch.device = "cpu"
) -> Model:
    """The model of a folder, or of a file of weights that has its config.json beside it.

    It has the dtype of the stored embedding unless told another.
    """
    path = Path(path)
    folder = path.parent if path.is_file() else path
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    generation_config = {}
    if (folder / "generation_config.json").exists():
        text = (folder / "generation_config.json").read_text(encoding="utf-8")
        generation_config = json.loads(text)
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced
        model = Model(Config.from_dict(config, generation_config))
    return model.load(read_weights(path), dtype).to(device)
