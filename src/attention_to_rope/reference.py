"""Each formula in NumPy float64, written as it reads, loops included. Slow on purpose.

The tests hold the torch code to these. Nothing is checked or guarded here beyond what the formula
says; one sequence and one head at a time: matrices (N, d), no batch axes.
"""

import cmath
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def softmax(logits: ArrayLike) -> Array:
    r"""$p_j = \exp(x_j) / \sum_l \exp(x_l)$ for one row.

    Shifted by its maximum; 0 if all x are −inf.
    """
    x = np.asarray(logits, dtype=np.float64)
    largest = x.max()
    if largest == -math.inf:
        return np.zeros_like(x)
    powers = np.array([math.exp(entry - largest) for entry in x])
    return powers / math.fsum(powers)


def attention(
    q: Array,
    k: Array,
    v: Array,
    mask: NDArray[np.bool_] | None = None,
    bias: Array | None = None,
    scale: float | None = None,
) -> tuple[Array, Array]:
    r"""$o_m = \sum_n A_{mn} v_n$ over the keys that query m may see.

    Gives the output (N_q, d_v) and the weights.
    """
    q, k, v = (np.asarray(matrix, dtype=np.float64) for matrix in (q, k, v))
    scale = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    output = np.zeros((len(q), v.shape[1]))
    weights = np.zeros((len(q), len(k)))
    for m in range(len(q)):
        seen = [n for n in range(len(k)) if mask is None or mask[m, n]]
        if not seen:
            continue
        scores = [
            scale * math.fsum(q[m] * k[n]) + (0.0 if bias is None else bias[m, n]) for n in seen
        ]
        weights[m, seen] = softmax(scores)
        for n in seen:
            output[m] += weights[m, n] * v[n]
    return output, weights


def multi_head_attention(
    x: Array,
    context: Array,
    W_Q: Array,
    W_K: Array,
    W_V: Array,
    W_O: Array,
    heads: int,
    kv_heads: int,
    mask: NDArray[np.bool_] | None = None,
) -> Array:
    """The sum of all heads; a head has its own queries, and the keys and values of its group."""
    d_k = W_Q.shape[1] // heads
    output = np.zeros((len(x), W_O.shape[1]))
    for j in range(heads):
        g = j // (heads // kv_heads)
        own, shared = slice(j * d_k, (j + 1) * d_k), slice(g * d_k, (g + 1) * d_k)
        head, _ = attention(
            x @ W_Q[:, own], context @ W_K[:, shared], context @ W_V[:, shared], mask
        )
        output += head @ W_O[own]
    return output


def causal_mask(q_len: int, k_len: int) -> NDArray[np.bool_]:
    """A query sees its own key and earlier ones; the queries are the last of the positions."""
    return np.array([[n <= m + k_len - q_len for n in range(k_len)] for m in range(q_len)])


def dilated_mask(
    q_len: int, k_len: int, window: int, dilation: int, causal: bool
) -> NDArray[np.bool_]:
    """Key n is seen by query m if m − n is one of 0, ±dilation, …, ±(window − 1) dilation."""
    steps = {step * dilation for step in range(window)}
    if not causal:
        steps |= {-step for step in steps}
    offset = k_len - q_len
    return np.array([[m + offset - n in steps for n in range(k_len)] for m in range(q_len)])


def softmax_jacobian(p: Array) -> Array:
    r"""$J_{ij} = p_i (\delta_{ij} - p_j)$."""
    n = len(p)
    return np.array([[p[i] * ((i == j) - p[j]) for j in range(n)] for i in range(n)])


def layer_norm(x: Array, gain: Array, bias: Array, eps: float) -> Array:
    r"""$g_j (x_j - \mu) / \sqrt{\sigma^2 + \epsilon} + b_j$ for one vector."""
    mean = math.fsum(x) / len(x)
    variance = math.fsum((entry - mean) ** 2 for entry in x) / len(x)
    return gain * (x - mean) / math.sqrt(variance + eps) + bias


def rms_norm(x: Array, gain: Array, eps: float) -> Array:
    r"""$g_j x_j / \sqrt{\frac{1}{d} \sum_l x_l^2 + \epsilon}$ for one vector."""
    return gain * x / math.sqrt(math.fsum(entry**2 for entry in x) / len(x) + eps)


def deepnorm_pair(N: int, M: int) -> tuple[float, float, float, float]:
    """α, β of an encoder of N layers, then α, β of its decoder of M layers."""
    size = math.exp((4 * math.log(N) + math.log(M)) / 16)
    return 0.81 * size, 0.87 / size, math.sqrt(math.sqrt(3 * M)), 1 / math.sqrt(math.sqrt(12 * M))


def relu(x: float) -> float:
    r"""$\max(0, x)$."""
    return max(0.0, x)


def sigmoid(x: float) -> float:
    """$1 / (1 + e^{-x})$."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def silu(x: float, beta: float = 1.0) -> float:
    r"""$x \sigma(\beta x)$."""
    return x * sigmoid(beta * x)


def gelu(x: float) -> float:
    r"""$x \operatorname{erfc}(-x / \sqrt{2}) / 2$."""
    return x * math.erfc(-x / math.sqrt(2)) / 2


def gelu_tanh(x: float) -> float:
    r"""$\frac{x}{2} (1 + \tanh(\sqrt{2 / \pi} (x + 0.044715 x^3)))$."""
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def feed_forward(
    x: Array,
    W_1: Array,
    W_2: Array,
    activation: Callable[[float], float],
    W_3: Array | None = None,
) -> Array:
    r"""$f(x W_1) W_2$ or, gated, $(f(x W_1) \odot x W_3) W_2$ for one vector, without biases."""
    hidden = np.array([activation(entry) for entry in x @ W_1])
    return (hidden if W_3 is None else hidden * (x @ W_3)) @ W_2


def sinusoidal(position: int, d: int, base: float) -> Array:
    r"""$P_{2i} = \sin(m b^{-2i/d})$ and $P_{2i+1} = \cos(m b^{-2i/d})$, b the base."""
    row = np.zeros(d)
    for i in range(d // 2):
        angle = position * base ** (-2 * i / d)
        row[2 * i], row[2 * i + 1] = math.sin(angle), math.cos(angle)
    return row


def t5_bucket(relative: int, bidirectional: bool, buckets: int, max_distance: int) -> int:
    """Exact buckets for near keys, then as many logarithmic ones; later keys after those."""
    start = 0
    if bidirectional:
        buckets //= 2
        start = buckets if relative > 0 else 0
        distance = abs(relative)
    else:
        distance = max(-relative, 0)
    exact = buckets // 2
    if distance < exact:
        return start + distance
    share = math.log(distance / exact) / math.log(max_distance / exact)
    # Distances such as 8 · 2^k sit on a border; a logarithm must not put them below it.
    return start + min(exact + math.floor(share * (buckets - exact) + 1e-9), buckets - 1)


def alibi_slopes(heads: int) -> list[float]:
    """2^{−8i/h} for a power of two; else those of the power below, then odd ones of the next."""
    if heads & (heads - 1) == 0:
        return [2.0 ** (-8 * i / heads) for i in range(1, heads + 1)]
    power = 1 << (heads.bit_length() - 1)
    return alibi_slopes(power) + alibi_slopes(2 * power)[0::2][: heads - power]


def alibi_bias(slope: float, m: int, n: int) -> float:
    """−s |n − m|."""
    return -slope * abs(m - n)


def rotary_frequencies(d: int, base: float = 10000.0) -> list[float]:
    r"""$\theta_i = b^{-2i/d}$ for each pair."""
    return [base ** (-2 * i / d) for i in range(d // 2)]


def proportional_frequencies(d: int, base: float, share: float) -> list[float]:
    r"""$\theta_i = b^{-2i/d} \mathbb{1}[i < p d / 2]$."""
    return [
        theta if i < int(share * d // 2) else 0.0
        for i, theta in enumerate(rotary_frequencies(d, base))
    ]


def pair(i: int, d: int, layout: str) -> tuple[int, int]:
    """The two dimensions of pair i: (2i, 2i + 1) interleaved, (i, i + d/2) half."""
    return (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + d // 2)


def rotate(x: Array, position: int, frequencies: Sequence[float], layout: str) -> Array:
    r"""Each pair (a, b) of one vector, turned.

    $y_a = x_a \cos(m\theta) - x_b \sin(m\theta)$, $y_b = x_a \sin(m\theta) + x_b \cos(m\theta)$
    """
    x = np.asarray(x, dtype=np.float64)
    rotary_dim = 2 * len(frequencies)
    y = x.copy()
    for i, theta in enumerate(frequencies):
        a, b = pair(i, rotary_dim, layout)
        cos, sin = math.cos(position * theta), math.sin(position * theta)
        y[a] = x[a] * cos - x[b] * sin
        y[b] = x[a] * sin + x[b] * cos
    return y


def rotate_complex(x: Array, position: int, frequencies: Sequence[float], layout: str) -> Array:
    r"""$(x_a + \mathrm{i} x_b) e^{\mathrm{i} m\theta}$ by pairs."""
    y = np.array(x, dtype=np.float64)
    for i, theta in enumerate(frequencies):
        a, b = pair(i, 2 * len(frequencies), layout)
        z = complex(x[a], x[b]) * cmath.exp(1j * position * theta)
        y[a], y[b] = z.real, z.imag
    return y


def rotation_matrix(position: int, frequencies: Sequence[float], layout: str) -> Array:
    """The matrix that turns a row x from the right: each row of the unit matrix, turned."""
    unit = np.eye(2 * len(frequencies))
    return np.array([rotate(row, position, frequencies, layout) for row in unit])


def ntk_aware(d: int, base: float, scale: float) -> list[float]:
    """The frequencies of the base with which the last one is divided by the scale."""
    return rotary_frequencies(d, base * scale ** (d / (d - 2)))


def dynamic_ntk(
    d: int, base: float, scale: float, length: int, original_length: int
) -> list[float]:
    """NTK-aware with the scale $s L / L_0 - (s - 1)$ once the length passes the trained one."""
    if length <= original_length:
        return rotary_frequencies(d, base)
    return ntk_aware(d, base, scale * length / original_length - (scale - 1))


def ntk_by_parts(
    theta: float, scale: float, original_length: int, slow: float, fast: float
) -> float:
    r"""$\gamma \theta + (1 - \gamma) \theta / s$, γ linear in the turns between the limits."""
    turns = original_length * theta / (2 * math.pi)
    if slow == fast:
        return theta if turns >= slow else theta / scale
    keep = min(max((turns - slow) / (fast - slow), 0.0), 1.0)
    return keep * theta + (1 - keep) * theta / scale


def yarn(
    d: int, base: float, scale: float, original_length: int, slow: float, fast: float
) -> list[float]:
    """The released ramp, linear in i between the pairs that make `fast` and `slow` turns."""

    def index(turns: float) -> float:
        return d * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    start, stop = math.floor(index(fast)), math.ceil(index(slow))
    if start >= d // 2:  # every pair makes `fast` turns
        return rotary_frequencies(d, base)
    if stop < 0:  # none makes `slow` turns
        return [theta / scale for theta in rotary_frequencies(d, base)]
    start, stop = max(start, 0), min(stop, d - 1)
    width = stop - start or 0.001  # as released: a ramp of no width becomes a step
    result = []
    for i, theta in enumerate(rotary_frequencies(d, base)):
        keep = 1 - min(max((i - start) / width, 0.0), 1.0)
        result.append(keep * theta + (1 - keep) * theta / scale)
    return result


def yarn_factors(scale: float, mscale: float, mscale_all_dim: float) -> tuple[float, float]:
    r"""$(0.1 a \ln s + 1) / (0.1 c \ln s + 1)$ for the table.

    All scores get $(0.1 c \ln s + 1)^2$.
    """
    turned = 1 + 0.1 * mscale * math.log(scale)
    everywhere = 1 + 0.1 * mscale_all_dim * math.log(scale)
    return turned / everywhere, everywhere**2


def axes_interleaved(sections: Sequence[int]) -> list[int]:
    """Deal pairs to the axes in turn; whoever has its number is passed over for axis 0."""
    axes, left = [], list(sections)
    for i in range(sum(sections)):
        axis = i % len(sections)
        axes.append(axis if left[axis] > 0 or axis == 0 else 0)
        left[axes[-1]] -= 1
    return axes


def rotate_on_axes(
    x: Array, place: Sequence[int], frequencies: Sequence[float], axes: Sequence[int], layout: str
) -> Array:
    """Each pair turned by its frequency times its own coordinate, for one vector."""
    y = np.array(x, dtype=np.float64)
    for i, (theta, axis) in enumerate(zip(frequencies, axes, strict=True)):
        a, b = pair(i, 2 * len(frequencies), layout)
        z = complex(x[a], x[b]) * cmath.exp(1j * place[axis] * theta)
        y[a], y[b] = z.real, z.imag
    return y


def attention_over_turned_rows(
    q: Array, rows: Array, frequencies: Sequence[float], layout: str
) -> Array:
    r"""$o_m = \sum_n A_{mn} u_n \mathbf{R}_{n-m}$ from the offsets alone, at positions 0, 1, …"""
    output = np.zeros_like(q, dtype=np.float64)
    for m in range(len(q)):
        seen = [rotate(rows[n], n - m, frequencies, layout) for n in range(len(rows))]
        weights = softmax([math.fsum(q[m] * key) / math.sqrt(len(q[m])) for key in seen])
        for weight, value in zip(weights, seen, strict=True):
            output[m] += weight * value
    return output


def relative_row(distance: int, table: Array) -> Array:
    """Row distance + K of a table (2K + 1, d); distances beyond ±K share the last."""
    K = len(table) // 2
    return np.asarray(table[min(max(distance, -K), K) + K])


def shaw_score(q: Array, k: Array, distance: int, table: Array) -> float:
    r"""$q (k + a)^\top / \sqrt{d}$ for one query and one key, a the row of their distance."""
    return math.fsum(q * (k + relative_row(distance, table))) / math.sqrt(len(q))


def transformer_xl_score(
    q: Array, k: Array, distance: int, table: Array, u: Array, w: Array
) -> float:
    r"""$((q + u) k^\top + (q + w) r^\top) / \sqrt{d}$, r the row of the distance."""
    row = relative_row(distance, table)
    return (math.fsum((q + u) * k) + math.fsum((q + w) * row)) / math.sqrt(len(q))


def deberta_score(q: Array, k: Array, distance: int, key_table: Array, query_table: Array) -> float:
    r"""$(q k^\top + q \kappa^\top + \rho k^\top) / \sqrt{3 d}$, κ and ρ by distance."""
    total = math.fsum(q * k) + math.fsum(q * relative_row(distance, key_table))
    total += math.fsum(relative_row(-distance, query_table) * k)
    return total / math.sqrt(3 * len(q))


def tupe_score(q: Array, k: Array, position_q: Array, position_k: Array) -> float:
    r"""$(q k^\top + p r^\top) / \sqrt{2 d}$ of a query and a key at projected places p, r."""
    return (math.fsum(q * k) + math.fsum(position_q * position_k)) / math.sqrt(2 * len(q))


def kerple_log_bias(distance: int, r1: float, r2: float) -> float:
    r"""$-r_1 \ln(1 + r_2 \lvert \delta \rvert)$."""
    return -r1 * math.log(1 + r2 * abs(distance))


def fire_argument(m: int, n: int, c: float, threshold: float) -> float:
    r"""$\ln(c \lvert n - m \rvert + 1) / \ln(c \max(L, m) + 1)$."""
    return math.log(c * abs(m - n) + 1) / math.log(c * max(threshold, m) + 1)


def cope_score(q: Array, keys: Array, n: int, last: int, table: Array) -> float:
    """Content, and a position that is a sum of gates: its row lies between the two beside it."""
    root = math.sqrt(len(q))
    gates = [1 / (1 + math.exp(-math.fsum(q * keys[j]) / root)) for j in range(n, last + 1)]
    p = min(math.fsum(gates), len(table) - 1)
    below, above = math.floor(p), math.ceil(p)
    e = table[below] + (p - below) * (table[above] - table[below])
    return (math.fsum(q * keys[n]) + math.fsum(q * e)) / root


def fope_row(
    position: int, frequencies: Sequence[float], mixing: Array
) -> tuple[list[float], list[float]]:
    """Cosine and sine of one position for every pair: mixtures of those of all frequencies."""
    pairs = range(len(frequencies))
    cos, sin = (
        [math.fsum(mixing[j, i] * turn(position * frequencies[j]) for j in pairs) for i in pairs]
        for turn in (math.cos, math.sin)
    )
    return cos, sin


# What models of today add: latent attention, experts, shaped scores, recurrences.


def latent_attention(
    q_content: Array,
    q_rotary: Array,
    latents: Array,
    k_rotary: Array,
    W_UK: Array,
    W_UV: Array,
    mask: NDArray[np.bool_] | None = None,
) -> Array:
    """One head: keys from the latents beside the turned one, the scale by both lengths together."""
    q = np.concatenate((q_content, q_rotary), axis=1)
    k = np.concatenate((latents @ W_UK, k_rotary), axis=1)
    output, _ = attention(q, k, latents @ W_UV, mask)
    return output


def route(
    logits: Array, k: int, gate: str, normalise: bool, bias: Array | None = None
) -> dict[int, float]:
    """The k experts of largest score with bias, each with its score, normalised if asked for."""
    s = softmax(logits) if gate == "softmax" else np.array([sigmoid(entry) for entry in logits])
    wanted = s if bias is None else s + bias
    chosen = sorted(range(len(s)), key=lambda i: -wanted[i])[:k]
    total = math.fsum(s[i] for i in chosen) if normalise else 1.0
    return {i: s[i] / total for i in chosen}


def mixture_of_experts(
    x: Array,
    gates: dict[int, float],
    experts: Sequence[Callable[[Array], Array]],
    shared: Sequence[Callable[[Array], Array]] = (),
) -> Array:
    """The chosen experts by their gates, and the shared layers, for one vector."""
    y = np.zeros_like(x)
    for i, weight in gates.items():
        y += weight * experts[i](x)
    for expert in shared:
        y += expert(x)
    return y


def balance_loss(scores: Array, experts: NDArray[np.int64]) -> float:
    """The number of experts times the sum of share times mean score: (N, E) and (N, k)."""
    count = scores.shape[1]
    choices = experts.ravel().tolist()
    share = [choices.count(i) / len(choices) for i in range(count)]
    return math.fsum(count * share[i] * float(scores[:, i].mean()) for i in range(count))


def balanced_bias(bias: Array, experts: NDArray[np.int64], step: float) -> Array:
    """The bias, a step lower for an expert above its share of the choices, higher for one below."""
    choices = experts.ravel().tolist()
    result = bias.copy()
    for i in range(len(bias)):
        surplus = choices.count(i) * len(bias) - len(choices)
        result[i] += -step if surplus > 0 else step if surplus < 0 else 0.0
    return result


def soft_cap(score: float, cap: float) -> float:
    r"""$c \tanh(s / c)$."""
    return cap * math.tanh(score / cap)


def sink_attention(
    q: Array, k: Array, v: Array, sink: float, mask: NDArray[np.bool_] | None = None
) -> Array:
    """One head with one more exponential in every sum, that of the sink, which has no value."""
    output = np.zeros((len(q), v.shape[1]))
    for m in range(len(q)):
        seen = [n for n in range(len(k)) if mask is None or mask[m, n]]
        scores = [math.fsum(q[m] * k[n]) / math.sqrt(q.shape[1]) for n in seen]
        weights = softmax([*scores, sink])
        for weight, n in zip(weights, seen, strict=False):
            output[m] += weight * v[n]
    return output


def gated_attention(q: Array, k: Array, v: Array, gate: Array) -> Array:
    """Attention times the sigmoid of the gate, entry by entry."""
    output, _ = attention(q, k, v)
    return np.array(
        [
            [entry * sigmoid(g) for entry, g in zip(*rows, strict=True)]
            for rows in zip(output, gate, strict=True)
        ]
    )


def query_key_clip(W_Q: Array, W_K: Array, largest: float, threshold: float) -> tuple[Array, Array]:
    """One head: both matrices shrunk alike, if its largest score passed the threshold."""
    gamma = min(1.0, threshold / largest) if largest > 0 else 1.0
    return W_Q * math.sqrt(gamma), W_K * math.sqrt(gamma)


def log_length_factor(length: int, slope: float) -> float:
    r"""$s \ln n$."""
    return slope * math.log(length)


def stepped_length_factor(position: int, step: int, slope: float, first: int) -> float:
    r"""$1 + a \ln(1 + \lfloor (i + f) / L \rfloor)$."""
    return 1 + slope * math.log(1 + (position + first) // step)


def linear_attention(q: Array, k: Array, v: Array, decay: Array) -> Array:
    """Each earlier value by query times key, and by all decays since."""
    output = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        for j in range(i + 1):
            output[i] += math.prod(decay[j + 1 : i + 1]) * math.fsum(q[i] * k[j]) * v[j]
    return output


def delta_rule(q: Array, k: Array, v: Array, rate: Array, decay: Array) -> tuple[Array, Array]:
    """The state forgets along the key, then gets key and value; outputs, and the last state."""
    S = np.zeros((k.shape[1], v.shape[1]))
    output = np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        kept = np.eye(k.shape[1]) - rate[t] * np.outer(k[t], k[t])
        S = decay[t] * kept @ S + rate[t] * np.outer(k[t], v[t])
        output[t] = q[t] @ S
    return output, S
