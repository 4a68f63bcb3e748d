"""The cache: the equations of the page, executed against the library where it has them."""

from functools import partial

import pytest
import torch

from attention_to_rope import KeyValueCache, attention, causal_mask
from bookcheck.equations.checks import equation, sentences
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS
from bookkit.seconds import Gpu, cache_bytes, decode_step_seconds, weights_bytes
from shared import library_scores, sizes, tensor
from shared_counts import matrix_operations
from shared_many_heads import D_K, G, N, layer_of, matrices, run, some_sizes, split, without


@equation("eq-prefix-output", first_index=0)
def test_prefix_output(rng):
    q, k, v = (rng.normal(size=(N, D_K)) for _ in range(3))
    o = attention(tensor(q), tensor(k), tensor(v), mask=causal_mask(N)).numpy()
    return {"S": library_scores(q, k), "v": v, "o": o, "m": range(N)}


def grouped(rng):
    """Layers of the library that share keys and values: what they hold and compute."""
    shape, (B, L), cases = some_sizes(rng), sizes(rng, 6, 3), []
    N, h, d, d_k = (shape[name] for name in ("N", "h", "d", "d_k"))
    rounded = ((1, torch.float32), (shape["g"], torch.bfloat16))
    for g, dtype in (*rounded, (shape["g"], torch.float64), (h, torch.float64)):
        layer = layer_of(rng, h, kv_heads=g, join=False, d=d)
        X, (W_Q, W_K, W_V, _) = rng.normal(size=(N, d)), matrices(layer)
        many = tensor(rng.normal(size=(B, N, d))).to(dtype)
        _, cache = layer.to(dtype).extend(many, KeyValueCache())
        held = cache.keys.nbytes + cache.values.nbytes
        q, k = (torch.ones(h, rows, d_k) for rows in (1, N))
        counts = {r"\text{bytes}": L * held, r"T_{\text{cache}}": held / B}
        counts |= {r"F_{\text{core}}": matrix_operations(partial(attention, q, k, k))}
        counts |= {"P": sum(p.numel() for p in layer.parameters()), "w": dtype.itemsize}
        per_head = run(layer.double(), X).reshape(N, h, d_k).transpose(1, 0, 2)
        given = {"Q": X @ split(W_Q, h), "K": X @ split(W_K, g), "V": X @ split(W_V, g)}
        given |= {"H": per_head, r"\operatorname{group}": lambda j, g=g: j // (h // g)}
        every = {"B": B, "L": L, "j": range(h)}
        cases.append({**shape, "g": g, **counts, **given, **every})
    return cases


def of_any_width(rng):
    """Without the width of the model: heads of any width may be beside it."""
    return [without(case, "d") for case in grouped(rng)]


test_cache_bytes = equation("eq-cache-bytes")(grouped)
RATIO = dict.fromkeys(
    (
        r"exchange everywhere: F_{\text{core}} ↔ g",
        r"exchange everywhere: F_{\text{core}} ↔ w",
        r"exchange everywhere: T_{\text{cache}} ↔ h",
    ),
    "The equation is only multiplied by one symbol and divided by the other.",
)
test_intensity = equation(
    "eq-intensity", equivalent=RATIO, symbols=r"N, h, g, d_k, T_{\text{cache}}, F_{\text{core}}, w"
)(of_any_width)
test_grouped_head = equation("eq-grouped-head", first_index=0)(lambda rng: of_any_width(rng)[2:])
test_grouped_parameters = equation("eq-grouped-parameters", symbols="g, d, d_k, P")(
    lambda rng: [without(case, "h") for case in grouped(rng)]
)


@equation("eq-step-seconds")
def test_step_seconds(rng):
    """What the page computes; below the turn, also what the library of the pages computes."""
    cells = [cell.source for cell in cells_of(CHAPTERS / "cache.ipynb")]
    (source,) = [cell for cell in cells if "def step_seconds" in cell]
    function = "def step_seconds" + source.partition("def step_seconds")[2].partition("\n\n\n")[0]
    tokens = int(rng.integers(2, 50))
    parameters = int(rng.integers(1000, 2000))
    layers = [{"count": 3, "kv_heads": G, "head_dim": D_K}]
    names = {
        "peak": float(rng.uniform(20e3, 80e3)),
        "bandwidth": float(rng.uniform(1e3, 2e3)),
        "parameters": parameters,
        "cache": cache_bytes(layers, tokens),
    }
    exec(function, names)
    gpu = Gpu("random", names["bandwidth"], 1e9, {"bfloat16": names["peak"]}, {})
    known = {"parameters": parameters, "layers": layers, "heads": G, "tokens": tokens}
    one = decode_step_seconds(gpu, **known, batch=1)
    assert names["step_seconds"](1) == pytest.approx(one)
    cases = []
    for batch in (1, 5, 100, 400):  # arithmetic takes over at peak / bandwidth, 10 to 80
        case = {r"\text{seconds}": names["step_seconds"](batch), "B": batch, "P": parameters}
        case |= {r"\text{weights}": weights_bytes(parameters), r"\text{peak}": names["peak"]}
        case |= {rf"\text{{{name}}}": names[name] for name in ("bandwidth", "cache")}
        # The page's weights have 2 bytes each; with any other number only their reading changes.
        size = float(rng.uniform(0.5, 4))
        weights = size * parameters
        other = max(2 * batch * parameters / names["peak"], weights / names["bandwidth"])
        other += batch * names["cache"] / names["bandwidth"]
        cases += [case, {**case, r"\text{weights}": weights, r"\text{seconds}": other}]
    return cases


def one_token(rng):
    """The bytes that the library keeps of one token in bfloat16, for heads of 64 dimensions."""
    g = int(rng.integers(2, 9))
    held = KeyValueCache().append(*torch.zeros(2, 1, g, 1, 64, dtype=torch.bfloat16))
    return {"g": g, "d_k": 64, "w": 2, "M": held.keys.nbytes + held.values.nbytes}


test_sentences = sentences(
    "cache",
    first_index=0,
    where={"so it keeps them: …": grouped, "the bytes are …": one_token},
    names={"so it keeps them: …": r"\text{bytes}"},
    numbers={"the bytes are …": "2, d_k, w, M / g"},
)(lambda rng: grouped(rng)[2])
