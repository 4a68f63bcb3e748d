"""Right solutions of the twelve steps of the workshop, in other styles.

Each source holds one or more functions of its step; the other functions of the same step and all
functions of earlier steps are right, and np, json, START and CONFIG are defined as in the reader's
file. So a source is run in a namespace in which all of these exist.
"""

from typing import NamedTuple


class Solution(NamedTuple):
    """A right solution: the step (1 to 12), a short name, and the code."""

    step: int
    name: str
    source: str


SOLUTIONS: list[Solution] = [
    Solution(
        1,
        "own-copy-in-place",
        """
def softmax(x):
    w = np.array(x, dtype=np.float64)
    w -= np.max(w, axis=-1, keepdims=True)
    np.exp(w, out=w)
    w /= np.sum(w, axis=-1, keepdims=True)
    return w
""",
    ),
    Solution(
        1,
        "apply-along-axis",
        """
def softmax(x):
    def row(r):
        e = np.exp(r - max(r))
        return e / sum(e)

    return np.apply_along_axis(row, -1, x)
""",
    ),
    Solution(
        1,
        "log-sum-exp",
        """
def softmax(x):
    top = np.max(x, axis=-1)[..., None]
    total = top + np.log(np.sum(np.exp(x - top), axis=-1)[..., None])
    return np.exp(x - total)
""",
    ),
    Solution(
        1,
        "loop-over-flat-rows",
        """
def softmax(x):
    rows = x.reshape(-1, x.shape[-1])
    out = np.empty(rows.shape, dtype=np.float32)
    for i, row in enumerate(rows):
        e = np.exp(row - row.max())
        out[i] = e / e.sum()
    return out.reshape(x.shape)
""",
    ),
    Solution(
        1,
        "transposed",
        """
def softmax(x):
    t = np.moveaxis(x, -1, 0)
    e = np.exp(t - t.max(axis=0))
    return np.moveaxis(e / e.sum(axis=0), 0, -1)
""",
    ),
    Solution(
        2,
        "einsum",
        """
def attend(q, k, v):
    scores = np.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    return np.einsum("...ij,...jd->...id", softmax(scores), v)
""",
    ),
    Solution(
        2,
        "query-scaled-first",
        """
def attend(q, k, v):
    q = q * k.shape[-1] ** -0.5
    return np.matmul(softmax(np.matmul(q, np.moveaxis(k, -1, -2))), v)
""",
    ),
    Solution(
        2,
        "loops",
        """
def attend(q, k, v):
    if q.ndim > 2:
        return np.stack([attend(a, b, c) for a, b, c in zip(q, k, v)])
    out = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        scores = np.array([np.dot(q[i], k[j]) for j in range(k.shape[0])]) / np.sqrt(k.shape[1])
        for w, value in zip(softmax(scores), v):
            out[i] += w * value
    return out
""",
    ),
    Solution(
        2,
        "sum-of-products",
        """
def attend(q, k, v):
    scores = (q[..., :, None, :] * k[..., None, :, :]).sum(axis=-1) / np.sqrt(q.shape[-1])
    return (softmax(scores)[..., None] * v[..., None, :, :]).sum(axis=-2)
""",
    ),
    Solution(
        2,
        "root-split-over-both",
        """
def attend(q, k, v):
    root = q.shape[-1] ** 0.25
    return softmax((q / root) @ (k / root).swapaxes(-2, -1)) @ v
""",
    ),
    Solution(
        3,
        "tril-and-where",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N, N_k), dtype=bool), k=N_k - N)


def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores[..., ~mask] = -np.inf
    return softmax(scores) @ v
""",
    ),
    Solution(
        3,
        "last-rows-and-additive",
        """
def causal_mask(N, N_k):
    return ~np.triu(np.ones((N_k, N_k), dtype=bool), 1)[N_k - N :]


def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    with np.errstate(divide="ignore"):
        return softmax(scores + np.log(mask.astype(float))) @ v
""",
    ),
    Solution(
        3,
        "list-comprehension-and-1e9",
        """
def causal_mask(N, N_k):
    return np.array([[j <= i + N_k - N for j in range(N_k)] for i in range(N)])


def masked_attend(q, k, v, mask):
    scores = np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1])
    return softmax(scores + (1 - mask) * -1e9) @ v
""",
    ),
    Solution(
        3,
        "loop-over-allowed-keys",
        """
def causal_mask(N, N_k):
    mask = np.full((N, N_k), False)
    for i in range(N):
        mask[i, : N_k - N + i + 1] = True
    return mask


def masked_attend(q, k, v, mask):
    rows = []
    for i, allowed in enumerate(mask):
        rows.append(attend(q[..., i : i + 1, :], k[..., allowed, :], v[..., allowed, :]))
    return np.concatenate(rows, axis=-2)
""",
    ),
    Solution(
        3,
        "masked-softmax-by-hand",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=-np.inf)
    e = np.exp(np.minimum(scores - top, 0)) * mask
    return e @ v / e.sum(axis=-1, keepdims=True)
""",
    ),
    Solution(
        3,
        "broadcast-to-and-copyto",
        """
def causal_mask(N, N_k):
    keys, queries = np.meshgrid(np.arange(N_k), np.arange(N))
    return keys - queries <= N_k - N


def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    np.copyto(scores, np.finfo(scores.dtype).min, where=~np.broadcast_to(mask, scores.shape))
    return softmax(scores) @ v
""",
    ),
    Solution(
        4,
        "slices-and-concatenate",
        """
def split_heads(x, heads):
    d_k = x.shape[1] // heads
    return np.stack([x[:, i * d_k : (i + 1) * d_k] for i in range(heads)])


def merge_heads(x):
    return np.concatenate([head for head in x], axis=-1)


def repeat_groups(x, heads):
    return np.stack([x[i * len(x) // heads] for i in range(heads)])
""",
    ),
    Solution(
        4,
        "np-split-and-hstack",
        """
def split_heads(x, heads):
    return np.array(np.split(x, heads, axis=-1))


def merge_heads(x):
    return np.hstack(x)


def repeat_groups(x, heads):
    g, n, d = x.shape
    return np.broadcast_to(x[:, None], (g, heads // g, n, d)).reshape(heads, n, d)
""",
    ),
    Solution(
        4,
        "swapaxes-and-index",
        """
def split_heads(x, heads):
    N, d = x.shape
    return np.swapaxes(x.reshape((N, heads, d // heads)), 0, 1)


def merge_heads(x):
    h, N, d_k = x.shape
    return np.swapaxes(x, 0, 1).reshape(N, h * d_k)


def repeat_groups(x, heads):
    return x[np.arange(heads) // (heads // x.shape[0])]
""",
    ),
    Solution(
        4,
        "einsum-and-moveaxis",
        """
def split_heads(x, heads):
    return np.einsum("nhd->hnd", x.reshape(len(x), heads, -1))


def merge_heads(x):
    return np.moveaxis(x, 0, 1).reshape(x.shape[1], -1)


def repeat_groups(x, heads):
    return np.concatenate([x[i : i + 1] for i in range(len(x)) for _ in range(heads // len(x))])
""",
    ),
    Solution(
        4,
        "loops-and-kron",
        """
def split_heads(x, heads):
    d_k = x.shape[1] // heads
    out = np.zeros((heads, x.shape[0], d_k))
    for h in range(heads):
        for n in range(x.shape[0]):
            out[h, n] = x[n, h * d_k : (h + 1) * d_k]
    return out


def repeat_groups(x, heads):
    return np.kron(x, np.ones((heads // x.shape[0], 1, 1)))
""",
    ),
    Solution(
        5,
        "einsum",
        """
def rms_norm(x, weight, eps):
    mean = np.einsum("...d,...d->...", x, x) / x.shape[-1]
    return weight * x * (mean[..., None] + eps) ** -0.5
""",
    ),
    Solution(
        5,
        "linalg-norm",
        """
def rms_norm(x, weight, eps):
    mean = np.linalg.norm(x, axis=-1, keepdims=True) ** 2 / x.shape[-1]
    return weight * (x / np.sqrt(mean + eps))
""",
    ),
    Solution(
        5,
        "own-copy",
        """
def rms_norm(x, weight, eps):
    out = x.astype(np.float64)
    out /= np.sqrt(np.mean(np.square(out), axis=-1, keepdims=True) + eps)
    out *= weight
    return out
""",
    ),
    Solution(
        5,
        "apply-along-axis",
        """
def rms_norm(x, weight, eps):
    def one(r):
        return r * weight / np.sqrt(np.dot(r, r) / len(r) + eps)

    return np.apply_along_axis(one, -1, x)
""",
    ),
    Solution(
        6,
        "stable-where",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    e = np.exp(-np.abs(z))
    sigmoid = np.where(z >= 0, 1 / (1 + e), e / (1 + e))
    return (z * sigmoid * (x @ up.T)) @ down.T
""",
    ),
    Solution(
        6,
        "tanh",
        """
def swiglu(x, gate, up, down):
    z = np.matmul(x, gate.transpose())
    silu = 0.5 * z * (1 + np.tanh(z / 2))
    return np.matmul(silu * np.matmul(x, up.transpose()), down.transpose())
""",
    ),
    Solution(
        6,
        "einsum",
        """
def swiglu(x, gate, up, down):
    g = np.einsum("...d,md->...m", x, gate)
    u = np.einsum("...d,md->...m", x, up)
    with np.errstate(over="ignore"):
        g = g / (1 + np.exp(-g))
    return np.einsum("...m,dm->...d", g * u, down)
""",
    ),
    Solution(
        6,
        "both-at-once",
        """
def swiglu(x, gate, up, down):
    both = x @ np.concatenate([gate, up]).T
    g, u = np.split(both, 2, axis=-1)
    return (g / (1 + np.exp(-np.clip(g, -80, None))) * u) @ down.T
""",
    ),
    Solution(
        6,
        "flattened-and-restored",
        """
def swiglu(x, gate, up, down):
    flat = x.reshape(-1, x.shape[-1]).T
    g = gate @ flat
    out = down @ (g * np.exp(-np.logaddexp(0, -g)) * (up @ flat))
    return out.T.reshape(x.shape)
""",
    ),
    Solution(
        7,
        "complex-numbers",
        """
def rope_frequencies(d_k, base=10_000.0):
    return 1.0 / base ** (np.arange(0, d_k, 2) / d_k)


def rope_table(positions, frequencies, factor=1.0):
    turn = factor * np.exp(1j * np.outer(positions, frequencies))
    return turn.real, turn.imag


def rotate(x, table):
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * (table[0] + 1j * table[1])
    return np.concatenate([z.real, z.imag], axis=-1)
""",
    ),
    Solution(
        7,
        "rotate-half",
        """
def rope_frequencies(d_k, base=10_000.0):
    return np.exp(-2 * np.log(base) * np.arange(d_k // 2) / d_k)


def rotate(x, table):
    cos = np.concatenate([table[0], table[0]], axis=-1)
    sin = np.concatenate([table[1], table[1]], axis=-1)
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * cos + turned * sin
""",
    ),
    Solution(
        7,
        "loops",
        """
def rope_frequencies(d_k, base=10_000.0):
    return np.array([base ** (-2 * i / d_k) for i in range(d_k // 2)])


def rope_table(positions, frequencies, factor=1.0):
    cos = np.array([[factor * np.cos(p * f) for f in frequencies] for p in positions])
    sin = np.array([[factor * np.sin(p * f) for f in frequencies] for p in positions])
    return cos, sin


def rotate(x, table):
    cos, sin = table
    out = np.zeros(x.shape)
    half = x.shape[2] // 2
    for i in range(half):
        a, b = x[:, :, i], x[:, :, i + half]
        out[:, :, i] = a * cos[:, i] - b * sin[:, i]
        out[:, :, i + half] = b * cos[:, i] + a * sin[:, i]
    return out
""",
    ),
    Solution(
        7,
        "matrices",
        """
def rope_frequencies(d_k, base=10_000.0):
    return np.power(float(base), np.linspace(0, -1, d_k // 2, endpoint=False))


def rope_table(positions, frequencies, factor=1.0):
    angles = np.einsum("n,i->ni", positions, frequencies)
    return np.cos(angles) * factor, np.sin(angles) * factor


def rotate(x, table):
    cos, sin = table
    turn = np.array([[cos, -sin], [sin, cos]])
    pairs = x.reshape(x.shape[0], x.shape[1], 2, -1)
    return np.einsum("abni,hnbi->hnai", turn, pairs).reshape(x.shape)
""",
    ),
    Solution(
        7,
        "float32-table-and-own-copy",
        """
def rope_frequencies(d_k, base=10_000.0):
    frequencies = np.empty(d_k // 2)
    frequencies[0] = 1.0
    frequencies[1:] = base ** (-2 / d_k)
    return np.cumprod(frequencies)


def rope_table(positions, frequencies, factor=1.0):
    angles = np.asarray(positions).reshape(-1, 1) * frequencies[np.newaxis]
    return (factor * np.cos(angles)).astype(np.float32), (factor * np.sin(angles)).astype(np.float32)


def rotate(x, table):
    cos, sin = table
    half = x.shape[-1] // 2
    out = x.copy()
    out[..., :half] *= cos
    out[..., :half] -= x[..., half:] * sin
    out[..., half:] *= cos
    out[..., half:] += x[..., :half] * sin
    return out
""",
    ),
    Solution(
        8,
        "one-projection",
        """
def project(x, layer, table, config):
    h, g = config["heads"], config["groups"]
    W = np.concatenate([layer[f"self_attn.{name}_proj.weight"] for name in "qkv"])
    heads = split_heads(x @ W.T, h + 2 * g)
    turned = rotate(heads[: h + g], table)
    return turned[:h], turned[h:], heads[h + g :]
""",
    ),
    Solution(
        8,
        "loop-over-heads",
        """
def mix(q, k, v, mask, layer, config):
    shared = config["heads"] // config["groups"]
    heads = [masked_attend(q[i], k[i // shared], v[i // shared], mask) for i in range(config["heads"])]
    return np.concatenate(heads, axis=-1) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Solution(
        8,
        "sum-over-output-slices",
        """
def mix(q, k, v, mask, layer, config):
    h, d_k = config["heads"], config["d_k"]
    out = masked_attend(q, repeat_groups(k, h), repeat_groups(v, h), mask)
    o = layer["self_attn.o_proj.weight"]
    return sum(out[i] @ o[:, i * d_k : (i + 1) * d_k].T for i in range(h))
""",
    ),
    Solution(
        8,
        "groups-by-einsum",
        """
def mix(q, k, v, mask, layer, config):
    g = k.shape[0]
    h, N, d_k = q.shape
    grouped = q.reshape(g, h // g, N, d_k)
    scores = np.einsum("gsnd,gmd->gsnm", grouped, k) / np.sqrt(d_k)
    out = np.einsum("gsnm,gmd->ngsd", softmax(np.where(mask, scores, -np.inf)), v)
    return out.reshape(N, h * d_k) @ layer["self_attn.o_proj.weight"].T


def block(x, layer, table, mask, config):
    eps = config["eps"]
    out = x.copy()
    q, k, v = project(rms_norm(out, layer["input_layernorm.weight"], eps), layer, table, config)
    out = np.add(out, mix(q, k, v, mask, layer, config))
    return out + swiglu(
        rms_norm(out, layer["post_attention_layernorm.weight"], eps),
        gate=layer["mlp.gate_proj.weight"],
        up=layer["mlp.up_proj.weight"],
        down=layer["mlp.down_proj.weight"],
    )
""",
    ),
    Solution(
        8,
        "everything-in-block",
        """
def block(x, layer, table, mask, config):
    h, g, d_k, eps = config["heads"], config["groups"], config["d_k"], config["eps"]
    N = len(x)
    W = {name.split(".")[-2]: w for name, w in layer.items()}
    n = rms_norm(x, W["input_layernorm"], eps)
    q = rotate((n @ W["q_proj"].T).reshape(N, h, d_k).transpose(1, 0, 2), table)
    k = rotate((n @ W["k_proj"].T).reshape(N, g, d_k).transpose(1, 0, 2), table)
    v = (n @ W["v_proj"].T).reshape(N, g, d_k).transpose(1, 0, 2)
    a = np.empty((N, h * d_k))
    for i in range(h):
        j = i * g // h
        a[:, i * d_k : (i + 1) * d_k] = masked_attend(q[i], k[j], v[j], mask)
    x = x + a @ W["o_proj"].T
    n = rms_norm(x, W["post_attention_layernorm"], eps)
    return x + swiglu(n, W["gate_proj"], W["up_proj"], W["down_proj"])
""",
    ),
    Solution(
        9,
        "struct-and-offset",
        """
def encode(text):
    tokens = [START]
    tokens.extend(text.encode())
    return tokens


def read_weights(data):
    import struct

    (n,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + n].decode("utf-8"))
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        dtype = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}[entry["dtype"]]
        count = int(np.prod(entry["shape"]))
        a = np.frombuffer(data, dtype, count, 8 + n + entry["data_offsets"][0])
        weights[name] = np.array(a, dtype=np.float32).reshape(entry["shape"])
    return weights
""",
    ),
    Solution(
        9,
        "memoryview-and-comprehension",
        """
def read_weights(data):
    n = int(np.frombuffer(data[:8], "<u8")[0])
    body = memoryview(data)[8 + n :]
    return {
        name: np.frombuffer(body[slice(*e["data_offsets"])], f"<f{int(e['dtype'][1:]) // 8}")
        .astype(np.float32, copy=False)
        .reshape(e["shape"])
        for name, e in json.loads(data[8 : n + 8]).items()
        if name != "__metadata__"
    }


def layer_weights(weights, index):
    result = {}
    for name in weights:
        first, _, rest = name.partition(".")
        number, _, rest = rest.partition(".")
        if first == "layers" and number == str(index):
            result[rest] = weights[name]
    return result
""",
    ),
    Solution(
        9,
        "stream",
        """
def encode(text):
    return [256] + [int(b) for b in bytes(text, "utf-8")]


def read_weights(data):
    import io

    file = io.BytesIO(data)
    n = sum(byte << (8 * i) for i, byte in enumerate(file.read(8)))
    header = json.loads(file.read(n))
    weights = {}
    for name, entry in header.items():
        if name.startswith("__"):
            continue
        start, end = entry["data_offsets"]
        file.seek(8 + n + start)
        raw = file.read(end - start)
        a = np.frombuffer(raw, np.float16 if entry["dtype"] == "F16" else np.float32)
        weights[name] = np.float32(a).reshape(tuple(entry["shape"]))
    return weights
""",
    ),
    Solution(
        9,
        "removeprefix-and-take",
        """
def layer_weights(weights, index):
    prefix = f"layers.{index}."
    return {name.removeprefix(prefix): weights[name] for name in weights if name.startswith(prefix)}


def forward(tokens, weights, config, rope):
    embed = weights["embed_tokens.weight"]
    frequencies, factor = rope
    N = len(tokens)
    x = np.take(embed, tokens, axis=0).astype(np.float64)
    table = rope_table(np.arange(N), frequencies, factor)
    for layer in (layer_weights(weights, i) for i in range(config["layers"])):
        x = block(x, layer, table, causal_mask(N, N), config)
    x = rms_norm(x, weights["norm.weight"], config["eps"])
    return np.einsum("nd,vd->nv", x, embed)
""",
    ),
    Solution(
        9,
        "one-hot",
        """
def forward(tokens, weights, config, rope):
    embed = weights["embed_tokens.weight"]
    x = np.eye(len(embed))[np.array(tokens)] @ embed
    mask = np.tril(np.ones((len(x), len(x)), dtype=bool))
    table = rope_table(positions=np.arange(len(x), dtype=float), frequencies=rope[0], factor=rope[1])
    i = 0
    while i < config["layers"]:
        x = block(x, layer_weights(weights, i), table, mask, config)
        i += 1
    return (embed @ rms_norm(x, weights["norm.weight"], config["eps"]).T).T
""",
    ),
    Solution(
        9,
        "list-of-rows",
        """
def forward(tokens, weights, config, rope):
    embed = weights["embed_tokens.weight"]
    x = np.stack([embed[t] for t in tokens])
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config).astype(np.float32)
    return np.inner(rms_norm(x, weights["norm.weight"], config["eps"]), embed)
""",
    ),
    Solution(
        10,
        "get-with-empty-arrays",
        """
def new_cache(config):
    return [dict() for _ in range(config["layers"])]


def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    nothing = np.zeros((config["groups"], 0, config["d_k"]), dtype=k.dtype)
    kept["k"] = np.concatenate((kept.get("k", nothing), k), axis=1)
    kept["v"] = np.concatenate((kept.get("v", nothing), v), axis=1)
    x = x + mix(q, kept["k"], kept["v"], mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    return x + swiglu(n, *(layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down")))
""",
    ),
    Solution(
        10,
        "update-and-hstack",
        """
def new_cache(config):
    cache = []
    for _ in range(config["layers"]):
        cache.append({})
    return cache


def cached_block(x, layer, table, mask, config, kept):
    eps = config["eps"]
    q, *new = project(rms_norm(x, layer["input_layernorm.weight"], eps), layer, table, config)
    kept.update({n: np.hstack([kept[n], a]) if n in kept else a for n, a in zip("kv", new)})
    x = x + mix(q, kept["k"], kept["v"], mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], eps)
    mlp = {name[4:-12]: w for name, w in layer.items() if name.startswith("mlp.")}
    return x + swiglu(n, **mlp)
""",
    ),
    Solution(
        10,
        "copied-into-a-new-array",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    old = kept["k"].shape[1] if "k" in kept else 0
    for name, new in (("k", k), ("v", v)):
        joined = np.empty((new.shape[0], old + new.shape[1], new.shape[2]))
        if old:
            joined[:, :old] = kept[name]
        joined[:, old:] = new
        kept[name] = joined
    x = x + mix(q, kept["k"], kept["v"], mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Solution(
        10,
        "mask-from-positions",
        """
def cached_forward(tokens, weights, config, rope, cache):
    embed = weights["embed_tokens.weight"]
    x = embed[np.asarray(tokens)]
    old = cache[-1]["v"].shape[-2] if cache[-1] else 0
    positions = old + np.arange(len(tokens))
    mask = np.arange(old + len(tokens)) <= positions[:, None]
    for i, kept in enumerate(cache):
        x = cached_block(x, layer_weights(weights, i), rope_table(positions, *rope), mask, config, kept)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ embed.T
""",
    ),
    Solution(
        10,
        "one-token-at-a-time",
        """
def cached_forward(tokens, weights, config, rope, cache):
    embed = weights["embed_tokens.weight"]
    rows = []
    for token in tokens:
        position = cache[0]["k"].shape[1] if cache[0] else 0
        x = embed[[token]]
        table = rope_table(np.array([position]), *rope)
        mask = np.ones((1, position + 1), dtype=bool)
        for i in range(config["layers"]):
            x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
        rows.append(rms_norm(x[0], weights["norm.weight"], config["eps"]) @ embed.T)
    return np.array(rows)
""",
    ),
    Solution(
        11,
        "argpartition-and-searchsorted",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        return (np.arange(len(logits)) == np.argmax(logits)).astype(float)
    z = logits / temperature
    if 0 < top_k < len(z):
        cut = np.full(z.shape, -np.inf)
        stay = np.argpartition(z, -top_k)[-top_k:]
        cut[stay] = z[stay]
        z = cut
    p = softmax(z)
    if top_p < 1.0:
        order = np.argsort(p)[::-1]
        before = np.cumsum(p[order]) - p[order]
        p[order[before >= top_p]] = 0.0
    return p / p.sum()


def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    sums = np.cumsum(p)
    return int(np.searchsorted(sums, random.random() * sums[-1], side="right"))
""",
    ),
    Solution(
        11,
        "python-loops",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    order = sorted(range(len(logits)), key=lambda t: -logits[t])
    p = np.zeros(len(logits))
    if temperature == 0:
        p[order[0]] = 1.0
        return p
    if top_k > 0:
        order = order[:top_k]
    p[order] = softmax(np.array([logits[t] / temperature for t in order], dtype=float))
    if top_p < 1:
        total = 0.0
        for t in order:
            if total >= top_p:
                p[t] = 0.0
            total += p[t]
    return p / p.sum()


def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    u = random.random()
    for token in np.flatnonzero(p):
        u -= p[token]
        if u < 0:
            break
    return int(token)
""",
    ),
    Solution(
        11,
        "ranks",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0.0:
        top_k, temperature = 1, 1.0
    z = np.asarray(logits, dtype=np.float64) / temperature
    order = np.argsort(-z, kind="stable")
    rank = np.argsort(order, kind="stable")
    if top_k:
        z = np.where(rank < top_k, z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        sums = np.cumsum(p[order])
        p = np.where(rank <= np.argmax(sums >= top_p), p, 0)
    return p / np.sum(p)
""",
    ),
    Solution(
        11,
        "multinomial",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = np.float64(probabilities(logits, temperature, top_k, top_p))
    return int(np.flatnonzero(random.multinomial(1, p / p.sum()))[0])
""",
    ),
    Solution(
        11,
        "choice-among-those-that-stay",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p).astype(np.float64)
    stay = np.nonzero(p)[0]
    return int(random.choice(stay, p=p[stay] / p[stay].sum()))
""",
    ),
    Solution(
        11,
        "first-logits-before-the-loop",
        """
def generate(tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0):
    if count < 1:
        return
    cache = new_cache(config)
    logits = cached_forward(list(tokens), weights, config, rope, cache)[-1]
    for left in reversed(range(count)):
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        if left:
            logits = cached_forward([token], weights, config, rope, cache)[-1]
""",
    ),
    Solution(
        11,
        "own-list-and-slice",
        """
def generate(tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0):
    text = [int(t) for t in tokens]
    cache = new_cache(config)
    done = 0
    while len(text) < len(tokens) + count:
        logits = cached_forward(text[done:], weights, config, rope, cache)
        done = len(text)
        text.append(sample(logits[-1], random, temperature=temperature, top_k=top_k, top_p=top_p))
        yield text[-1]
""",
    ),
    Solution(
        12,
        "interp",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    return np.interp(frequencies * length / (2 * np.pi), [slow, fast], [0.0, 1.0])
""",
    ),
    Solution(
        12,
        "where",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length / (2 * np.pi / frequencies)
    ramp = (turns - slow) / (fast - slow)
    return np.where(turns >= fast, 1.0, np.where(turns <= slow, 0.0, ramp))


def yarn(frequencies, scale, length):
    lost = 1 - kept_share(frequencies, length)
    return frequencies * (1 - lost * (1 - 1 / scale)), 1 + np.log(scale) / 10
""",
    ),
    Solution(
        12,
        "loop",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    shares = []
    for f in frequencies:
        turns = length * f / (2 * np.pi)
        if turns >= fast:
            shares.append(1.0)
        elif turns <= slow:
            shares.append(0.0)
        else:
            shares.append((turns - slow) / (fast - slow))
    return np.array(shares)


def yarn(frequencies, scale, length):
    import math

    shares = kept_share(frequencies, length)
    new = [s * f + (1 - s) * f / scale for s, f in zip(shares, frequencies)]
    return np.array(new), 0.1 * math.log(scale) + 1
""",
    ),
    Solution(
        12,
        "minimum-and-maximum",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    share = np.array(frequencies, dtype=np.float64)
    share *= length / (2 * np.pi)
    share -= slow
    share /= fast - slow
    return np.maximum(np.minimum(share, 1), 0)


def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length=length)
    pair = np.stack([frequencies, frequencies / scale])
    return np.sum(pair * np.stack([share, 1 - share]), axis=0), float(1 + 0.1 * np.log(scale))
""",
    ),
]
