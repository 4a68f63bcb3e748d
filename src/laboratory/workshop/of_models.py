"""Mistakes in steps 9 to 12: the model, the cache, sampling, longer contexts."""

from laboratory.workshop.changing import Mistake, adder

MISTAKES: list[Mistake] = []
add = adder(MISTAKES)

# ------------------------------------------------------------------------- the file and the model
add(
    "encode",
    "the start token is missing. The model has never seen a text without it",
    "Look at the first token.",
    ("[START, *text.encode()]", "list(text.encode())"),
)
add(
    "encode",
    "it takes the numbers of the letters (ord), not the bytes of the text in UTF-8",
    'Look at letters such as "é", which have two bytes.',
    ("*text.encode()", "*map(ord, text)"),
)
add(
    "encode",
    "it takes another encoding than UTF-8",
    'Look at letters such as "é", which have two bytes.',
    ("text.encode()", 'text.encode("utf-16")'),
)
add(
    "encode",
    "the text is encoded as Latin-1, which has no letter for some signs. The book uses UTF-8",
    'Look at letters such as "é", which have two bytes.',
    ("text.encode()", 'text.encode("latin-1", errors="replace")'),
)
add(
    "encode",
    "letters that are no ASCII are lost",
    'Look at letters such as "é", which have two bytes.',
    ("text.encode()", 'text.encode("ascii", errors="ignore")'),
)
add(
    "encode",
    "the start token is at the end",
    "Look at the place of START.",
    ("[START, *text.encode()]", "[*text.encode(), START]"),
)
add(
    "encode",
    "there is a start token at both ends",
    "Look at the place of START: once, at the beginning.",
    ("[START, *text.encode()]", "[START, *text.encode(), START]"),
)
add(
    "encode",
    "the start token is 0, but START is 256",
    "Look at the first token.",
    ("[START,", "[0,"),
)
add(
    "encode",
    "the start token is there twice",
    "Look at the first token.",
    ("[START,", "[START, START,"),
)
PLACES = "numbers = np.frombuffer(arrays[start:end], dtype)"
add(
    "read_weights",
    "the shapes are turned around: arrays are transposed",
    "Look at the shape.",
    ('numbers.reshape(entry["shape"])', 'numbers.reshape(entry["shape"]).T'),
)
add(
    "read_weights",
    "the shapes are read backwards, so rows and columns are mixed",
    "Look at the shape.",
    ('numbers.reshape(entry["shape"])', 'numbers.reshape(entry["shape"][::-1])'),
)
add(
    "read_weights",
    "the numbers of an array fill columns, not rows (Fortran order)",
    "Look at the reshape.",
    ('numbers.reshape(entry["shape"])', 'numbers.reshape(entry["shape"], order="F")'),
)
add(
    "read_weights",
    "the arrays keep only one axis: the shape is not used",
    "Look at the shape.",
    ('numbers.reshape(entry["shape"])', "numbers"),
)
add(
    "read_weights",
    "arrays are read one after the other. Their offsets say where they lie",
    "Look at the offsets.",
    (
        'start, end = entry["data_offsets"]',
        'start, end = entry["data_offsets"]\n'
        "        start, end = (position, position + end - start)\n"
        "        position = end",
    ),
    ("weights = {}", "weights = {}\n    position = 0"),
)
add(
    "read_weights",
    "offsets are counted from the beginning of the file, not from the end of the JSON",
    "Look at where the arrays begin.",
    ("arrays = data[8 + size :]", "arrays = data"),
)
add(
    "read_weights",
    "offsets are counted from byte 8, the beginning of the JSON, not from its end",
    "Look at where the arrays begin.",
    ("arrays = data[8 + size :]", "arrays = data[8:]"),
)
add(
    "read_weights",
    "the 8 bytes before the JSON are forgotten: the arrays begin 8 bytes too early",
    "Look at where the arrays begin.",
    ("arrays = data[8 + size :]", "arrays = data[size:]"),
)
add(
    "read_weights",
    "the JSON begins at byte 8, not at byte 0",
    "Look at where the JSON begins.",
    ("data[8 : 8 + size]", "data[:size]"),
)
add(
    "read_weights",
    "the JSON ends at byte 8 + n, not at byte n",
    "Look at where the JSON ends.",
    ("data[8 : 8 + size]", "data[8:size]"),
)
add(
    "read_weights",
    "the length n is read with the bytes in the wrong order (big-endian)",
    "Look at the first 8 bytes.",
    ('"little"', '"big"'),
)
add(
    "read_weights",
    'the key "__metadata__" is taken for an array',
    "Look at the loop over the names.",
    ('if name == "__metadata__":', 'if name == "__nothing__":'),
)
add(
    "read_weights",
    "all arrays are read as F16. The entry says which dtype it is",
    "Look at the dtype.",
    ('{"F16": "<f2", "F32": "<f4"}[entry["dtype"]]', '"<f2"'),
)
add(
    "read_weights",
    "all arrays are read as F32. The entry says which dtype it is",
    "Look at the dtype.",
    ('{"F16": "<f2", "F32": "<f4"}[entry["dtype"]]', '"<f4"'),
)
add(
    "read_weights",
    "the bytes of a number are read in the wrong order (big-endian)",
    "Look at the dtype.",
    ('{"F16": "<f2", "F32": "<f4"}', '{"F16": ">f2", "F32": ">f4"}'),
)
add(
    "read_weights",
    "F16 is read as integers",
    "Look at the dtype.",
    ('"F16": "<f2"', '"F16": "<i2"'),
)
add(
    "read_weights",
    "the arrays stay in half precision: they are not converted to float32",
    "Look at the dtype of the result.",
    (".astype(np.float32)", ""),
)
add(
    "read_weights",
    "the arrays are converted to float64, not to float32",
    "Look at the dtype of the result.",
    (".astype(np.float32)", ".astype(np.float64)"),
)
add(
    "read_weights",
    "the second offset is taken for a length. It is the end",
    "Look at the offsets.",
    ("arrays[start:end]", "arrays[start : start + end]"),
)
add(
    "read_weights",
    "only the first array is returned: `return` is inside the loop",
    "Look at the indentation of return.",
    (
        ".astype(np.float32)\n",
        ".astype(np.float32)\n        return weights\n",
    ),
)
add(
    "layer_weights",
    "the names keep their prefix, such as layers.3.",
    "Look at the names of the result.",
    ("name.removeprefix(prefix)", "name"),
)
add(
    "layer_weights",
    "layer 1 also gets layers 10 and 11: the prefix lacks its last dot",
    'Look at the prefix: "layers.1" is also the beginning of "layers.10".',
    ('f"layers.{index}."', 'f"layers.{index}"'),
)
add(
    "layer_weights",
    "layer 1 also gets layers 10 and 11: the prefix lacks its last dot, which is removed later",
    'Look at the prefix: "layers.1" is also the beginning of "layers.10".',
    ('f"layers.{index}."', 'f"layers.{index}"'),
    ("name.removeprefix(prefix)", 'name.removeprefix(prefix + ".")'),
)
add(
    "layer_weights",
    "layers count from 0: it takes the layer after this one",
    "Look at the prefix.",
    ('f"layers.{index}."', 'f"layers.{index + 1}."'),
)
add(
    "layer_weights",
    "layers count from 0: it takes the layer before this one",
    "Look at the prefix.",
    ('f"layers.{index}."', 'f"layers.{index - 1}."'),
)
add(
    "layer_weights",
    "weights that belong to no layer are not left out",
    "Look at which names stay.",
    ("if name.startswith(prefix):", 'if name.startswith(prefix) or "layers" not in name:'),
)
add(
    "layer_weights",
    "weights of other layers are not left out",
    "Look at which names stay.",
    ("if name.startswith(prefix):", "if True:"),
)
add(
    "layer_weights",
    "every layer gets the weights of layer 0",
    "Look at the prefix.",
    ('f"layers.{index}."', '"layers.0."'),
)
add(
    "layer_weights",
    "the names are cut at a fixed length, which is wrong from layer 10 on",
    "Look at how the prefix is removed.",
    ("name.removeprefix(prefix)", "name[9:]"),
)
add(
    "layer_weights",
    "the names keep a dot at the beginning",
    "Look at how the prefix is removed.",
    ("name.removeprefix(prefix)", 'name.removeprefix(f"layers.{index}")'),
)
add(
    "layer_weights",
    "only the last part of a name stays, so several weights have the same name",
    "Look at how the prefix is removed.",
    ("name.removeprefix(prefix)", 'name.split(".")[-1]'),
)
NORM = 'x = rms_norm(x, weights["norm.weight"], config["eps"])'
for name, block in (("forward", "block"), ("cached_forward", "cached_block")):
    add(
        name,
        "the last norm (norm.weight) is missing",
        "Look at what comes after the layers.",
        (NORM, "x = x + 0"),
    )
    add(
        name,
        "the last norm comes before the layers, not after them",
        "Look at what comes after the layers.",
        (NORM, "x = x + 0"),
        ("x = embedding[tokens]", f"x = embedding[tokens]\n    {NORM}"),
    )
    add(
        name,
        "the last norm is inside the loop, after each layer",
        "Look at the indentation of the norm.",
        (NORM, f"    {NORM}"),
    )
    add(
        name,
        "the last norm has no weight",
        "Look at the last norm.",
        (NORM, 'x = rms_norm(x, np.ones(x.shape[-1]), config["eps"])'),
    )
    add(
        name,
        "one layer is missing",
        "Look at the loop over the layers.",
        ('range(config["layers"])', 'range(config["layers"] - 1)'),
    )
    add(
        name,
        "the first layer is missing",
        "Look at the loop over the layers: they count from 0.",
        ('range(config["layers"])', 'range(1, config["layers"])'),
    )
    add(
        name,
        "the layers come in the wrong order",
        "Look at the loop over the layers.",
        ('range(config["layers"])', 'reversed(range(config["layers"]))'),
    )
    add(
        name,
        "every layer has the weights of the first one",
        "Look at the loop over the layers.",
        ("layer_weights(weights, index)", "layer_weights(weights, 0)"),
    )
    add(
        name,
        "it always takes 6 layers. config['layers'] says how many there are",
        "Look at the loop over the layers.",
        ('range(config["layers"])', "range(6)"),
    )
    add(
        name,
        "only one layer is run",
        "Look at the loop over the layers.",
        ('range(config["layers"])', "range(1)"),
    )
    add(
        name,
        "each layer reads the embeddings, not the result of the layer before",
        "Look at the loop over the layers.",
        ("x = embedding[tokens]", "start_x = embedding[tokens]\n    x = start_x"),
        (f"x = {block}(x,", f"x = {block}(start_x,"),
    )
    add(
        name,
        "the last step is missing: the result is the normalized vectors, not the logits",
        "Look at the last line.",
        ("return x @ embedding.T", "return x"),
    )
    add(
        name,
        "the result is probabilities: there is a softmax too many",
        "Look at the last line: logits are plain dot products.",
        ("return x @ embedding.T", "return softmax(x @ embedding.T)"),
    )
    add(
        name,
        "only the logits of the last token are returned",
        "Look at the last line: there is a row for each token.",
        ("return x @ embedding.T", "return (x @ embedding.T)[-1]"),
    )
    add(
        name,
        "only the row of the last token is returned",
        "Look at the last line: there is a row for each token.",
        ("return x @ embedding.T", "return (x @ embedding.T)[-1:]"),
    )
    add(
        name,
        "the factor of rope is not used",
        "Look at the table: it takes the factor too.",
        ("frequencies, factor)", "frequencies)"),
    )
    add(
        name,
        "the embeddings are multiplied by the root of d, as in the first Transformer. Ours are not",
        "Look at the embeddings.",
        ("x = embedding[tokens]", "x = embedding[tokens] * embedding.shape[1] ** 0.5"),
    )
    add(
        name,
        "eps is a number of its own, not config['eps']",
        "Look at the last norm.",
        (NORM, NORM.replace('config["eps"]', "1e-5")),
    )
    add(
        name,
        "eps is a number of its own, not config['eps']",
        "Look at the last norm.",
        (NORM, NORM.replace('config["eps"]', "1e-6")),
    )
    add(
        name,
        "there is a softmax over the vectors before the logits",
        "Look at what comes after the layers.",
        ("return x @ embedding.T", "return softmax(x) @ embedding.T"),
    )
    add(
        name,
        "the frequencies are computed again with base 10,000. They are an argument",
        "Look at the frequencies.",
        (
            "frequencies, factor = rope",
            'factor = rope[1]\n    frequencies = rope_frequencies(config["d_k"])',
        ),
    )
add(
    "forward",
    "positions run backwards",
    "Look at the positions.",
    ("np.arange(N), frequencies", "np.arange(N)[::-1], frequencies"),
)
add(
    "forward",
    "all tokens have the same position",
    "Look at the positions.",
    ("np.arange(N), frequencies", "np.zeros(N), frequencies"),
)
add(
    "forward",
    "all tokens have the same position",
    "Look at the positions.",
    ("np.arange(N), frequencies", "np.full(N, N), frequencies"),
)
add(
    "forward",
    "positions are the tokens themselves",
    "Look at the positions.",
    ("np.arange(N), frequencies", "np.asarray(tokens), frequencies"),
)
add(
    "forward",
    "there is no mask: each token sees the tokens after it",
    "Look at the mask.",
    ("causal_mask(N, N)", "np.ones((N, N), dtype=bool)"),
)
add(
    "forward",
    "the mask is turned around or transposed",
    "Look at the mask.",
    ("causal_mask(N, N)", "causal_mask(N, N).T"),
)
add(
    "forward",
    "the start token is put before the tokens here too. That is the task of encode",
    "Look at the first lines.",
    ("N = len(tokens)", "tokens = [0, *tokens]\n    N = len(tokens)"),
)

# ----------------------------------------------------------------------------------------- cache
add(
    "new_cache",
    "all layers share one dictionary: [{}] * n repeats the same one",
    "Look at how the list is made: each layer needs a dictionary of its own.",
    ('[{} for _ in range(config["layers"])]', '[{}] * config["layers"]'),
)
add(
    "new_cache",
    "there is only one dictionary. Each layer needs one of its own",
    "Look at the length of the list.",
    ('[{} for _ in range(config["layers"])]', "[{}]"),
)
add(
    "new_cache",
    "it is a dictionary, not a list of dictionaries",
    "Look at the result: one dictionary for each layer, in a list.",
    ('[{} for _ in range(config["layers"])]', "{}"),
)
add(
    "new_cache",
    "it always has 6 layers. config['layers'] says how many there are",
    "Look at the length of the list.",
    ('range(config["layers"])', "range(6)"),
)
add(
    "new_cache",
    "the list is empty",
    "Look at the length of the list.",
    ('[{} for _ in range(config["layers"])]', "[]"),
)
add(
    "new_cache",
    "the dictionaries are not empty: they have keys without arrays",
    "Look at the dictionaries: they are empty before the first token.",
    ("[{} for", '[{"k": None, "v": None} for'),
)
add(
    "new_cache",
    "there is a dictionary for each head, not for each layer",
    "Look at the length of the list.",
    ('range(config["layers"])', 'range(config["heads"])'),
)
add(
    "new_cache",
    "the entries are None, not empty dictionaries",
    "Look at the entries.",
    ("[{} for", "[None for"),
)
add(
    "new_cache",
    "there is one dictionary too many",
    "Look at the length of the list.",
    ('range(config["layers"])', 'range(config["layers"] + 1)'),
)
OLD_FIRST = "Look at the order: old keys first, then the new ones."
CONCATENATE_K = 'k = np.concatenate((kept["k"], k), axis=1)'
CONCATENATE_V = 'v = np.concatenate((kept["v"], v), axis=1)'
add(
    "cached_block",
    "new keys and values are put before the old ones",
    OLD_FIRST,
    (CONCATENATE_K, 'k = np.concatenate((k, kept["k"]), axis=1)'),
    (CONCATENATE_V, 'v = np.concatenate((v, kept["v"]), axis=1)'),
)
add(
    "cached_block",
    "new keys are put before the old ones, but values behind them",
    OLD_FIRST,
    (CONCATENATE_K, 'k = np.concatenate((k, kept["k"]), axis=1)'),
)
add(
    "cached_block",
    "new values are put before the old ones, but keys behind them",
    OLD_FIRST,
    (CONCATENATE_V, 'v = np.concatenate((v, kept["v"]), axis=1)'),
)
add(
    "cached_block",
    "keys and values are joined along the heads (axis 0), not along the tokens",
    "Look at the axis: (g, N_k, d_k).",
    (CONCATENATE_K, 'k = np.concatenate((kept["k"], k), axis=0)'),
    (CONCATENATE_V, 'v = np.concatenate((kept["v"], v), axis=0)'),
)
add(
    "cached_block",
    "keys and values are joined along the dimensions (axis -1), not along the tokens",
    "Look at the axis: (g, N_k, d_k).",
    (CONCATENATE_K, 'k = np.concatenate((kept["k"], k), axis=-1)'),
    (CONCATENATE_V, 'v = np.concatenate((kept["v"], v), axis=-1)'),
)
add(
    "cached_block",
    "the dictionary keeps nothing for the next call. (kept = {…} makes another dictionary)",
    "Look at what is kept for the next call.",
    ('kept["k"] = k\n    kept["v"] = v', "k = k + 0"),
)
add(
    "cached_block",
    "the dictionary keeps nothing for the next call. (kept = {…} makes another dictionary)",
    "Look at what is kept: kept = {…} makes another dictionary.",
    ('kept["k"] = k\n    kept["v"] = v', 'kept = {"k": k, "v": v}'),
)
add(
    "cached_block",
    "only the keys and values of the new tokens are kept, and the old ones are lost",
    "Look at what is kept for the next call.",
    ("    if kept:\n", '    new = {"k": k, "v": v}\n    if kept:\n'),
    ('kept["k"] = k\n    kept["v"] = v', "kept.update(new)"),
)
add(
    "cached_block",
    "the old keys and values are kept, but the new tokens do not look at them",
    "Look at what the attention gets.",
    (
        "mix(q, k, v, mask, layer, config)",
        "mix(q, k[:, -len(x):], v[:, -len(x):], mask[:, -len(x):], layer, config)",
    ),
)
add(
    "cached_block",
    "the first call is kept and later ones are not: the dictionary never grows",
    "Look at what is kept for the next call.",
    (
        '    kept["k"] = k\n    kept["v"] = v',
        '    kept.setdefault("k", k)\n    kept.setdefault("v", v)',
    ),
)
add(
    "cached_block",
    "keys and values are exchanged in the dictionary",
    'Look at the names: "k" has the keys, "v" the values.',
    ('kept["k"] = k\n    kept["v"] = v', 'kept["k"] = v\n    kept["v"] = k'),
)
UNROTATED = (
    'unrotated = split_heads(normalized @ layer["self_attn.k_proj.weight"].T, config["groups"])'
)
add(
    "cached_block",
    "the keys are kept without their rotation",
    "Look at what is kept: keys are rotated once, when they are new.",
    ("    if kept:\n", f"    {UNROTATED}\n    if kept:\n"),
    (
        CONCATENATE_K,
        f'{CONCATENATE_K}\n        unrotated = np.concatenate((kept["k"], unrotated), axis=1)',
    ),
    ('kept["k"] = k\n', 'kept["k"] = unrotated\n'),
)
add(
    "cached_block",
    "the old keys are rotated again in every call",
    "Look at what is rotated: keys are rotated once, when they are new.",
    (
        CONCATENATE_K,
        'k = np.concatenate((rotate(kept["k"], (table[0][:1], table[1][:1])), k), axis=1)',
    ),
)
add(
    "cached_block",
    "keys and values are kept after they were repeated for all query heads",
    "Look at what is kept: g heads, not h.",
    (
        'kept["k"] = k\n    kept["v"] = v',
        'kept["k"] = repeat_groups(k, config["heads"])\n'
        '    kept["v"] = repeat_groups(v, config["heads"])\n'
        '    k, v = kept["k"], kept["v"]',
    ),
    (CONCATENATE_K, 'k = np.concatenate((kept["k"], repeat_groups(k, config["heads"])), axis=1)'),
    (CONCATENATE_V, 'v = np.concatenate((kept["v"], repeat_groups(v, config["heads"])), axis=1)'),
)
add(
    "cached_block",
    "the mask is not used: it makes one of its own",
    "Look at the mask: it is an argument.",
    ("v, mask, layer", "v, np.ones_like(mask), layer"),
)
add(
    "cached_block",
    "old keys and values are not joined with the new ones",
    "Look at how old and new keys are joined.",
    (CONCATENATE_K, "k = k + 0"),
    (CONCATENATE_V, "v = v + 0"),
)
add(
    "cached_block",
    "the values are not joined, only the keys",
    "Look at the values.",
    (CONCATENATE_V, "v = v + 0"),
)
add(
    "cached_block",
    "the last key of the cache is left out",
    "Look at how old and new keys are joined.",
    (CONCATENATE_K, 'k = np.concatenate((kept["k"][:, :-1], k), axis=1)'),
    (CONCATENATE_V, 'v = np.concatenate((kept["v"][:, :-1], v), axis=1)'),
)
POSITIONS = "np.arange(start, start + N)"
add(
    "cached_forward",
    "positions restart at 0 in every call. New tokens follow those in the cache",
    "Look at the positions: how many tokens does the cache have?",
    (POSITIONS, "np.arange(N)"),
)
add(
    "cached_forward",
    "positions are one too late in every call but the first",
    "Look at the positions: the first new token has as many before it as the cache has.",
    (POSITIONS, "np.arange(start, start + N) + (start > 0)"),
)
add(
    "cached_forward",
    "positions are one too early in every call but the first",
    "Look at the positions: the first new token has as many before it as the cache has.",
    (POSITIONS, "np.arange(start, start + N) - (start > 0)"),
)
add(
    "cached_forward",
    "all new tokens have the same position, the number of tokens before them",
    "Look at the positions: one for each new token.",
    (POSITIONS, "np.full(N, start)"),
)
add(
    "cached_forward",
    "all new tokens have the position of the last one",
    "Look at the positions: one for each new token.",
    (POSITIONS, "np.full(N, start + N - 1)"),
)
add(
    "cached_forward",
    "the mask is aligned at the top left: new tokens cannot see all old ones",
    "Look at the mask: the last query belongs to the last key.",
    ("causal_mask(N, start + N)", "np.tri(N, start + N, dtype=bool)"),
)
add(
    "cached_forward",
    "there is no mask: new tokens see the new tokens after them",
    "Look at the mask: several new tokens may not see one another's future.",
    ("causal_mask(N, start + N)", "np.ones((N, start + N), dtype=bool)"),
)
add(
    "cached_forward",
    "the mask has no columns for the old tokens",
    "Look at the mask: (N, N_k), where N_k counts old and new tokens.",
    ("causal_mask(N, start + N)", "causal_mask(N, N)"),
)
add(
    "cached_forward",
    "the mask hides the old tokens: only new ones can be seen",
    "Look at the mask: each token may look at all old ones.",
    (
        "causal_mask(N, start + N)",
        "np.concatenate((np.zeros((N, start), dtype=bool), causal_mask(N, N)), axis=1)",
    ),
)
add(
    "cached_forward",
    "all layers use the dictionary of the first layer",
    "Look at the loop: each layer has its own entry of the cache.",
    ("config, cache[index])", "config, cache[0])"),
)
add(
    "cached_forward",
    "nothing is remembered: after the call, the cache has no new tokens",
    "Look at the cache: it is an argument and is changed.",
    ("N = len(tokens)", "cache = new_cache(config)\n    N = len(tokens)"),
)
add(
    "cached_forward",
    "nothing is remembered: after the call, the cache has no new tokens",
    "Look at the cache: it is an argument and is changed.",
    ("N = len(tokens)", "cache = [dict(one) for one in cache]\n    N = len(tokens)"),
)
add(
    "cached_forward",
    "the number of old tokens is read from the wrong axis: (g, N_k, d_k)",
    "Look at the number of tokens in the cache.",
    ('cache[0]["k"].shape[1]', 'cache[0]["k"].shape[0]'),
)
add(
    "cached_forward",
    "the number of old tokens is read from the wrong axis: (g, N_k, d_k)",
    "Look at the number of tokens in the cache.",
    ('cache[0]["k"].shape[1]', 'len(cache[0]["k"])'),
)
add(
    "cached_forward",
    "the number of old tokens is read from the last axis, which is d_k",
    "Look at the number of tokens in the cache.",
    ('cache[0]["k"].shape[1]', 'cache[0]["k"].shape[-1]'),
)
add(
    "cached_forward",
    "the number of old tokens is taken for the number of entries of the cache, which counts layers",
    "Look at the number of tokens in the cache.",
    ('cache[0]["k"].shape[1] if cache[0] else 0', "len(cache)"),
)
add(
    "cached_forward",
    "nothing is remembered: after the call, the cache has no new tokens",
    "Look at the loop over the layers.",
    (
        "cached_block(x, layer, table, mask, config, cache[index])",
        "block(x, layer, table, causal_mask(N, N), config)",
    ),
)
add(
    "cached_forward",
    "the length is read inside the loop, where earlier layers have already grown, or the positions "
    "count the new tokens twice",
    "Look at the positions.",
    (POSITIONS, "np.arange(start + N, start + 2 * N)"),
)

# -------------------------------------------------------------------------------------- sampling
SCALED = "softmax(logits[order] / temperature)"
add(
    "probabilities",
    "the logits are multiplied by the temperature, not divided by it",
    "Look at the temperature: a low one makes the likeliest token likelier.",
    (SCALED, "softmax(logits[order] * temperature)"),
)
add(
    "probabilities",
    "the temperature comes after the softmax, where it does not change the shares",
    "Look at the order: temperature first, then softmax.",
    (SCALED, "softmax(logits[order]) / temperature"),
)
add(
    "probabilities",
    "the temperature comes after the softmax: probabilities are raised to a power without the "
    "division by their sum",
    "Look at the order: temperature first, then softmax.",
    (SCALED, "softmax(logits[order]) ** (1 / temperature)"),
    ("p / p.sum()", "p"),
)
add(
    "probabilities",
    "the temperature has no effect: it is not used, or only after the softmax",
    "Look at the temperature.",
    (SCALED, "softmax(logits[order])"),
)
add(
    "probabilities",
    "the order is ascending: the least likely tokens stay",
    "Look at the order of argsort: it begins with the smallest.",
    ("np.argsort(-logits)", "np.argsort(logits)"),
)
add(
    "probabilities",
    "the result is in the order of the ranks: the likeliest comes first. It must be in the order of "
    "the tokens",
    "Look at the last lines: which token has which rank?",
    ("chances[order] = p / p.sum()", "chances[: len(p)] = p / p.sum()"),
)
add(
    "probabilities",
    "top_k is not used",
    "Look at top_k.",
    ("order = order[:top_k]", "order = order[:]"),
)
add(
    "probabilities",
    "one token too many stays with top_k",
    "Look at top_k.",
    ("order[:top_k]", "order[: top_k + 1]"),
)
add(
    "probabilities",
    "one token too few stays with top_k",
    "Look at top_k.",
    ("order[:top_k]", "order[: max(top_k - 1, 1)]"),
)
add(
    "probabilities",
    "top_k takes the first tokens, not the likeliest",
    "Look at top_k.",
    (
        "order = np.argsort(-logits)",
        "order = np.arange(len(logits))\n    ranked = np.argsort(-logits)",
    ),
    ("p = softmax(", "order = ranked if top_k == 0 else order\n    p = softmax("),
)
add(
    "probabilities",
    "the token that crosses top_p is left out, so the probabilities that stay sum to less than top_p",
    "Look at top_p: as few as possible, but their sum is top_p or more.",
    ("before < top_p", "before + p <= top_p"),
)
add(
    "probabilities",
    "the token that crosses top_p is left out, so the probabilities that stay sum to less than "
    "top_p; the likeliest token always stays",
    "Look at top_p: as few as possible, but their sum is top_p or more.",
    ("before < top_p", "(before + p <= top_p) | (before == 0)"),
)
add(
    "probabilities",
    "one token too many stays with top_p",
    "Look at top_p: as few as possible.",
    ("before < top_p", "before - np.append(0, p[:-1]) < top_p"),
)
add(
    "probabilities",
    "top_p is not used",
    "Look at top_p.",
    ("before < top_p", "before < 2"),
)
add(
    "probabilities",
    "top_p is taken for a threshold of each single probability",
    "Look at top_p: it is compared with a sum.",
    ("before < top_p", "p > top_p"),
)
add(
    "probabilities",
    "top_p keeps tokens with a probability above 1 - top_p: a threshold of single ones",
    "Look at top_p: it is compared with a sum.",
    ("before < top_p", "p >= 1 - top_p"),
)
add(
    "probabilities",
    "top_p keeps the unlikely tokens: those behind the sum",
    "Look at the comparison with top_p.",
    ("before < top_p", "before >= top_p"),
)
add(
    "probabilities",
    "what stays is not divided by its sum after top_p",
    "Look at the last lines: probabilities sum to 1.",
    ("p / p.sum()", "p"),
)
add(
    "probabilities",
    "what stays after top_p goes through a second softmax",
    "Look at the last lines: divide by the sum.",
    ("p / p.sum()", "np.where(p > 0, np.exp(p), 0) / np.where(p > 0, np.exp(p), 0).sum()"),
)
add(
    "probabilities",
    "top_p comes before top_k, on the probabilities of all tokens",
    "Look at the order: temperature, top_k, softmax, top_p.",
    ("    if top_k > 0:\n        order = order[:top_k]\n", ""),
    (
        "    chances = np.zeros(len(logits))\n",
        "    p = p[:top_k] if top_k > 0 else p\n    order = order[: len(p)]\n    chances = np.zeros(len(logits))\n",
    ),
)
add(
    "probabilities",
    "top_k and top_p are taken at temperature 1, and the temperature comes last",
    "Look at the order: temperature, top_k, softmax, top_p.",
    (SCALED, "softmax(logits[order])"),
    (
        "chances[order] = p / p.sum()",
        "p = np.where(p > 0, p ** (1 / temperature), 0)\n    chances[order] = p / p.sum()",
    ),
)
add(
    "probabilities",
    "a temperature of 0 divides by 0",
    "Look at the temperature 0.",
    ("if temperature == 0:", "if temperature is None:"),
)
add(
    "probabilities",
    "a temperature of 0 gives all tokens the same probability",
    "Look at the temperature 0.",
    ("greedy[np.argmax(logits)] = 1", "greedy[:] = 1 / len(logits)"),
)
add(
    "probabilities",
    "a temperature of 0 is taken for 1",
    "Look at the temperature 0.",
    ("if temperature == 0:", "temperature = temperature or 1.0\n    if temperature == 0:"),
)
add(
    "probabilities",
    "a temperature of 0 takes the least likely token",
    "Look at the temperature 0.",
    ("np.argmax", "np.argmin"),
)
add(
    "probabilities",
    "a temperature of 0 returns the token, not probabilities",
    "Look at the temperature 0: the result has the shape (V,).",
    ("return greedy", "return np.argmax(logits)"),
)
add(
    "probabilities",
    "the softmax runs over all tokens before top_k, and what stays is not divided by its sum",
    "Look at the order: temperature, top_k, softmax, top_p.",
    ("    if top_k > 0:\n        order = order[:top_k]\n", ""),
    (
        "chances[order] = p / p.sum()",
        "p = p / p.sum()\n    p = p[:top_k] if top_k > 0 else p\n    chances[order[: len(p)]] = p",
    ),
)
add(
    "probabilities",
    "tokens that do not stay get a logit of 0, so they still have a probability",
    "Look at what happens to the tokens that do not stay.",
    (
        "    if top_k > 0:\n        order = order[:top_k]\n",
        "    scaled = logits[order] / temperature\n    if top_k > 0:\n        scaled = np.where(np.arange(len(order)) < top_k, scaled, 0)\n",
    ),
    (SCALED, "softmax(scaled)"),
)
add(
    "probabilities",
    "only the tokens that stay are returned. The result must have an entry for each token",
    "Look at the shape of the result: (V,).",
    ("    return chances", "    return chances[chances > 0]"),
)
add(
    "probabilities",
    "the exponential is taken without the maximum, so large logits overflow",
    "Look at the softmax: use your function of step 1.",
    (SCALED, "np.exp(logits[order] / temperature) / np.exp(logits[order] / temperature).sum()"),
)
add(
    "probabilities",
    "it returns the logits divided by the temperature, without the softmax",
    "Look at the softmax.",
    (SCALED, "logits[order] / temperature"),
    ("p / p.sum()", "p"),
)
add(
    "probabilities",
    "the cumulative sum runs over tokens that are not sorted",
    "Look at top_p: the likeliest tokens first.",
    (
        "order = np.argsort(-logits)",
        "order = np.argsort(-logits) if top_k else np.arange(len(logits))",
    ),
)
add(
    "sample",
    "float32 logits fail: NumPy wants probabilities that sum to 1 more exactly than float32 can",
    "Look at the dtype: convert the logits, or the probabilities before their last division.",
    ("    return", "    p = p.astype(logits.dtype).astype(float)\n    return"),
)
DRAW = "int(random.choice(len(p), p=p))"
add(
    "sample",
    "all tokens are equally likely: the probabilities are not used",
    "Look at the draw.",
    (DRAW, "int(random.choice(len(p)))"),
)
add(
    "sample",
    "it always takes the likeliest token and never draws",
    "Look at the draw.",
    (DRAW, "int(np.argmax(p))"),
)
add(
    "sample",
    "it draws from NumPy's global generator, not from `random`: the same seed gives other texts",
    "Look at the draw: use the argument `random`.",
    (DRAW, "int(np.random.choice(len(p), p=p))"),
)
add(
    "sample",
    "it makes a generator of its own, so every draw is the same",
    "Look at the draw: use the argument `random`.",
    (DRAW, "int(np.random.default_rng(0).choice(len(p), p=p))"),
)
add(
    "sample",
    "the rank is taken for the token: 0 means the likeliest, not token 0",
    "Look at the draw: which token has this rank?",
    (DRAW, "int(random.choice(len(p), p=np.sort(p)[::-1]))"),
)
add(
    "sample",
    "the rank is taken for the token, counted from the least likely",
    "Look at the draw: which token has this rank?",
    (DRAW, "int(random.choice(len(p), p=np.sort(p)))"),
)
add(
    "sample",
    "the temperature is not passed on",
    "Look at the arguments of probabilities.",
    ("temperature, top_k, top_p)", "1.0, top_k, top_p)"),
)
add(
    "sample",
    "top_k and top_p are not passed on",
    "Look at the arguments of probabilities.",
    ("probabilities(logits, temperature, top_k, top_p)", "probabilities(logits, temperature)"),
)
add(
    "sample",
    "no setting is passed on",
    "Look at the arguments of probabilities.",
    ("probabilities(logits, temperature, top_k, top_p)", "probabilities(logits)"),
)
add(
    "sample",
    "top_k is not passed on",
    "Look at the arguments of probabilities.",
    ("temperature, top_k, top_p)", "temperature, 0, top_p)"),
)
add(
    "sample",
    "top_p is not passed on",
    "Look at the arguments of probabilities.",
    ("temperature, top_k, top_p)", "temperature, top_k)"),
)
add(
    "sample",
    "it returns a probability, not a token",
    "Look at the result: an int.",
    (DRAW, "p[random.choice(len(p), p=p)]"),
)
add(
    "sample",
    "it returns a probability, not a token",
    "Look at the result: an int.",
    (DRAW, "random.choice(p)"),
)
add(
    "sample",
    "it returns an array with one entry, not an int",
    "Look at the result: an int.",
    (DRAW, "random.choice(len(p), size=1, p=p)"),
)
add(
    "sample",
    "the token drawn is one too high",
    "Look at the draw and the cumulative sum.",
    (DRAW, "min(int(random.choice(len(p), p=p)) + 1, len(p) - 1)"),
)
add(
    "sample",
    "the token drawn is one too low",
    "Look at the draw and the cumulative sum.",
    (DRAW, "max(int(random.choice(len(p), p=p)) - 1, 0)"),
)
add(
    "sample",
    "the random number is compared with single probabilities, not with their cumulative sum",
    "Look at the draw and the cumulative sum.",
    (DRAW, "int(np.argmax(p > random.random()))"),
)
add(
    "sample",
    "the cumulative sum is compared the wrong way round, so it is always the first token",
    "Look at the draw and the cumulative sum.",
    (DRAW, "int(np.argmax(np.cumsum(p) < random.random()))"),
)
LOGITS = "logits = cached_forward(unread, weights, config, rope, cache)"
add(
    "generate",
    "it reads the whole text again in every step, although the cache has it already",
    "Look at what is read: only the new token.",
    ("unread = [token]", "unread = unread + [token]"),
)
add(
    "generate",
    "it reads the prompt again in every step, not the new token",
    "Look at what is read after the first step.",
    ("unread = [token]", "unread = list(tokens)"),
)
add(
    "generate",
    "the cache is made anew in every step, so only the last token is seen",
    "Look at where the cache is made.",
    (LOGITS, "cache = new_cache(config)\n        " + LOGITS),
)
add(
    "generate",
    "it takes the logits of the first token, not those after the last one",
    "Look at which row of the logits is used.",
    ("logits[-1]", "logits[0]"),
)
add(
    "generate",
    "it takes the logits of the last token but one",
    "Look at which row of the logits is used.",
    ("logits[-1]", "logits[-2 if len(logits) > 1 else -1]"),
)
add(
    "generate",
    "it makes one token too many",
    "Look at the loop.",
    ("range(count)", "range(count + 1)"),
)
add(
    "generate",
    "it makes one token too few",
    "Look at the loop.",
    ("range(count)", "range(count - 1)"),
)
add(
    "generate",
    "it also yields the tokens of the prompt",
    "Look at what is yielded: the new tokens only.",
    ("    unread = list(tokens)\n", "    unread = list(tokens)\n    yield from tokens\n"),
)
add(
    "generate",
    "only the last token of the prompt is read",
    "Look at what is read in the first step.",
    ("unread = list(tokens)", "unread = list(tokens)[-1:]"),
)
add(
    "generate",
    "the last token of the prompt is not read",
    "Look at what is read in the first step.",
    ("unread = list(tokens)", "unread = list(tokens)[:-1] or list(tokens)"),
)
add(
    "generate",
    "the settings of the sampling are not passed on",
    "Look at the arguments of sample.",
    (", random, temperature, top_k, top_p)", ", random)"),
)
add(
    "generate",
    "top_k and top_p are not passed on",
    "Look at the arguments of sample.",
    ("temperature, top_k, top_p)", "temperature)"),
)
add(
    "generate",
    "top_p is not passed on",
    "Look at the arguments of sample.",
    ("temperature, top_k, top_p)", "temperature, top_k)"),
)
add(
    "generate",
    "top_k is not passed on",
    "Look at the arguments of sample.",
    ("temperature, top_k, top_p)", "temperature, 0, top_p)"),
)
add(
    "generate",
    "the temperature is not passed on",
    "Look at the arguments of sample.",
    ("temperature, top_k, top_p)", "1.0, top_k, top_p)"),
)
add(
    "generate",
    "it returns a list at the end. With yield, readers see each token as soon as it is drawn",
    "Look at yield.",
    ("    cache = new_cache(config)\n", "    made = []\n    cache = new_cache(config)\n"),
    (
        "        yield token\n        unread = [token]",
        "        made.append(token)\n        unread = [token]\n    return made",
    ),
)
add(
    "generate",
    "it returns prompt and new tokens in a list. Only the new ones are wanted, one at a time",
    "Look at yield.",
    ("    cache = new_cache(config)\n", "    made = list(tokens)\n    cache = new_cache(config)\n"),
    (
        "        yield token\n        unread = [token]",
        "        made.append(token)\n        unread = [token]\n    return made",
    ),
)
add(
    "generate",
    "it stops after the first token: `return` is inside the loop",
    "Look at the end of the loop.",
    ("        unread = [token]", "        return"),
)
add(
    "generate",
    "it makes a generator of its own, so all texts are the same",
    "Look at the draw: use the argument `random`.",
    ("logits[-1], random", "logits[-1], np.random.default_rng(0)"),
)
add(
    "generate",
    "the new token is not read: every step draws from the same logits",
    "Look at what is read after the first step.",
    (LOGITS, "logits = cached_forward(unread, weights, config, rope, new_cache(config))"),
    ("unread = [token]", "unread = unread + []"),
)
add(
    "generate",
    "it yields lists or arrays. Each time it must yield one token, an int",
    "Look at yield.",
    ("yield token", "yield [token]"),
)

# ---------------------------------------------------------------------------------------- longer
SHARE = "np.clip((turns - slow) / (fast - slow), 0, 1)"
RAMP = "Look at the ramp: 0 at `slow` turns, 1 at `fast` turns."
add(
    "kept_share",
    "the ramp is reversed: pairs with many turns must keep their frequency, not those with few",
    RAMP,
    (SHARE, f"1 - {SHARE}"),
)
add(
    "kept_share",
    "shares go below 0 and above 1: they are not clipped",
    RAMP,
    (SHARE, "(turns - slow) / (fast - slow)"),
)
add(
    "kept_share",
    "the 2 pi is missing: it counts radians, not turns",
    "Look at the number of turns.",
    ("length * frequencies / (2 * np.pi)", "length * frequencies"),
)
add(
    "kept_share",
    "brackets are missing: it multiplies by pi and divides by 2",
    "Look at the brackets around 2 pi.",
    ("/ (2 * np.pi)", "/ 2 * np.pi"),
)
add(
    "kept_share",
    "it divides by pi, not by 2 pi",
    "Look at the number of turns.",
    ("(2 * np.pi)", "np.pi"),
)
add(
    "kept_share",
    "it multiplies by 2 pi, where it should divide",
    "Look at the number of turns.",
    ("/ (2 * np.pi)", "* (2 * np.pi)"),
)
add(
    "kept_share",
    "it takes the wavelength, 2 pi / frequency, for the number of turns",
    "Look at the number of turns.",
    ("length * frequencies / (2 * np.pi)", "2 * np.pi / frequencies"),
)
add(
    "kept_share",
    "the number of turns is upside down: 2 pi / (length * frequency)",
    "Look at the number of turns.",
    ("length * frequencies / (2 * np.pi)", "2 * np.pi / (length * frequencies)"),
)
add(
    "kept_share",
    "the length is not used",
    "Look at the number of turns.",
    ("length * frequencies", "frequencies"),
)
add(
    "kept_share",
    "the ramp ends too late: it divides by `fast`, not by fast - slow",
    RAMP,
    (SHARE, "np.clip((turns - slow) / fast, 0, 1)"),
)
add(
    "kept_share",
    "the ramp begins at 0 turns: it is turns / fast",
    RAMP,
    (SHARE, "np.clip(turns / fast, 0, 1)"),
)
add(
    "kept_share",
    "there is a step in place of a ramp, at `fast` turns. Perhaps slow and fast are exchanged",
    RAMP,
    (SHARE, "np.where(turns >= fast, 1.0, 0.0)"),
)
add(
    "kept_share",
    "there is a step in place of a ramp, at `slow` turns",
    RAMP,
    (SHARE, "np.where(turns >= slow, 1.0, 0.0)"),
)
add(
    "kept_share",
    "the ramp is reversed: pairs with many turns must keep their frequency, not those with few",
    RAMP,
    (SHARE, "np.clip((turns - fast) / (slow - fast), 0, 1)"),
)
add(
    "kept_share",
    "slow and fast are always 1 and 32, not the arguments",
    "Look at slow and fast.",
    (SHARE, "np.clip((turns - 1) / (32 - 1), 0, 1)"),
)
add(
    "kept_share",
    "the ramp is linear in the logarithm of the turns (or in the index of the pair)",
    RAMP,
    (SHARE, "np.clip(np.log(turns / slow) / np.log(fast / slow), 0, 1)"),
)
add(
    "kept_share",
    "it returns the turns, not the shares",
    RAMP,
    (SHARE, "turns"),
)
add(
    "kept_share",
    "all pairs keep everything",
    RAMP,
    (SHARE, "np.ones(len(turns))"),
)
add(
    "kept_share",
    "the share grows beyond 1: the clip has no upper limit",
    RAMP,
    (SHARE, "np.maximum((turns - slow) / (fast - slow), 0)"),
)
add(
    "kept_share",
    "the share falls below 0: the clip has no lower limit",
    RAMP,
    (SHARE, "np.minimum((turns - slow) / (fast - slow), 1)"),
)
BLEND = "stretched = share * frequencies + (1 - share) * frequencies / scale"
FACTOR = "factor = 0.1 * np.log(scale) + 1"
add(
    "yarn",
    "all frequencies are divided by the scale (position interpolation)",
    "Look at the shares: fast pairs keep their frequency.",
    (BLEND, "stretched = frequencies / scale"),
)
add(
    "yarn",
    "the frequencies do not change",
    "Look at the shares.",
    (BLEND, "stretched = frequencies"),
)
add(
    "yarn",
    "share and 1 - share are exchanged: fast pairs are divided by the scale, slow ones kept",
    "Look at the shares: fast pairs keep their frequency.",
    (BLEND, "stretched = (1 - share) * frequencies + share * frequencies / scale"),
)
add(
    "yarn",
    "frequencies are multiplied by the scale, not divided by it",
    "Look at the scale: slow pairs become slower.",
    (BLEND, "stretched = share * frequencies + (1 - share) * frequencies * scale"),
)
add(
    "yarn",
    "the part of a frequency that is not kept is lost, not divided by the scale",
    "Look at the second part of the sum.",
    (BLEND, "stretched = share * frequencies"),
)
add(
    "yarn",
    "the second part of the sum is not divided by the scale",
    "Look at the second part of the sum.",
    (BLEND, "stretched = share * frequencies + (1 - share) / scale"),
)
add(
    "yarn",
    "all frequencies are divided by the scale (position interpolation)",
    "Look at the brackets.",
    (BLEND, "stretched = (share * frequencies + (1 - share) * frequencies) / scale"),
)
add(
    "yarn",
    "the second part has no share: frequencies / scale is added whole",
    "Look at the second part of the sum.",
    (BLEND, "stretched = share * frequencies + frequencies / scale"),
)
add(
    "yarn",
    "the new length is taken for the length in training",
    "Look at the length: it is that of the training.",
    ("kept_share(frequencies, length)", "kept_share(frequencies, length * scale)"),
)
add(
    "yarn",
    "the length is divided by the scale: it is already that of the training",
    "Look at the length.",
    ("kept_share(frequencies, length)", "kept_share(frequencies, length / scale)"),
)
add(
    "yarn",
    "the factor is always 1",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 1.0"),
)
add(
    "yarn",
    "the 1 of the factor is missing",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * np.log(scale)"),
)
add(
    "yarn",
    "the 0.1 of the factor is missing",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = np.log(scale) + 1"),
)
add(
    "yarn",
    "the factor takes the logarithm to base 10, not the natural one",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * np.log10(scale) + 1"),
)
add(
    "yarn",
    "the factor takes the logarithm to base 2, not the natural one",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * np.log2(scale) + 1"),
)
add(
    "yarn",
    "the factor is squared. The table multiplies queries and keys, so it is squared there already",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = (0.1 * np.log(scale) + 1) ** 2"),
)
add(
    "yarn",
    "the factor has no logarithm",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * scale + 1"),
)
add(
    "yarn",
    "brackets are missing in the factor: it is 0.1 ln(scale + 1)",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * np.log(scale + 1)"),
)
add(
    "yarn",
    "the factor multiplies 0.1 by ln(scale) + 1: brackets are in the wrong place",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 0.1 * (np.log(scale) + 1)"),
)
add(
    "yarn",
    "the factor is upside down",
    "Look at the factor: 0.1 ln(scale) + 1.",
    (FACTOR, "factor = 1 / (0.1 * np.log(scale) + 1)"),
)
add(
    "yarn",
    "only the frequencies are returned, without the factor",
    "Look at the result: two values.",
    ("return stretched, factor", "return stretched"),
)
add(
    "yarn",
    "the factor already multiplies the frequencies",
    "Look at the result: two values, apart.",
    ("return stretched, factor", "return stretched * factor, factor"),
)
add(
    "yarn",
    "factor and frequencies come in the wrong order",
    "Look at the result: frequencies, factor.",
    ("return stretched, factor", "return factor, stretched"),
)
add(
    "yarn",
    "the base is changed (NTK-aware), in place of shares for each pair",
    "Look at the shares: use kept_share.",
    (
        BLEND,
        "stretched = frequencies * scale ** (-np.arange(len(frequencies)) / (len(frequencies) - 1))",
    ),
)
