"""Interactive figures: their numbers are the library's; controls, keys and dragging move them."""

import functools
import itertools
import math
import re

import pytest
import torch
from playwright.sync_api import expect

import attention_to_rope as a2r
from attention_to_rope import context_extension as extend
from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps
from attention_to_rope.scaled_dot_product import saturation, softmax_jacobian_norm
from bookformat.paths import STATIC
from bookkit.models import read_models
from bookkit.randomness import normal
from bookkit.seconds import cache_bytes as bytes_of_cache
from bookkit.seconds import (
    least_seconds,
    model_parameters,
    multiplied_parameters,
    read_gpu,
    ridge_operations_per_byte,
    weights_bytes,
)
from bookkit.tickets import OUTWARD, embed
from booksite.widgets import run_widgets, widget_names
from moments import wait_until_drawn

pytestmark = pytest.mark.long
double = torch.float64


# What each figure must show, by the library


def rotation(m, n, theta):
    def turned(x, position):
        frequency = torch.tensor([theta], dtype=double)
        table = a2r.rotary_table(torch.tensor([position]), frequency, dtype=double)
        return a2r.rotate(torch.tensor([x], dtype=double), table, layout="interleaved")[0]

    q, k, relative = turned([2.0, 1.0], m), turned([1.0, 2.0], n), turned([1.0, 2.0], n - m)
    return {"q": q, "k": k, "relative": relative, "score": q @ k, "offset": n - m}


def clocks(m, d, base):
    theta = a2r.rotary_frequencies(d, base)
    row = a2r.sinusoidal(torch.tensor([m]), d, base, dtype=double)[0]
    return {"theta": theta, "wavelength": 2 * math.pi / theta, "row": row}


def mask(m, factor, mask):
    X = embed(OUTWARD)
    seen = {
        "none": torch.ones(4, 4, dtype=torch.bool),
        "causal": a2r.causal_mask(4),
        "padding": a2r.padding_mask(torch.tensor([3]), 4)[0].expand(4, 4),
    }[mask]
    outputs, A = a2r.attention(factor * X, X, X, mask=seen, return_weights=True)
    scores = factor * X[m] @ X.T / 2**0.5
    parts = scores.exp() * seen[m]
    return {
        "seen": seen[m], "scores": scores, "parts": parts, "total": parts.sum(),
        "weights": A[m], "sum": A[m].sum(), "output": outputs[m],
    }  # fmt: skip


@functools.cache
def cache_bytes(layers, length, bytes_each, *shapes):
    """The bytes that `layers` caches of these (heads, size) hold after `length` tokens."""
    held = [torch.empty(1, heads, length, size, device="meta") for heads, size in shapes]
    return bytes_each * length * a2r.cache_numbers_per_token(*held * layers, length=length)


# The models of the figure, as bookkit.models names them.
CACHED = ("Llama 2-7B", "Llama 3.2-1B", "Llama 3.3-70B", "DeepSeek-V3")
MODELS = {model["name"]: model for model in read_models()}


def cache_of_model(name, *rest):
    """What the cache of a published model takes, and what it would if heads shared nothing."""
    (group,), heads = MODELS[name]["layers"], MODELS[name]["heads"]
    if "latent" in group:
        shapes = [(1, group["latent"]), (1, group["rotary"])]
        alone = [(heads, 128 + group["rotary"]), (heads, 128)]
    else:
        shapes = [(group["kv_heads"], group["head_dim"])] * 2
        alone = [(heads, group["head_dim"])] * 2
    return [cache_bytes(group["count"], *rest, *held) for held in (shapes, alone)]


def cache(way, h, g, d_k, d_c, L, N, s):
    latent = way == "latent"
    shapes = [(1, d_c), (1, 64)] if latent else [(g, d_k)] * 2
    total = cache_bytes(L, N, s, *shapes)
    own = cache_bytes(L, N, s, (h, d_k + 64 if latent else d_k), (h, d_k))
    models, alone = zip(*(cache_of_model(name, N, s) for name in CACHED), strict=True)
    return {
        "numbers": cache_bytes(1, 1, 1, *shapes), "token": total / N, "total": total, "own": own,
        "ratio": own / total, "models": models, "modelsOwn": alone,
        "group": torch.zeros(h) if latent else torch.arange(g).repeat_interleave(h // g),
    }  # fmt: skip


def counter(m):
    waves = a2r.sinusoidal(torch.tensor([m]), 12, 64.0, dtype=double)[0, 0::2]
    return {"bits": [int(bit) for bit in reversed(f"{m:06b}")], "waves": waves}


def softmax(d_k, N, divisor):
    products = normal(64, seed=2)[:N].round(decimals=3) * d_k**0.5
    p = a2r.softmax(products / {"one": 1, "root": d_k**0.5, "whole": d_k}[divisor])
    r = float(saturation(p))
    return {
        "weights": p.sort(descending=True).values, "largest": p.max(), "rest": r,
        "norm": softmax_jacobian_norm(p, "spectral"),
        "lower": N / (N - 1) * r * (1 - r), "upper": 2 * (p * (1 - p)).amax(-1),
    }  # fmt: skip


def layout(d, pair, m):
    order = a2r.layout_permutation(d, source="interleaved", target="half")
    # The partner of a dimension is found by turning a unit vector by a quarter.
    frequencies = torch.zeros(d // 2, dtype=double)
    frequencies[pair] = math.pi / 2
    table = a2r.rotary_table(torch.tensor([1]), frequencies, dtype=double)
    pairs = {}
    for name in ("interleaved", "half"):
        turned = a2r.rotate(torch.eye(d, dtype=double)[:, None], table, layout=name)[:, 0]
        pairs[f"{name}Pair"] = (turned.diagonal() < 0.5).nonzero().flatten()
    owner, theta = torch.arange(d) // 2, a2r.rotary_frequencies(d)[pair]
    return {
        "interleaved": owner, "half": owner[order], "permutation": order, **pairs,
        "theta": theta, "angle": m * theta,
    }  # fmt: skip


def wavelength(d, base, length):
    table = 2 * math.pi / a2r.rotary_frequencies(d, base)
    longest = table.max()
    return {
        "wavelength": table, "longest": longest, "incomplete": (table > length).sum(),
        "turns": length / longest,
    }  # fmt: skip


def stretch(rule, s, L_0, base, d_k):
    theta = a2r.rotary_frequencies(d_k, base)
    changed = {
        "none": lambda: theta,
        "pi": lambda: extend.position_interpolation(theta, s),
        "ntk": lambda: extend.ntk_aware(theta, s),
        "parts": lambda: extend.ntk_by_parts(theta, s, original_length=L_0),
        "llama": lambda: extend.llama3(theta, s, original_length=L_0),
        "yarn": lambda: extend.yarn(theta, s, original_length=L_0),
    }[rule]()
    nu, kappa = L_0 * theta / (2 * math.pi), theta / changed
    slow = kappa[nu < 1]
    return {
        "nu": nu, "kappa": kappa, "reached": s * L_0 * changed / (2 * math.pi), "slow": len(slow),
        "unseen": (slow < 0.999999 * s).sum(), "safe": L_0 * min([s, *slow.tolist()]),
        "fast": kappa[nu >= 1].mean(),
    }  # fmt: skip


def activation(f, x, beta):
    functions = {"relu": a2r.relu, "gelu": a2r.gelu, "tanh": a2r.gelu_tanh}
    point = torch.tensor(float(x), dtype=double, requires_grad=True)
    value = functions.get(f, lambda x: a2r.silu(x, beta))(point)
    (slope,) = torch.autograd.grad(value, point)
    value, fixed = value.detach(), point.detach()
    error = a2r.gelu_tanh(fixed) - a2r.gelu(fixed)
    return {"value": value, "slope": slope, "step": value / fixed, "error": error}


def depth(L, way):
    """The root mean squares of the chapter after L layers, and of the gradients before them."""
    grown = {"plain": 0.5**L, "residual": 1.5**L, "pre": 1 + L / 2, "post": 1.0}[way]
    last = 1 / grown if way == "pre" else 1.0
    first = last * math.prod(1 + 1 / (2 + layer) for layer in range(L)) if way == "pre" else grown
    return {"signal": grown**0.5, "first": first**0.5, "last": last**0.5}


def ticket_outputs(way, places):
    """What attention gives each word of the ticket, wherever it stands."""
    X = embed(OUTWARD)
    order = torch.tensor(places).argsort()
    placed = X[order]
    if way == "added":
        placed = placed + a2r.sinusoidal(torch.arange(4), 2, dtype=double)
    mask = a2r.causal_mask(4) if way == "mask" else None
    return a2r.attention(placed, placed, placed, mask=mask)[torch.tensor(places)]


def permute(way, places):
    now, first = ticket_outputs(way, places), ticket_outputs(way, range(4))
    return {"outputs": now, "first": first, "moved": (now - first).norm(dim=1).max()}


def reach(m, W, L, full):
    N = 16
    causal, window = a2r.causal_mask(N), a2r.causal_mask(N).triu(1 - W)
    layers = [causal if layer == full else window for layer in range(1, L + 1)]
    carried = functools.reduce(
        lambda lower, upper: upper.double() @ lower, layers, torch.eye(N, dtype=double)
    )
    known = carried[m] > 0
    scores = sum(int(layer.sum()) for layer in layers)
    counts = {"reached": known.sum(), "earlier": m + 1, "scores": scores}
    return {"known": known, **counts, "all": L * int(causal.sum())}


def online(read, block, way):
    s, v = torch.tensor([[1, 3, 4, 3, 6, 2], [10, 20, 40, 30, 50, 0]], dtype=double)
    s, v = s[: read * block], v[: read * block]
    tops = s.unflatten(0, (read, block)).amax(1).repeat_interleave(block)
    c = s.max() if way == "merge" else tops
    parts = (s - c).exp()
    total, u = parts.sum(), parts @ v
    before = s[:-block].max() if read > 1 else torch.tensor(-math.inf)
    return {
        "c": c if way == "merge" else tops[-1],
        "factor": (before - c).exp() if way == "merge" else 1.0,
        "parts": parts, "total": total, "u": u, "output": u / total,
        "softmax": torch.softmax(s, dim=0) @ v,
    }  # fmt: skip


def roofline(N, gpu, width):
    one = read_gpu({"h200": "H200 SXM", "a100": "A100 SXM 80 GB", "rtx": "RTX 4090"}[gpu])
    d, d_out = 4096, 14336
    operations = 2 * N * d * d_out
    traffic = int(width) * d * d_out + 2 * N * (d + d_out)
    arithmetic, memory = operations / one.peak(), traffic / one.bandwidth_bytes_per_second
    least = max(arithmetic, memory)
    return {
        "intensity": operations / traffic, "ridge": ridge_operations_per_byte(one),
        "arithmetic": 1e6 * arithmetic, "memory": 1e6 * memory, "least": 1e6 * least,
        "rate": operations / least / 1e12,
    }  # fmt: skip


def step(N, B, gpu):
    one = read_gpu({"h200": "H200 SXM", "a100": "A100 SXM 80 GB", "rtx": "RTX 4090"}[gpu])
    llama = MODELS["Llama 3.1-8B"]
    used, own = multiplied_parameters(llama), bytes_of_cache(llama["layers"], N)
    everything = weights_bytes(model_parameters(llama))
    weights = least_seconds(one, operations=0, traffic_bytes=weights_bytes(used))
    arithmetic = least_seconds(one, operations=2 * B * used, traffic_bytes=0)
    caches = least_seconds(one, operations=0, traffic_bytes=B * own)
    seconds = max(weights, arithmetic) + caches
    return {
        "weights": 1e3 * weights, "arithmetic": 1e3 * arithmetic, "caches": 1e3 * caches,
        "step": 1e3 * seconds, "rate": B / seconds, "needed": (everything + B * own) / 1e9,
        "memory": one.memory_bytes / 1e9, "fit": (one.memory_bytes - everything) // own,
    }  # fmt: skip


def heads(way, origin, destination):
    keys = torch.tensor([[0, 0], [1, 0], [0, 0], [0, 1]], dtype=double)
    values = torch.tensor([[0, 0], [7, -5], [0, 0], [12, 8]], dtype=double)
    q = torch.tensor([[origin, destination]], dtype=double)
    if way == "split":  # a head has one number of each query, key and value
        q, k, v = (x.T[..., None] for x in (q, keys, values))  # (2, N, 1)
        results, weights = a2r.attention(q, k, v, return_weights=True)
        results, weights = results[:, 0], weights[:, 0]
        output = results[:, 0]
    else:
        asked = q if way == "one" else q[0].diag()
        results, weights = a2r.attention(asked, keys, values, return_weights=True)
        output = results[0] if way == "one" else results.diagonal()
    error = (output - torch.tensor([7.0, 8.0], dtype=double)).abs().max()
    return {"weights": weights, "results": results, "output": output, "error": error}


def distance(scheme, j, n_b, r_max, r):
    back = torch.arange(256)  # the query is the last of 256 tokens
    if scheme == "alibi":
        slopes = a2r.alibi_slopes(8)
        bias = a2r.alibi_bias(slopes, torch.tensor([255]), 255 - back)[j - 1, 0]
        weights = a2r.softmax(bias)
        reach = (weights.cumsum(0) < 0.95).sum() + 1
        return {
            "slope": slopes[j - 1], "bias": bias[r], "weights": weights, "weight": weights[r],
            "reach": reach,
        }  # fmt: skip
    buckets = a2r.t5_bucket(-back, bidirectional=False, buckets=n_b, max_distance=r_max)
    shared = (buckets == buckets[r]).nonzero()
    last_bucket = (buckets == n_b - 1).nonzero()
    return {
        "buckets": buckets, "bucket": buckets[r], "first": shared.min(), "last": shared.max(),
        "end": last_bucket.min() if len(last_bucket) else -1,
    }  # fmt: skip


def state(rule, read, overlap, alpha, beta):
    door = torch.tensor([1, 0], dtype=double)
    roof = torch.tensor([overlap, (1 - overlap**2) ** 0.5], dtype=double)
    red, blue, green = torch.eye(3, dtype=double)
    k = torch.stack([door, roof, door])[:read]
    v = torch.stack([red, blue, green])[:read]
    rate = torch.full((read,), beta, dtype=double)
    decay = torch.full((read,), alpha, dtype=double)
    written = {
        "sum": lambda: linear_attention_steps(k, k, v),
        "decay": lambda: linear_attention_steps(k, k, v, decay=decay),
        "delta": lambda: delta_rule_steps(k, k, v, rate),
        "gated": lambda: delta_rule_steps(k, k, v, rate, decay=decay),
    }
    _, S = written[rule]()
    door_error = (door @ S - (green if read == 3 else red)).abs().max()
    roof_error = (roof @ S - blue).abs().max() if read > 1 else 0.0
    return {
        "state": S, "door": door @ S, "roof": roof @ S, "doorError": door_error,
        "roofError": roof_error, "numbers": S.numel(), "cache": k.numel() + v.numel(),
    }  # fmt: skip


def generate(mode, step):
    """Count the rows that reach the layers of a small model while it writes or learns."""
    small = a2r.Architecture(d=8, heads=2, layers=1)
    encoder = a2r.Encoder(10, small, seed=0)
    decoder = a2r.Decoder(10, small, seed=0, cross=True)
    counted = {"encoder": [], "decoder": [], "keys": []}
    layers = {
        "encoder": encoder.blocks[0].attention.query,
        "decoder": decoder.blocks[0].attention.query,
        "keys": decoder.blocks[0].cross_attention.key,
    }
    for name, layer in layers.items():
        layer.register_forward_hook(
            lambda _layer, inputs, _output, rows=counted[name]: rows.append(inputs[0].shape[1])
        )
    with torch.no_grad():
        memory = encoder(torch.tensor([[2, 5, 6]]))
        target = torch.tensor([[0, 6, 5, 2]])
        if mode == "train":
            decoder(target, memory=memory)
        elif mode == "cache":
            a2r.generate(decoder, target[:, :1], step, memory=memory)
        else:
            for length in range(1, step + 1):
                decoder(target[:, :length], memory=memory)
        rows = {name: list(lengths) for name, lengths in counted.items()}
        length = 4 if mode == "train" else step
        _, (weights,) = decoder(target[:, :length], memory=memory, return_weights=True)
    seen = weights.own[0, 0] > 0
    return {
        "encoder": sum(rows["encoder"]), "now": rows["decoder"][-1],
        "total": sum(rows["decoder"]), "keys": sum(rows["keys"]),
        "seen": seen[-1:] if mode == "cache" else seen,
    }  # fmt: skip


# The states at which the numbers are compared, as values of each control.
STATES = {
    rotation: {"m": (0, 2, 20), "n": (1, 3, 13), "theta": (0.05, 0.5, 1.0)},
    clocks: {"m": (0, 1, 77, 2000), "d": (4, 8, 16), "base": (100, 10000, 500000)},
    mask: {"m": range(4), "factor": (0.0, 0.25, 3.0), "mask": ("none", "causal", "padding")},
    cache: {
        "way": ("heads", "latent"), "h": (8, 128), "g": (1, 2, 8), "d_k": (64, 128),
        "d_c": (64, 512), "L": (1, 80), "N": (1024, 1048576), "s": (1, 2),
    },
    counter: {"m": range(64)},
    softmax: {"d_k": (4, 64, 512), "N": (2, 3, 64), "divisor": ("one", "root", "whole")},
    layout: {"d": (4, 8, 12), "pair": (0, 1), "m": (7,)},
    wavelength: {"d": (32, 128), "base": (100, 10**4, 10**7), "length": (512, 4096, 2**20)},
    stretch: {
        "rule": ("none", "pi", "ntk", "parts", "llama", "yarn"), "s": (1, 4, 64),
        "L_0": (256, 8192, 131072), "base": (1000, 10**4, 500000), "d_k": (32, 128),
    },
    activation: {
        "f": ("relu", "gelu", "tanh", "swish"), "x": (-4.0, -0.75, 0.05, 3.0),
        "beta": (0.0, 1.0, 5.0),
    },
    depth: {"L": (1, 2, 40, 100), "way": ("plain", "residual", "pre", "post")},
    permute: {"way": ("none", "mask", "added"), "places": tuple(itertools.permutations(range(4)))},
    reach: {"m": (0, 7, 15), "W": (2, 3, 8), "L": (1, 3, 5), "full": (0, 1)},
    online: {"read": (1, 2), "block": (1, 2, 3), "way": ("merge", "own")},
    heads: {
        "way": ("one", "split", "shared"), "origin": (0, 4, 9), "destination": (0, 7, 9),
    },
    distance: {
        "scheme": ("alibi", "t5"), "j": (1, 4, 8), "n_b": (8, 32, 64), "r_max": (64, 128, 256),
        "r": (0, 5, 40, 255),
    },
    state: {
        "rule": ("sum", "decay", "delta", "gated"), "read": (1, 2, 3), "overlap": (0.0, 0.28, 0.96),
        "alpha": (0.0, 0.5, 1.0), "beta": (0.0, 0.3, 1.0),
    },
    generate: {"mode": ("write", "cache", "train"), "step": (1, 2, 3, 4)},
    step: {"N": (1024, 8192, 131072), "B": (1, 64, 512), "gpu": ("h200", "a100", "rtx")},
    roofline: {"N": (1, 128, 16384), "gpu": ("h200", "a100", "rtx"), "width": ("1", "2")},
}  # fmt: skip
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
FIGURES = {figure.__name__: figure for figure in STATES}


def as_numbers(value):
    return torch.as_tensor(value, dtype=double)


def read_number(text):
    """A number as it is written for people, and half a unit of its last digit."""
    plain = text.replace("−", "-").replace(",", "").split(" of ")[0]
    amount, _, unit = plain.rpartition(" ")
    if unit in UNITS:
        size = 1024 ** UNITS.index(unit)
        return tuple(size * part for part in read_number(amount))
    mantissa, _, power = plain.partition(" × 10")
    exponent = int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))) if power else 0
    decimals = len(mantissa.partition(".")[2])
    return float(mantissa) * 10.0**exponent, 0.501 * 10.0 ** (exponent - decimals)


def as_controls(state):
    """The ticket has one control for the place of each word."""
    if "places" not in state:
        return state
    names = ("from", "beijing", "to", "shanghai")
    return {"way": state["way"], **dict(zip(names, state["places"], strict=True))}


def differences(name):
    """Name every number that a figure computes or shows and that is not the library's."""

    def ask(call, arguments):
        return run_widgets({"widget": name, "call": call, "arguments": one} for one in arguments)

    values = STATES[FIGURES[name]]
    states = [dict(zip(values, s, strict=True)) for s in itertools.product(*values.values())]
    controls = [as_controls(state) for state in states]
    computed = ask("compute", [[state] for state in controls])
    shown = ask(
        "numbers", [[state, result] for state, result in zip(controls, computed, strict=True)]
    )
    for state, result, lines in zip(states, computed, shown, strict=True):
        right = FIGURES[name](**state)
        assert right.keys() == result.keys()
        for key in right:
            wanted, got = as_numbers(right[key]), as_numbers(result[key])
            if wanted.shape != got.shape or not torch.allclose(wanted, got, rtol=1e-9, atol=1e-12):
                yield f"{name}{state}: {key} must be {wanted.tolist()}, got {got.tolist()}"
        if name == "layout":
            right |= {"interleaved": right["interleavedPair"], "half": right["halfPair"]}
        assert lines
        for key, _, text in lines:
            wanted = as_numbers(right[key]).flatten().tolist()
            parts = [text] if len(wanted) == 1 else re.sub(r"[(),]", "", text).split()
            for value, part in zip(wanted, parts, strict=True):
                number, half_unit = read_number(part)
                if not abs(number - value) <= half_unit:
                    yield f"{name}{state}: shows {part} for {key}, {value}"


@pytest.mark.parametrize("name", widget_names())
def test_the_script_computes_what_the_library_computes(name):
    assert list(differences(name)) == []


def exact_answers(result):
    exact = result["doorError"] < 1e-9, result["roofError"] < 1e-9
    return {(True, False): 0, (False, True): 1, (True, True): 2}[tuple(map(bool, exact))]


# The right answer of the question that a figure asks first, by the library: its place.
GUESSES = {
    "heads": lambda: 0 if heads("shared", 9, 9)["error"] < 0.5 else 1,
    "distance": lambda: [6, 60, 240].index(int(distance("alibi", 1, 32, 128, 4)["reach"])),
    "generate": lambda: [4, 10, 16].index(generate("write", 4)["total"]),
    "step": lambda: int(step(131072, 1, "h200")["caches"] > step(131072, 1, "h200")["weights"]),
    "state": lambda: exact_answers(state("delta", 3, 0.6, 0.5, 1.0)),
}


def test_the_right_answer_is_the_librarys():
    asking = {name for name in widget_names() if "guess: {" in source_of(name)}
    assert asking == set(GUESSES)
    for name, right in GUESSES.items():
        assert run_widgets([{"widget": name, "call": "rightAnswer", "arguments": []}]) == [right()]


def source_of(name):
    return (STATIC / "widgets" / f"{name}.js").read_text(encoding="utf-8")


# The page


def test_scripts_are_linked_only_where_they_are_used(good_site):
    page = (good_site / "chapters" / "two.html").read_text(encoding="utf-8")
    assert page.count('src="../_static/widgets/shared.js"') == 1
    assert "rotation.js" not in page, "a figure's own script comes when the reader is near"
    assert "widgets/shared.js" not in (good_site / "index.html").read_text(encoding="utf-8")
    still = page[page.index('data-widget="clocks"') :]
    assert '<div class="panels"><svg class="book-panel wide"' in still, "no fallback: a picture"


# The browser

PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>x</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="_static/book.css">
<link rel="stylesheet" href="_static/widgets/widgets.css">
<script defer src="_static/widgets/shared.js"></script><main>
<div class="interactive" data-widget="{}"><div class="about" hidden>About.</div></div></main></html>
"""
DRAWING = "() => [...document.querySelectorAll('.panels, dl')].map((one) => one.innerHTML)"


@pytest.fixture
def figure(open_page, tmp_path):
    """Open a page with one figure, and wait until it is drawn."""

    def open_figure(name, width=1280, guess=True):
        (tmp_path / "_static").symlink_to(STATIC)
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(name), encoding="utf-8")
        page = open_page(path, width)
        page.wait_for_selector(".interactive[data-ready]")
        if guess and name in GUESSES:
            page.locator(".guess button").first.click()
        return page

    return open_figure


@pytest.mark.browser
@pytest.mark.parametrize("name", GUESSES)
def test_a_figure_shows_the_answer_after_the_guess(figure, name):
    page = figure(name, 390, guess=False)
    asked, controls = page.evaluate(DRAWING), page.locator(".controls")
    expect(controls).to_be_hidden()
    expect(page.locator(".about")).to_be_hidden()
    expect(page.locator(".numbers")).to_be_hidden()
    buttons = page.locator(".guess button")
    wrong = 1 if GUESSES[name]() == 0 else 0
    buttons.nth(wrong).press("Enter")
    expect(page.locator(".verdict")).to_contain_text("No.")
    expect(controls).to_be_visible()
    expect(page.locator(".about")).to_be_visible()
    assert page.evaluate(DRAWING)[0] != asked[0]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    buttons.nth(GUESSES[name]()).click()
    expect(page.locator(".verdict")).to_contain_text("Right.")
    expect(page.locator(".guess [aria-pressed=true]")).to_have_count(1)
    sizes = page.locator("svg text").evaluate_all(
        """(all) => all.map((one) => {
        const { a, b } = one.getScreenCTM();
        return parseFloat(getComputedStyle(one).fontSize) * Math.hypot(a, b);
        })"""
    )
    assert min(sizes) >= 10


@pytest.mark.browser
@pytest.mark.parametrize("name", GUESSES)
def test_a_link_to_a_state_and_paper_do_not_ask(figure, name):
    page = figure(name, guess=False)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".numbers")).to_be_visible()
    slider = page.locator("input[type=range]:visible").first
    at_end = slider.input_value() == slider.get_attribute("max")
    slider.press("ArrowLeft" if at_end else "ArrowRight")
    page.wait_for_url(f"**{name}.**")
    page.reload()
    page.wait_for_selector(".interactive[data-ready]")
    expect(page.locator(".guess")).to_have_count(0)
    expect(page.locator(".controls")).to_be_visible()


@pytest.mark.browser
@pytest.mark.parametrize("name", widget_names())
def test_each_control_moves_the_figure_by_keyboard_and_all_fit_on_a_phone(figure, name):
    page = figure(name)
    page.set_viewport_size({"width": 390, "height": 844})
    top, bottom = (
        page.locator(part).evaluate("(part) => part.getBoundingClientRect().toJSON()")
        for part in (".panels", ".controls")
    )
    assert bottom["bottom"] - top["top"] <= 664, "what a phone shows below the browser's bars"
    sliders = page.locator("input[type=range]:visible").all()
    assert sliders
    for slider in sliders:
        before, key = page.evaluate(DRAWING), slider.input_value()
        slider.press("ArrowRight")
        if slider.input_value() == key:
            slider.press("ArrowLeft")
        assert page.evaluate(DRAWING) != before, slider.get_attribute("name")
        # Ten steps of a slider take at least 25 px.
        steps = slider.evaluate("(one) => (one.max - one.min) / one.step")
        assert steps <= 0.4 * slider.bounding_box()["width"]
    for choice in page.locator("input[type=radio]").all():
        if choice.is_visible():
            choice.check()


def positions(page):
    return tuple(int(page.locator(f"input[name={name}]").input_value()) for name in "mn")


def beside_query(page, angle):
    """The point of the window at which the first query's arrow ends, rotated by an angle."""
    box = page.locator("svg:has(.handle)").first.bounding_box()
    x, y = rotation(2, 5, 0.5)["q"].tolist()
    c, s = math.cos(angle), math.sin(angle)
    across, up = 150 + 50 * (x * c - y * s), 150 - 50 * (x * s + y * c)
    return box["x"] + box["width"] / 300 * across, box["y"] + box["width"] / 300 * up


CENTRE = """(part) => {
  const { x, y, width, height } = part.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


@pytest.mark.browser
def test_arrows_are_dragged_moved_by_keys_and_played(figure):
    page = figure("rotation")
    assert positions(page) == (2, 5)
    page.mouse.move(*beside_query(page, 0))
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(*beside_query(page, 0.15 * step))
    page.mouse.up()
    assert positions(page) == (5, 8), "three steps of half a radian; the key follows"
    score = page.locator("dd[data-value=score]").inner_text()
    assert read_number(score)[0] == pytest.approx(float(rotation(5, 8, 0.5)["score"]), abs=0.006)
    page.locator("input[value=free]").check()
    page.locator("[data-handle=n]").press("ArrowRight")
    assert positions(page) == (5, 9)
    page.keyboard.press("End")  # the focus stays on the arrow that was drawn again
    assert positions(page) == (5, 20)
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("input[name=m]")).not_to_have_value("5")
    # What is held does not play.
    page.mouse.move(*page.locator("[data-handle=n] text").evaluate(CENTRE))
    page.mouse.down()
    held = positions(page)
    page.clock.run_for(1300)
    assert positions(page) == held
    page.mouse.up()
    expect(page.locator("input[name=m]")).not_to_have_value(str(held[0]))
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert positions(page) == (2, 5)


def touch(page, kind, *points):
    """Send what a finger does; no point: it is lifted."""
    if not hasattr(page, "finger"):
        page.finger = page.context.new_cdp_session(page)
        page.finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    fingers = [{"x": x, "y": y} for x, y in points]
    page.finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})


@pytest.mark.browser
def test_a_finger_beside_an_arrow_drags_it(figure):
    page, beside = figure("rotation", 390), 0.3
    page.evaluate("document.body.style.minHeight = '3000px'")  # a page that could scroll
    # All points at first: while the finger moves, the drawing is replaced again and again.
    first, *points = [beside_query(page, beside + 0.15 * step) for step in range(11)]
    touch(page, "touchStart", first)
    for point in points:
        touch(page, "touchMove", point)
        wait_until_drawn(page)
    touch(page, "touchEnd")
    assert positions(page)[0] in (5, 6), "the arrow is where the finger is"
    assert page.evaluate("scrollY") == 0


@pytest.mark.browser
@pytest.mark.parametrize("angle", [1.2, 0.0], ids=["beside an arrow", "on an arrow"])
def test_a_swipe_up_scrolls_the_page_unless_it_begins_on_an_arrow(figure, angle):
    page = figure("rotation", 390)
    page.evaluate("document.body.style.minHeight = '3000px'")
    x, y = beside_query(page, angle)
    touch(page, "touchStart", (x, y))
    for step in range(1, 9):
        touch(page, "touchMove", (x, y - 8 * step))
        wait_until_drawn(page)
    touch(page, "touchEnd")
    if angle:
        page.wait_for_function("scrollY > 30")
        assert positions(page) == (2, 5)
    else:
        assert page.evaluate("scrollY") == 0


@pytest.mark.browser
def test_a_link_shows_the_state_and_reset_the_first(figure):
    page = figure("rotation")
    page.locator("input[value=free]").check()
    page.locator("input[name=m]").press("End")
    page.locator("input[name=theta]").press("ArrowRight")
    page.wait_for_url("**rotation.theta=0.55**")
    assert "rotation.m=20" in page.url
    assert page.url.endswith("#interactive-rotation")
    score = page.locator("dd[data-value=score]").inner_text()
    page.reload()
    page.wait_for_selector(".interactive[data-ready]")
    assert page.locator("dd[data-value=score]").inner_text() == score
    page.get_by_role("button", name="Reset").click()
    assert positions(page) == (2, 5)
    page.wait_for_url("**/page.html#interactive-rotation")
