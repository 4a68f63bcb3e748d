"""The solution of the workshop: the book's model in NumPy. `skeleton` says what each part computes.

It is shown to readers who ask for it, and it runs behind the pages of the workshop.

Shapes: N (new) tokens, N_k tokens that can be looked at, width d, h query heads, g key-value heads,
d_k numbers per head, V tokens in the vocabulary. Weights are stored as (out, in), so a linear layer
is x @ W.T. There is one text and no batch axis.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

CONFIG: dict[str, Any] = {"layers": 6, "heads": 6, "groups": 2, "d_k": 32, "eps": 1e-5}
START = 256


# ------------------------------------------------------------------------------ step 1: softmax
#
# $p_j = e^{x_j} / \sum_l e^{x_l}$. Subtracting the same number from all scores of a row changes no
# weight, because numerator and sum shrink by the same factor. With the largest score subtracted, no
# exponential exceeds 1, so none can overflow.


def softmax(x: np.ndarray) -> np.ndarray:
    """Turn each row of scores into positive weights that sum to 1."""
    x = x - x.max(axis=-1, keepdims=True)  # the largest of each row is now 0
    exponentials = np.exp(x)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# ------------------------------------------------------------------------------- step 2: attend
#
# $\operatorname{softmax}(q k^\top / \sqrt{d_k})\, v$. A score says how well a key answers a query.
# The softmax turns the scores of a query into weights, and the output is the average of the values
# with these weights. Without the root, scores would spread more and more as $d_k$ grows, and
# the softmax would choose one key and pass on almost no gradient.


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Scaled dot-product attention: each query takes a weighted mean of the values."""
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5  # (..., N, N_k)
    return softmax(scores) @ v  # (..., N, d_v)


# --------------------------------------------------------------------------------- step 3: mask
#
# While a model writes, later tokens do not exist yet, so in training no token may look at them. The
# mask is Boolean, and True means: may look. A score of −∞ has the weight $e^{-\infty} = 0$.


def causal_mask(N: int, N_k: int) -> np.ndarray:
    """Which of N_k tokens each of the last N tokens may look at: Booleans, (N, N_k)."""
    rows = np.arange(N_k - N, N_k)[:, None]  # (N, 1), the positions of the queries
    columns = np.arange(N_k)  # (N_k,), the positions of the keys
    return columns <= rows  # (N, N_k)


def masked_attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray,
) -> np.ndarray:
    """Attention as in step 2, but each query looks only where the mask is True."""
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5  # (..., N, N_k)
    visible = np.where(mask, scores, -np.inf)  # (..., N, N_k)
    return softmax(visible) @ v  # (..., N, d_v)


# -------------------------------------------------------------------------------- step 4: heads
#
# Several small attentions side by side can look at several places at once. Each head gets $d_k$ of
# the numbers of every token. The heads are moved to the front, where `attend` computes all of them
# in one product. Groups of query heads share one head of keys and values, which makes the cache
# small.


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """Cut each token's vector into heads: (N, heads * d_k) to (heads, N, d_k)."""
    N = x.shape[0]
    return x.reshape(N, heads, -1).swapaxes(0, 1)  # (N, heads, d_k) to (heads, N, d_k)


def merge_heads(x: np.ndarray) -> np.ndarray:
    """Undo `split_heads`: (heads, N, d_k) to (N, heads * d_k)."""
    N = x.shape[1]
    return x.swapaxes(0, 1).reshape(N, -1)  # (N, heads, d_k) to (N, heads * d_k)


def repeat_groups(x: np.ndarray, heads: int) -> np.ndarray:
    """Give every query head its key-value head: (g, N_k, d_k) to (heads, N_k, d_k)."""
    times = heads // x.shape[0]
    return np.repeat(x, times, axis=0)  # heads 0, 0, 0, 1, 1, 1 for g = 2 and 6 heads


# ------------------------------------------------------------------------------ step 5: RMSNorm
#
# $x / \sqrt{\operatorname{mean}(x^2) + \epsilon} \cdot w$, for each token by itself. What enters a
# layer then has the same size in every layer and for every token, however large the stream has
# grown.


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """Divide each token's vector by its root mean square, then multiply by `weight`."""
    mean_square = (x * x).mean(axis=-1, keepdims=True)  # (..., 1)
    return x / np.sqrt(mean_square + eps) * weight  # (..., d)


# ------------------------------------------------------------------------------- step 6: SwiGLU
#
# $(\operatorname{SiLU}(x W_g^\top) \odot x W_u^\top)\, W_d^\top$ with $\operatorname{SiLU}(z) = z\,
# \sigma(z)$. Attention moves information between tokens; this layer works on each token by itself.
# The gate decides how much of each hidden number passes.


def swiglu(
    x: np.ndarray,
    gate: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
) -> np.ndarray:
    """The feed-forward layer: (..., d) to (..., d)."""
    z = x @ gate.T  # (..., m)
    silu = z / (1 + np.exp(-z))  # (..., m)
    return (silu * (x @ up.T)) @ down.T  # (..., d)


# --------------------------------------------------------------------------------- step 7: RoPE
#
# A pair of dimensions is a vector in the plane. At position m, pair i is rotated by $m\theta_i$
# with $\theta_i = b^{-2i/d_k}$. If both a query and a key are rotated by their positions, the angle
# between them changes by the difference, so their score depends on the distance alone. The two
# members of a pair are $d_k/2$ apart here.


def rope_frequencies(d_k: int, base: float = 10_000.0) -> np.ndarray:
    """Radians per position of each pair of dimensions: (d_k / 2,), in float64."""
    i = np.arange(d_k // 2)  # (d_k / 2,)
    return base ** (-2 * i / d_k)


def rope_table(
    positions: np.ndarray, frequencies: np.ndarray, factor: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and the sines of all angles, each (N, d_k / 2), both multiplied by
    `factor`."""
    angles = np.outer(positions, frequencies)  # (N, d_k / 2)
    return np.cos(angles) * factor, np.sin(angles) * factor


def rotate(x: np.ndarray, table: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Rotate each pair of dimensions of x, (heads, N, d_k), by the angle of its
    position."""
    cos, sin = table
    half = x.shape[-1] // 2
    a = x[..., :half]  # (heads, N, d_k / 2)
    b = x[..., half:]  # (heads, N, d_k / 2)
    rotated = np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)
    return rotated.astype(x.dtype)  # (heads, N, d_k)


# -------------------------------------------------------------------------------- step 8: block
#
# $x' = x + \operatorname{attention}(\operatorname{norm}(x))$, then $x'' = x' +
# \operatorname{swiglu}(\operatorname{norm}(x'))$. Both halves only add to the stream x, so what an
# earlier layer wrote stays there, and gradients have a direct way back.


def project(
    x: np.ndarray,
    layer: dict[str, np.ndarray],
    table: tuple[np.ndarray, np.ndarray],
    config: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The queries, keys and values of the tokens x, (N, d), which are already
    normalized."""
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])  # (h, N, d_k)
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])  # (g, N, d_k)
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])  # (g, N, d_k)
    # Values are not rotated: the position decides where to look, not what is found there.
    return rotate(q, table), rotate(k, table), v


def mix(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray,
    layer: dict[str, np.ndarray],
    config: dict[str, Any],
) -> np.ndarray:
    """Attention of all heads: queries (h, N, d_k), keys and values (g, N_k, d_k) to (N,
    d)."""
    k = repeat_groups(k, config["heads"])  # (h, N_k, d_k)
    v = repeat_groups(v, config["heads"])  # (h, N_k, d_k)
    heads = masked_attend(q, k, v, mask)  # (h, N, d_k)
    return merge_heads(heads) @ layer["self_attn.o_proj.weight"].T  # (N, d)


def block(
    x: np.ndarray,
    layer: dict[str, np.ndarray],
    table: tuple[np.ndarray, np.ndarray],
    mask: np.ndarray,
    config: dict[str, Any],
) -> np.ndarray:
    """One layer of the model, (N, d) to (N, d)."""
    eps = config["eps"]
    normalized = rms_norm(x, layer["input_layernorm.weight"], eps)
    q, k, v = project(normalized, layer, table, config)
    x = x + mix(q, k, v, mask, layer, config)
    normalized = rms_norm(x, layer["post_attention_layernorm.weight"], eps)
    gate = layer["mlp.gate_proj.weight"]
    up = layer["mlp.up_proj.weight"]
    down = layer["mlp.down_proj.weight"]
    return x + swiglu(normalized, gate, up, down)


# ----------------------------------------------------------------- step 9: the file and the model
#
# A safetensors file begins with 8 bytes that hold the length of a JSON text. The JSON says for each
# array its dtype, its shape and its place in the rest of the file. The model looks up a vector for
# each token, sends it through all blocks, normalizes it and compares it with the vectors of all
# tokens: the dot products are the logits.


def encode(text: str) -> list[int]:
    """The tokens of a text: START, then the bytes of the text in UTF-8."""
    return [START, *text.encode()]


def read_weights(data: bytes) -> dict[str, np.ndarray]:
    """All arrays of a safetensors file, by their names, converted to float32."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    arrays = data[8 + size :]
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        dtype = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
        numbers = np.frombuffer(arrays[start:end], dtype)
        weights[name] = numbers.reshape(entry["shape"]).astype(np.float32)
    return weights


def layer_weights(weights: dict[str, np.ndarray], index: int) -> dict[str, np.ndarray]:
    """The weights of one layer, by the names of step 8."""
    prefix = f"layers.{index}."
    named = {}
    for name, weight in weights.items():
        if name.startswith(prefix):
            named[name.removeprefix(prefix)] = weight
    return named


def forward(
    tokens: list[int],
    weights: dict[str, np.ndarray],
    config: dict[str, Any],
    rope: tuple[np.ndarray, float],
) -> np.ndarray:
    """The logits of the token after each of the N tokens: (N, V), where V is the
    vocabulary."""
    N = len(tokens)
    frequencies, factor = rope
    table = rope_table(np.arange(N), frequencies, factor)
    mask = causal_mask(N, N)
    embedding = weights["embed_tokens.weight"]  # (V, d)
    x = embedding[tokens]  # (N, d)
    for index in range(config["layers"]):
        layer = layer_weights(weights, index)
        x = block(x, layer, table, mask, config)  # (N, d)
    x = rms_norm(x, weights["norm.weight"], config["eps"])  # (N, d)
    return x @ embedding.T  # (N, V)


# ------------------------------------------------------------------------------- step 10: cache
#
# A key or value of an earlier token does not depend on later ones. So it is computed once and kept,
# and a new token costs one row in place of N. The one thing to get right is the position: the new
# tokens begin where the cache ends, in the table of angles and in the mask.


def new_cache(config: dict[str, Any]) -> list[dict[str, np.ndarray]]:
    """An empty cache: a list of config["layers"] empty dictionaries."""
    return [{} for _ in range(config["layers"])]


def cached_block(
    x: np.ndarray,
    layer: dict[str, np.ndarray],
    table: tuple[np.ndarray, np.ndarray],
    mask: np.ndarray,
    config: dict[str, Any],
    kept: dict[str, np.ndarray],
) -> np.ndarray:
    """As `block`, for N new tokens x, (N, d), that also look at the tokens in the cache."""
    eps = config["eps"]
    normalized = rms_norm(x, layer["input_layernorm.weight"], eps)
    q, k, v = project(normalized, layer, table, config)
    if kept:
        k = np.concatenate((kept["k"], k), axis=1)  # (g, N_k, d_k)
        v = np.concatenate((kept["v"], v), axis=1)  # (g, N_k, d_k)
    kept["k"] = k
    kept["v"] = v
    x = x + mix(q, k, v, mask, layer, config)
    normalized = rms_norm(x, layer["post_attention_layernorm.weight"], eps)
    gate = layer["mlp.gate_proj.weight"]
    up = layer["mlp.up_proj.weight"]
    down = layer["mlp.down_proj.weight"]
    return x + swiglu(normalized, gate, up, down)


def cached_forward(
    tokens: list[int],
    weights: dict[str, np.ndarray],
    config: dict[str, Any],
    rope: tuple[np.ndarray, float],
    cache: list[dict[str, np.ndarray]],
) -> np.ndarray:
    """As `forward`, for N new tokens that follow those in the cache: logits (N, V)."""
    N = len(tokens)
    start = cache[0]["k"].shape[1] if cache[0] else 0  # tokens in the cache
    frequencies, factor = rope
    table = rope_table(np.arange(start, start + N), frequencies, factor)
    mask = causal_mask(N, start + N)
    embedding = weights["embed_tokens.weight"]  # (V, d)
    x = embedding[tokens]  # (N, d)
    for index in range(config["layers"]):
        layer = layer_weights(weights, index)
        x = cached_block(x, layer, table, mask, config, cache[index])  # (N, d)
    x = rms_norm(x, weights["norm.weight"], config["eps"])  # (N, d)
    return x @ embedding.T  # (N, V)


# ---------------------------------------------------------------------------- step 11: sampling
#
# A logit divided by the temperature τ gives $p_j \propto e^{z_j / \tau}$: a small τ sharpens, a
# large one flattens. Top-k keeps the k likeliest tokens. Top-p keeps the fewest tokens that
# together have the probability p.


def probabilities(
    logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> np.ndarray:
    """The probability of each token to be drawn next: logits (V,) to probabilities (V,)."""
    if temperature == 0:
        greedy = np.zeros(len(logits))
        greedy[np.argmax(logits)] = 1
        return greedy
    logits = logits.astype(np.float64)
    order = np.argsort(-logits)  # the tokens, the likeliest first
    if top_k > 0:
        order = order[:top_k]
    p = softmax(logits[order] / temperature)
    # A token stays if those likelier than itself do not have the probability top_p yet.
    before = np.cumsum(p) - p
    if top_p < 1:
        p = np.where(before < top_p, p, 0)
    chances = np.zeros(len(logits))
    chances[order] = p / p.sum()
    return chances


def sample(
    logits: np.ndarray,
    random: np.random.Generator,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> int:
    """Draw a token, an int, with these probabilities."""
    p = probabilities(logits, temperature, top_k, top_p)
    return int(random.choice(len(p), p=p))


def generate(
    tokens: list[int],
    count: int,
    weights: dict[str, np.ndarray],
    config: dict[str, Any],
    rope: tuple[np.ndarray, float],
    random: np.random.Generator,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> Iterator[int]:
    """Continue the tokens: yield `count` new ones, each as soon as it is drawn."""
    cache = new_cache(config)
    unread = list(tokens)
    for _ in range(count):
        logits = cached_forward(unread, weights, config, rope, cache)
        token = sample(logits[-1], random, temperature, top_k, top_p)
        yield token
        unread = [token]


# ------------------------------------------------------------------------------ step 12: longer
#
# In a text longer than in training, slow pairs reach angles that no weight has seen. YaRN divides
# their frequencies by the scale, so that the angles of training are not exceeded. Fast pairs have
# seen the whole circle and keep theirs. The factor makes scores a little larger, because a softmax
# over more tokens is flatter.


def kept_share(
    frequencies: np.ndarray, length: int, slow: float = 1.0, fast: float = 32.0
) -> np.ndarray:
    """How much of its frequency each pair keeps when the context grows: (d_k / 2,), from
    0 to 1."""
    turns = length * frequencies / (2 * np.pi)  # (d_k / 2,), over a text of the trained length
    return np.clip((turns - slow) / (fast - slow), 0, 1)


def yarn(frequencies: np.ndarray, scale: float, length: int) -> tuple[np.ndarray, float]:
    """YaRN: the frequencies and the factor for texts `scale` times as long as in
    training."""
    share = kept_share(frequencies, length)
    stretched = share * frequencies + (1 - share) * frequencies / scale
    factor = 0.1 * np.log(scale) + 1
    return stretched, factor
