"""A complete modern decoder in one file that needs only PyTorch. Copy it.

Llama's architecture, and Qwen3's, which adds a norm on queries and keys: RMSNorm, grouped-query
attention with RoPE, SwiGLU, a key-value cache, generation. Released checkpoints load as they are:

    config = Config.from_dict(json.loads(Path("config.json").read_text()))
    model = Model(config).load(safetensors.torch.load_file("model.safetensors"))

Shapes: B sequences, N new tokens, N_k tokens in all, those in the cache included, d = hidden_size,
h query heads, g key-value heads, d_k = head_dim, V = vocab_size.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

Table = tuple[Tensor, Tensor]  # cosines and sines of the new positions, (N, d_k/2) each
Cache = tuple[Tensor, Tensor]  # rotated keys and values of all tokens so far, (B, g, N_k, d_k) each
Caches = tuple[Cache, ...]  # one for each layer; none before the first token


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


def positive_number(config: dict[str, Any], name: str, default: float) -> float:
    """A setting that is a positive number, or the default if it is missing."""
    value = config.get(name)
    if value is None:
        value = default
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise ValueError(f"{name}: expected a positive number, got {value!r}")
    return float(value)


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

    @classmethod
    def from_dict(cls, config: dict[str, Any]) -> "Config":
        """Read the config.json of a Llama or Qwen3; what this model does not have is refused."""
        expect(config, "model_type", "llama", "qwen3")
        expect(config, "hidden_act", "silu", None)
        expect(config, "attention_bias", False, None)
        expect(config, "mlp_bias", False, None)
        expect(config, "use_sliding_window", False, None)
        expect(config, "tie_word_embeddings", True, False, None)
        expect(config, "partial_rotary_factor", 1.0, None)
        layer_types = config.get("layer_types") or []
        if any(layer_type != "full_attention" for layer_type in layer_types):
            raise ValueError(f"layer_types: expected only 'full_attention', got {layer_types}")

        # Older files have rope_theta and rope_scaling, newer ones have rope_parameters.
        scaling = config.get("rope_scaling") or {}
        parameters = config.get("rope_parameters") or {}
        if scaling and parameters:
            raise ValueError(
                f"rope_scaling: expected nothing beside rope_parameters, got {scaling}"
            )
        rope = {"rope_theta": config.get("rope_theta")} | scaling | parameters
        rope["rope_theta"] = positive_number(rope, "rope_theta", default=10_000.0)
        expect(rope, "partial_rotary_factor", 1.0, None)

        d = positive_integer(config, "hidden_size")
        h = positive_integer(config, "num_attention_heads")
        return cls(
            vocab_size=positive_integer(config, "vocab_size"),
            hidden_size=d,
            intermediate_size=positive_integer(config, "intermediate_size"),
            num_hidden_layers=positive_integer(config, "num_hidden_layers"),
            num_attention_heads=h,
            num_key_value_heads=positive_integer(config, "num_key_value_heads", default=h),
            head_dim=positive_integer(config, "head_dim", default=d // h),
            rope_parameters=rope,
            rms_norm_eps=positive_number(config, "rms_norm_eps", default=1e-6),
            tie_word_embeddings=bool(config.get("tie_word_embeddings")),
            qk_norm=config["model_type"] == "qwen3",
        )


def rope_frequencies(d_k: int, rope: dict[str, Any]) -> tuple[Tensor, float]:
    """Radians per position of each pair of dimensions, and a factor for the rotated vectors."""
    theta = rope["rope_theta"]
    even = torch.arange(0, d_k, 2, dtype=torch.float64)  # (d_k/2,)
    frequencies = theta ** -(even / d_k)  # (d_k/2,)
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return frequencies, 1.0
    s = rope.get("factor", 1.0)
    if kind == "linear":
        return frequencies / s, 1.0
    if kind not in ("llama3", "yarn"):
        raise ValueError(
            f"rope_type: expected 'default', 'linear', 'llama3' or 'yarn', got {kind!r}"
        )
    expect(rope, "mscale", None)
    expect(rope, "mscale_all_dim", None)
    expect(rope, "truncate", True, None)
    # For contexts s times as long as in training, these rules keep the frequencies of fast pairs.
    length = rope["original_max_position_embeddings"]
    turns = length * frequencies / (2 * math.pi)  # of each pair, in a text of training
    if kind == "llama3":
        low = rope["low_freq_factor"]
        high = rope["high_freq_factor"]
        keep = ((turns - low) / (high - low)).clamp(0, 1)  # 1: as it was, 0: divided by s
        factor = 1.0
    else:
        fast = rope.get("beta_fast") or 32  # pairs with more turns keep their frequency
        slow = rope.get("beta_slow") or 1  # pairs with fewer turns are divided by s
        per_pair = 2 * math.log(theta) / d_k  # the logarithm of turns falls by this, pair by pair
        first = math.floor(math.log(turns[0] / fast) / per_pair)
        last = math.ceil(math.log(turns[0] / slow) / per_pair)
        first = max(first, 0)
        last = min(last, d_k - 1)  # as in the released code, although there are only d_k/2 pairs
        ramp = (torch.arange(d_k // 2) - first) / max(last - first, 0.001)
        keep = 1 - ramp.clamp(0, 1)
        factor = rope.get("attention_factor") or 0.1 * math.log(s) + 1
    return keep * frequencies + (1 - keep) * frequencies / s, factor


def rotate(x: Tensor, table: Table) -> Tensor:
    """Rotate each pair of dimensions (i, i + d_k/2) of x, (B, heads, N, d_k), by its angle."""
    cos, sin = table  # in float32, also if x is in half precision
    first, second = x.chunk(2, dim=-1)  # (B, heads, N, d_k/2) each
    rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return rotated.to(x.dtype)


class Attention(nn.Module):
    """Causal attention of h query heads, of which each group shares one of g key-value heads."""

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

    def forward(self, x: Tensor, table: Table, cache: Cache | None) -> tuple[Tensor, Cache]:
        """Attend from the new tokens x, (B, N, d), to all tokens so far."""
        q = self.split(self.q_proj(x))  # (B, h, N, d_k)
        k = self.split(self.k_proj(x))  # (B, g, N, d_k)
        v = self.split(self.v_proj(x))  # (B, g, N, d_k)
        q = rotate(self.q_norm(q), table)
        k = rotate(self.k_norm(k), table)
        if cache is not None:
            old_k, old_v = cache
            k = torch.cat((old_k, k), dim=2)  # (B, g, N_k, d_k)
            v = torch.cat((old_v, v), dim=2)  # (B, g, N_k, d_k)
        N = q.shape[2]
        N_k = k.shape[2]
        mask = None
        if 1 < N < N_k:  # a token sees those up to itself
            mask = x.new_ones(N, N_k, dtype=torch.bool).tril(N_k - N)
        out = scaled_dot_product_attention(q, k, v, mask, is_causal=N_k == N, enable_gqa=True)
        joined = out.transpose(1, 2).flatten(-2)  # (B, N, h · d_k)
        return self.o_proj(joined), (k, v)


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
        return self.down_proj(gate * self.up_proj(x))


class Block(nn.Module):
    """Attention, then the feed-forward layer; each reads a normalized copy and adds its result."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = FeedForward(config)

    def forward(self, x: Tensor, table: Table, cache: Cache | None) -> tuple[Tensor, Cache]:
        """Add to the residual stream x, (B, N, d)."""
        attended, cache = self.self_attn(self.input_layernorm(x), table, cache)
        x = x + attended  # (B, N, d)
        x = x + self.mlp(self.post_attention_layernorm(x))
        return x, cache


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
        if config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
        self.frequencies, self.factor = rope_frequencies(config.head_dim, config.rope_parameters)

    def load(self, weights: dict[str, Tensor]) -> "Model":
        """Take the weights of a checkpoint; a name that is missing or unknown is an error."""
        named = {name.removeprefix("model."): weight for name, weight in weights.items()}
        if self.config.tie_word_embeddings:
            named["lm_head.weight"] = named["embed_tokens.weight"]
        self.load_state_dict(named)
        return self

    def forward(self, tokens: Tensor, caches: Caches = ()) -> tuple[Tensor, Caches]:
        """Logits (B, N, V) of the tokens that follow `tokens`, (B, N), and the cache with these."""
        x = self.embed_tokens(tokens)  # (B, N, d)
        start = caches[0][0].shape[2] if caches else 0  # the number of tokens before
        positions = torch.arange(start, start + tokens.shape[1], device=x.device)  # (N,)
        angles = positions[:, None] * self.frequencies.to(x.device, torch.float32)  # (N, d_k/2)
        # In half precision the cosines would lose digits: at least float32, as the angles.
        dtype = torch.promote_types(x.dtype, torch.float32)
        cos = (angles.cos() * self.factor).to(dtype)
        sin = (angles.sin() * self.factor).to(dtype)
        updated: Caches = ()
        for index, block in enumerate(self.layers):
            cache = caches[index] if caches else None
            x, cache = block(x, (cos, sin), cache)
            updated += (cache,)
        return self.lm_head(self.norm(x)), updated


def sample(logits: Tensor, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """Draw a token per row of logits, (B, V), from the top_k likeliest, as few as reach top_p.

    A temperature of 0 takes the likeliest token of each row, without a draw.
    """
    if not 0 <= temperature < math.inf:  # also refuses NaN
        raise ValueError(
            f"temperature: expected 0 (greedy) or a positive number, got {temperature}"
        )
    if temperature == 0:
        return logits.argmax(-1)  # (B,)
    best, tokens = logits.float().topk(top_k or logits.shape[-1])  # descending, (B, top_k) each
    # From the largest down, so that a small temperature makes no logit infinite.
    p = ((best - best[:, :1]) / temperature).softmax(-1)
    before = p.cumsum(-1) - p  # the probability of all likelier tokens
    p[before >= top_p] = 0
    chosen = torch.multinomial(p, 1)  # (B, 1)
    return tokens.gather(-1, chosen).squeeze(-1)


@torch.inference_mode()
def generate(model: Model, prompt: Tensor, count: int, **sampling: Any) -> Tensor:
    """Continue each prompt, (B, N), by `count` sampled tokens: (B, N + count)."""
    tokens = prompt
    unread = prompt  # the prompt first, then one token at a time
    caches: Caches = ()
    for _ in range(count):
        logits, caches = model(unread, caches)
        unread = sample(logits[:, -1], **sampling)[:, None]  # (B, 1)
        tokens = torch.cat((tokens, unread), dim=1)
    return tokens
