"""My model: a language model in NumPy, in twelve steps.

Replace each line `raise NotImplementedError` by your own code. A later step may call the functions
of the earlier ones. At the end this file reads the book's trained weights and writes text.

What holds in every step:

- Only NumPy is needed. Do not change the arrays that you get.
- Arrays that you get are float32 or float64; tokens and positions are integers, masks Booleans.
  Results may be float32 or float64, except where a step asks for one, and may be views of what you
  got. Warnings of NumPy do no harm.
- One text at a time, so there is no batch axis. N is the number of (new) tokens, at least one, N_k
  the number of tokens that can be looked at, d the width of the model, h the number of query heads,
  g the number of key-value heads (h is a multiple of g), d_k the dimension of one head, which is
  even wherever pairs are rotated.
- Tokens are rows: x has the shape (N, d). Weights are stored as in the checkpoint, with the shape
  (out, in), so a linear layer computes x @ W.T. There are no biases.
- A mask is Boolean, and True means: this query may look at this key.
- Positions count from 0. Tokens are a list of integers, or an integer array with one axis.
"""

import argparse  # for the command at the end
import json  # for step 9
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# The sizes of the book's model. Your functions read them from the argument `config`, because the
# checks also call them with other sizes.
CONFIG: dict[str, Any] = {
    "layers": 6,  # blocks
    "heads": 6,  # query heads, h
    "groups": 2,  # key-value heads, g
    "d_k": 32,  # dimensions of one head
    "eps": 1e-5,  # for RMSNorm
}
START = 256  # the token before the first byte of a text; tokens 0 to 255 are bytes


# ------------------------------------------------------------------------------ step 1: softmax


def softmax(x: np.ndarray) -> np.ndarray:
    """Turn each row of scores into positive weights that sum to 1.

    A row runs along the last axis. x holds floats and has one axis or more, and the
    result has the same shape: exp(x) divided by the sum of exp(x) over the row.

    It must also work for large scores such as 1000, whose exp is too large for a float,
    and a score of -infinity must get the weight 0. (Each row has at least one finite
    score.)
    """
    raise NotImplementedError("step 1: softmax")


# ------------------------------------------------------------------------------- step 2: attend


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Scaled dot-product attention: each query takes a weighted mean of the values.

    q: (..., N, d_k), k: (..., N_k, d_k), v: (..., N_k, d_v). The result is (..., N, d_v).
    The leading axes, if there are any, are the same in all three (for example the heads).

    The score of a query and a key is their dot product, divided by the square root of
    d_k. The softmax of a query's scores, over the keys, gives the weights of the values.
    """
    raise NotImplementedError("step 2: attend")


# --------------------------------------------------------------------------------- step 3: mask


def causal_mask(N: int, N_k: int) -> np.ndarray:
    """Which of N_k tokens each of the last N tokens may look at: Booleans, (N, N_k).

    The queries are the last N of the N_k tokens, so the last query belongs to the last
    key. A token may look at itself and at all tokens before it, but at none after it.
    True: may look. N is at least 1 and at most N_k.
    """
    raise NotImplementedError("step 3: causal_mask")


def masked_attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray,
) -> np.ndarray:
    """Attention as in step 2, but each query looks only where the mask is True.

    mask: Booleans, (N, N_k), the same for all leading axes. A key that a query may not
    look at gets the weight 0, and the weights of the others sum to 1. (Each query may
    look at least at one key. A score of -1e9 does as well as -infinity.)
    """
    raise NotImplementedError("step 3: masked_attend")


# -------------------------------------------------------------------------------- step 4: heads


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """Cut each token's vector into heads: (N, heads * d_k) to (heads, N, d_k).

    Head 0 has the first d_k numbers of each token, head 1 the next d_k, and so on.
    """
    raise NotImplementedError("step 4: split_heads")


def merge_heads(x: np.ndarray) -> np.ndarray:
    """Undo `split_heads`: (heads, N, d_k) to (N, heads * d_k)."""
    raise NotImplementedError("step 4: merge_heads")


def repeat_groups(x: np.ndarray, heads: int) -> np.ndarray:
    """Give every query head its key-value head: (g, N_k, d_k) to (heads, N_k, d_k).

    Neighbouring query heads share one key-value head. With g = 2 and heads = 6, query
    heads 0, 1 and 2 use key-value head 0, and query heads 3, 4 and 5 use key-value head
    1.
    """
    raise NotImplementedError("step 4: repeat_groups")


# ------------------------------------------------------------------------------ step 5: RMSNorm


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """Divide each token's vector by its root mean square, then multiply by `weight`.

    x: (..., d), weight: (d,). The mean of the squares is taken over the last axis; eps is
    added to this mean before the root is taken, so a vector of zeros stays zero. Nothing
    is subtracted.
    """
    raise NotImplementedError("step 5: rms_norm")


# ------------------------------------------------------------------------------- step 6: SwiGLU


def swiglu(
    x: np.ndarray,
    gate: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
) -> np.ndarray:
    """The feed-forward layer: (..., d) to (..., d).

    gate and up are weights of the shape (m, d), down has the shape (d, m). The input goes
    through the linear layers `gate` and `up`; the SiLU of the gate is multiplied by the
    other, number by number, and the product goes through the linear layer `down`. SiLU(z)
    = z / (1 + exp(-z)).
    """
    raise NotImplementedError("step 6: swiglu")


# --------------------------------------------------------------------------------- step 7: RoPE


def rope_frequencies(d_k: int, base: float = 10_000.0) -> np.ndarray:
    """Radians per position of each pair of dimensions: (d_k / 2,), in float64.

    There are d_k / 2 pairs (d_k is even), i = 0, 1, 2, … Pair i has the frequency base to
    the power -2 i / d_k. The check asks for float64: a far position multiplies the
    rounding of a frequency.
    """
    raise NotImplementedError("step 7: rope_frequencies")


def rope_table(
    positions: np.ndarray, frequencies: np.ndarray, factor: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and the sines of all angles, each (N, d_k / 2), both multiplied by
    `factor`.

    positions: (N,), frequencies: (d_k / 2,). The angle of a pair at a position is the
    position times the frequency of the pair. (The factor, a float, is 1 until step 12.
    The table may be float32 or float64.)
    """
    raise NotImplementedError("step 7: rope_table")


def rotate(x: np.ndarray, table: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Rotate each pair of dimensions of x, (heads, N, d_k), by the angle of its position.

    x always has three axes. The table is that of `rope_table`, with any cosines and sines
    that you are given. Pair i consists of the dimensions i and i + d_k / 2 (the half
    layout): a is in the first half of the vector, b in the second half. The pair (a, b)
    becomes (a cos - b sin, b cos + a sin), and its two numbers stay in their places. The
    result has the shape of x.
    """
    raise NotImplementedError("step 7: rotate")


# -------------------------------------------------------------------------------- step 8: block
#
# `layer` is a dictionary with the weights of one layer:
#
#     input_layernorm.weight            (d,)        before attention
#     self_attn.q_proj.weight           (h * d_k, d)
#     self_attn.k_proj.weight           (g * d_k, d)
#     self_attn.v_proj.weight           (g * d_k, d)
#     self_attn.o_proj.weight           (d, h * d_k)
#     post_attention_layernorm.weight   (d,)        before the feed-forward layer
#     mlp.gate_proj.weight              (m, d)
#     mlp.up_proj.weight                (m, d)
#     mlp.down_proj.weight              (d, m)


def project(
    x: np.ndarray,
    layer: dict[str, np.ndarray],
    table: tuple[np.ndarray, np.ndarray],
    config: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The queries, keys and values of the tokens x, (N, d), which are already normalized.

    Three linear layers (q_proj, k_proj, v_proj), each split into its heads: queries (h,
    N, d_k), keys (g, N, d_k), values (g, N, d_k). Queries and keys are rotated by the
    table, values are not.

    layer["self_attn.q_proj.weight"] has the shape (h * d_k, d)
    layer["self_attn.k_proj.weight"] and
    layer["self_attn.v_proj.weight"] have the shape (g * d_k, d)
    config["heads"] is h, config["groups"] is g, config["d_k"] is d_k
    """
    raise NotImplementedError("step 8: project")


def mix(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray,
    layer: dict[str, np.ndarray],
    config: dict[str, Any],
) -> np.ndarray:
    """Attention of all heads: queries (h, N, d_k), keys and values (g, N_k, d_k) to (N, d).

    Every query head attends, where the mask (N, N_k) allows it, to the keys and values of
    its group. The results of the heads are merged and go through the linear layer o_proj.

    layer["self_attn.o_proj.weight"] has the shape (d, h * d_k)
    config["heads"] is h
    """
    raise NotImplementedError("step 8: mix")


def block(
    x: np.ndarray,
    layer: dict[str, np.ndarray],
    table: tuple[np.ndarray, np.ndarray],
    mask: np.ndarray,
    config: dict[str, Any],
) -> np.ndarray:
    """One layer of the model, (N, d) to (N, d).

    First attention reads a normalized copy of x (input_layernorm), and its result is
    added to x. Then the feed-forward layer reads a normalized copy of the new x
    (post_attention_layernorm), and its result is added too. Both norms use config["eps"].

    layer["input_layernorm.weight"] and
    layer["post_attention_layernorm.weight"] have the shape (d,)
    layer["mlp.gate_proj.weight"] and layer["mlp.up_proj.weight"] have the shape (m, d)
    layer["mlp.down_proj.weight"] has the shape (d, m)
    """
    raise NotImplementedError("step 8: block")


# ----------------------------------------------------------------- step 9: the file and the model


def encode(text: str) -> list[int]:
    """The tokens of a text: START, which is 256, then the bytes of the text in UTF-8, as
    a list of integers."""
    raise NotImplementedError("step 9: encode")


def read_weights(data: bytes) -> dict[str, np.ndarray]:
    """All arrays of a safetensors file, by their names, converted to float32.

    `data` is the whole file. Its first 8 bytes are an integer n (unsigned,
    little-endian). The next n bytes are JSON (`json.loads` reads it), a dictionary such
    as

        {"norm.weight": {"dtype": "F16", "shape": [192], "data_offsets": [384, 768]}, …}

    The dtype is F16 or F32, little-endian. The offsets, start and end, count bytes from
    the end of the JSON, and arrays may lie in any order. A key "__metadata__" is no
    array: leave it out.
    """
    raise NotImplementedError("step 9: read_weights")


def layer_weights(weights: dict[str, np.ndarray], index: int) -> dict[str, np.ndarray]:
    """The weights of one layer, by the names of step 8.

    "layers.3.mlp.up_proj.weight" is "mlp.up_proj.weight" of layer 3, and
    "layers.3.input_layernorm.weight" is "input_layernorm.weight". Other layers, and
    weights that belong to no layer, are left out.
    """
    raise NotImplementedError("step 9: layer_weights")


def forward(
    tokens: list[int],
    weights: dict[str, np.ndarray],
    config: dict[str, Any],
    rope: tuple[np.ndarray, float],
) -> np.ndarray:
    """The logits of the token after each of the N tokens: (N, V), where V is the
    vocabulary.

    rope: the frequencies of step 7 and the factor of the table, so (rope_frequencies(32),
    1.0) for the book's model. The tokens have the positions 0 to N - 1.

    Each token becomes its row of "embed_tokens.weight", (V, d). All config["layers"]
    blocks follow, with the causal mask. The result is normalized once more
    ("norm.weight", config["eps"]). The output layer shares its weights with the
    embedding: a logit is the dot product of the normalized vector with the row of
    "embed_tokens.weight" of that token.
    """
    raise NotImplementedError("step 9: forward")


# ------------------------------------------------------------------------------- step 10: cache
#
# A cache is a list of dictionaries, one for each layer. The dictionary of a layer is empty before
# the first token. Afterwards it has two arrays: "k", the rotated keys of all tokens so far,
# (g, N_k, d_k), and "v", their values, (g, N_k, d_k).


def new_cache(config: dict[str, Any]) -> list[dict[str, np.ndarray]]:
    """An empty cache: a list of config["layers"] empty dictionaries."""
    raise NotImplementedError("step 10: new_cache")


def cached_block(
    x: np.ndarray,
    layer: dict[str, np.ndarray],
    table: tuple[np.ndarray, np.ndarray],
    mask: np.ndarray,
    config: dict[str, Any],
    kept: dict[str, np.ndarray],
) -> np.ndarray:
    """As `block`, for N new tokens x, (N, d), that also look at the tokens in the cache.

    `kept` is the dictionary of this layer: empty before the first call, then with two
    arrays of the shape (g, N_k, d_k), kept["k"], the rotated keys, and kept["v"], the
    values. Those of the new tokens are put behind those that it has; it keeps the result
    for the next call; the queries of the new tokens look at all of them. The table has
    the positions of the new tokens, the mask has the shape (N, N_k), where N_k counts old
    and new tokens. `layer` and `config` have the names of step 8.
    """
    raise NotImplementedError("step 10: cached_block")


def cached_forward(
    tokens: list[int],
    weights: dict[str, np.ndarray],
    config: dict[str, Any],
    rope: tuple[np.ndarray, float],
    cache: list[dict[str, np.ndarray]],
) -> np.ndarray:
    """As `forward`, for N new tokens that follow those in the cache: logits (N, V).

    The cache is changed: afterwards it also has the new tokens. Reading a text in several
    calls gives the same logits as reading it in one, so the new tokens have the positions
    that they would have there, and each may look at all old tokens and at the new ones up
    to itself.
    """
    raise NotImplementedError("step 10: cached_forward")


# ---------------------------------------------------------------------------- step 11: sampling


def probabilities(
    logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> np.ndarray:
    """The probability of each token to be drawn next: logits (V,) to probabilities (V,).

    In this order: the logits are divided by the temperature. Of these only the top_k
    largest stay (0: all stay), and their softmax gives probabilities. Of these only the
    likeliest stay, as few as possible so that their probabilities sum to top_p or more
    (1.0: all stay). What stays is divided by its sum. All other tokens get 0. The result
    is in the order of the tokens.

    A temperature of 0 gives probability 1 to the token with the largest logit; top_k and
    top_p do not matter then. top_p is greater than 0. Which one of several equal logits
    stays does not matter.
    """
    raise NotImplementedError("step 11: probabilities")


def sample(
    logits: np.ndarray,
    random: np.random.Generator,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> int:
    """Draw a token, an int (or np.int64), with these probabilities.

    `random` is the only source of chance, for example random.random() or
    random.choice(…). The model's logits are float32: random.choice refuses float64
    probabilities that were rounded to float32 on their way, because they do not sum to 1
    exactly.
    """
    raise NotImplementedError("step 11: sample")


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
    """Continue the tokens: yield `count` new ones, each as soon as it is drawn.

    The first is drawn from the logits after the last of `tokens`. Each later one follows
    `tokens` and those drawn before. With a cache, every token is read only once; the
    check does not ask for one, but without it long texts are slow. Use `yield`: a token
    is given before the next one is drawn. The list `tokens` stays as it is.
    """
    raise NotImplementedError("step 11: generate")


# ------------------------------------------------------------------------------ step 12: longer


def kept_share(
    frequencies: np.ndarray, length: int, slow: float = 1.0, fast: float = 32.0
) -> np.ndarray:
    """How much of its frequency each pair keeps when the context grows: (d_k / 2,), from
    0 to 1.

    A pair makes length * frequency / (2 pi) turns over a text of `length` tokens, the
    length in training. With `fast` turns or more it keeps all of its frequency (1), with
    `slow` turns or fewer nothing (0). Between these the share grows linearly with the
    number of turns. `slow` is less than `fast`.
    """
    raise NotImplementedError("step 12: kept_share")


def yarn(frequencies: np.ndarray, scale: float, length: int) -> tuple[np.ndarray, float]:
    """YaRN: the frequencies and the factor for texts `scale` times as long as in training.

    `length` is the length in training, and scale is a number, 1 or more. The part of a
    frequency that a pair does not keep is divided by the scale: share * frequency + (1 -
    share) * frequency / scale. The factor, one number, is 0.1 ln(scale) + 1. The result
    is a `rope` for steps 9 to 11.
    """
    raise NotImplementedError("step 12: yarn")


# ----------------------------------------------------------------------------- afterwards: write
#
#     python my_model.py "def mean(" --temperature 0.5 --bytes 200
#
# continues a text. The trained weights, model.safetensors, must lie beside this file; the pages of
# steps 9 and 12 on the book's website have them.

if __name__ == "__main__":
    command = argparse.ArgumentParser(description="Continue a text with the model of this file.")
    command.add_argument("prompt", nargs="?", default="def mean(", help="the text to continue")
    command.add_argument("--bytes", type=int, default=300, help="how many it writes (300)")
    command.add_argument("--temperature", type=float, default=0.7, help="0: the likeliest (0.7)")
    command.add_argument("--seed", type=int, help="with the same number it writes the same again")
    given = command.parse_args()
    file = Path(__file__).with_name("model.safetensors")
    if not file.exists():
        sys.exit(f"{file} is not there: put the trained weights beside this file.")
    try:
        written = generate(
            encode(given.prompt),
            given.bytes,
            read_weights(file.read_bytes()),
            CONFIG,
            (rope_frequencies(CONFIG["d_k"]), 1.0),
            np.random.default_rng(given.seed),
            temperature=given.temperature,
            top_p=0.95,
        )
        sys.stdout.buffer.write(given.prompt.encode())
        for token in written:
            sys.stdout.buffer.write(bytes([token] if token < START else []))
            sys.stdout.flush()
        print()
    except NotImplementedError as error:
        sys.exit(f"Your model cannot write yet. Still empty: {error}")
