"""Mistakes in steps 5 to 8: RMSNorm, SwiGLU, RoPE, the block."""

from laboratory.workshop.changing import Mistake, adder

MISTAKES: list[Mistake] = []
add = adder(MISTAKES)

# --------------------------------------------------------------------------------------- RMSNorm
MEAN = "(x * x).mean(axis=-1, keepdims=True)"
NORM = "x / np.sqrt(mean_square + eps) * weight"
add(
    "rms_norm",
    "the mean runs over the tokens (axis 0), not over the numbers of each token",
    "Look at the axis of the mean.",
    (MEAN, "(x * x).mean(axis=0, keepdims=True)"),
)
add(
    "rms_norm",
    "the mean runs over axis -2, the tokens, not over the numbers of each token",
    "Look at the axis of the mean.",
    (MEAN, "(x * x).mean(axis=-2, keepdims=True)"),
)
add(
    "rms_norm",
    "the mean runs over axis 1. That is the last axis of a matrix, but not of other arrays",
    "Look at the axis of the mean.",
    (MEAN, "(x * x).mean(axis=1, keepdims=True)"),
)
add(
    "rms_norm",
    "the mean runs over all numbers, so tokens influence one another",
    "Look at the mean: without an axis, NumPy takes the whole array.",
    (MEAN, "(x * x).mean()"),
)
add(
    "rms_norm",
    "the mean loses its axis (no keepdims), so tokens are divided by the norm of other tokens where "
    "the matrix is square, and it is an error elsewhere",
    "Look at the shape of the mean.",
    (MEAN, "(x * x).mean(axis=-1)"),
)
CENTRED = "((x - x.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1, keepdims=True)"
add(
    "rms_norm",
    "this is LayerNorm: the mean is subtracted first. RMSNorm subtracts nothing",
    "Look for a mean that is subtracted.",
    (MEAN, CENTRED),
    (NORM, "(x - x.mean(axis=-1, keepdims=True)) / np.sqrt(mean_square + eps) * weight"),
)
add(
    "rms_norm",
    "it divides by the standard deviation, from which the mean is subtracted",
    "Look at the root: it is that of the mean of the squares.",
    (MEAN, CENTRED),
)
add(
    "rms_norm",
    "the root is missing: it divides by the mean of the squares",
    "Look at the division.",
    ("np.sqrt(mean_square + eps)", "(mean_square + eps)"),
)
add(
    "rms_norm",
    "eps is added to the root, not to the mean under the root. Tiny vectors show the difference",
    "Look at the place of eps.",
    ("np.sqrt(mean_square + eps)", "(np.sqrt(mean_square) + eps)"),
)
add(
    "rms_norm",
    "eps is missing: a vector of zeros becomes 0 / 0",
    "Where is eps?",
    ("mean_square + eps", "mean_square"),
)
add(
    "rms_norm",
    "eps is a number of its own, 1e-6, not the argument",
    "Look at eps: it is an argument.",
    ("mean_square + eps", "mean_square + 1e-6"),
)
add(
    "rms_norm",
    "eps is a number of its own, 1e-5, not the argument",
    "Look at eps: it is an argument.",
    ("mean_square + eps", "mean_square + 1e-5"),
)
add(
    "rms_norm",
    "eps is a number of its own, 1e-8, not the argument",
    "Look at eps: it is an argument.",
    ("mean_square + eps", "mean_square + 1e-8"),
)
add(
    "rms_norm",
    "eps is squared before it is added",
    "Look at eps.",
    ("mean_square + eps", "mean_square + eps**2"),
)
add(
    "rms_norm",
    "the result is not multiplied by the weight",
    "Where is the weight?",
    (" * weight", ""),
)
add(
    "rms_norm",
    "it multiplies by 1 + weight. Some models store it so, ours does not",
    "Look at the weight.",
    (" * weight", " * (1 + weight)"),
)
add(
    "rms_norm",
    "the weight is added, not multiplied",
    "Look at the weight.",
    (" * weight", " + weight"),
)
add(
    "rms_norm",
    "it divides by the weight",
    "Look at the weight.",
    (" * weight", " / weight"),
)
add(
    "rms_norm",
    "it takes the sum of the squares, not their mean, so the result is too small",
    "Look at the mean.",
    (MEAN, "(x * x).sum(axis=-1, keepdims=True)"),
)
add(
    "rms_norm",
    "it divides by the length of the vector (np.linalg.norm): the sum of squares, not the mean, and "
    "eps is added to the root",
    "Look at the division: root mean square.",
    (MEAN, "(x * x).sum(axis=-1, keepdims=True)"),
    ("np.sqrt(mean_square + eps)", "(np.sqrt(mean_square) + eps)"),
)
add(
    "rms_norm",
    "it divides by the mean of the absolute values, not by the root of the mean of the squares",
    "Look at the squares and the root.",
    (MEAN, "np.abs(x).mean(axis=-1, keepdims=True)"),
    ("np.sqrt(mean_square + eps)", "(mean_square + eps)"),
)
add(
    "rms_norm",
    "the squares are missing: it takes the root of the mean of the numbers themselves",
    "Look at the squares.",
    (MEAN, "x.mean(axis=-1, keepdims=True)"),
)
add(
    "rms_norm",
    "it takes the square of the mean, not the mean of the squares",
    "Look at the order of the mean and the square.",
    (MEAN, "x.mean(axis=-1, keepdims=True) ** 2"),
)
add(
    "rms_norm",
    "it multiplies by the root mean square, and does not divide by it",
    "Look at the division.",
    ("x / np.sqrt", "x * np.sqrt"),
)
add(
    "rms_norm",
    "the weight is multiplied in before the norm, which undoes a part of it",
    "Look at the order: normalize, then multiply.",
    (MEAN, "((x * weight) ** 2).mean(axis=-1, keepdims=True)"),
)
add(
    "rms_norm",
    "eps is subtracted, not added",
    "Look at the sign of eps.",
    ("mean_square + eps", "mean_square - eps"),
)

# ---------------------------------------------------------------------------------------- SwiGLU
SILU = "silu = z / (1 + np.exp(-z))"
OUT = "(silu * (x @ up.T)) @ down.T"
GATE = "Look at the gate: SiLU(z) = z / (1 + exp(-z))."
add(
    "swiglu",
    "gate and up are exchanged: the SiLU belongs to the gate",
    "Look at which of the two goes through the SiLU.",
    ("z = x @ gate.T", "z = x @ up.T"),
    ("(x @ up.T)", "(x @ gate.T)"),
)
add(
    "swiglu",
    "the gate is a sigmoid, not a SiLU: the factor z is missing",
    GATE,
    (SILU, "silu = 1 / (1 + np.exp(-z))"),
)
add("swiglu", "the gate is a ReLU, not a SiLU", GATE, (SILU, "silu = np.maximum(z, 0)"))
for form in (
    "0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))",
    "z / (1 + np.exp(-1.702 * z))",
):
    add("swiglu", "the gate is a GELU, not a SiLU", GATE, (SILU, f"silu = {form}"))
add(
    "swiglu",
    "the gate is a GELU, not a SiLU",
    GATE,
    (
        SILU,
        "import math\n    erf = np.vectorize(math.erf)\n    silu = 0.5 * z * (1 + erf(z / 2**0.5))",
    ),
)
add("swiglu", "the gate is a tanh, not a SiLU", GATE, (SILU, "silu = np.tanh(z)"))
add(
    "swiglu",
    "the sign of the exponent is wrong: it is z / (1 + exp(z))",
    GATE,
    (SILU, "silu = z / (1 + np.exp(z))"),
)
add(
    "swiglu",
    "the sign of the exponent is wrong, and the factor z is missing: it is 1 / (1 + exp(z))",
    GATE,
    (SILU, "silu = 1 / (1 + np.exp(z))"),
)
add(
    "swiglu",
    "brackets are missing: it is z / 1 + exp(-z)",
    "Look at the brackets below the fraction.",
    (SILU, "silu = z / 1 + np.exp(-z)"),
)
add("swiglu", "there is no activation: the gate is linear", GATE, (SILU, "silu = z"))
add(
    "swiglu",
    "the SiLU is applied to the gate and to `up`",
    "Only the gate goes through the SiLU.",
    (OUT, "(silu * ((x @ up.T) / (1 + np.exp(-(x @ up.T))))) @ down.T"),
)
add(
    "swiglu",
    "the SiLU is applied to the product of gate and up",
    "Only the gate goes through the SiLU; then comes the product.",
    (SILU, "z = z * (x @ up.T)\n    silu = z / (1 + np.exp(-z))"),
    (OUT, "silu @ down.T"),
)
add(
    "swiglu",
    "gate and up are added, not multiplied",
    "Look at how gate and up meet.",
    (OUT, "(silu + (x @ up.T)) @ down.T"),
)
add("swiglu", "`up` is not used", "Look at how gate and up meet.", (OUT, "silu @ down.T"))
add(
    "swiglu",
    "the gate is not used",
    "Look at how gate and up meet.",
    (OUT, "(x @ up.T) @ down.T"),
)
add(
    "swiglu",
    "the layer `down` is missing",
    "Look at the last line: the result has the shape of x.",
    (OUT, "silu * (x @ up.T)"),
)
add(
    "swiglu",
    "the input is added. The residual connection belongs to the block, step 8",
    "Look at the last line.",
    (OUT, "x + (silu * (x @ up.T)) @ down.T"),
)
STORED = "Look at the transposes: weights are stored as (out, in), so a layer is x @ W.T."
add(
    "swiglu",
    "`gate` is not transposed. Where it is square this is silent, otherwise it is an error",
    STORED,
    ("x @ gate.T", "x @ gate"),
)
add(
    "swiglu",
    "`up` is not transposed. Where it is square this is silent, otherwise it is an error",
    STORED,
    ("x @ up.T", "x @ up"),
)
add(
    "swiglu",
    "`down` is not transposed. Where it is square this is silent, otherwise it is an error",
    STORED,
    ("@ down.T", "@ down"),
)
add(
    "swiglu",
    "no weight is transposed. Where they are square this is silent, otherwise it is an error",
    STORED,
    ("x @ gate.T", "x @ gate"),
    ("x @ up.T", "x @ up"),
    ("@ down.T", "@ down"),
)
add(
    "swiglu",
    "the SiLU comes after `down`, not at the gate",
    GATE,
    (SILU, "silu = z"),
    (OUT, "(lambda y: y / (1 + np.exp(-y)))((silu * (x @ up.T)) @ down.T)"),
)
add(
    "swiglu",
    "the gate is z * (1 + exp(-z)): it multiplies where it should divide",
    GATE,
    (SILU, "silu = z * (1 + np.exp(-z))"),
)
add(
    "swiglu",
    "the gate is softplus, log(1 + exp(z)), not a SiLU",
    GATE,
    (SILU, "silu = np.log1p(np.exp(z))"),
)

# ------------------------------------------------------------------------------------------ RoPE
POWER = "Look at the exponent: pair i has base to the power -2 i / d_k."
FREQUENCY = "base ** (-2 * i / d_k)"
add(
    "rope_frequencies",
    "the 2 in the exponent is missing: the frequencies fall too slowly",
    POWER,
    (FREQUENCY, "base ** (-i / d_k)"),
)
add(
    "rope_frequencies",
    "the sign of the exponent is wrong: frequencies grow in place of falling",
    POWER,
    (FREQUENCY, "base ** (2 * i / d_k)"),
)
add(
    "rope_frequencies",
    "the exponent is i / d_k with the wrong sign, and the 2 is missing",
    POWER,
    (FREQUENCY, "base ** (i / d_k)"),
)
add(
    "rope_frequencies",
    "it has d_k frequencies, but two dimensions share one: there are d_k / 2",
    "Look at the range of i.",
    ("np.arange(d_k // 2)", "np.arange(d_k)"),
)
add(
    "rope_frequencies",
    "it has d_k frequencies, with the exponent -i / d_k. There are d_k / 2 pairs",
    "Look at the range of i and at the 2 in the exponent.",
    ("np.arange(d_k // 2)", "np.arange(d_k)"),
    (FREQUENCY, "base ** (-i / d_k)"),
)
add(
    "rope_frequencies",
    "the exponent is twice as large as it should be: the 2 counts twice",
    "Look at the range of i and at the 2 in the exponent.",
    ("np.arange(d_k // 2)", "np.arange(0, d_k, 2)"),
)
add(
    "rope_frequencies",
    "pairs count from 1, but the first pair has i = 0 and the frequency 1",
    "Look at the range of i.",
    ("np.arange(d_k // 2)", "np.arange(1, d_k // 2 + 1)"),
)
add(
    "rope_frequencies",
    "every frequency comes twice, once for each dimension of a pair. Here there is one per pair",
    "Look at the shape: (d_k / 2,).",
    (FREQUENCY, "np.repeat(base ** (-2 * i / d_k), 2)"),
)
add(
    "rope_frequencies",
    "every frequency comes twice, once for each half. Here there is one per pair",
    "Look at the shape: (d_k / 2,).",
    (FREQUENCY, "np.tile(base ** (-2 * i / d_k), 2)"),
)
add(
    "rope_frequencies",
    "the base is always 10,000, not the argument",
    "Look at the base.",
    (FREQUENCY, "10_000.0 ** (-2 * i / d_k)"),
)
add(
    "rope_frequencies",
    "the default of the base has changed: it was 10,000",
    "Look at the first line of the function.",
    ("10_000.0", "500_000.0"),
)
add(
    "rope_frequencies",
    "the slowest pair gets exactly 1 / base: the exponent is divided by d_k / 2 - 1, not by d_k / 2",
    POWER,
    (FREQUENCY, "base ** (-i / max(d_k // 2 - 1, 1))"),
)
add(
    "rope_frequencies",
    "the order is turned around: the fastest pair comes first",
    POWER,
    (FREQUENCY, "(base ** (-2 * i / d_k))[::-1]"),
)
add(
    "rope_frequencies",
    "the exponent is twice as large as it should be: the 2 counts twice",
    POWER,
    (FREQUENCY, "base ** (-2 * i / (d_k // 2))"),
)
add(
    "rope_frequencies",
    "it divides 1 by base times 2 i / d_k. The quotient is an exponent",
    POWER,
    (FREQUENCY, "1 / (base * np.maximum(2 * i / d_k, 1e-9))"),
)
add(
    "rope_frequencies",
    "it divides with //, so the exponents are rounded to whole numbers",
    "Look at the division.",
    (FREQUENCY, "base ** (-(2.0 * i // d_k))"),
)
add(
    "rope_frequencies",
    "the brackets of the exponent are missing: `**` comes before `*` and `/`, so only -2 is the "
    "exponent",
    POWER,
    (FREQUENCY, "base**-2 * i / d_k"),
)
add(
    "rope_frequencies",
    "the brackets of the exponent are missing: `**` comes before `/`, so only -2 i is the exponent",
    POWER,
    (FREQUENCY, "base ** (-2.0 * i) / d_k"),
)
add(
    "rope_frequencies",
    "it multiplies by 2 pi. The frequency is in radians already",
    POWER,
    (FREQUENCY, "2 * np.pi * base ** (-2 * i / d_k)"),
)
TABLE = "return np.cos(angles) * factor, np.sin(angles) * factor"
add(
    "rope_table",
    "sines come first. The table is (cosines, sines)",
    "Look at the order of the result.",
    (TABLE, "return np.sin(angles) * factor, np.cos(angles) * factor"),
)
add(
    "rope_table",
    "the factor is not used",
    "Look at the factor: cosines and sines are both multiplied by it.",
    (TABLE, "return np.cos(angles), np.sin(angles)"),
)
add(
    "rope_table",
    "the factor multiplies the angles, not the cosines and sines",
    "Look at the factor.",
    (TABLE, "return np.cos(angles * factor), np.sin(angles * factor)"),
)
add(
    "rope_table",
    "the factor multiplies the cosines only",
    "Look at the factor: cosines and sines are both multiplied by it.",
    (TABLE, "return np.cos(angles) * factor, np.sin(angles)"),
)
add(
    "rope_table",
    "the factor multiplies the sines only",
    "Look at the factor: cosines and sines are both multiplied by it.",
    (TABLE, "return np.cos(angles), np.sin(angles) * factor"),
)
add(
    "rope_table",
    "it divides by the factor",
    "Look at the factor.",
    (TABLE, "return np.cos(angles) / factor, np.sin(angles) / factor"),
)
add(
    "rope_table",
    "it is transposed: one row for each pair. There is one row for each position",
    "Look at the shape: (N, d_k / 2).",
    ("np.outer(positions, frequencies)", "np.outer(frequencies, positions)"),
)
add(
    "rope_table",
    "the positions are replaced by 0, 1, 2 … The argument says which they are",
    "Look at the positions.",
    ("np.outer(positions,", "np.outer(np.arange(len(positions)),"),
)
add(
    "rope_table",
    "positions count from 1",
    "Look at the positions.",
    ("np.outer(positions,", "np.outer(np.asarray(positions) + 1,"),
)
add(
    "rope_table",
    "positions are divided by the frequencies. The angle is their product",
    "Look at the angle.",
    ("np.outer(positions, frequencies)", "np.asarray(positions)[:, None] / frequencies"),
)
add(
    "rope_table",
    "positions and frequencies are added. The angle is their product",
    "Look at the angle.",
    ("np.outer(positions, frequencies)", "np.asarray(positions)[:, None] + frequencies"),
)
add(
    "rope_table",
    "the angles have the wrong sign",
    "Look at the angle.",
    ("np.outer(positions, frequencies)", "-np.outer(positions, frequencies)"),
)
add(
    "rope_table",
    "the angles are taken for turns or degrees: they are in radians already",
    "Look at the angle.",
    ("np.outer(positions, frequencies)", "2 * np.pi * np.outer(positions, frequencies)"),
)
add(
    "rope_table",
    "the angles are converted from degrees: they are in radians already",
    "Look at the angle.",
    ("np.outer(positions, frequencies)", "np.deg2rad(np.outer(positions, frequencies))"),
)
add(
    "rope_table",
    "every column comes twice, once for each half of a vector. Here the table has one per pair",
    "Look at the shape: (N, d_k / 2).",
    ("np.outer(positions, frequencies)", "np.outer(positions, np.tile(frequencies, 2))"),
)
add(
    "rope_table",
    "every column comes twice, side by side. Here the table has one per pair",
    "Look at the shape: (N, d_k / 2).",
    ("np.outer(positions, frequencies)", "np.outer(positions, np.repeat(frequencies, 2))"),
)
add(
    "rope_table",
    "it returns the angles, without cosine and sine",
    "Look at the result.",
    (TABLE, "return angles * factor, angles * factor"),
)
HALVES = "a = x[..., :half]\n    b = x[..., half:]"
PAIR = "(a * cos - b * sin, b * cos + a * sin)"
JOIN = f"np.concatenate({PAIR}, axis=-1)"
SIGN = "Look at the signs: (a cos - b sin, b cos + a sin)."
add(
    "rotate",
    "it pairs neighbours, dimensions 2i and 2i + 1 (the interleaved layout). Here pair i has "
    "dimensions i and i + d_k / 2",
    "Look at how a and b are cut out of the vector.",
    (HALVES, "a = x[..., 0::2]\n    b = x[..., 1::2]"),
    (f"rotated = {JOIN}", f"rotated = np.stack({PAIR}, axis=-1).reshape(x.shape)"),
)
add(
    "rotate",
    "it pairs neighbours, dimensions 2i and 2i + 1, but puts the results into the two halves",
    "Look at how a and b are cut out of the vector.",
    (HALVES, "a = x[..., 0::2]\n    b = x[..., 1::2]"),
)
add(
    "rotate",
    "the halves are right, but the results are put side by side, at 2i and 2i + 1",
    "Look at the last line: the two numbers of a pair stay in their places.",
    (f"rotated = {JOIN}", f"rotated = np.stack({PAIR}, axis=-1).reshape(x.shape)"),
)
add(
    "rotate",
    "it rotates backwards: the sign of the sine is wrong",
    SIGN,
    (PAIR, "(a * cos + b * sin, b * cos - a * sin)"),
)
add(
    "rotate",
    "both sines have a minus: this is no rotation",
    SIGN,
    (PAIR, "(a * cos - b * sin, b * cos - a * sin)"),
)
add(
    "rotate",
    "both sines have a plus: this is no rotation",
    SIGN,
    (PAIR, "(a * cos + b * sin, b * cos + a * sin)"),
)
add(
    "rotate",
    "the two halves of the result are exchanged",
    "Look at the last line.",
    (PAIR, "(b * cos + a * sin, a * cos - b * sin)"),
)
add(
    "rotate",
    "a and b are exchanged: a is in the first half",
    "Look at how a and b are cut out of the vector.",
    (HALVES, "b = x[..., :half]\n    a = x[..., half:]"),
)
add(
    "rotate",
    "cosines and sines are exchanged",
    "The table is (cosines, sines).",
    ("cos, sin = table", "sin, cos = table"),
)
add(
    "rotate",
    "cosine and sine are exchanged in the second half",
    SIGN,
    (PAIR, "(a * cos - b * sin, b * sin + a * cos)"),
)
add(
    "rotate",
    "only the first half is rotated",
    SIGN,
    (PAIR, "(a * cos - b * sin, b)"),
)
add(
    "rotate",
    "only the second half is rotated",
    SIGN,
    (PAIR, "(a, b * cos + a * sin)"),
)
add(
    "rotate",
    "the second half uses the first half after its rotation, not before",
    "Look at the order: both new numbers come from the two old ones.",
    (
        f"rotated = {JOIN}",
        "a = a * cos - b * sin\n    rotated = np.concatenate((a, b * cos + a * sin), axis=-1)",
    ),
)
add(
    "rotate",
    "the sines are missing: a pair is only shrunk, not rotated",
    SIGN,
    (PAIR, "(a * cos, b * cos)"),
)
add(
    "rotate",
    "nothing is rotated",
    SIGN,
    (f"rotated = {JOIN}", "rotated = x"),
)
add(
    "rotate",
    "the halves are joined along another axis",
    "Look at the axis: the halves of a vector lie along the last one.",
    (f"{PAIR}, axis=-1", f"{PAIR}, axis=-2"),
)
add(
    "rotate",
    "the halves are joined along the first axis, so there are twice as many heads",
    "Look at the axis: the halves of a vector lie along the last one.",
    (f"{PAIR}, axis=-1", f"{PAIR}, axis=0"),
)
add(
    "rotate",
    "a part of the formula is missing: the second half has no cosine",
    SIGN,
    (PAIR, "(a * cos - b * sin, b + a * sin)"),
)
add(
    "rotate",
    "every token is rotated by the angle of the first one",
    "Look at the table: it has one row for each token.",
    ("cos, sin = table", "cos, sin = table[0][:1], table[1][:1]"),
)
add(
    "rotate",
    "the heads take the rows of the table, not the tokens",
    "Look at the table: its rows belong to tokens, the second axis of x.",
    ("cos, sin = table", "cos, sin = table[0][:, None], table[1][:, None]"),
)
add(
    "rotate",
    "the table is read backwards: the last token gets the first row",
    "Look at the table: row 0 belongs to the first token.",
    ("cos, sin = table", "cos, sin = table[0][::-1], table[1][::-1]"),
)

# ----------------------------------------------------------------------------------------- block
PROJECTED = "return rotate(q, table), rotate(k, table), v"
add(
    "project",
    "keys are not rotated",
    "Look at the last line: queries and keys are rotated.",
    (PROJECTED, "return rotate(q, table), k, v"),
)
add(
    "project",
    "queries are not rotated",
    "Look at the last line: queries and keys are rotated.",
    (PROJECTED, "return q, rotate(k, table), v"),
)
add(
    "project",
    "values are rotated too. Only queries and keys are",
    "Look at the last line.",
    (PROJECTED, "return rotate(q, table), rotate(k, table), rotate(v, table)"),
)
add(
    "project",
    "nothing is rotated",
    "Look at the last line: queries and keys are rotated.",
    (PROJECTED, "return q, k, v"),
)
add(
    "project",
    "queries and keys are rotated twice",
    "Look at the last line.",
    (PROJECTED, "return rotate(rotate(q, table), table), rotate(rotate(k, table), table), v"),
)
add(
    "project",
    "queries and keys come in the wrong order",
    "Look at the last line: q, k, v.",
    (PROJECTED, "return rotate(k, table), rotate(q, table), v"),
)
add(
    "project",
    "keys and values come in the wrong order, or k_proj and v_proj are exchanged",
    "Look at the last line: q, k, v.",
    (PROJECTED, "return rotate(q, table), v, rotate(k, table)"),
)
add(
    "project",
    "k_proj and v_proj are exchanged",
    "Look at the names of the weights.",
    ("self_attn.k_proj", "self_attn.x_proj"),
    ("self_attn.v_proj", "self_attn.k_proj"),
    ("self_attn.x_proj", "self_attn.v_proj"),
)
add(
    "project",
    "the values are made by k_proj",
    "Look at the names of the weights.",
    ("self_attn.v_proj", "self_attn.k_proj"),
)
add(
    "project",
    "the keys are made by v_proj",
    "Look at the names of the weights.",
    ("self_attn.k_proj", "self_attn.v_proj"),
)
add(
    "project",
    "q_proj is not transposed. It is square in the book's model, so this would be silent there",
    STORED,
    ('layer["self_attn.q_proj.weight"].T', 'layer["self_attn.q_proj.weight"]'),
)
add(
    "project",
    "the rotation comes before the split into heads, so pairs reach over all heads",
    "Look at the order: split, then rotate.",
    (
        'q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])',
        'q = x @ layer["self_attn.q_proj.weight"].T\n'
        '    wide = tuple(np.tile(part, config["heads"]) for part in table)\n'
        '    q = split_heads(rotate(q[None], wide)[0], config["heads"])',
    ),
    (PROJECTED, "return q, rotate(k, table), v"),
)
add(
    "project",
    "keys are split into as many heads as queries. They have config['groups'] heads",
    "Look at the number of heads of keys and values.",
    (
        'layer["self_attn.k_proj.weight"].T, config["groups"]',
        'layer["self_attn.k_proj.weight"].T, config["heads"]',
    ),
    (
        'layer["self_attn.v_proj.weight"].T, config["groups"]',
        'layer["self_attn.v_proj.weight"].T, config["heads"]',
    ),
    (PROJECTED, "return rotate(q, table), k, v"),
)
add(
    "project",
    "keys and values are split into as many heads as queries. They have config['groups'] heads",
    "Look at the number of heads of keys and values.",
    (
        'layer["self_attn.k_proj.weight"].T, config["groups"]',
        'layer["self_attn.k_proj.weight"].T, config["heads"]',
    ),
    (
        'layer["self_attn.v_proj.weight"].T, config["groups"]',
        'layer["self_attn.v_proj.weight"].T, config["heads"]',
    ),
)
add(
    "project",
    "keys are split into as many heads as queries. They have config['groups'] heads",
    "Look at the number of heads of keys and values.",
    (
        'layer["self_attn.k_proj.weight"].T, config["groups"]',
        'layer["self_attn.k_proj.weight"].T, config["heads"]',
    ),
)
add(
    "project",
    "values are split into as many heads as queries. They have config['groups'] heads",
    "Look at the number of heads of keys and values.",
    (
        'layer["self_attn.v_proj.weight"].T, config["groups"]',
        'layer["self_attn.v_proj.weight"].T, config["heads"]',
    ),
)
add(
    "project",
    "keys and values are already repeated for all query heads. That is the task of `mix`",
    "Look at the shapes: keys and values have g heads.",
    (
        PROJECTED,
        'k = repeat_groups(rotate(k, table), config["heads"])\n'
        '    return rotate(q, table), k, repeat_groups(v, config["heads"])',
    ),
)
add(
    "project",
    "the input is normalized here too. It is normalized already",
    "Look at the first line.",
    (
        "q = split_heads(",
        'x = rms_norm(x, layer["input_layernorm.weight"], config["eps"])\n    q = split_heads(',
    ),
)
add(
    "project",
    "the heads are not split",
    "Look at the shapes: heads are the first axis.",
    (
        'split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])',
        'x @ layer["self_attn.q_proj.weight"].T',
    ),
    (
        'split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])',
        'x @ layer["self_attn.k_proj.weight"].T',
    ),
    (
        'split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])',
        'x @ layer["self_attn.v_proj.weight"].T',
    ),
    (PROJECTED, "return q, k, v"),
)
O_PROJ = 'merge_heads(heads) @ layer["self_attn.o_proj.weight"].T'
add(
    "mix",
    "o_proj is missing",
    "Look at the last line.",
    (O_PROJ, "merge_heads(heads)"),
)
add(
    "mix",
    "o_proj is not transposed. It is square in the book's model, so this would be silent there",
    STORED,
    (O_PROJ, 'merge_heads(heads) @ layer["self_attn.o_proj.weight"]'),
)
add(
    "mix",
    "the heads are reshaped, not merged: tokens and heads are mixed before o_proj",
    "Look at the merge: use your function of step 4.",
    ("merge_heads(heads)", "heads.reshape(q.shape[1], -1)"),
)
add(
    "mix",
    "the groups are tiled (0, 1, 0, 1), but neighbours share a group (0, 0, 1, 1)",
    "Look at the groups: use your function of step 4.",
    ('repeat_groups(k, config["heads"])', "np.tile(k, (len(q) // len(k), 1, 1))"),
    ('repeat_groups(v, config["heads"])', "np.tile(v, (len(q) // len(v), 1, 1))"),
)
add(
    "mix",
    "the mask is not used",
    "Look at the mask.",
    ("masked_attend(q, k, v, mask)", "attend(q, k, v)"),
)
add(
    "mix",
    "the mask is transposed",
    "Look at the mask.",
    ("masked_attend(q, k, v, mask)", "masked_attend(q, k, v, mask.T)"),
)
add(
    "mix",
    "the mask is turned around: True means that a query may look",
    "Look at the mask.",
    ("masked_attend(q, k, v, mask)", "masked_attend(q, k, v, ~mask)"),
)
add(
    "mix",
    "it makes a causal mask of its own. The mask is an argument",
    "Look at the mask.",
    ("masked_attend(q, k, v, mask)", "masked_attend(q, k, v, causal_mask(q.shape[1], k.shape[1]))"),
)
add(
    "mix",
    "keys and values are exchanged",
    "Look at the arguments of the attention.",
    ("masked_attend(q, k, v, mask)", "masked_attend(q, v, k, mask)"),
)
add(
    "mix",
    "keys take the place of values",
    "Look at the arguments of the attention.",
    ("masked_attend(q, k, v, mask)", "masked_attend(q, k, k, mask)"),
)
add(
    "mix",
    "the groups are not repeated for their query heads",
    "Look at the number of heads: queries have h, keys and values g.",
    ('k = repeat_groups(k, config["heads"])', "k = k + 0"),
    ('v = repeat_groups(v, config["heads"])', "v = v + 0"),
)
add(
    "mix",
    "all query heads use the first group",
    "Look at the groups: use your function of step 4.",
    ('repeat_groups(k, config["heads"])', "np.repeat(k[:1], len(q), axis=0)"),
    ('repeat_groups(v, config["heads"])', "np.repeat(v[:1], len(q), axis=0)"),
)
add(
    "mix",
    "the values are tiled (0, 1, 0, 1), but neighbours share a group (0, 0, 1, 1)",
    "Look at the groups: use your function of step 4.",
    ('repeat_groups(v, config["heads"])', "np.tile(v, (len(q) // len(v), 1, 1))"),
)
add(
    "mix",
    "the keys are tiled (0, 1, 0, 1), but neighbours share a group (0, 0, 1, 1)",
    "Look at the groups: use your function of step 4.",
    ('repeat_groups(k, config["heads"])', "np.tile(k, (len(q) // len(k), 1, 1))"),
)
ADD_ATTENTION = "x = x + mix(q, k, v, mask, layer, config)"
ADD_FORWARD = "return x + swiglu(normalized, gate, up, down)"
SECOND = 'normalized = rms_norm(x, layer["post_attention_layernorm.weight"], eps)'
FIRST = 'normalized = rms_norm(x, layer["input_layernorm.weight"], eps)'
TWO_SUMS = "Look at the two sums: x + attention, then x + feed-forward layer."
for name in ("block", "cached_block"):
    add(
        name,
        "no residual connection: the results replace x, they are not added to it",
        TWO_SUMS,
        (ADD_ATTENTION, "x = mix(q, k, v, mask, layer, config)"),
        (ADD_FORWARD, "return swiglu(normalized, gate, up, down)"),
    )
    add(
        name,
        "the result of the attention replaces x, it is not added to it",
        TWO_SUMS,
        (ADD_ATTENTION, "x = mix(q, k, v, mask, layer, config)"),
    )
    add(
        name,
        "the result of the feed-forward layer is not added to x",
        TWO_SUMS,
        (ADD_FORWARD, "return swiglu(normalized, gate, up, down)"),
    )
    add(
        name,
        "the feed-forward layer reads the normalized x from before the attention",
        "Look at the second norm: it reads the new x.",
        (ADD_ATTENTION, "old = x\n    " + ADD_ATTENTION),
        (SECOND, 'normalized = rms_norm(old, layer["post_attention_layernorm.weight"], eps)'),
    )
    add(
        name,
        "the two norms are exchanged",
        "Look at the names of the norms.",
        ("input_layernorm", "other_layernorm"),
        ("post_attention_layernorm", "input_layernorm"),
        ("other_layernorm", "post_attention_layernorm"),
    )
    add(
        name,
        "the first norm is used twice",
        "Look at the names of the norms.",
        ("post_attention_layernorm", "input_layernorm"),
    )
    add(
        name,
        "the second norm is used twice",
        "Look at the names of the norms.",
        ("input_layernorm", "post_attention_layernorm"),
    )
    add(
        name,
        "the norm before the attention is missing",
        "Look at what the attention reads.",
        (FIRST, "normalized = x"),
    )
    add(
        name,
        "the norm before the feed-forward layer is missing",
        "Look at what the feed-forward layer reads.",
        (SECOND, "normalized = x"),
    )
    add(
        name,
        "both norms are missing",
        "Look at what the attention and the feed-forward layer read.",
        (FIRST, "normalized = x"),
        (SECOND, "normalized = x"),
    )
    add(
        name,
        "the norms come after the sums (post-norm). Here each part reads a normalized copy, and x "
        "itself is never normalized",
        "Look at what is normalized: a copy, before each part.",
        (FIRST, "normalized = x"),
        (SECOND, 'x = rms_norm(x, layer["input_layernorm.weight"], eps)\n    normalized = x'),
        (
            ADD_FORWARD,
            "x = x + swiglu(normalized, gate, up, down)\n"
            '    return rms_norm(x, layer["post_attention_layernorm.weight"], eps)',
        ),
    )
    add(
        name,
        "the normalized copy is added, not x itself",
        TWO_SUMS,
        (ADD_ATTENTION, "x = normalized + mix(q, k, v, mask, layer, config)"),
        (ADD_FORWARD, "return normalized + swiglu(normalized, gate, up, down)"),
    )
    add(
        name,
        "the result of the attention is added to the normalized copy, not to x itself",
        TWO_SUMS,
        (ADD_ATTENTION, "x = normalized + mix(q, k, v, mask, layer, config)"),
    )
    add(
        name,
        "the result of the feed-forward layer is added to the normalized copy, not to x itself",
        TWO_SUMS,
        (ADD_FORWARD, "return normalized + swiglu(normalized, gate, up, down)"),
    )
    add(
        name,
        "gate and up are exchanged",
        "Look at the arguments of swiglu.",
        ("swiglu(normalized, gate, up, down)", "swiglu(normalized, up, gate, down)"),
    )
    add(
        name,
        "the feed-forward layer is missing",
        "Look at the last lines.",
        (ADD_FORWARD, "return x"),
    )
    add(
        name,
        "the attention is missing",
        "Look at the first lines.",
        (ADD_ATTENTION, "x = x + 0"),
    )
    add(
        name,
        "the feed-forward layer and the attention read the same copy and are added together",
        "Look at the second norm: it reads the x to which the attention was added.",
        (SECOND, "normalized = normalized + 0"),
    )
    add(
        name,
        "the feed-forward layer adds to the x from before the attention",
        TWO_SUMS,
        (ADD_ATTENTION, "old = x\n    " + ADD_ATTENTION),
        (ADD_FORWARD, "return old + swiglu(normalized, gate, up, down)"),
    )
    add(
        name,
        "eps is a number of its own, not config['eps']",
        "Look at eps.",
        ('eps = config["eps"]', "eps = 1e-5"),
    )
    add(
        name,
        "eps is a number of its own, not config['eps']",
        "Look at eps.",
        ('eps = config["eps"]', "eps = 1e-6"),
    )
    add(
        name,
        "the feed-forward layer reads x without its norm's input: the attention's result alone",
        TWO_SUMS,
        (ADD_ATTENTION, "attended = mix(q, k, v, mask, layer, config)\n    x = x + attended"),
        (SECOND, 'normalized = rms_norm(attended, layer["post_attention_layernorm.weight"], eps)'),
    )
add(
    "block",
    "the feed-forward layer comes first, then the attention",
    "Look at the order of the two parts.",
    (
        FIRST,
        'n = rms_norm(x, layer["post_attention_layernorm.weight"], eps)\n'
        '    x = x + swiglu(n, *(layer[f"mlp.{p}_proj.weight"] for p in ("gate", "up", "down")))\n'
        f"    {FIRST}",
    ),
    (ADD_FORWARD, "return x"),
)
add(
    "block",
    "the mask is not passed on: it makes one of its own that hides nothing",
    "Look at the mask.",
    ("v, mask, layer", "v, np.ones_like(mask), layer"),
)
