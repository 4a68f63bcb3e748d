"""Rotary embeddings with one planted bug each, and right ones in the styles that people write.

They were written without knowing how the doctor works. Vectors are (b, h, n, d), or (b, n, h, d)
where the sentence says so; positions are (n,) or, for most, also (b, n). Options that stand beside
a function: `config`, a Hugging Face configuration, and `layer_type`, which of its layers this is.
Where a bug's base is not told by a configuration, it is 10,000. A name begins with the bug's kind.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

Rotation = Callable[[Tensor, Tensor], Tensor]


class Bug(NamedTuple):
    name: str
    what: str
    words: tuple[str, ...]
    function: Callable[..., Any]
    head_dim: int = 128
    options: dict[str, Any] = {}  # noqa: RUF012


class Style(NamedTuple):
    name: str
    what: str
    function: Callable[..., Any]
    head_dim: int = 128
    options: dict[str, Any] = {}  # noqa: RUF012


BUGS: list[Bug] = []
STYLES: list[Style] = []


def bug(name, what, words, head_dim=128, **options):
    """The function below is recorded as a bug."""

    def record(function):
        BUGS.append(Bug(name, what, tuple(words.split(", ")), function, head_dim, options))
        return function

    return record


def style(name, what, head_dim=128, **options):
    """The function below is recorded as right."""

    def record(function):
        STYLES.append(Style(name, what, function, head_dim, options))
        return function

    return record


# What right and wrong functions are made of ------------------------------------------------------


def frequencies(d, base=10_000.0):
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def angles_of(positions, freqs):
    """(n, d/2) or (b, 1, n, d/2), in float64."""
    angles = torch.as_tensor(positions).double()[..., None] * freqs
    return angles if angles.dim() == 2 else angles.unsqueeze(-3)


def turn_halves(x, angles):
    x1, x2 = x.double().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


def turn_neighbours(x, angles):
    x1, x2 = x.double()[..., ::2], x.double()[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).flatten(-2).to(x.dtype)


def rope(x, positions, base=10_000.0, freqs=None, turn=turn_halves):
    """The right one, unless its arguments are wrong."""
    freqs = frequencies(x.shape[-1], base) if freqs is None else freqs
    return turn(x, angles_of(positions, freqs))


def rope_first(x, positions, part, base=10_000.0, freqs=None):
    """Turns only the first `part` entries."""
    return torch.cat((rope(x[..., :part], positions, base, freqs), x[..., part:]), dim=-1)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def rotate_every_two(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def yarn(d, base, factor, original, fast=32.0, slow=1.0, truncate=True):
    """YaRN's frequencies (Peng et al., 2023), as Hugging Face computes them."""

    def pair(turns):
        return d * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair(fast), pair(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    ramp = ((torch.arange(d // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    freqs = frequencies(d, base)
    return freqs / factor * ramp + freqs * (1 - ramp)


def yarn_factor(factor, mscale=1.0):
    return 0.1 * mscale * math.log(factor) + 1.0


def llama3(d, base=500_000.0, factor=8.0, low=1.0, high=4.0, original=8192):
    """The rule of Llama 3.1."""
    freqs = frequencies(d, base)
    turns = original * freqs / (2 * math.pi)
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * freqs / factor + smooth * freqs


def ntk_base(d, base, factor):
    return base * factor ** (d / (d - 2))


def on_x(rotate: Rotation):
    def function(x, positions):
        return rotate(x, positions)

    return function


def on_both(rotate_q: Rotation, rotate_k: Rotation | None = None):
    def function(q, k, positions):
        return rotate_q(q, positions), (rotate_k or rotate_q)(k, positions)

    return function


def on_positions_first(rotate_q: Rotation, rotate_k: Rotation | None = None):
    def function(positions, query, key):
        return rotate_q(query, positions), (rotate_k or rotate_q)(key, positions)

    return function


def on_position_ids(rotate_q: Rotation, rotate_k: Rotation | None = None):
    def function(query, key, position_ids):
        return rotate_q(query, position_ids), (rotate_k or rotate_q)(key, position_ids)

    return function


def on_heads_last(rotate_q: Rotation, rotate_k: Rotation | None = None):
    """Vectors are (b, n, h, d)."""

    def function(q, k, positions):
        q = rotate_q(q.transpose(1, 2), positions).transpose(1, 2)
        return q, (rotate_k or rotate_q)(k.transpose(1, 2), positions).transpose(1, 2)

    return function


def on_offset(rotate: Rotation):
    def function(x, offset=0):
        return rotate(x, torch.arange(offset, offset + x.shape[-2]))

    return function


def plant(name, what, words, function, head_dim=128, **options):
    bug(name, what, words, head_dim, **options)(function)


# Configurations as they are published ------------------------------------------------------------


def llama_config(**changes):
    return {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 32768,
        "rope_theta": 10000.0,
        "rope_scaling": None,
    } | changes


def scaled_config(theta, length, scaling, **changes):
    return llama_config(
        rope_theta=theta, max_position_embeddings=length, rope_scaling=scaling, **changes
    )


PLAIN = llama_config()
LLAMA3 = scaled_config(
    500000.0,
    131072,
    {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
)
QWEN_YARN = scaled_config(
    1000000.0,
    131072,
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    model_type="qwen2",
)
GPT_OSS = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "rope_theta": 150000.0,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 32.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "original_max_position_embeddings": 4096,
        "truncate": False,
    },
}
MSCALE = scaled_config(
    10000.0,
    163840,
    {
        "rope_type": "yarn",
        "factor": 40.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 0.5,
        "original_max_position_embeddings": 4096,
    },
)
LINEAR = scaled_config(10000.0, 16384, {"rope_type": "linear", "factor": 4.0})
DYNAMIC = scaled_config(10000.0, 2048, {"rope_type": "dynamic", "factor": 4.0})
ALPHA = scaled_config(
    10000.0, 32768, {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}, model_type="hunyuan_v1_moe"
)
PHI = {
    "model_type": "phi",
    "hidden_size": 2560,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.4,
}
NEOX = {
    "model_type": "gpt_neox",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
    "rotary_pct": 0.25,
    "rotary_emb_base": 10000,
}
GEMMA3 = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
}
MROPE = scaled_config(
    1000000.0, 32768, {"type": "mrope", "mrope_section": [16, 24, 24]}, model_type="qwen2_vl"
)
LONG_FACTORS = [round(1.0 + 0.9 * i, 2) for i in range(64)]
SHORT_FACTORS = [round(1.0 + 0.01 * i, 2) for i in range(64)]
LONGROPE = scaled_config(
    10000.0,
    131072,
    {"type": "longrope", "short_factor": SHORT_FACTORS, "long_factor": LONG_FACTORS},
    model_type="phi3",
    original_max_position_embeddings=4096,
)


# Bugs: keys --------------------------------------------------------------------------------------

plant(
    "keys: position plus one",
    "Keys are rotated at position + 1, queries at their position.",
    "key",
    on_both(rope, lambda k, p: rope(k, p + 1)),
)
plant(
    "keys: doubled positions",
    "Keys are rotated twice as far as queries: at position x 2.",
    "key",
    on_positions_first(rope, lambda k, p: rope(k, p * 2)),
)
plant(
    "keys: not rotated",
    "Keys come back unrotated; only queries are rotated.",
    "key",
    on_both(rope, lambda k, p: k.clone()),
)
plant(
    "keys: queries not rotated",
    "Queries come back unrotated; only keys are rotated.",
    "quer, key",
    on_position_ids(lambda q, p: q.clone(), rope),
)
plant(
    "keys: another base",
    "Keys are rotated with base 500,000, queries with base 10,000.",
    "key, base, theta, frequenc",
    on_both(rope, lambda k, p: rope(k, p, 500_000.0)),
)
plant(
    "keys: opposite sign",
    "Keys are rotated in the direction opposite to queries, so scores know m + n, not m - n.",
    "key, sign, direction, opposite, sum of, m + n, absolute, relative",
    on_both(rope, lambda k, p: rope(k, -p)),
)
plant(
    "keys: rounded to bfloat16",
    "Rotated keys are rounded to bfloat16 although they came in float32.",
    "key, bfloat16, bf16, round, precision",
    on_both(rope, lambda k, p: rope(k, p).bfloat16().to(k.dtype)),
)
plant(
    "keys: clamped positions",
    "Key positions beyond 1023 are clamped to 1023; those of queries are not.",
    "key, clamp, 1023, 1024",
    on_both(rope, lambda k, p: rope(k, p.clamp(max=1023))),
)
plant(
    "keys: positions modulo 4096",
    "Key positions wrap around modulo 4096; those of queries do not.",
    "key, modul, wrap, 4096, period, repeat",
    on_positions_first(rope, lambda k, p: rope(k, p % 4096)),
)
plant(
    "keys: a factor on queries only",
    "Queries, but not keys, are multiplied by 1.2, so scores are too large by 1.2.",
    "factor, scale, norm, length, 1.2, quer",
    on_both(lambda q, p: 1.2 * rope(q, p), rope),
)
plant(
    "keys: other layout",
    "Queries pair entry i with i + d/2, keys pair neighbours 2i and 2i + 1.",
    "key, layout, pair, interleav, neighbour, neighbor, half, halves",
    on_both(rope, lambda k, p: rope(k, p, turn=turn_neighbours)),
)
plant(
    "keys: only half of each is rotated",
    "Of keys only the first half of the entries is rotated, of queries all.",
    "key, partial, part of, half",
    on_both(rope, lambda k, p: rope_first(k, p, k.shape[-1] // 2)),
)
plant(
    "keys: rotated twice",
    "Keys are rotated a second time, queries once.",
    "key, twice, double",
    on_heads_last(rope, lambda k, p: rope(rope(k, p), p)),
)
plant(
    "keys: counted from zero",
    "Keys are rotated at 0, 1, 2, ... instead of at the given positions, which queries use.",
    "key, ignor",
    on_both(rope, lambda k, p: rope(k, torch.arange(k.shape[-2]))),
)
plant(
    "keys: reversed frequencies",
    "Keys use the frequencies in reversed order: their first pair turns slowest.",
    "key, frequenc, revers, order",
    on_position_ids(rope, lambda k, p: rope(k, p, freqs=frequencies(k.shape[-1]).flip(0))),
)
plant(
    "keys: only the first head",
    "Only head 0 of the keys is rotated, the other key heads are not.",
    "key, head",
    on_both(rope, lambda k, p: torch.cat((rope(k[:, :1], p), k[:, 1:]), dim=1)),
)


@bug(
    "keys: made of queries",
    "The rotated key takes its sine part from the query: rotate_half(q) instead of rotate_half(k).",
    "key, quer",
)
def _key_of_query(q, k, positions):
    angles = angles_of(positions, frequencies(q.shape[-1]))
    cos = torch.cat((angles, angles), dim=-1).cos().to(q.dtype)
    sin = torch.cat((angles, angles), dim=-1).sin().to(q.dtype)
    other = rotate_half(q)
    groups = q.shape[1] // k.shape[1]
    return q * cos + other * sin, k * cos + other[:, ::groups][:, : k.shape[1]] * sin


@bug(
    "keys: permuted pairs in queries",
    "The pairs of the queries come out in another order than those of the keys: "
    "evens then odds for q, interleaved for k.",
    "key, quer, order, permut, layout, pair, interleav",
)
def _permuted(q, k, positions):
    angles = angles_of(positions, frequencies(q.shape[-1])).to(q.dtype)
    cos, sin = angles.cos(), angles.sin()
    q1, q2, k1, k2 = q[..., ::2], q[..., 1::2], k[..., ::2], k[..., 1::2]
    q = torch.cat((q1 * cos - q2 * sin, q2 * cos + q1 * sin), dim=-1)
    return q, torch.stack((k1 * cos - k2 * sin, k2 * cos + k1 * sin), dim=-1).flatten(-2)


@bug(
    "keys: conjugate missing its partner",
    "Keys are multiplied by the conjugate of freqs_cis, queries by freqs_cis itself: they turn in "
    "opposite directions ((b, n, h, d)).",
    "key, sign, direction, opposite, conj, sum of, m + n, absolute, relative",
)
def _conjugate(q, k, freqs_cis):
    turn = freqs_cis[None, :, None, :]
    q_ = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
    k_ = torch.view_as_complex(k.float().reshape(*k.shape[:-1], -1, 2))
    q_, k_ = torch.view_as_real(q_ * turn), torch.view_as_real(k_ * turn.conj())
    return q_.flatten(3).type_as(q), k_.flatten(3).type_as(k)


@bug(
    "keys: sine of the wrong sign with tables",
    "With given cos and sin, the keys' sine part is subtracted: they turn backwards.",
    "key, sign, direction, opposite, sum of, m + n, absolute, relative",
)
def _tables_key_sign(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos - rotate_half(k) * sin


@bug(
    "keys: cosine only with tables",
    "With given cos and sin, the keys lack their sine part: k * cos alone.",
    "key, sine, norm, length",
)
def _tables_key_cosine(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos


# Bugs: positions ---------------------------------------------------------------------------------


@bug(
    "positions: ignored",
    "The given positions are ignored; 0, 1, 2, ... are used.",
    "ignor, depend on, does not use, unused, given position",
)
def _ignored(x, positions):
    return rope(x, torch.arange(x.shape[-2]))


@bug(
    "positions: offset ignored",
    "The offset is ignored: a token after a cache is rotated as if it were the first.",
    "ignor, offset, depend on, does not use, unused, given position, cache",
)
def _offset_ignored(x, offset=0):
    return rope(x, torch.arange(x.shape[-2]))


@bug(
    "positions: one token is one further",
    "A single token is rotated at position + 1, several tokens at their positions.",
    "single, one token, one-token, decod, cache, alone, off by one, + 1",
)
def _single_off(q, k, positions):
    if q.shape[-2] == 1:
        positions = positions + 1
    return rope(q, positions), rope(k, positions)


@bug(
    "positions: start_pos one too small",
    "Whenever start_pos is above 0, it is counted one too small, so two tokens share a position.",
    "offset, start, off by one, - 1, cache, one too",
)
def _start_off(x, start_pos=0):
    return rope(x, torch.arange(x.shape[-2]) + max(start_pos - 1, 0))


@bug(
    "positions: clamped",
    "Positions beyond 2047 are clamped to 2047.",
    "clamp, 2047, 2048, table, same angle",
)
def _clamped(x, positions):
    return rope(x, positions.clamp(max=2047))


@bug(
    "positions: wrapped",
    "Positions wrap around after 4096 (position modulo 4096).",
    "wrap, modul, 4096, period, repeat",
)
def _wrapped(query, key, positions):
    return rope(query, positions % 4096), rope(key, positions % 4096)


@bug(
    "positions: overflow of int16",
    "Positions are kept in int16, so from 32768 on they become negative.",
    "int16, overflow, wrap, 32768, 32767, negative, modul, 65536",
)
def _int16(x, positions):
    return rope(x, positions.to(torch.int16))


@bug(
    "positions: bfloat16",
    "Positions are rounded to bfloat16: beyond 256 neighbours share an angle.",
    "bfloat16, bf16, round, 256, precision",
)
def _bfloat16_positions(q, k, positions):
    return rope(q, positions.bfloat16()), rope(k, positions.bfloat16())


@bug(
    "positions: float16",
    "Positions are rounded to float16: beyond 2048 odd ones are lost, beyond 65504 infinite.",
    "float16, fp16, half, round, 2048, precision, nan, infin",
)
def _float16_positions(x, positions):
    return rope(x, positions.half())


@bug(
    "positions: all rows use row 0's",
    "Every row of the batch is rotated with the positions of row 0.",
    "rows, row 0, batch",
)
def _row_zero(q, k, position_ids):
    row = position_ids[0] if position_ids.dim() == 2 else position_ids
    return rope(q, row), rope(k, row)


@bug(
    "positions: reversed order",
    "The positions are used in reversed order: the first token gets the last position.",
    "revers, order, flip, last",
)
def _reversed(x, positions):
    return rope(x, positions.flip(-1))


@bug(
    "positions: counted from the end",
    "Positions count back from the end of the call: the last token has 0, so old keys in a cache "
    "no longer fit.",
    "from the end, last, revers, calls, call , length, relative, cache, together, "
    "other tokens, depend",
)
def _from_end(x, positions):
    return rope(x, positions.max() - positions)


@bug(
    "positions: mean subtracted",
    "The mean position of the call is subtracted, so a position's rotation depends on the others "
    "in the call and a single token is never rotated.",
    "mean, centr, shift, calls, call , single, other tokens, depend, together, cache",
)
def _mean_shift(q, k, positions):
    shifted = positions.double() - positions.double().mean(-1, keepdim=True)
    return rope(q, shifted), rope(k, shifted)


@bug(
    "positions: relative to the first",
    "The first position of the call is subtracted, so only differences within a call are right.",
    "first, calls, call , shift, start, other tokens, depend, together, ignor, cache, offset",
)
def _first_zero(query, key, position_ids):
    position_ids = position_ids - position_ids[..., :1]
    return rope(query, position_ids), rope(key, position_ids)


@bug(
    "positions: scaled by the length",
    "Positions are divided by the number of tokens in the call, so angles depend on its length.",
    "length, number of tokens, divid, scale, calls, call , depend",
)
def _by_length(x, positions):
    return rope(x, positions.double() / x.shape[-2])


@bug(
    "positions: logarithm",
    "The angle grows with log(1 + position), so scores depend on more than the distance.",
    "logarithm, log(, linear, relative, distance, absolute, proportion, depend on",
)
def _logarithm(x, positions):
    return rope(x, positions.double().log1p())


@bug(
    "positions: sine one ahead",
    "The cosine is taken at the position, the sine at the next one.",
    "sine, norm, length, rotation, off by one",
)
def _sine_ahead(x, positions):
    now = angles_of(positions, frequencies(x.shape[-1]))
    cos, sin = now.cos(), angles_of(positions + 1, frequencies(x.shape[-1])).sin()
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


@bug(
    "positions: sequence axis of the wrong order",
    "Heads and positions are exchanged by a reshape where a transpose is needed, so a token's "
    "angle depends on its head.",
    "head, reshape, transpos, order, axis, mix",
)
def _reshaped(q, k, positions):
    def rotate(x):
        b, h, n, d = x.shape
        return (
            rope(x.reshape(b, n, h, d).transpose(1, 2), positions).transpose(1, 2).reshape(x.shape)
        )

    return rotate(q), rotate(k)


class _FirstCallCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.angles = None

    def forward(self, x, positions):
        if self.angles is None or self.angles.shape[-2] != x.shape[-2]:
            self.angles = angles_of(positions, frequencies(x.shape[-1]))
        return turn_halves(x, self.angles)


plant(
    "positions: cache of the first call",
    "Angles are kept from the first call of a length and used again for other positions.",
    "cache, calls, call , stale, ignor, state, first",
    _FirstCallCache(),
)


# Bugs: precision ---------------------------------------------------------------------------------


def rounded(rotate_freqs=None, angles=None, tables=None):
    """Rotations with something rounded on the way; the vectors stay in their own type."""

    def rotate(x, positions):
        freqs = frequencies(x.shape[-1]).float()
        freqs = freqs if rotate_freqs is None else rotate_freqs(freqs)
        turned = positions.float()[..., None] * freqs
        turned = turned if angles is None else angles(turned)
        turned = turned if positions.dim() == 1 else turned.unsqueeze(1)
        cos, sin = turned.float().cos(), turned.float().sin()
        if tables is not None:
            cos, sin = tables(cos), tables(sin)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)

    return rotate


def to_tf32(x):
    """Ten bits of mantissa, as matrix units keep of float32."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


PRECISION = "precision, round, accura, "

plant(
    "precision: inv_freq in bfloat16",
    "The inverse frequencies are rounded to bfloat16 (a model cast with its buffers).",
    PRECISION + "inv_freq, frequenc, bfloat16, bf16",
    on_x(rounded(lambda freqs: freqs.bfloat16().float())),
)
plant(
    "precision: inv_freq in float16",
    "The inverse frequencies are rounded to float16.",
    PRECISION + "inv_freq, frequenc, float16, fp16, half",
    on_both(rounded(lambda freqs: freqs.half().float())),
)
plant(
    "precision: angles in bfloat16",
    "The angles, position times frequency, are rounded to bfloat16 before cos and sin.",
    PRECISION + "angle, bfloat16, bf16",
    on_both(rounded(angles=lambda angles: angles.bfloat16())),
)
plant(
    "precision: angles in float16",
    "The angles are rounded to float16, and are infinite beyond 65504.",
    PRECISION + "angle, float16, fp16, half, nan, infin",
    on_position_ids(rounded(angles=lambda angles: angles.half())),
)
plant(
    "precision: cos and sin in bfloat16",
    "Cos and sin are rounded to bfloat16 although the vectors are in float32.",
    PRECISION + "cos, sine, bfloat16, bf16, table",
    on_x(rounded(tables=lambda table: table.bfloat16().float())),
)
plant(
    "precision: cos and sin in eight bits",
    "Cos and sin are quantised to steps of 1/128.",
    PRECISION + "cos, sine, quanti, table, bit, int8",
    on_x(rounded(tables=lambda table: (table * 128).round() / 128)),
)
plant(
    "precision: angles in reduced matmul",
    "The angles come from a float32 matrix product computed in TF32 (ten bits of mantissa).",
    PRECISION + "tf32, tensorfloat, matmul, angle, frequenc, bits",
    on_both(
        lambda x, p: turn_halves(
            x,
            (
                to_tf32(p.float())[..., None] @ to_tf32(frequencies(x.shape[-1]).float())[None]
            ).reshape(*([p.shape[0], 1] if p.dim() == 2 else []), p.shape[-1], -1),
        )
    ),
)
plant(
    "precision: short pi",
    "Angles are reduced modulo 2 x 3.14 before cos and sin, so the error grows with the position.",
    PRECISION + ("2 pi, 2pi, 2π, 3.14, modul, grow, drift, angle, frequenc, period"),
    on_x(rounded(angles=lambda angles: torch.remainder(angles, 6.28))),
)
plant(
    "precision: frequencies of four decimals",
    "The inverse frequencies are written with four decimals, so slow pairs stand still.",
    PRECISION + "frequenc, decimal, slow, zero, inv_freq",
    on_x(rounded(lambda freqs: (freqs * 1e4).round() / 1e4)),
)
plant(
    "precision: result in float16",
    "The rotated vectors are rounded to float16 on the way although they came in float32.",
    PRECISION + "float16, fp16, half",
    on_both(lambda x, p: rope(x, p).half().to(x.dtype)),
)


class _FirstTypeCache(nn.Module):
    """The table is made in bfloat16, whatever the type of the vectors."""

    def __init__(self, d=128, length=8192):
        super().__init__()
        positions = torch.arange(length, dtype=torch.bfloat16)
        angles = torch.outer(positions, frequencies(d).bfloat16())
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        cos, sin = self.cos[positions].to(x.dtype), self.sin[positions].to(x.dtype)
        if positions.dim() == 2:
            cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


plant(
    "precision: everything in bfloat16",
    "The table of cos and sin is computed in bfloat16 from end to end, positions too.",
    PRECISION + ("bfloat16, bf16, table, angle, frequenc"),
    _FirstTypeCache(),
)


@bug(
    "precision: powers of a rounded rotation",
    "Each rotation is a power of the one by a single position, which is rounded to bfloat16, so "
    "length and angle drift along the sequence.",
    PRECISION + "accumul, cumul, power, grow, drift, bfloat16, bf16, frequenc, angle, norm, length",
)
def _powers(x, offset=0):
    freqs = frequencies(x.shape[-1])
    step = torch.complex(freqs.cos().bfloat16().double(), freqs.sin().bfloat16().double())
    positions = torch.arange(offset, offset + x.shape[-2]).double()[:, None]
    turn = torch.polar(step.abs() ** positions, step.angle() * positions)
    x1, x2 = x.double().chunk(2, dim=-1)
    out = torch.complex(x1, x2) * turn
    return torch.cat((out.real, out.imag), dim=-1).to(x.dtype)


@bug(
    "precision: sine by a short series",
    "Sine and cosine come from a Taylor series of three terms after reduction to [-pi, pi].",
    PRECISION + "sine, cos, approx, series, norm, length",
)
def _series(x, positions):
    a = angles_of(positions, frequencies(x.shape[-1]))
    a = torch.remainder(a + math.pi, 2 * math.pi) - math.pi
    cos, sin = 1 - a**2 / 2 + a**4 / 24, a - a**3 / 6 + a**5 / 120
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


# Bugs: configuration -----------------------------------------------------------------------------

BASE = "base, theta, frequenc"
YARN = "yarn, frequenc, "

plant(
    "configuration: base of another model",
    "The base is 10,000, but the configuration says 500,000.",
    BASE,
    on_both(rope),
    config=llama_config(rope_theta=500000.0, max_position_embeddings=8192),
)
plant(
    "configuration: base of a newer model",
    "The base is 1,000,000, but the configuration says 10,000.",
    BASE,
    on_x(lambda x, p: rope(x, p, 1_000_000.0)),
    config=PLAIN,
)
plant(
    "configuration: YaRN without its factor",
    "YaRN's frequencies are right, but cos and sin lack its attention factor 0.1 ln 4 + 1.",
    "factor, attention, scale, mscale, temperature, norm, length, 1.13",
    on_both(lambda x, p: rope(x, p, freqs=yarn(128, 1e6, 4.0, 32768))),
    config=QWEN_YARN,
)
plant(
    "configuration: YaRN's factor twice",
    "YaRN's attention factor is applied twice to each vector, so scores have its fourth power.",
    "factor, attention, scale, mscale, twice, square, norm, length, 1.29, 1.13",
    on_both(lambda x, p: yarn_factor(4.0) ** 2 * rope(x, p, freqs=yarn(128, 1e6, 4.0, 32768))),
    config=QWEN_YARN,
)
plant(
    "configuration: YaRN's factor not squared",
    "YaRN's attention factor is on the queries only, so scores have it once, not squared.",
    "factor, attention, scale, mscale, square, norm, key, quer",
    on_both(
        lambda q, p: yarn_factor(4.0) * rope(q, p, freqs=yarn(128, 1e6, 4.0, 32768)),
        lambda k, p: rope(k, p, freqs=yarn(128, 1e6, 4.0, 32768)),
    ),
    config=QWEN_YARN,
)
plant(
    "configuration: linear instead of YaRN",
    "All frequencies are divided by the factor (linear interpolation), but the configuration asks "
    "for YaRN, which keeps the fast ones.",
    YARN + "linear, interpol, divid",
    on_both(lambda x, p: yarn_factor(4.0) * rope(x, p / 4, 1e6)),
    config=QWEN_YARN,
)
plant(
    "configuration: YaRN ignored",
    "The scaling of the configuration (YaRN) is ignored: plain frequencies, no factor.",
    YARN + "scaling, ignor, factor",
    on_positions_first(lambda x, p: rope(x, p, 1e6)),
    config=QWEN_YARN,
)
plant(
    "configuration: truncate not heeded",
    "YaRN's range is rounded to whole pairs, but the configuration says truncate: false.",
    YARN + ("truncate, floor, ceil, whole, ramp, range, bound, beta"),
    on_both(lambda x, p: yarn_factor(32.0) * rope(x, p, freqs=yarn(64, 150e3, 32.0, 4096))),
    head_dim=64,
    config=GPT_OSS,
)
plant(
    "configuration: truncation missing",
    "YaRN's range is not rounded to whole pairs, but without `truncate` the configuration asks it.",
    YARN + ("truncate, floor, ceil, whole, ramp, range, bound, beta"),
    on_x(
        lambda x, p: yarn_factor(4.0) * rope(x, p, freqs=yarn(128, 1e6, 4.0, 32768, truncate=False))
    ),
    config=QWEN_YARN,
)
plant(
    "configuration: YaRN with the new length",
    "YaRN's range is computed with max_position_embeddings 131072 instead of the original 32768.",
    YARN + "original, length, max_position, 32768, 131072, ramp, range, bound, beta",
    on_both(lambda x, p: yarn_factor(4.0) * rope(x, p, freqs=yarn(128, 1e6, 4.0, 131072))),
    config=QWEN_YARN,
)
plant(
    "configuration: YaRN's betas of another model",
    "YaRN is computed with beta_fast 16 and beta_slow 2 instead of 32 and 1.",
    YARN + "beta, ramp, range, bound",
    on_x(
        lambda x, p: (
            yarn_factor(4.0) * rope(x, p, freqs=yarn(128, 1e6, 4.0, 32768, fast=16.0, slow=2.0))
        )
    ),
    config=QWEN_YARN,
)
plant(
    "configuration: mscale ignored",
    "The attention factor is 0.1 ln 40 + 1, but with mscale 1 and mscale_all_dim 0.5 it is the "
    "quotient of two.",
    "mscale, factor, attention, scale, norm, length",
    on_both(lambda x, p: yarn_factor(40.0) * rope(x, p, freqs=yarn(128, 1e4, 40.0, 4096))),
    config=MSCALE,
)
plant(
    "configuration: Llama 3 with wrong low and high",
    "Llama 3's rule is computed with low_freq_factor 2 and high_freq_factor 8 instead of 1 and 4.",
    "low_freq, low and high, low freq, high_freq, llama3, llama 3, frequenc, wavelength, "
    "smooth, band",
    on_both(lambda x, p: rope(x, p, freqs=llama3(128, low=2.0, high=8.0))),
    config=LLAMA3,
)
plant(
    "configuration: Llama 3 without smoothing",
    "Llama 3's rule has a step at low_freq_factor instead of its smooth transition.",
    "smooth, low_freq, low and high, low freq, high_freq, llama3, llama 3, frequenc, "
    "wavelength, transition, band, interpol",
    on_x(lambda x, p: rope(x, p, freqs=llama3(128, low=1.0, high=1.0 + 1e-9))),
    config=LLAMA3,
)
plant(
    "configuration: Llama 3.2's factor",
    "Llama 3's rule is computed with factor 32, but the configuration says 8.",
    "factor, llama3, llama 3, frequenc, 32, scal",
    on_position_ids(lambda x, p: rope(x, p, freqs=llama3(128, factor=32.0))),
    config=LLAMA3,
)
plant(
    "configuration: Llama 3's rule ignored",
    "The configuration's rope_scaling of type llama3 is ignored: plain frequencies.",
    "llama3, llama 3, scaling, frequenc, ignor, low_freq, low and high, low freq",
    on_both(lambda x, p: rope(x, p, 500_000.0)),
    config=LLAMA3,
)
plant(
    "configuration: Llama 3 with the new length",
    "Llama 3's rule is computed with 131072 in place of original_max_position_embeddings 8192.",
    "original, length, max_position, 8192, 131072, llama3, llama 3, frequenc, wavelength, "
    "low_freq, low and high, low freq",
    on_both(lambda x, p: rope(x, p, freqs=llama3(128, original=131072))),
    config=LLAMA3,
)
plant(
    "configuration: linear factor multiplied",
    "Positions are multiplied by 4, but linear scaling divides them by 4.",
    "linear, factor, multipl, divid, invers, interpol, frequenc, scal",
    on_x(lambda x, p: rope(x, p * 4)),
    config=LINEAR,
)
plant(
    "configuration: NTK instead of linear",
    "The base is enlarged (NTK), but the configuration asks for linear scaling.",
    "linear, ntk, base, theta, frequenc, scal, interpol",
    on_both(lambda x, p: rope(x, p, ntk_base(128, 1e4, 4.0))),
    config=LINEAR,
)
plant(
    "configuration: alpha with a wrong exponent",
    "The NTK base is theta x alpha, but it must be theta x alpha^(d / (d - 2)).",
    "base, theta, ntk, alpha, exponent, power, frequenc",
    on_both(lambda x, p: rope(x, p, 1e4 * 1000.0)),
    config=ALPHA,
)


@bug(
    "configuration: dynamic NTK with a wrong exponent",
    "Beyond 2048 tokens the dynamic NTK base lacks its exponent d / (d - 2).",
    "base, theta, ntk, dynamic, exponent, power, frequenc, scal",
    config=DYNAMIC,
)
def _dynamic_exponent(x, positions):
    length = int(positions.max()) + 1
    return rope(x, positions, 1e4 * max(1.0, 4.0 * length / 2048 - 3.0))


plant(
    "configuration: dynamic NTK ignored",
    "The configuration asks for dynamic NTK scaling; beyond 2048 tokens the plain base stays.",
    "base, theta, ntk, dynamic, frequenc, scal, ignor",
    on_both(rope),
    config=DYNAMIC,
)
plant(
    "configuration: partial rotation ignored",
    "All 64 entries are rotated, but partial_rotary_factor 0.5 asks for 32.",
    "partial, part of, rotary_dim, rotary dim, only",
    on_both(rope),
    head_dim=64,
    config=PHI | {"hidden_size": 2048, "partial_rotary_factor": 0.5},
)
plant(
    "configuration: partial rotation of a wrong width",
    "64 of 128 entries are rotated, but rotary_pct 0.25 asks for 32.",
    "partial, part of, rotary_dim, rotary dim, half, rotary_pct, 64, 32, entries, "
    "dimension, frequenc",
    on_both(lambda x, p: rope_first(x, p, 64)),
    config=NEOX,
)
plant(
    "configuration: partial rotation with the head's exponent",
    "The exponents of the partial rotation are divided by head_dim 128 instead of the rotated 32.",
    "exponent, frequenc, partial, part of, rotary_dim, rotary dim, head_dim, divid, base, theta",
    on_x(lambda x, p: rope_first(x, p, 32, freqs=frequencies(128)[:16])),
    config=NEOX,
)
plant(
    "configuration: partial rotation at the end",
    "The last quarter of the entries is rotated, but it must be the first.",
    "last, from the end, first, partial, part of, entries, dimension, order",
    on_both(lambda x, p: torch.cat((x[..., :96], rope(x[..., 96:], p)), dim=-1)),
    config=NEOX,
)
plant(
    "configuration: window layer with the full layers' base",
    "A sliding-window layer is rotated with base 1,000,000 and factor 8 of the full layers, but "
    "rope_local_base_freq says 10,000.",
    "base, theta, local, window, sliding, full, global, layer, frequenc",
    on_both(lambda x, p: rope(x, p / 8, 1e6)),
    head_dim=256,
    config=GEMMA3,
    layer_type="sliding_attention",
)
plant(
    "configuration: full layer with the window layers' base",
    "A full-attention layer is rotated with the local base 10,000, but rope_theta says 1,000,000 "
    "with linear factor 8.",
    "base, theta, local, window, sliding, full, global, layer, frequenc",
    on_x(rope),
    head_dim=256,
    config=GEMMA3,
    layer_type="full_attention",
)
plant(
    "configuration: neighbours for a model of halves",
    "Neighbours 2i, 2i + 1 are paired, but weights of this configuration pair i with i + d/2.",
    "layout, pair, interleav, neighbour, neighbor, half, halves",
    on_both(lambda x, p: rope(x, p, turn=turn_neighbours)),
    config=PLAIN,
)
plant(
    "configuration: turned backwards",
    "Queries and keys both turn in the negative direction, but weights of this configuration were "
    "trained with the positive one.",
    "sign, direction, negative, opposite, backward, clockwise, invers, conj",
    on_both(lambda x, p: rope(x, -p)),
    config=PLAIN,
)
plant(
    "configuration: exponents of the model's width",
    "The exponents are divided by hidden_size 4096 instead of head_dim 128.",
    "exponent, hidden, width, head_dim, frequenc, base, theta",
    on_x(lambda x, p: rope(x, p, freqs=frequencies(4096)[:64])),
    config=PLAIN,
)
plant(
    "configuration: longrope without its factor",
    "Longrope's attention factor sqrt(1 + ln 32 / ln 4096) is missing.",
    "factor, attention, scale, norm, length, 1.19, longrope",
    on_both(
        lambda x, p: rope(
            x,
            p,
            freqs=frequencies(128)
            / torch.tensor(LONG_FACTORS if p.max() >= 4096 else SHORT_FACTORS).double(),
        )
    ),
    config=LONGROPE,
)
plant(
    "configuration: longrope's short list for long texts",
    "Longrope's short_factor is used beyond the original 4096 positions too, where long_factor is "
    "meant.",
    "short_factor, short, long_factor, longer, list, frequenc, factor",
    on_both(
        lambda x, p: (
            math.sqrt(1 + math.log(32) / math.log(4096))
            * rope(x, p, freqs=frequencies(128) / torch.tensor(SHORT_FACTORS).double())
        )
    ),
    config=LONGROPE,
)


def sectioned(section, order=(0, 1, 2)):
    """M-RoPE: position_ids are (3, b, n), for time, height and width; or (b, n) for text."""

    def function(q, k, position_ids):
        if position_ids.dim() < 3:
            position_ids = position_ids.expand(
                3, *torch.broadcast_shapes(position_ids.shape, (1, 1))
            )
        angles = position_ids.double()[..., None] * frequencies(q.shape[-1], 1e6)
        parts = angles.split(section, dim=-1)
        angles = torch.cat([part[axis] for part, axis in zip(parts, order, strict=True)], dim=-1)
        return turn_halves(q, angles.unsqueeze(1)), turn_halves(k, angles.unsqueeze(1))

    return function


plant(
    "configuration: M-RoPE's sections off by one",
    "The sections of M-RoPE are 17, 23, 24 instead of 16, 24, 24.",
    "section, mrope, m-rope, height, width, axis, temporal",
    sectioned([17, 23, 24]),
    config=MROPE,
)
plant(
    "configuration: M-RoPE's height and width exchanged",
    "M-RoPE's second section takes the width and its third the height.",
    "section, mrope, m-rope, height, width, axis, swap, exchang, order",
    sectioned([16, 24, 24], (0, 2, 1)),
    config=MROPE,
)


# Bugs: the formula -------------------------------------------------------------------------------


def wide_tables(x, positions, repeat_cos, repeat_sin):
    angles = angles_of(positions, frequencies(x.shape[-1]))
    return repeat_cos(angles).cos().to(x.dtype), repeat_sin(angles).sin().to(x.dtype)


def halves_wide(a):
    return torch.cat((a, a), dim=-1)


def neighbours_wide(a):
    return a.repeat_interleave(2, dim=-1)


@bug(
    "formula: halves turned with tables for neighbours",
    "rotate_half is combined with cos and sin repeated for neighbours, so it is no rotation.",
    "layout, pair, interleav, half, halves, norm, length, rotation, mix",
)
def _mixed_half(x, positions):
    cos, sin = wide_tables(x, positions, neighbours_wide, neighbours_wide)
    return x * cos + rotate_half(x) * sin


@bug(
    "formula: neighbours turned with tables for halves",
    "Neighbours are turned with cos and sin laid out for halves, so it is no rotation.",
    "layout, pair, interleav, half, halves, norm, length, rotation, mix",
)
def _mixed_neighbours(q, k, positions):
    cos, sin = wide_tables(q, positions, halves_wide, halves_wide)
    return q * cos + rotate_every_two(q) * sin, k * cos + rotate_every_two(k) * sin


@bug(
    "formula: cos and sin of different layouts",
    "Cos is laid out for halves, sin for neighbours, so it is no rotation.",
    "layout, pair, interleav, half, halves, norm, length, rotation, mix",
)
def _mixed_tables(positions, q, k):
    cos, sin = wide_tables(q, positions, halves_wide, neighbours_wide)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


@bug(
    "formula: cos and sin exchanged",
    "Cos and sin are exchanged: position 0 is turned by a quarter and the direction reversed.",
    "swap, exchang, sine, cos, position 0, identity, quarter, 90, sign, direction",
    config=PLAIN,
)
def _exchanged(q, k, positions):
    sin, cos = wide_tables(q, positions, halves_wide, halves_wide)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


@bug(
    "formula: missing minus",
    "The minus in rotate_half is missing, so it is a reflection mixed in and no rotation.",
    "minus, sign, norm, length, rotation, orthogonal",
)
def _missing_minus(q, k, positions):
    cos, sin = wide_tables(q, positions, halves_wide, halves_wide)
    half = q.shape[-1] // 2
    return q * cos + q.roll(half, -1) * sin, k * cos + k.roll(half, -1) * sin


@bug(
    "formula: missing minus with tables",
    "With given cos and sin, the minus in rotate_half is missing.",
    "minus, sign, norm, length, rotation, orthogonal",
)
def _missing_minus_tables(q, k, cos, sin):
    def swap(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x2, x1), dim=-1)

    return q * cos + swap(q) * sin, k * cos + swap(k) * sin


@bug(
    "formula: cos and sin exchanged with tables",
    "The given cos is used as sin and the given sin as cos, so position 0 is turned by a quarter "
    "((b, n, h, d), half width).",
    "swap, exchang, sine, cos, position 0, identity, quarter, 90",
)
def _exchanged_tables(q, k, cos, sin):
    def rotate(x):
        x1, x2 = x.chunk(2, dim=-1)
        c, s = sin[:, None, :], cos[:, None, :]
        return torch.cat((x1 * c - x2 * s, x2 * c + x1 * s), dim=-1)

    return rotate(q), rotate(k)


@bug(
    "formula: tables' first row for all",
    "Only the first row of the given cos and sin is used, for every token.",
    "rows, row 0, first, depend on, does not use, unused, given position, ignor",
)
def _first_row(q, k, cos, sin):
    cos, sin = cos[..., :1, :], sin[..., :1, :]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


plant(
    "formula: i/d instead of 2i/d",
    "The exponents are i/d instead of 2i/d, so the slowest frequency is 1/100 instead of 1/10,000.",
    "exponent, i/d, frequenc, base, theta, square root, sqrt, half",
    on_both(lambda x, p: rope(x, p, freqs=1e4 ** (-torch.arange(64).double() / 128))),
    config=PLAIN,
)
plant(
    "formula: exponents begin with one",
    "The exponents count from 1: 2(i + 1)/d, so the first pair does not turn by 1 per position.",
    "exponent, off by one, frequenc, first pair, shift, index, fastest",
    on_x(lambda x, p: rope(x, p, freqs=1e4 ** (-torch.arange(1, 65).double() / 64))),
    config=PLAIN,
)
plant(
    "formula: exponents up to one",
    "The exponents run over linspace(0, 1, d/2), so the last frequency is 1/base: divided by "
    "d - 2 instead of d.",
    "exponent, linspace, frequenc, last, d - 2, base, theta, slowest",
    on_both(lambda x, p: rope(x, p, freqs=1e4 ** -torch.linspace(0, 1, 64).double())),
    config=PLAIN,
)
plant(
    "formula: positive exponent",
    "The frequencies are base^(+2i/d): they grow to 10,000 instead of falling.",
    "exponent, sign, frequenc, grow, invers, reciprocal, minus, power",
    on_both(lambda x, p: rope(x, p, freqs=1 / frequencies(128))),
    config=PLAIN,
)
plant(
    "formula: integer exponents",
    "The exponents are divided as integers, so all are 0 and every pair turns by 1 per position.",
    "exponent, frequenc, all pairs, integer, equal",
    on_x(lambda x, p: rope(x, p, freqs=1e4 ** -(torch.arange(0, 128, 2) // 128).double())),
    config=PLAIN,
)
plant(
    "formula: base squared",
    "The exponents are 4i/d instead of 2i/d, as if the base were squared.",
    "exponent, frequenc, base, theta, square",
    on_x(lambda x, p: rope(x, p, 1e8)),
    config=PLAIN,
)
plant(
    "formula: degrees for radians",
    "The angles are turned into degrees before cos and sin, which take radians: 57.3 times faster.",
    "degree, radian, 57, 180, frequenc, faster",
    on_both(lambda x, p: rope(x, p * 180 / math.pi)),
    config=PLAIN,
)
plant(
    "formula: radians taken for degrees",
    "The angles are multiplied by pi/180 as if they were degrees: 57.3 times slower.",
    "degree, radian, 57, 180, 0.017, frequenc, slower",
    on_x(lambda x, p: rope(x, p * math.pi / 180)),
    config=PLAIN,
)
plant(
    "formula: turns for radians",
    "The angles are multiplied by 2 pi, as if frequencies counted turns per position.",
    "2 pi, 2pi, 2π, 6.28, frequenc, faster",
    on_both(lambda x, p: rope(x, p * 2 * math.pi)),
    config=PLAIN,
)
plant(
    "formula: rotated twice",
    "Queries and keys are both rotated twice, so every angle is doubled.",
    "twice, doubl, frequenc, factor 2, 2x",
    on_both(lambda x, p: rope(rope(x, p), p)),
    config=PLAIN,
)
plant(
    "formula: reversed frequencies",
    "The frequencies are in reversed order: the first pair turns slowest.",
    "revers, order, frequenc",
    on_both(lambda x, p: rope(x, p, freqs=frequencies(128).flip(0))),
    config=PLAIN,
)
plant(
    "formula: one pair wrong",
    "Pair 5 turns 1.5 times too fast; all others are right.",
    "pair, frequenc",
    on_x(lambda x, p: rope(x, p, freqs=frequencies(128) * (1 + 0.5 * (torch.arange(64) == 5)))),
    config=PLAIN,
)
plant(
    "formula: one pair turned backwards",
    "Pair 3 turns in the opposite direction; all others are right.",
    "pair, sign, direction, opposite, frequenc, backward",
    on_both(lambda x, p: rope(x, p, freqs=frequencies(128) * (1 - 2 * (torch.arange(64) == 3)))),
    config=PLAIN,
)
plant(
    "formula: last pair missing",
    "The last pair is not rotated.",
    "pair, last, frequenc, partial, part of",
    on_both(lambda x, p: rope(x, p, freqs=frequencies(128) * (torch.arange(64) < 63))),
    config=PLAIN,
)
plant(
    "formula: first pair missing",
    "The first, fastest pair is not rotated.",
    "pair, first, frequenc, partial, part of, fastest",
    on_x(lambda x, p: rope(x, p, freqs=frequencies(128) * (torch.arange(64) > 0))),
    config=PLAIN,
)
plant(
    "formula: frequencies spread over heads",
    "The vectors are rotated before they are split into heads, so each head has other frequencies.",
    "head, frequenc, split",
    on_both(
        lambda x, p: (
            rope(x.transpose(1, 2).flatten(2)[:, None], p, turn=turn_neighbours)[:, 0]
            .unflatten(-1, (x.shape[1], -1))
            .transpose(1, 2)
        )
    ),
)
plant(
    "formula: only even heads",
    "Only heads 0, 2, 4, ... are rotated.",
    "head",
    on_x(
        lambda x, p: torch.where((torch.arange(x.shape[1]) % 2 == 0)[:, None, None], rope(x, p), x)
    ),
)
plant(
    "formula: only the first row",
    "Only row 0 of the batch is rotated, the other rows come back as they were.",
    "rows, row 0, batch",
    on_both(lambda x, p: torch.cat((rope(x, p)[:1], x[1:]))),
)


@bug(
    "formula: overwritten half",
    "The first half is overwritten in place before the second half is computed from it.",
    "in place, in-place, overwrit, alias, norm, length, rotation, orthogonal, second half, mutat",
)
def _aliased(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1])).to(x.dtype)
    cos, sin = angles.cos(), angles.sin()
    out = x.clone()
    x1, x2 = out.chunk(2, dim=-1)
    x1.mul_(cos).sub_(x2 * sin)
    x2.mul_(cos).add_(x1 * sin)
    return out


@bug(
    "formula: same half twice",
    "Both outputs take their sine part from the second half.",
    "half, norm, length, rotation, orthogonal, sine",
)
def _same_half(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1])).to(x.dtype)
    cos, sin = angles.cos(), angles.sin()
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x2 * sin), dim=-1)


@bug(
    "formula: no sine",
    "The sine part is forgotten: x * cos alone.",
    "sine, norm, length, rotation, orthogonal",
)
def _no_sine(query, key, position_ids):
    cos, _ = wide_tables(query, position_ids, halves_wide, halves_wide)
    return query * cos, key * cos


@bug(
    "formula: sines added",
    "A sinusoidal embedding is added to the vectors; nothing is rotated.",
    "added, adds, additive, sinusoid, linear, norm, length, rotation, offset, zero",
)
def _added(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1]))
    return x + torch.cat((angles.sin(), angles.cos()), dim=-1).to(x.dtype)


@bug(
    "formula: mean removed",
    "The mean of each vector is subtracted before the rotation.",
    "mean, norm, length, centr, position 0, identity, orthogonal, rotation",
)
def _mean_removed(x, positions):
    return rope(x - x.mean(-1, keepdim=True), positions)


@bug(
    "formula: normalised",
    "The rotated vectors are normalised to length 1.",
    "norm, length, unit, linear, scale",
)
def _normalised(q, k, positions):
    return (
        nn.functional.normalize(rope(q, positions), dim=-1),
        nn.functional.normalize(rope(k, positions), dim=-1),
    )


@bug(
    "formula: length changed",
    "Each rotated vector is longer by sqrt(2), so scores are doubled.",
    "norm, length, scale, sqrt, 1.41, factor",
)
def _longer(x, positions):
    return math.sqrt(2) * rope(x, positions)


@bug(
    "formula: values rotated too",
    "The values are rotated as well; they must come back unchanged.",
    "value",
)
def _values(q, k, v, positions):
    return rope(q, positions), rope(k, positions), rope(v, positions)


@bug(
    "formula: order of outputs",
    "The rotated key is returned first and the rotated query second.",
    "order, swap, exchang, return, first, quer, key",
)
def _returned_swapped(q, k, positions):
    return rope(k, positions), rope(q, positions)


@bug(
    "formula: table ends silently",
    "The table ends at 1024 positions; beyond it cos and sin are zero, so vectors vanish.",
    "table, 1024, 1023, zero, vanish, norm, length, ends, beyond",
    config=PLAIN,
)
def _table_zero(x, positions):
    inside = (positions < 1024).to(x.dtype)[..., None]
    return rope(x, positions) * (inside if positions.dim() == 1 else inside.unsqueeze(1))


class _ShortTable(nn.Module):
    def __init__(self, d=128, length=2048):
        super().__init__()
        angles = torch.outer(torch.arange(length).double(), frequencies(d))
        self.register_buffer("table", angles)

    def forward(self, q, k, position_ids):
        angles = self.table[position_ids]
        angles = angles if position_ids.dim() == 1 else angles.unsqueeze(1)
        return turn_halves(q, angles), turn_halves(k, angles)


plant(
    "formula: table ends before the configuration does",
    "The table has 2048 rows, but the configuration allows 32768 positions: beyond it, an error.",
    "table, 2048, 2047, index, range, ends, beyond, max_position, longer, error, fails, raise",
    _ShortTable(),
    config=PLAIN,
)


class _Growing(nn.Module):
    """The cached table is scaled in place, once more at every call."""

    def __init__(self, d=128, length=8192):
        super().__init__()
        angles = torch.outer(torch.arange(length).double(), frequencies(d))
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())

    def forward(self, x, positions):
        cos, sin = self.cos.mul_(1.01)[positions], self.sin.mul_(1.01)[positions]
        if positions.dim() == 2:
            cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


plant(
    "formula: table scaled at every call",
    "The cached table is multiplied in place by 1.01 at every call, so equal calls differ.",
    "calls, call , state, cache, determin, norm, length, scale, grow, repeat",
    _Growing(),
)


class _Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x, positions):
        out = rope(x, positions + self.seen)
        self.seen += x.shape[-2]
        return out


plant(
    "formula: counts its own calls",
    "The module adds the tokens it has seen to the positions given, so equal calls differ and the "
    "key call is shifted against the query call.",
    "calls, call , state, cache, determin, repeat, shift, seen, count",
    _Counting(),
)


@bug(
    "formula: input changed",
    "The keys given are overwritten by rotated ones although new ones are returned, so a second "
    "call rotates them again.",
    "in place, in-place, overwrit, input, mutat, modif, chang",
)
def _input_changed(q, k, positions):
    rotated = rope(q, positions), rope(k, positions)
    k.copy_(rotated[1])
    return rotated


@bug(
    "formula: sine from the next pair",
    "The sine uses the frequency of the next pair, the cosine its own, so it is no rotation.",
    "sine, frequenc, pair, norm, length, rotation, orthogonal",
)
def _sine_shifted(x, positions):
    freqs = frequencies(x.shape[-1])
    cos = angles_of(positions, freqs).cos()
    sin = angles_of(positions, freqs.roll(-1)).sin()
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


@bug(
    "formula: each half by itself",
    "Entries are paired within quarters (i with i + d/4), with the d/4 fastest frequencies used "
    "twice, but weights of this configuration pair i with i + d/2.",
    "pair, layout, quarter, half, halves, frequenc, interleav, d/4",
    config=PLAIN,
)
def _quarters(q, k, positions):
    def rotate(x):
        a, b = x.chunk(2, dim=-1)
        freqs = frequencies(x.shape[-1])[: x.shape[-1] // 4]
        return torch.cat((rope(a, positions, freqs=freqs), rope(b, positions, freqs=freqs)), dim=-1)

    return rotate(q), rotate(k)


@bug(
    "formula: complex turn over heads",
    "freqs_cis is indexed by head instead of by token: heads turn, positions do not "
    "((b, n, h, d)).",
    "head, depend on, does not use, unused, given position, axis, ignor, broadcast, transpos",
)
def _cis_over_heads(x, freqs_cis):
    complex_x = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    rows = freqs_cis[torch.arange(x.shape[2]) % freqs_cis.shape[0]]
    return torch.view_as_real(complex_x * rows[None, None]).flatten(3).type_as(x)


@bug(
    "formula: halves read as complex numbers and written as neighbours",
    "Halves are turned, but the result of the queries is written back interleaved and that of the "
    "keys as halves, so scores compare different entries.",
    "layout, order, interleav, half, halves, pair, permut, key, quer, position 0, identity",
)
def _written_otherwise(positions, q, k):
    angles = angles_of(positions, frequencies(q.shape[-1]))
    q = turn_halves(q, angles).unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
    return q, turn_halves(k, angles)


# Right: one vector or two, and positions ---------------------------------------------------------


@style("x, positions: float64 angles", "Halves, angles in float64; positions are (n,) or (b, n).")
def _float64_angles(x, positions):
    return rope(x, positions)


@style("x, positions: float32 angles", "Halves, all in float32; positions are (n,) or (b, n).")
def _float32_angles(x, positions):
    d = x.shape[-1]
    inv_freq = 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d))
    angles = positions.float().unsqueeze(-1) * inv_freq
    if positions.dim() == 2:
        angles = angles.unsqueeze(1)
    x1, x2 = x[..., : d // 2].float(), x[..., d // 2 :].float()
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1).type_as(x)


@style("x, pos: neighbours by stack", "Neighbours, by stack and flatten; pos is (n,).")
def _neighbours_stack(x, pos):
    d = x.shape[-1]
    theta = 10000.0 ** (-2 * torch.arange(d // 2) / d)
    angle = pos[:, None].float() * theta[None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated_even = even * angle.cos() - odd * angle.sin()
    rotated_odd = even * angle.sin() + odd * angle.cos()
    return torch.stack([rotated_even, rotated_odd], dim=-1).flatten(-2).to(x.dtype)


@style("x, positions: neighbours by complex numbers", "Neighbours, by view_as_complex.")
def _neighbours_complex(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1])).float()
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles)).flatten(-2).to(x)


@style("x, positions: halves by complex numbers", "Halves, as real and imaginary parts.")
def _halves_complex(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1]))
    x1, x2 = x.double().chunk(2, dim=-1)
    z = torch.complex(x1, x2) * torch.exp(1j * angles)
    return torch.cat((z.real, z.imag), dim=-1).to(x.dtype)


@style("x, positions: neighbours by gather", "Neighbours, the partner fetched by gather.")
def _neighbours_gather(x, positions):
    d = x.shape[-1]
    partner = (torch.arange(d) ^ 1).expand(x.shape)
    sign = torch.tensor([-1.0, 1.0], dtype=x.dtype).repeat(d // 2)
    angles = angles_of(positions, frequencies(d)).repeat_interleave(2, dim=-1)
    return x * angles.cos().to(x.dtype) + sign * x.gather(-1, partner) * angles.sin().to(x.dtype)


@style("x, positions: halves by index", "Halves, the partner fetched by an index and a sign.")
def _halves_index(x, positions):
    d = x.shape[-1]
    index = torch.arange(d).roll(d // 2)
    sign = torch.where(torch.arange(d) < d // 2, -1.0, 1.0).to(x.dtype)
    angles = angles_of(positions, frequencies(d)).repeat_interleave(2, -1)
    angles = torch.cat((angles[..., ::2], angles[..., 1::2]), dim=-1)
    return x * angles.cos().to(x.dtype) + x[..., index] * sign * angles.sin().to(x.dtype)


@style("x, positions: 2 x 2 matrices", "Neighbours, by (d/2) rotation matrices of 2 x 2.")
def _small_matrices(x, positions):
    a = angles_of(positions, frequencies(x.shape[-1]))
    rows = torch.stack((a.cos(), -a.sin()), -1), torch.stack((a.sin(), a.cos()), -1)
    matrices = torch.stack(rows, dim=-2)
    pairs = x.double().unflatten(-1, (-1, 2)).unsqueeze(-1)
    return (matrices @ pairs).squeeze(-1).flatten(-2).to(x.dtype)


@style("x, pos: one large matrix", "Halves, by a block matrix of d x d for each position.", 64)
def _large_matrix(x, pos):
    d = x.shape[-1]
    a = pos.double()[:, None] * frequencies(d)
    cos, sin = torch.diag_embed(a.cos()), torch.diag_embed(a.sin())
    matrix = torch.cat((torch.cat((cos, -sin), -1), torch.cat((sin, cos), -1)), dim=-2)
    return torch.einsum("nij,bhnj->bhni", matrix, x.double()).to(x.dtype)


@style("x, positions: einsum over pairs", "Halves, pairs stacked on an axis of their own.", 96)
def _einsum(x, positions):
    a = angles_of(positions, frequencies(x.shape[-1]))
    a = a if a.dim() == 4 else a[None, None]
    turn = torch.stack((torch.stack((a.cos(), -a.sin())), torch.stack((a.sin(), a.cos()))))
    pairs = torch.stack(x.double().chunk(2, dim=-1))
    turned = torch.einsum("ijbhnp,jbhnp->ibhnp", turn.expand(2, 2, *pairs.shape[1:]), pairs)
    return torch.cat(tuple(turned), dim=-1).to(x.dtype)


@style("x, positions: angles from exp and log", "Halves; inv_freq is exp(-2i ln(base) / d).", 64)
def _exp_log(x, positions):
    d = x.shape[-1]
    inv_freq = torch.exp(torch.arange(0, d, 2).double() * (-math.log(10000.0) / d))
    return rope(x, positions, freqs=inv_freq)


@style("x, positions: loop over pairs", "Neighbours, pair by pair in a Python loop.", 16)
def _loop(x, positions):
    out = torch.empty_like(x)
    for i in range(x.shape[-1] // 2):
        angle = positions.double() * 10000.0 ** (-2 * i / x.shape[-1])
        angle = angle if positions.dim() == 1 else angle[:, None]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        out[..., 2 * i] = x[..., 2 * i] * cos - x[..., 2 * i + 1] * sin
        out[..., 2 * i + 1] = x[..., 2 * i] * sin + x[..., 2 * i + 1] * cos
    return out


@style("x, positions: in place", "Halves; the given vectors are overwritten and returned.")
def _in_place(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1]))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    x1, x2 = x.chunk(2, dim=-1)
    old = x1.clone()
    x1.mul_(cos).sub_(x2 * sin)
    x2.mul_(cos).add_(old * sin)
    return x


@style("x, *, positions", "Positions by keyword only.")
def _keyword(x, *, positions):
    return rope(x, positions)


@style("x, positions, base", "The base is an argument with a default.")
def _with_base(x, positions, base=10000.0):
    return rope(x, positions, base)


@style("q, k, positions: tuple", "Halves of both; returns a tuple; base 500,000.")
def _two(q, k, positions):
    return rope(q, positions, 500_000.0), rope(k, positions, 500_000.0)


@style("q, k, positions: list", "Returns a list of both.")
def _list(q, k, positions):
    return [rope(x, positions) for x in (q, k)]


@style("q, k, positions: dict", "Returns a dict of both, by the names q and k.")
def _dict(q, k, positions):
    return {"q": rope(q, positions), "k": rope(k, positions)}


@style("positions, query, key", "As in vLLM, the positions come first.")
def _positions_first(positions, query, key):
    return rope(query, positions), rope(key, positions)


@style("positions, q, k: neighbours", "Positions first, neighbours, base 1,000,000.", 64)
def _positions_first_neighbours(positions, q, k):
    return (
        rope(q, positions, 1e6, turn=turn_neighbours),
        rope(k, positions, 1e6, turn=turn_neighbours),
    )


@style("q, k, v, positions", "The values come back as they were.")
def _with_values(q, k, v, positions):
    return rope(q, positions), rope(k, positions), v


@style("query, key, position_ids", "position_ids must be (b, n).")
def _position_ids(query, key, position_ids):
    d = query.shape[-1]
    inv_freq = 1.0 / (10000 ** (torch.arange(0, d, 2, dtype=torch.int64).float() / d))
    inv_freq = inv_freq[None, :, None].expand(position_ids.shape[0], -1, 1)
    freqs = (inv_freq @ position_ids[:, None, :].float()).transpose(1, 2)
    emb = torch.cat((freqs, freqs), dim=-1)
    cos, sin = emb.cos()[:, None].to(query.dtype), emb.sin()[:, None].to(query.dtype)
    return query * cos + rotate_half(query) * sin, key * cos + rotate_half(key) * sin


@style("q, k, positions: heads after tokens", "Vectors are (b, n, h, d); halves.")
def _heads_last(q, k, positions):
    angles = positions.double()[..., None] * frequencies(q.shape[-1])
    angles = angles.unsqueeze(-2)
    return turn_halves(q, angles), turn_halves(k, angles)


@style("x, positions: heads after tokens", "Vectors are (b, n, h, d); neighbours.")
def _heads_last_neighbours(x, positions):
    angles = positions.double()[..., None] * frequencies(x.shape[-1])
    return turn_neighbours(x, angles.unsqueeze(-2))


@style("x, positions: any leading axes", "x is (..., n, d): one head alone will do as well.")
def _any_axes(x, positions):
    x1, x2 = x.chunk(2, dim=-1)
    angles = torch.outer(positions.double(), frequencies(x.shape[-1]))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1)


@style("x, positions: one head", "x has a single head, (b, 1, n, d); more are refused.", 64)
def _one_head(x, positions):
    if x.shape[1] != 1:
        raise ValueError("one head only")
    return rope(x, positions)


@style("q, k, positions: one key head", "Multi-query: any heads of q, one of k.", 64)
def _one_key_head(q, k, positions):
    return rope(q, positions), rope(k, positions)


@style("x, positions: reordered output", "Reads neighbours, writes halves: scores stay.")
def _reordered(x, positions):
    angles = angles_of(positions, frequencies(x.shape[-1]))
    x1, x2 = x.double()[..., ::2], x.double()[..., 1::2]
    out = x1 * angles.cos() - x2 * angles.sin(), x2 * angles.cos() + x1 * angles.sin()
    return torch.cat(out, dim=-1).to(x.dtype)


@style("q, k, positions: halves read, neighbours written", "Both are permuted alike.", 64)
def _reordered_both(q, k, positions):
    def rotate(x):
        angles = angles_of(positions, frequencies(x.shape[-1]))
        x1, x2 = x.double().chunk(2, dim=-1)
        out = x1 * angles.cos() - x2 * angles.sin(), x2 * angles.cos() + x1 * angles.sin()
        return torch.stack(out, dim=-1).flatten(-2).to(x.dtype)

    return rotate(q), rotate(k)


@style("q, k, positions: negative direction", "Both turn backwards, so scores are relative.")
def _negative(q, k, positions):
    return rope(q, -positions), rope(k, -positions)


# Right: an offset, modules, tables of their own --------------------------------------------------


@style("x, offset", "Positions count from an offset; halves.")
def _offset(x, offset=0):
    return rope(x, torch.arange(offset, offset + x.shape[-2]))


@style("x, start_pos", "Vectors are (b, n, h, d); neighbours, from start_pos on.")
def _start_pos(x, start_pos=0):
    angles = torch.outer(torch.arange(x.shape[1]).double() + start_pos, frequencies(x.shape[-1]))
    return turn_neighbours(x, angles[:, None, :])


@style("q, k, offset", "Both count from one offset; base 500,000.")
def _two_offset(q, k, offset=0):
    positions = torch.arange(q.shape[-2]) + offset
    return rope(q, positions, 5e5), rope(k, positions, 5e5)


class _Lazy(nn.Module):
    """Builds its table when it first needs it, and again when it is too short."""

    def __init__(self, d, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", frequencies(d, base), persistent=False)
        self.cos = self.sin = torch.empty(0, d)

    def _grow(self, length):
        if length > self.cos.shape[0]:
            angles = torch.outer(torch.arange(length).double(), self.inv_freq)
            wide = torch.cat((angles, angles), dim=-1)
            self.cos, self.sin = wide.cos().float(), wide.sin().float()

    def forward(self, x, positions):
        self._grow(int(positions.max()) + 1)
        cos, sin = self.cos[positions].to(x.dtype), self.sin[positions].to(x.dtype)
        if positions.dim() == 2:
            cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        return x * cos + rotate_half(x) * sin


class _LazyOffset(_Lazy):
    def forward(self, q, k, offset=0):
        self._grow(offset + q.shape[-2])
        cos = self.cos[offset : offset + q.shape[-2]].to(q.dtype)
        sin = self.sin[offset : offset + q.shape[-2]].to(q.dtype)
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class _Table(nn.Module):
    """A complex table of a fixed length; positions beyond it are an IndexError."""

    def __init__(self, d, length=8192):
        super().__init__()
        angles = torch.outer(torch.arange(length).double(), frequencies(d))
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def forward(self, positions, query, key):
        turn = self.freqs_cis[positions]
        turn = turn if positions.dim() == 1 else turn.unsqueeze(1)
        rotated = []
        for x in (query, key):
            z = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
            rotated.append(torch.view_as_real(z * turn).flatten(-2).to(x.dtype))
        return tuple(rotated)


class _CosSinCache(nn.Module):
    """One table with cos beside sin, as in vLLM; 8,192 positions."""

    def __init__(self, d, length=8192):
        super().__init__()
        angles = torch.outer(torch.arange(length).double(), frequencies(d))
        self.register_buffer("cache", torch.cat((angles.cos(), angles.sin()), dim=-1).float())

    def forward(self, positions, q, k):
        cos, sin = self.cache.index_select(0, positions.flatten()).chunk(2, dim=-1)
        shape = (*positions.shape, cos.shape[-1])
        cos, sin = cos.reshape(shape).to(q.dtype), sin.reshape(shape).to(q.dtype)
        if positions.dim() == 2:
            cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        return tuple(
            torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)
            for x1, x2 in (q.chunk(2, dim=-1), k.chunk(2, dim=-1))
        )


style("module: lazy table", "A module whose table grows; halves.")(_Lazy(128))
style("module: lazy table with an offset", "q, k and offset; the table grows.", 64)(_LazyOffset(64))
style("module: complex table", "positions, query, key; neighbours; 8,192 positions.")(_Table(128))
style("module: cos beside sin", "positions, q, k; 8,192 positions only.")(_CosSinCache(128))


@style("x, positions: short table", "A function with a table for 8,192 positions only.", 64)
def _short_table(x, positions, table=torch.outer(torch.arange(8192.0).double(), frequencies(64))):  # noqa: B008
    angles = table[positions]
    return turn_halves(x, angles if positions.dim() == 1 else angles.unsqueeze(1))


# Right: cos and sin, or freqs_cis, given by the caller -------------------------------------------


@style("q, k, cos, sin: (n, d)", "Full width, halves; cos and sin are (n, d).")
def _tables_2d(q, k, cos, sin):
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


@style("q, k, cos, sin: (1, n, d)", "As in transformers: cos and sin are (1, n, d) or (b, n, d).")
def _tables_3d(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


@style("q, k, cos, sin: (1, 1, n, d)", "cos and sin must have four axes.", 64)
def _tables_4d(q, k, cos, sin):
    _, _, n, _ = cos.shape
    q, k = q[:, :, :n], k[:, :, :n]
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


@style("q, k, cos, sin: half width", "cos and sin are (n, d/2); halves.")
def _tables_half(q, k, cos, sin):
    def rotate(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)

    return rotate(q), rotate(k)


@style("q, k, cos, sin: half width, neighbours", "cos and sin are (n, d/2); neighbours.")
def _tables_half_neighbours(q, k, cos, sin):
    def rotate(x):
        x1, x2 = x[..., ::2], x[..., 1::2]
        return torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).flatten(-2)

    return rotate(q), rotate(k)


@style("q, k, cos, sin: neighbours", "cos and sin are (n, d), each value twice in a row.")
def _tables_neighbours(q, k, cos, sin):
    return q * cos + rotate_every_two(q) * sin, k * cos + rotate_every_two(k) * sin


@style("q, k, cos, sin: heads after tokens", "(b, n, h, d); cos and sin are (n, d), halves.")
def _tables_heads_last(q, k, cos, sin):
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


@style("x, cos, sin: as nanochat", "(b, n, h, d); (1, n, 1, d/2) tables; negative direction.")
def _nanochat(x, cos, sin):
    d = x.shape[3] // 2
    x1, x2 = x[..., :d], x[..., d:]
    y1 = x1 * cos + x2 * sin
    y2 = x1 * (-sin) + x2 * cos
    return torch.cat([y1, y2], 3).to(x.dtype)


@style("q, k, cos, sin, position_ids", "Whole tables (length, d), indexed by position_ids (b, n).")
def _tables_indexed(q, k, cos, sin, position_ids):
    cos, sin = cos[position_ids].unsqueeze(1), sin[position_ids].unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


@style("q, k, freqs_cis", "As in Meta's Llama: (b, n, h, d), freqs_cis is (n, d/2), complex.")
def _freqs_cis(q, k, freqs_cis):
    q_ = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
    k_ = torch.view_as_complex(k.float().reshape(*k.shape[:-1], -1, 2))
    turn = freqs_cis.view(1, q_.shape[1], 1, q_.shape[-1])
    q_, k_ = torch.view_as_real(q_ * turn), torch.view_as_real(k_ * turn)
    return q_.flatten(3).type_as(q), k_.flatten(3).type_as(k)


@style("x, freqs_cis", "(b, h, n, d), freqs_cis is (n, d/2), complex.", 64)
def _one_freqs_cis(x, freqs_cis):
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * freqs_cis).flatten(-2).type_as(x)


@style("x, freqs_cis: real", "As gpt-fast: (b, n, h, d), freqs_cis is real, (n, d/2, 2).", 64)
def _real_freqs_cis(x, freqs_cis):
    shaped = x.float().reshape(*x.shape[:-1], -1, 2)
    turn = freqs_cis.view(1, shaped.size(1), 1, shaped.size(3), 2)
    out = torch.stack(
        (
            shaped[..., 0] * turn[..., 0] - shaped[..., 1] * turn[..., 1],
            shaped[..., 1] * turn[..., 0] + shaped[..., 0] * turn[..., 1],
        ),
        dim=-1,
    )
    return out.flatten(3).type_as(x)


# Right: part of the entries, scaled frequencies, configurations ----------------------------------


@style("partial: first quarter", "The first quarter is rotated, as GPT-NeoX does.", config=NEOX)
def _first_quarter(q, k, positions):
    return rope_first(q, positions, 32), rope_first(k, positions, 32)


@style("partial: neighbours", "64 of 256 entries, neighbours, as GPT-J does; (b, n, h, d).", 256)
def _gpt_j(q, k, positions):
    def rotate(x):
        angles = (positions.double()[..., None] * frequencies(64)).unsqueeze(-2)
        return torch.cat((turn_neighbours(x[..., :64], angles), x[..., 64:]), dim=-1)

    return rotate(q), rotate(k)


@style("partial: the last entries", "The last 64 of 192 are rotated, as DeepSeek's MLA does.", 192)
def _mla(x, positions):
    turned = rope(x[..., 128:], positions, turn=turn_neighbours)
    return torch.cat((x[..., :128], turned), dim=-1)


@style("partial: p-RoPE", "The slowest quarter of all pairs stands still (frequency 0).")
def _p_rope(x, positions):
    freqs = frequencies(x.shape[-1])
    freqs[-freqs.shape[0] // 4 :] = 0
    return rope(x, positions, freqs=freqs)


@style(
    "partial: half of a wide head",
    "partial_rotary_factor 0.5 of 64.",
    64,
    config=PHI | {"hidden_size": 2048, "partial_rotary_factor": 0.5},
)
def _half(x, positions):
    return rope_first(x, positions, 32)


@style("config: plain", "Base 10,000 as its configuration says.", config=PLAIN)
def _plain(q, k, positions):
    return rope(q, positions), rope(k, positions)


@style("config: base 500,000", "Its configuration says so.", config=llama_config(rope_theta=5e5))
def _llama_base(q, k, position_ids):
    return rope(q, position_ids, 5e5), rope(k, position_ids, 5e5)


@style("config: YaRN", "YaRN's frequencies and attention factor.", config=QWEN_YARN)
def _yarn(q, k, positions):
    freqs, factor = yarn(128, 1e6, 4.0, 32768), yarn_factor(4.0)
    return factor * rope(q, positions, freqs=freqs), factor * rope(k, positions, freqs=freqs)


@style("config: YaRN, not truncated", "As gpt-oss: truncate is false.", 64, config=GPT_OSS)
def _gpt_oss(x, positions):
    freqs = yarn(64, 150_000.0, 32.0, 4096, truncate=False)
    return yarn_factor(32.0) * rope(x, positions, freqs=freqs)


@style("config: YaRN with mscale", "The quotient of two attention factors.", config=MSCALE)
def _mscale(q, k, positions):
    freqs = yarn(128, 1e4, 40.0, 4096)
    factor = yarn_factor(40.0, 1.0) / yarn_factor(40.0, 0.5)
    return factor * rope(q, positions, freqs=freqs), factor * rope(k, positions, freqs=freqs)


@style("scaled: YaRN without a configuration", "Scores have its factor squared.", 64)
def _yarn_alone(x, positions):
    return yarn_factor(8.0) * rope(x, positions, freqs=yarn(64, 1e4, 8.0, 4096))


@style("config: Llama 3", "The rule of Llama 3.1.", config=LLAMA3)
def _llama3(x, positions):
    return rope(x, positions, freqs=llama3(128))


@style("config: linear", "Positions divided by 4.", config=LINEAR)
def _linear(q, k, positions):
    return rope(q, positions / 4), rope(k, positions / 4)


@style("config: dynamic NTK", "The base grows beyond 2048 tokens.", config=DYNAMIC)
def _dynamic(q, k, positions):
    longer = max(1.0, 4.0 * (int(positions.max()) + 1) / 2048 - 3.0)
    base = ntk_base(128, 1e4, longer)
    return rope(q, positions, base), rope(k, positions, base)


@style("config: NTK with alpha", "theta x alpha^(d / (d - 2)), as HunYuan does.", config=ALPHA)
def _alpha(q, k, positions):
    base = ntk_base(128, 1e4, 1000.0)
    return rope(q, positions, base), rope(k, positions, base)


@style("scaled: NTK base", "A base enlarged for four times the length, no configuration.", 64)
def _ntk(x, positions):
    return rope(x, positions, ntk_base(64, 1e4, 4.0))


@style(
    "config: window layer",
    "A sliding-window layer of Gemma 3.",
    256,
    config=GEMMA3,
    layer_type="sliding_attention",
)
def _window(q, k, positions):
    return rope(q, positions), rope(k, positions)


@style(
    "config: full layer",
    "A full-attention layer of Gemma 3: linear factor 8.",
    256,
    config=GEMMA3,
    layer_type="full_attention",
)
def _full(q, k, positions):
    return rope(q, positions / 8, 1e6), rope(k, positions / 8, 1e6)


@style("config: longrope", "Phi-3's two lists and factor.", config=LONGROPE)
def _longrope(q, k, positions):
    factors = LONG_FACTORS if positions.max() >= 4096 else SHORT_FACTORS
    freqs = frequencies(128) / torch.tensor(factors).double()
    factor = math.sqrt(1 + math.log(32) / math.log(4096))
    return factor * rope(q, positions, freqs=freqs), factor * rope(k, positions, freqs=freqs)


style(
    "config: M-RoPE", "Sections 16, 24, 24; position_ids are (3, b, n), or (b, n).", config=MROPE
)(sectioned([16, 24, 24]))


@style(
    "config: rope_parameters",
    "Base 1,000,000 under the newer key.",
    config={k: v for k, v in PLAIN.items() if k not in ("rope_theta", "rope_scaling")}
    | {"rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}},
)
def _rope_parameters(x, positions):
    return rope(x, positions, 1e6)
