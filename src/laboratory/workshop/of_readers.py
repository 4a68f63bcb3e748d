"""Mistakes in all steps that readers make and the lists by step did not have.

Many of them are whole functions that were written in another way, so their body is given whole.
"""

import inspect
import textwrap

from bookkit.workshop import solution
from bookkit.workshop.playground import without_comments
from laboratory.workshop.changing import Mistake, adder

MISTAKES: list[Mistake] = []
add = adder(MISTAKES)


def body_of(function: str) -> str:
    """The lines of a function of the solution behind its docstring."""
    source = without_comments(inspect.getsource(getattr(solution, function)))
    return source.split('"""\n', maxsplit=1)[1]


def rewrite(function: str, says: str, look: str, body: str) -> None:
    """A mistake that replaces the whole body of a function."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    add(function, says, look, (body_of(function), lines + "\n"))


# ------------------------------------------------------------------------------ step 1: softmax

rewrite(
    "softmax",
    "the scores are clipped against the overflow, so all large scores become equal",
    "What can you subtract from all scores of a row without changing the result?",
    """
    e = np.exp(np.clip(x, -50, 50))
    return e / e.sum(axis=-1, keepdims=True)
    """,
)
rewrite(
    "softmax",
    "each score goes through the sigmoid on its own, so rows do not sum to 1",
    "Look at the denominator: the sum of exp over the whole row.",
    "return 1 / (1 + np.exp(-x))",
)
rewrite(
    "softmax",
    "the largest absolute value is subtracted, not the largest score. A row of very negative "
    "scores becomes 0 / 0",
    "Look at what you subtract: the maximum, without the absolute value.",
    """
    e = np.exp(x - np.abs(x).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
    """,
)
rewrite(
    "softmax",
    "large scores overflow, and what is then no number is replaced by 0",
    "What can you subtract from all scores of a row without changing the result?",
    """
    e = np.exp(x)
    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True))
    """,
)
rewrite(
    "softmax",
    "infinite scores are replaced by 0, so -infinity gets a positive weight",
    "The exponential of -infinity is 0 already.",
    """
    x = np.where(np.isinf(x), 0.0, x)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
    """,
)
rewrite(
    "softmax",
    "the loop over the rows is written for a matrix: it runs over the first axis only",
    "Look at the loop. Without it, axis=-1 and keepdims=True work for any number of axes.",
    """
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        e = np.exp(x[i] - np.max(x[i]))
        out[i] = e / np.sum(e)
    return out
    """,
)
rewrite(
    "softmax",
    "the largest score gets the weight 1 and all others 0 (argmax)",
    "Where is exp?",
    "return (x == x.max(axis=-1, keepdims=True)).astype(float)",
)
rewrite(
    "softmax",
    "it returns the logarithm of the softmax",
    "Look at the last line: take the exponential of it.",
    """
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    """,
)

# ------------------------------------------------------------------------------- step 2: attend

add(
    "attend",
    "the scores are divided by the root of 32, the d_k of the book's model. Read d_k from q",
    "Look at the number under the root.",
    ("q.shape[-1] ** 0.5", "32**0.5"),
)
rewrite(
    "attend",
    "np.dot pairs every head with every other one, so the result has too many axes",
    "Look at the products: `@` takes the heads one by one.",
    """
    weights = softmax(np.dot(q, k.swapaxes(-1, -2)) / q.shape[-1] ** 0.5)
    return np.dot(weights, v)
    """,
)
rewrite(
    "attend",
    "keys and values are exchanged: the scores come from the values, and the keys are averaged",
    "Look at which array meets q, and which array meets the weights.",
    """
    scores = q @ v.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    return softmax(scores) @ k
    """,
)
add(
    "attend",
    "the root of d_k is cut to a whole number",
    "Look at the root: no int and no //.",
    ("q.shape[-1] ** 0.5", "int(q.shape[-1] ** 0.5)"),
)
rewrite(
    "attend",
    "queries and keys are first brought to length 1 (cosine similarity)",
    "The score is the dot product of q and k as they are.",
    """
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5) @ v
    """,
)
rewrite(
    "attend",
    "it returns the result and the weights together. Return the result alone",
    "Look at the return: one array.",
    """
    weights = softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
    return weights @ v, weights
    """,
)

# --------------------------------------------------------------------------------- step 3: mask

rewrite(
    "causal_mask",
    "the diagonal is shifted by N - N_k, in the wrong direction. It is N_k - N",
    "Look at the sign of the shift: the first query sees N_k - N older tokens.",
    "return np.tril(np.ones((N, N_k), dtype=bool), k=N - N_k)",
)
rewrite(
    "causal_mask",
    "the inner loop ends one too late and runs over the edge of the array",
    "Look at the end of the inner loop.",
    """
    mask = np.zeros((N, N_k), dtype=bool)
    for i in range(N):
        for j in range(N_k - N + i + 2):
            mask[i, j] = True
    return mask
    """,
)
SCORES = "scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5"
rewrite(
    "masked_attend",
    "hidden weights become 0 after the softmax, and the rest is divided by its sum. That is 0 / 0 "
    "where a hidden score is far larger than the others",
    "Look at the order: the mask belongs to the scores, before the softmax.",
    f"""
    {SCORES}
    weights = softmax(scores) * mask
    return weights / weights.sum(axis=-1, keepdims=True) @ v
    """,
)
rewrite(
    "masked_attend",
    "a factor of 0 or 1 is multiplied by -infinity, and 0 times infinity is no number",
    "Choose with np.where, do not multiply.",
    f"""
    {SCORES}
    return softmax(scores + (1 - mask) * -np.inf) @ v
    """,
)
rewrite(
    "masked_attend",
    "the mask is an index of the first axes, scores[~mask], which are the heads if there are any",
    "np.where lines the mask up with the last two axes.",
    f"""
    {SCORES}
    scores[~mask] = -np.inf
    return softmax(scores) @ v
    """,
)
rewrite(
    "masked_attend",
    "the mask has a new axis at its end, so it is lined up with the wrong axes of the scores",
    "The mask (N, N_k) fits the last two axes as it is.",
    f"""
    {SCORES}
    return softmax(np.where(mask[..., None], scores, -np.inf)) @ v
    """,
)

# -------------------------------------------------------------------------------- step 4: heads

rewrite(
    "split_heads",
    "the tokens are cut into groups, not the vector of each token",
    "Look at the axis: axis 0 has the tokens.",
    "return np.array(np.split(x, heads, axis=0))",
)
rewrite(
    "split_heads",
    "the length of a head is always 32, that of the book's model. Read it from x",
    "Look at the sizes in reshape: d_k is x.shape[1] // heads.",
    "return x.reshape(x.shape[0], heads, 32).transpose(1, 0, 2)",
)
rewrite(
    "split_heads",
    "it returns a list of arrays. Return one array",
    "np.stack makes one array of several.",
    "return np.split(x, heads, axis=1)",
)
rewrite(
    "split_heads",
    "the slices of the heads have the wrong ends: each is one number too long",
    "Look at the end of each slice: the beginning plus d_k.",
    """
    d_k = x.shape[1] // heads
    return np.stack([x[:, i * d_k : (i + 1) * d_k + 1] for i in range(heads)])
    """,
)
add(
    "repeat_groups",
    "each group is always repeated 3 times, as in the book's model. It is heads / g",
    "Look at the number of copies.",
    ("heads // x.shape[0]", "3"),
)
rewrite(
    "repeat_groups",
    "the array is broadcast to the shape with `heads`, which works for one group only",
    "NumPy has a function that repeats entries along an axis.",
    "return np.broadcast_to(x, (heads, *x.shape[1:]))",
)
add(
    "repeat_groups",
    "the number of groups is read from the wrong axis: x.shape[1] counts tokens",
    "Look at the number of copies: g is x.shape[0].",
    ("heads // x.shape[0]", "heads // x.shape[1]"),
)

# ------------------------------------------------------------------------------ step 5: RMSNorm

add(
    "rms_norm",
    "eps is added to the sum of the squares, before the division by d. It belongs to the mean",
    "Look at eps: first the mean, then eps.",
    ("mean_square + eps", "mean_square + eps / x.shape[-1]"),
)
add(
    "rms_norm",
    "eps is a lower limit of the mean (maximum). It must be added",
    "Look at eps: add it.",
    ("np.sqrt(mean_square + eps)", "np.sqrt(np.maximum(mean_square, eps))"),
)
add(
    "rms_norm",
    "the weight is applied with @, which sums each token to one number. Multiply number by number",
    "Look at the product with the weight: `*`.",
    ("* weight", "@ weight"),
)
add(
    "rms_norm",
    "it returns the root mean square, not x divided by it",
    "Look at the last line: where is x?",
    ("x / np.sqrt(mean_square + eps)", "np.sqrt(mean_square + eps)"),
)

# ------------------------------------------------------------------------------- step 6: SwiGLU

rewrite(
    "swiglu",
    "the weights stand on the left (gate @ x), which is right only for a single vector",
    "Tokens are rows: a linear layer is x @ W.T.",
    """
    z = gate @ x
    return down @ (z / (1 + np.exp(-z)) * (up @ x))
    """,
)
rewrite(
    "swiglu",
    "the SiLU is taken of x, before the gate. It belongs behind the linear layer `gate`",
    "Look at the SiLU: its argument is x @ gate.T.",
    """
    s = x / (1 + np.exp(-x))
    return ((s @ gate.T) * (x @ up.T)) @ down.T
    """,
)
rewrite(
    "swiglu",
    "the SiLU is z exp(z) / (1 + exp(z)), which is no number for large z",
    "Use z / (1 + exp(-z)): there a large z does no harm.",
    """
    z = x @ gate.T
    return (z * np.exp(z) / (1 + np.exp(z)) * (x @ up.T)) @ down.T
    """,
)
add(
    "swiglu",
    "`gate` is used twice, and `up` not at all",
    "Look at the second linear layer.",
    ("(x @ up.T)", "(x @ gate.T)"),
)
rewrite(
    "swiglu",
    "gate and up are multiplied with @, as matrices. Multiply number by number",
    "Look at the product of the SiLU with the other: `*`.",
    """
    z = x @ gate.T
    return (z / (1 + np.exp(-z))) @ (x @ up.T).T @ down.T
    """,
)
rewrite(
    "swiglu",
    "the leading axes are flattened into one and not restored",
    "`@` works for any number of leading axes. No reshape is needed.",
    """
    x = x.reshape(-1, x.shape[-1])
    z = x @ gate.T
    return (z / (1 + np.exp(-z)) * (x @ up.T)) @ down.T
    """,
)

# --------------------------------------------------------------------------------- step 7: RoPE

add(
    "rope_frequencies",
    "the frequencies are float32. Float64 is asked for: far positions multiply the rounding",
    "Look at the dtype.",
    ("base ** (-2 * i / d_k)", "(base ** (-2 * i / d_k)).astype(np.float32)"),
)
add(
    "rope_frequencies",
    "the exponent is divided with //, so it is always a whole number",
    "Look at the division in the exponent: `/`.",
    ("-2 * i / d_k", "-2 * i // d_k"),
)
add(
    "rope_table",
    "positions and frequencies are multiplied number by number. Each position meets each frequency",
    "np.outer makes a table of all products.",
    ("np.outer(positions, frequencies)", "positions * frequencies"),
)
add(
    "rotate",
    "only the first half of the result is returned",
    "Look at the last line: join both new halves.",
    (
        "np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)",
        "a * cos - b * sin",
    ),
)
rewrite(
    "rotate",
    "x is cut into halves along the tokens (axis 1), not along the dimensions (the last axis)",
    "Look at the axis of the cut.",
    """
    cos, sin = table
    a, b = np.split(x, 2, axis=1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)
    """,
)

# -------------------------------------------------------------------------------- step 8: block

rewrite(
    "project",
    "the weights are not transposed: a linear layer is x @ W.T",
    "Look at the three products.",
    """
    q = split_heads(x @ layer["self_attn.q_proj.weight"], config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"], config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"], config["groups"])
    return rotate(q, table), rotate(k, table), v
    """,
)
# Each wrong number of heads, and a rotation before the split, ends in the same error.
rewrite(
    "project",
    "the number of heads is wrong where the vectors are split. Queries have config['heads'] heads, "
    "keys and values have config['groups'], each is split before it is rotated, and the sizes of "
    "the argument `config` are not those of the book's model (CONFIG)",
    "Look at the number of heads in each split_heads, and rotate what is split already.",
    """
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, 6)
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, 2)
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, 2)
    return rotate(q, table), rotate(k, table), v
    """,
)
add(
    "mix",
    "the heads are averaged or added up, not merged, so o_proj does not fit",
    "Look at the results of the heads: merge_heads puts them side by side.",
    ("merge_heads(heads)", "heads.mean(axis=0)"),
)

# ----------------------------------------------------------------- step 9: the file and the model

rewrite(
    "encode",
    "the bytes are one element of the list: a list in a list. Each byte is an element of its own",
    "Join two lists with +, or write [START, *…].",
    "return [START, list(text.encode())]",
)
rewrite(
    "encode",
    "the list holds bytes objects, one for each letter. It must hold integers",
    "list(text.encode()) is a list of integers already.",
    "return [START] + [letter.encode() for letter in text]",
)
rewrite(
    "encode",
    "START is put into bytes, but a byte is at most 255",
    "Make a list of integers first.",
    "return list(bytes([START]) + text.encode())",
)
add(
    "read_weights",
    'the first key of the JSON is always left out. Only "__metadata__" is no array',
    "Look at which key is skipped.",
    ("header.items():", "list(header.items())[1:]:"),
)
add(
    "read_weights",
    "the length n is read from too few bytes. It has 8, and a long JSON needs more than two",
    "Look at the slice for n: data[:8].",
    ("data[:8]", "data[:2]"),
)
rewrite(
    "layer_weights",
    "the prefix has no dot at its end, so layer 1 also takes the weights of layers 10 and 11",
    "Look at the prefix: it ends with a dot.",
    """
    prefix = f"layers.{index}"
    return {name[len(prefix) + 1 :]: w for name, w in weights.items() if name.startswith(prefix)}
    """,
)
rewrite(
    "layer_weights",
    "lstrip takes away letters, not a prefix, and eats the beginning of some names",
    "removeprefix takes away a prefix.",
    """
    prefix = f"layers.{index}."
    return {name.lstrip(prefix): w for name, w in weights.items() if name.startswith(prefix)}
    """,
)
rewrite(
    "layer_weights",
    "nothing is found. Perhaps a part of the name, which is text, is compared with a number",
    "Look at the comparison: str(index) is a text.",
    "return {}",
)
rewrite(
    "layer_weights",
    "one part too many of the name is cut off",
    'Look at the names: "layers.3.mlp.up_proj.weight" is "mlp.up_proj.weight" of layer 3.',
    """
    prefix = f"layers.{index}."
    named = {}
    for name, weight in weights.items():
        if name.startswith(prefix):
            named[".".join(name.split(".")[3:])] = weight
    return named
    """,
)
add(
    "forward",
    "the columns of the embedding are taken, not its rows",
    "Look at the embedding: row t belongs to token t, so there is no transpose.",
    ("x = embedding[tokens]", "x = embedding.T[tokens]"),
    ("x @ embedding.T", "x @ embedding"),
)
rewrite(
    "forward",
    "the sizes are those of the book's model (CONFIG). Read them from the argument `config`",
    "Look at the loop and the blocks: config, in small letters.",
    """
    config = {"layers": 6, "heads": 6, "groups": 2, "d_k": 32, "eps": 1e-5}
    N = len(tokens)
    table = rope_table(np.arange(N), *rope)
    x = weights["embed_tokens.weight"][tokens]
    for index in range(config["layers"]):
        x = block(x, layer_weights(weights, index), table, causal_mask(N, N), config)
    x = rms_norm(x, weights["norm.weight"], config["eps"])
    return x @ weights["embed_tokens.weight"].T
    """,
)
add(
    "forward",
    "the likeliest tokens are returned (argmax), not the logits",
    "Look at the last line.",
    ("return x @ embedding.T", "return np.argmax(x @ embedding.T, axis=-1)"),
)

# ------------------------------------------------------------------------------- step 10: cache

add(
    "new_cache",
    "the list is one dictionary too short",
    "Look at the range: range(n) has n numbers.",
    ("range(config", "range(1, config"),
)
add(
    "new_cache",
    "the dictionaries are not empty: they begin with arrays",
    "An empty dictionary is {}.",
    (
        "{} for",
        '{"k": np.zeros((config["groups"], 1, config["d_k"])), '
        '"v": np.zeros((config["groups"], 1, config["d_k"]))} for',
    ),
)
add(
    "new_cache",
    "it is a dictionary with the numbers of the layers, not a list of dictionaries",
    "Look at the outer brackets.",
    ('[{} for _ in range(config["layers"])]', '{i: {} for i in range(config["layers"])}'),
)
KEEP = '    kept["k"] = k\n    kept["v"] = v\n'
OLD_VALUES = 'v = np.concatenate((kept["v"], v), axis=1)'
add(
    "cached_block",
    "the cache grows, but the queries look at the new tokens only",
    "Look at what `mix` gets: all keys and values, old and new.",
    ("    if kept:\n", "    new_k, new_v = k, v\n    if kept:\n"),
    (KEEP, KEEP + "    k, v = new_k, new_v\n"),
)
add(
    "cached_block",
    "the queries look at the old tokens only, because the new ones are added too late",
    "Look at what `mix` gets: all keys and values, old and new.",
    ("    if kept:\n", "    old = dict(kept)\n    if kept:\n"),
    (KEEP, KEEP + '    if old:\n        k, v = old["k"], old["v"]\n'),
)
add(
    "cached_block",
    "the old keys are put before the new values",
    "Look at the line that joins the values.",
    ('k = np.concatenate((kept["k"], k), axis=1)', "pass"),
    (
        OLD_VALUES,
        'v = np.concatenate((kept["k"], v), axis=1)\n'
        '        k = np.concatenate((kept["k"], k), axis=1)',
    ),
)
add(
    "cached_block",
    'the first call fails: the dictionary is empty then, and has no "k" and no "v"',
    "Look at the first call: if the dictionary is empty, there is nothing to join.",
    ("    if kept:\n", "    if True:\n"),
)
add(
    "cached_block",
    "in the first call the new tokens are kept and then put behind themselves, so they come twice",
    "Look at the first call: if the dictionary is empty, there is nothing to join.",
    ("    if kept:\n", '    if not kept:\n        kept["k"], kept["v"] = k, v\n    if True:\n'),
)
add(
    "cached_block",
    'the dictionary keeps lists of arrays. "k" and "v" must be one array each',
    "Keep what np.concatenate returns.",
    (
        '    if kept:\n        k = np.concatenate((kept["k"], k), axis=1)\n        '
        + OLD_VALUES
        + "\n"
        + KEEP,
        '    kept.setdefault("k", []).append(k)\n    kept.setdefault("v", []).append(v)\n'
        '    k = np.concatenate(kept["k"], axis=1)\n    v = np.concatenate(kept["v"], axis=1)\n',
    ),
)
add(
    "cached_block",
    "only the last of the new tokens is kept",
    "Look at what is kept: all keys and values, not k[:, -1:].",
    (
        KEEP,
        '    old = kept["k"].shape[1] if kept else 0\n'
        '    kept["k"] = np.concatenate((k[:, :old], k[:, -1:]), axis=1)\n'
        '    kept["v"] = np.concatenate((v[:, :old], v[:, -1:]), axis=1)\n',
    ),
)
add(
    "cached_block",
    "keys and values are made of x itself, not of its normalized copy",
    "Look at what `project` gets.",
    (
        "    q, k, v = project(normalized, layer, table, config)\n",
        "    q, _, _ = project(normalized, layer, table, config)\n"
        "    _, k, v = project(x, layer, table, config)\n",
    ),
)
add(
    "cached_forward",
    "positions begin at 1, or one too late in every call",
    "Look at the positions: the first token of a text has the position 0.",
    ("np.arange(start, start + N)", "np.arange(start + 1, start + N + 1)"),
)
add(
    "cached_forward",
    "the table has the positions of all tokens, old and new. It needs those of the new ones",
    "Look at the positions: they begin with the number of tokens in the cache.",
    ("np.arange(start, start + N)", "np.arange(start + N)"),
)
add(
    "cached_forward",
    "the layers use one another's dictionaries: layer i needs cache[i]",
    "Look at the loop over the layers.",
    ("cache[index])", "cache[index - 1])"),
)
add(
    "cached_forward",
    "the number of old tokens is taken for the number of entries of the cache, which counts layers",
    "Look at the number of tokens in the cache.",
    ('cache[0]["k"].shape[1]', "len(cache)"),
)
add(
    "cached_forward",
    "the cache is emptied at the beginning of every call",
    "Look at the cache: what it has must stay.",
    (
        "    N = len(tokens)\n",
        "    for kept in cache:\n        kept.clear()\n    N = len(tokens)\n",
    ),
)
add(
    "cached_forward",
    'the first call fails: the dictionaries are empty then, and have no "k"',
    "Look at the number of old tokens: 0, if the dictionary is empty.",
    ('cache[0]["k"].shape[1] if cache[0] else 0', 'cache[0]["k"].shape[1]'),
)
rewrite(
    "cached_forward",
    "the number of old tokens is read in the loop, after layer 0 has added the new ones",
    "Read the number of old tokens once, before the loop.",
    """
    N = len(tokens)
    x = weights["embed_tokens.weight"][tokens]
    for index in range(config["layers"]):
        start = cache[0]["k"].shape[1] if cache[0] else 0
        table = rope_table(np.arange(start, start + N), *rope)
        old = cache[index]["k"].shape[1] if cache[index] else 0
        mask = causal_mask(N, old + N)
        layer = layer_weights(weights, index)
        x = cached_block(x, layer, table, mask, config, cache[index])
    x = rms_norm(x, weights["norm.weight"], config["eps"])
    return x @ weights["embed_tokens.weight"].T
    """,
)
add(
    "cached_forward",
    "only the last of the tokens is read, as if the cache already had the others",
    "Look at the embedding: all new tokens, not tokens[-1:].",
    ("    N = len(tokens)\n", "    tokens = tokens[-1:]\n    N = len(tokens)\n"),
)

# ---------------------------------------------------------------------------- step 11: sampling

GREEDY = "greedy[np.argmax(logits)] = 1"
SOFTMAX = "p = softmax(logits[order] / temperature)"
add(
    "probabilities",
    "a temperature of 0 returns the largest logit. Its probability is 1",
    "Look at the temperature 0.",
    (GREEDY, "greedy[np.argmax(logits)] = logits.max()"),
)
add(
    "probabilities",
    "the temperature divides twice",
    "Look at the temperature: it divides the logits once.",
    (SOFTMAX, "p = softmax(logits[order] / temperature / temperature)"),
)
add(
    "probabilities",
    "top_k = 0 lets no token stay. It means that all stay",
    "Look at top_k: 0 is a case of its own.",
    (
        "    if top_k > 0:\n        order = order[:top_k]\n    " + SOFTMAX,
        "    kept = order[:top_k]\n    cut = np.full(len(logits), -np.inf)\n"
        "    cut[kept] = logits[kept]\n    logits = cut\n    " + SOFTMAX,
    ),
)
FULL_START = """
    if temperature == 0:
        greedy = np.zeros(len(logits))
        greedy[np.argmax(logits)] = 1
        return greedy
    z = logits / temperature
"""
FULL_TOP_K = """
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
"""
rewrite(
    "probabilities",
    "argsort gives places, not ranks: its entry is the token that has this rank",
    "Look at argsort: np.argsort(-z)[:top_k] are the tokens that stay.",
    FULL_START
    + """
    if top_k > 0:
        z = np.where(np.argsort(-z) < top_k, z, -np.inf)
    p = softmax(z)
    order = np.argsort(-p)
    before = np.cumsum(p[order]) - p[order]
    p[order] = np.where(before < top_p, p[order], 0)
    return p / p.sum()
    """,
)
add(
    "probabilities",
    "a sum that is equal to top_p is not enough, so one token too many stays there",
    "Look at the comparison with top_p: top_p or more.",
    ("before < top_p", "before <= top_p"),
)
rewrite(
    "probabilities",
    "top_p is taken for a threshold of single probabilities (1 - top_p). It is compared with a sum",
    "Look at top_p: it is compared with a sum.",
    FULL_START
    + FULL_TOP_K
    + """
    if top_p < 1:
        p = np.where(p >= min(1 - top_p, p.max()), p, 0)
    return p / p.sum()
    """,
)
rewrite(
    "probabilities",
    "the sum for top_p begins with the unlikeliest tokens",
    "Look at the order of argsort: it begins with the smallest.",
    FULL_START
    + FULL_TOP_K
    + """
    if top_p < 1:
        order = np.argsort(p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
    """,
)
rewrite(
    "probabilities",
    "with top_p the result is in the order of the ranks. It must be in the order of the tokens",
    "Look at the result: each probability belongs to the place of its token.",
    FULL_START
    + FULL_TOP_K
    + """
    if top_p < 1:
        p = np.sort(p)[::-1]
        before = np.cumsum(p) - p
        p = np.where(before < top_p, p, 0)
    return p / p.sum()
    """,
)
add(
    "probabilities",
    "it returns the logarithms of the probabilities",
    "Look at the last line.",
    ("    return chances\n", "    return np.log(chances)\n"),
)
add(
    "probabilities",
    "it returns the logarithms of the probabilities",
    "Look at the last line.",
    (GREEDY, GREEDY + "\n        return np.log(greedy)"),
    ("    return chances\n", "    return np.log(chances)\n"),
)
add(
    "sample",
    "top_k and top_p are passed in the wrong order",
    "Look at the arguments: temperature, top_k, top_p.",
    ("top_k, top_p)\n    return", "top_p, top_k)\n    return"),
)
add(
    "sample",
    "all tokens that stay are equally likely: the probabilities are not used",
    "Look at random.choice: it takes probabilities as p=…",
    ("random.choice(len(p), p=p)", "random.choice(np.flatnonzero(p))"),
)
add(
    "sample",
    "the probabilities go through a softmax once more",
    "`probabilities` has done the softmax.",
    ("random.choice(len(p), p=p)", "random.choice(len(p), p=softmax(p))"),
)
rewrite(
    "sample",
    "a new random number is drawn for every token, so early tokens are favoured",
    "Draw one random number, and compare it with the cumulative sums.",
    """
    p = probabilities(logits, temperature, top_k, top_p)
    for token in range(len(p)):
        if random.random() < p[token]:
            return token
    return int(np.argmax(p))
    """,
)
add(
    "generate",
    "one token is made even if count is 0",
    "Look at the loop: with count = 0 it must not begin.",
    ("range(count)", "range(max(count, 1))"),
)
add(
    "generate",
    "the last token of the prompt is read twice",
    "Look at what the first round reads.",
    (
        "    unread = list(tokens)\n",
        "    cached_forward(tokens, weights, config, rope, cache)\n    unread = [tokens[-1]]\n",
    ),
)
rewrite(
    "generate",
    "all tokens are drawn before the first is given. Yield each as soon as it is drawn",
    "Look at the yield: it belongs into the loop.",
    """
    cache = new_cache(config)
    unread = list(tokens)
    made = []
    for _ in range(count):
        logits = cached_forward(unread, weights, config, rope, cache)
        token = sample(logits[-1], random, temperature, top_k, top_p)
        made.append(token)
        unread = [token]
    yield from made
    """,
)
add(
    "generate",
    "the loop is one token behind: it reads the token before the one that was drawn",
    "Look at what each round reads: the token drawn last.",
    ("    unread = list(tokens)\n", "    unread = list(tokens)\n    late = tokens[-1]\n"),
    ("        unread = [token]\n", "        unread = [late]\n        late = token\n"),
)
add(
    "generate",
    "the new token is read as a number. It must be in a list: [token]",
    "Look at the tokens for the next round: a list.",
    ("unread = [token]", "unread = token"),
)
add(
    "generate",
    "all rows of the logits go to `sample`. It needs the last row alone",
    "Look at the logits: logits[-1].",
    ("logits[-1]", "logits"),
)

# ------------------------------------------------------------------------------ step 12: longer

add(
    "kept_share",
    "`slow` is not subtracted from the turns",
    "Look at the ramp: it is 0 at `slow` turns.",
    ("(turns - slow) / (fast - slow)", "turns / (fast - slow)"),
)
add(
    "kept_share",
    "`slow` is not subtracted: the ramp is turns / fast",
    "Look at the ramp: it is 0 at `slow` turns and 1 at `fast` turns.",
    ("(turns - slow) / (fast - slow)", "turns / fast"),
)
rewrite(
    "kept_share",
    "the ramp runs over the numbers of the pairs, not over their turns",
    "Look at the ramp: it is linear in the turns.",
    """
    turns = length * frequencies / (2 * np.pi)
    first = np.sum(turns >= fast)
    last = np.sum(turns > slow)
    return np.clip((last - np.arange(len(turns))) / max(last - first, 1), 0, 1)
    """,
)
rewrite(
    "kept_share",
    "the ramp is bent (smoothstep). It must be linear",
    "Look at the last line: the clip is enough.",
    """
    turns = length * frequencies / (2 * np.pi)
    t = np.clip((turns - slow) / (fast - slow), 0, 1)
    return t * t * (3 - 2 * t)
    """,
)
FACTOR = "factor = 0.1 * np.log(scale) + 1"
add(
    "yarn",
    "the logarithm has a 1 too many: the factor takes ln(1 + scale) (np.log1p)",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * np.log1p(scale) + 1"),
)
add(
    "yarn",
    "the scale itself is returned as the factor",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = scale"),
)
add(
    "yarn",
    "it returns the shares, not the frequencies",
    "Look at the result: frequencies, factor.",
    ("return stretched, factor", "return share, factor"),
)
add(
    "yarn",
    "the scale is passed to kept_share as the length",
    "Look at the arguments of kept_share: frequencies, length.",
    ("kept_share(frequencies, length)", "kept_share(frequencies, scale)"),
)
rewrite(
    "yarn",
    "the scale is blended, not the frequency: it divides by share + (1 - share) * scale",
    "Look at the formula: share * frequency + (1 - share) * frequency / scale.",
    """
    share = kept_share(frequencies, length)
    factor = 0.1 * np.log(scale) + 1
    return frequencies / (share + (1 - share) * scale), factor
    """,
)
