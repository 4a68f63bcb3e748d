"""Interactive figures: their arithmetic against the library, their places, their controls."""

import math
import re
import shutil
from contextlib import closing

import pytest
import torch

from attention_to_rope import (
    attention,
    cache_numbers_per_token,
    causal_mask,
    gelu,
    gelu_tanh,
    layer_norm,
    layout_permutation,
    padding_mask,
    relu,
    rotary_frequencies,
    rotary_table,
    rotate,
    silu,
    sinusoidal,
    softmax,
)
from attention_to_rope.softmax_gradient import (
    jacobian_norm_bound,
    saturation,
    softmax_jacobian_norm,
)
from bookcheck.gates.browser import Load, State, check_site
from bookcheck.gates.controls import move_controls, shared_browser
from bookcheck.paths import ROOT
from bookcheck.site.widgets import FOLDER, container_html, run_widgets, widget_names
from bookkit.models import read_models
from bookkit.randomness import normal
from bookkit.tickets import OUTWARD, embed

pytestmark = pytest.mark.long

LARGEST_SCRIPT = 10_000
WAYS = ("plain", "residual", "pre", "post")
double = torch.float64


def rotation(m, n, theta):
    def turned(x, position):
        table = rotary_table(
            torch.tensor([position]), torch.tensor([theta], dtype=double), dtype=double
        )
        return rotate(torch.tensor([x], dtype=double), table, layout="interleaved")[0]

    q, k = turned([2.0, 1.0], m), turned([1.0, 2.0], n)
    relative = turned([1.0, 2.0], n - m)
    torch.testing.assert_close(torch.tensor([2.0, 1.0], dtype=double) @ relative, q @ k)
    return {"q": q, "k": k, "relative": relative, "score": q @ k, "offset": n - m}


def clocks(m, d, base):
    theta = rotary_frequencies(d, base)
    row = sinusoidal(torch.tensor([m]), d, base, dtype=double)[0]
    return {"theta": theta, "wavelength": 2 * math.pi / theta, "row": row}


def masked_query(m, factor, mask):
    """The weights of one token of the ticket, its scores multiplied by a factor."""
    X = embed(OUTWARD)
    seen = {
        "none": torch.ones(4, 4, dtype=torch.bool),
        "causal": causal_mask(4),
        "padding": padding_mask(torch.tensor([3]), 4)[0].expand(4, 4),
    }[mask]
    outputs, A = attention(factor * X, X, X, mask=seen, return_weights=True)
    scores = factor * X[m] @ X.T / 2**0.5
    parts = scores.exp() * seen[m]
    return {
        "seen": seen[m], "scores": scores, "parts": parts, "total": parts.sum(),
        "weights": A[m], "sum": A[m].sum(), "output": outputs[m],
    }  # fmt: skip


# The models of the cache's figure: the name in bookkit.models, and the query heads.
CACHED = {
    "Llama 2 7B": ("Llama 2-7B", 32),
    "Llama 3 70B": ("Llama 3.3-70B", 64),
    "DeepSeek-V3": ("DeepSeek-V3", 128),
}


def cache_bytes(layers, length, bytes_each, *shapes):
    """The bytes that `layers` caches of these (heads, size) hold after `length` tokens."""
    held = [torch.empty(1, heads, length, size, device="meta") for heads, size in shapes]
    return bytes_each * length * cache_numbers_per_token(*held * layers, length=length)


def cache_of_model(name, length, bytes_each):
    """What the cache of a published model takes, and what it would if heads shared nothing."""
    listed, h = CACHED[name]
    (group,) = next(model for model in read_models() if model["name"] == listed)["layers"]
    if "latent" in group:
        shapes = [(1, group["latent"]), (1, group["rotary"])]
        alone = [(h, 128 + group["rotary"]), (h, 128)]
    else:
        shapes, alone = ([(heads, group["head_dim"])] * 2 for heads in (group["kv_heads"], h))
    return tuple(cache_bytes(group["count"], length, bytes_each, *s) for s in (shapes, alone))


def cache(way, h, g, d_c, L, N, s):
    latent = way == "latent"
    shapes = [(1, d_c), (1, 64)] if latent else [(g, 128)] * 2
    total = cache_bytes(L, N, s, *shapes)
    own = cache_bytes(L, N, s, (h, 192 if latent else 128), (h, 128))
    models = [cache_of_model(name, N, s) for name in CACHED]
    return {
        "numbers": cache_bytes(1, 1, 1, *shapes),
        "token": total / N,
        "total": total,
        "own": own,
        "ratio": own / total,
        "group": torch.zeros(h) if latent else torch.arange(g).repeat_interleave(h // g),
        "models": [kept for kept, _ in models],
        "modelsOwn": [alone for _, alone in models],
    }


def counter(m):
    waves = sinusoidal(torch.tensor([m]), 12, 64.0, dtype=double)[0, 0::2]
    return {"bits": [int(bit) for bit in reversed(f"{m:06b}")], "waves": waves}


def softmax_of_one_query(d_k, N, divisor):
    z = normal(64, seed=2)[:N].round(decimals=3)
    products = z * d_k**0.5
    p = softmax(products / {"one": 1, "root": d_k**0.5, "whole": d_k}[divisor])
    r = float(saturation(p))
    return {
        "weights": p.sort(descending=True).values,
        "largest": p.max(),
        "rest": r,
        "norm": softmax_jacobian_norm(p, "spectral"),
        "lower": N / (N - 1) * r * (1 - r),
        "upper": jacobian_norm_bound(p),
    }


def layout(d, pair, m):
    permutation = layout_permutation(d, source="interleaved", target="half")
    # The partner of a dimension is found by turning a unit vector by a quarter.
    frequencies = torch.zeros(d // 2, dtype=double)
    frequencies[pair] = math.pi / 2
    table = rotary_table(torch.tensor([1]), frequencies, dtype=double)
    pairs = {}
    for name in ("interleaved", "half"):
        turned = rotate(torch.eye(d, dtype=double)[:, None], table, layout=name)[:, 0]
        pairs[name] = (turned.diagonal() < 0.5).nonzero().flatten()
    owner = torch.arange(d) // 2
    theta = rotary_frequencies(d)[pair]
    return {
        "interleaved": owner,
        "half": owner[permutation],
        "permutation": permutation,
        "interleavedPair": pairs["interleaved"],
        "halfPair": pairs["half"],
        "theta": theta,
        "angle": m * theta,
    }


def wavelength(d, base, length):
    table = 2 * math.pi / rotary_frequencies(d, base)
    return {
        "wavelength": table,
        "longest": table.max(),
        "incomplete": (table > length).sum(),
        "turns": length / table.max(),
    }


def activation(f, x, beta):
    functions = {"relu": relu, "gelu": gelu, "tanh": gelu_tanh, "swish": lambda x: silu(x, beta)}
    point = torch.tensor(float(x), dtype=double, requires_grad=True)
    value = functions[f](point)
    (slope,) = torch.autograd.grad(value, point)
    fixed = point.detach()
    return {
        "value": value.detach(),
        "slope": slope,
        "step": value.detach() / fixed,
        "error": gelu_tanh(fixed) - gelu(fixed),
    }


def depth(L, way):
    """The mean squares of chapter 4, one layer after the other."""
    signal = {"plain": 1.0, "residual": 1.0, "pre": 1.0, "post": 1.0}
    for _ in range(L):
        signal["plain"] /= 2
        signal["residual"] *= 1.5
        signal["pre"] += 0.5
    last = 1 / signal["pre"] if way == "pre" else 1.0
    first = last
    stream = signal["pre"]
    for _ in range(L):
        if way == "pre":
            first *= 1 + 1 / (2 * (stream - 0.5))
            stream -= 0.5
        else:
            first *= {"plain": 0.5, "residual": 1.5, "post": 1.0}[way]
    return {"signal": signal[way] ** 0.5, "first": first**0.5, "last": last**0.5}


# Each figure: the library's numbers, and the states at which they are compared. Every control
# takes three values or more.
VECTORS = {
    "rotation": (
        rotation,
        [
            {"m": m, "n": n, "theta": theta}
            for m, n in [(0, 0), (2, 3), (12, 13), (20, 1)]
            for theta in (0.05, 0.5, 1.0)
        ],
    ),
    "clocks": (
        clocks,
        [
            {"m": m, "d": d, "base": base}
            for m in (0, 1, 77, 2000)
            for d in (4, 8, 16)
            for base in (100, 10000, 500000)
        ],
    ),
    "mask": (
        masked_query,
        [
            {"m": m, "factor": factor, "mask": mask}
            for m in range(4)
            for factor in (0.0, 0.25, 1.0, 3.0)
            for mask in ("none", "causal", "padding")
        ],
    ),
    "cache": (
        cache,
        [
            {"way": way, "h": h, "g": g, "d_c": d_c, "L": L, "N": N, "s": s}
            for way, g, d_c in [
                ("heads", 1, 512), ("heads", 2, 64), ("heads", 8, 512),
                ("latent", 8, 64), ("latent", 1, 512), ("latent", 8, 1024),
            ]
            for h in (8, 64, 128)
            for L, N, s in [(1, 1024, 1), (80, 131072, 2), (128, 1048576, 4)]
        ],
    ),
    "counter": (counter, [{"m": m} for m in range(64)]),
    "softmax": (
        softmax_of_one_query,
        [
            {"d_k": d_k, "N": N, "divisor": divisor}
            for d_k in (4, 64, 512, 4096)
            for N in (2, 3, 8, 64)
            for divisor in ("one", "root", "whole")
        ],
    ),
    "layout": (
        layout,
        [{"d": d, "pair": pair, "m": 7} for d in (4, 8, 12) for pair in range(d // 2)],
    ),
    "wavelength": (
        wavelength,
        [
            {"d": d, "base": base, "length": length}
            for d in (32, 64, 128)
            for base in (100, 10000, 10000000)
            for length in (512, 4096, 1048576)
        ],
    ),
    "activation": (
        activation,
        [
            {"f": f, "x": x, "beta": beta}
            for f in ("relu", "gelu", "tanh", "swish")
            for x in (-4.0, -0.75, 0.05, 3.0)
            for beta in (0.0, 1.0, 5.0)
        ],
    ),
    "depth": (
        depth,
        [{"L": L, "way": way} for L in (1, 2, 40, 100) for way in WAYS],
    ),
}  # fmt: skip


def as_numbers(value):
    return torch.as_tensor(value, dtype=double)


def differences(name, states, expected, shown):
    """Name every number of a figure that is not the library's, to 1e-9."""
    for state, right, arrived in zip(states, expected, shown, strict=True):
        assert right.keys() == arrived.keys()
        for key in right:
            wanted, got = as_numbers(right[key]), as_numbers(arrived[key])
            if wanted.shape != got.shape or not torch.allclose(wanted, got, rtol=1e-9, atol=1e-12):
                yield f"{name}{state}: {key} must be {wanted.tolist()}, got {got.tolist()}"


def test_every_figure_is_compared():
    assert sorted(VECTORS) == widget_names()


@pytest.fixture(scope="module")
def computed():
    """What the scripts compute for all states, in one run of Node.js."""
    requests = [
        {"widget": name, "call": "compute", "arguments": [state]}
        for name, (_, states) in VECTORS.items()
        for state in states
    ]
    answers = iter(run_widgets(requests))
    return {name: [next(answers) for _ in states] for name, (_, states) in VECTORS.items()}


@pytest.mark.parametrize("name", VECTORS)
def test_the_script_computes_what_the_library_computes(computed, name):
    library, states = VECTORS[name]
    expected = [library(**state) for state in states]
    assert not list(differences(name, states, expected, computed[name]))


@pytest.mark.parametrize("way", WAYS)
def test_the_predicted_depth_is_what_layers_do(way):
    d, L = 256, 8
    layers = normal(L, 2, d, d, seed=1) / d**0.5
    connect = {
        "plain": lambda x, f: f(x),
        "residual": lambda x, f: x + f(x),
        "pre": lambda x, f: x + f(layer_norm(x)),
        "post": lambda x, f: layer_norm(x + f(x)),
    }[way]
    start = x = normal(200, d, seed=0).requires_grad_()
    for W_1, W_2 in layers:
        x = connect(x, lambda y, W_1=W_1, W_2=W_2: relu(y @ W_1) @ W_2)
    out = layer_norm(x) if way == "pre" else x
    behind = normal(200, d, seed=3)
    (gradient,) = torch.autograd.grad((out * behind).sum(), start)
    predicted = depth(L, way)
    # One random stack differs from the mean of all by some 10 %; the four ways differ much more.
    signal, first = (float(y.detach().square().mean().sqrt()) for y in (x, gradient))
    assert signal == pytest.approx(predicted["signal"], rel=0.2)
    assert first == pytest.approx(predicted["first"], rel=0.2)


def test_scripts_are_small_and_ask_nobody():
    for script in FOLDER.glob("*.js"):
        source = script.read_text(encoding="utf8")
        assert script.name == "shared.js" or len(source.encode()) <= LARGEST_SCRIPT
        assert not re.search(r"\bfetch\(|XMLHttpRequest|\bimport\b|https?://", source), script.name


def test_a_failing_script_is_named():
    with pytest.raises(RuntimeError, match="interactive figure failed"):
        run_widgets([{"widget": "no-such", "call": "compute", "arguments": [{}]}])


# The directive


def test_scripts_are_linked_only_where_they_are_used(good_site):
    page = (good_site / "chapters" / "interactive.html").read_text(encoding="utf-8")
    assert re.search(r'<script defer="defer" src="../_static/widgets/shared.js', page)
    assert "rotation.js" not in page, "a figure's own script comes when the reader is near"
    assert "widgets/" not in "".join(
        re.findall("<script.*?>", (good_site / "index.html").read_text(encoding="utf-8"))
    )
    assert (good_site / "_static" / "widgets" / "rotation.js").is_file()


def test_the_text_waits_for_the_script(good_site):
    page = (good_site / "chapters" / "interactive.html").read_text(encoding="utf-8")
    place = re.search(r'<div class="interactive" data-widget="rotation">.*?</div>', page, re.S)[0]
    assert '<div class="about" hidden><p>Move <span class="whole"><span class="math' in place
    still = page[page.index('data-widget="clocks"') :]
    assert '<div class="panels"><svg class="book-panel wide"' in still, "no fallback: a picture"


def test_a_wrong_place_stops_the_build(faulty_build):
    said = " ".join(faulty_build.words.split())
    assert "no interactive figure 'clock'; there are activation, cache, clocks, counter" in said
    assert "names the fallback fig-line, and the page has no figure of that name" in said


# The browser

PAGE = """<!doctype html>
<html lang="en" data-theme="{scheme}"><head><meta charset="utf-8"><title>Figures</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="_static/book.css">
<link rel="stylesheet" href="_static/widgets/widgets.css">
<style>html {{ color-scheme: {scheme} }} body {{ margin: 1rem;
background: var(--pst-color-background); color: var(--pst-color-text-base) }}</style>
<script defer src="_static/widgets/shared.js"></script></head>
<body><main><h1>Figures</h1>{body}</main></body></html>"""

# Slider values and choices, and the state they stand for.
MOVES = [
    ("rotation", {"m": 7, "lock": "difference"}, {"m": 7, "n": 10, "theta": 0.5}),
    ("rotation", {"lock": "free", "n": 3, "theta": 0.25}, {"m": 7, "n": 3, "theta": 0.25}),
    ("clocks", {"m": 1234, "d": 4, "base": 100}, {"m": 1234, "d": 4, "base": 100}),
    ("mask", {"m": 1, "mask": "causal", "factor": 0.5}, {"m": 1, "factor": 0.5, "mask": "causal"}),
    (
        "cache",
        {"DeepSeek-V3": "DeepSeek-V3", "L": 60, "N": 3, "s": 1},
        {"way": "latent", "h": 128, "g": 8, "d_c": 512, "L": 60, "N": 8192, "s": 1},
    ),
    ("counter", {"m": 45}, {"m": 45}),
    ("softmax", {"d_k": 8, "N": 33, "divisor": "root"}, {"d_k": 1024, "N": 33, "divisor": "root"}),
    ("layout", {"d": 12, "pair": 4, "m": 9}, {"d": 12, "pair": 4, "m": 9}),
    ("wavelength", {"base": 4, "length": 6, "d": 64}, {"base": 500000, "length": 32768, "d": 64}),
    ("activation", {"f": "swish", "x": 0.7, "beta": 2}, {"x": 0.7, "beta": 2.0, "f": "swish"}),
    ("depth", {"L": 16, "way": "pre"}, {"L": 16, "way": "pre"}),
]


def write_page(folder, scheme="light", names=None, between=""):
    folder.mkdir(exist_ok=True)
    if not (folder / "_static").exists():
        shutil.copytree(ROOT / "_static", folder / "_static")
    places = [container_html(name, f"<p>About {name}.</p>") for name in names or widget_names()]
    page = folder / f"{scheme}.html"
    page.write_text(PAGE.format(scheme=scheme, body=between.join(places)), encoding="utf8")
    return page


UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def read_number(text):
    """A number as it is written for people, and half a unit of its last digit."""
    plain = text.replace("−", "-").replace(",", "").split(" of ")[0]
    amount, _, unit = plain.rpartition(" ")
    if unit in UNITS:
        value, half_unit = read_number(amount)
        size = 1024 ** UNITS.index(unit)
        return size * value, size * half_unit
    mantissa, _, power = plain.partition(" × 10")
    exponent = int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))) if power else 0
    decimals = len(mantissa.partition(".")[2])
    return float(mantissa) * 10.0**exponent, 0.501 * 10.0 ** (exponent - decimals)


@pytest.mark.browser
def test_moved_controls_show_the_numbers_of_the_library(tmp_path):
    page = write_page(tmp_path / "site")
    steps = [{"widget": name, "set": moves} for name, moves, _ in MOVES]
    seen = move_controls(page, steps)
    assert seen["errors"] == []
    for (name, _, state), step in zip(MOVES, seen["steps"], strict=True):
        right = VECTORS[name][0](**state)
        right["interleaved"] = right.get("interleavedPair")
        right["half"] = right.get("halfPair")
        assert step["numbers"], name
        for key, text in step["numbers"].items():
            wanted = as_numbers(right[key]).flatten().tolist()
            parts = [text] if len(wanted) == 1 else re.sub(r"[(),]", "", text).split()
            for value, part in zip(wanted, parts, strict=True):
                shown, half_unit = read_number(part)
                assert abs(shown - value) <= half_unit, f"{name} {key}: {part} is not {value}"


@pytest.mark.browser
def test_keys_move_sliders_and_the_lock_keeps_the_score(tmp_path):
    page = write_page(tmp_path / "site", names=["rotation"])
    start, right, end, home, played = move_controls(
        page,
        [
            {"widget": "rotation"},
            {"widget": "rotation", "press": {"m": "ArrowRight"}},
            {"widget": "rotation", "press": {"m": "End"}},
            {"widget": "rotation", "press": {"m": "Home"}},
            {"widget": "rotation", "click": "Play"},
        ],
    )["steps"]
    assert right["sliders"]["m"] == "3"
    assert right["sliders"]["n"] == "6"
    # At the end of its range the key stops the query, too.
    assert (end["sliders"]["m"], end["sliders"]["n"]) == ("17", "20")
    assert {step["numbers"]["score"] for step in (start, right, end, home, played)} == {
        start["numbers"]["score"]
    }
    assert played["panels"] != home["panels"], "Play moves the arrows"


def numbers_of(m, n, theta=0.5):
    """What the opening figure must print at two positions, from the library."""
    right = rotation(m, n, theta)
    x, y = right["relative"].tolist()
    written = {
        "offset": str(n - m), "relative": f"({x:.2f}, {y:.2f})", "score": f"{right['score']:.4f}",
    }  # fmt: skip
    return {key: text.replace("-", "−") for key, text in written.items()}


def drag(tab, name, turn):
    """Drag the tip of an arrow about the centre of its drawing, by an angle, in small steps."""
    svg = tab.locator(".handle").first.locator("xpath=ancestor::*[local-name()='svg']")
    box = svg.bounding_box()
    scale = box["width"] / 300
    centre = (box["x"] + 150 * scale, box["y"] + 150 * scale)
    state = {key: int(tab.locator(f"input[name={key}]").input_value()) for key in "mn"}
    x, y = rotation(**state, theta=0.5)["q" if name == "m" else "k"].tolist()
    tab.mouse.move(centre[0] + 50 * scale * x, centre[1] - 50 * scale * y)
    tab.mouse.down()
    for step in range(1, 11):
        c, s = math.cos(turn * step / 10), math.sin(turn * step / 10)
        u, v = x * c - y * s, x * s + y * c
        tab.mouse.move(centre[0] + 50 * scale * u, centre[1] - 50 * scale * v)
        yield  # held, half way
    tab.mouse.up()


@pytest.mark.browser
def test_arrows_are_dragged_and_the_numbers_stay_the_librarys(tmp_path):
    page = write_page(tmp_path / "site", names=["rotation"])
    with closing(shared_browser().new_page()) as tab:
        errors = []
        tab.on("pageerror", lambda error: errors.append(error.message))
        tab.goto(page.as_uri())
        tab.wait_for_selector("[data-ready] .handle")

        def shown():
            m, n = (int(tab.locator(f"input[name={name}]").input_value()) for name in "mn")
            read = "list => Object.fromEntries(list.map(dd => [dd.dataset.value, dd.textContent]))"
            assert tab.eval_on_selector_all("dd", read) == numbers_of(m, n)
            return m, n

        assert shown() == (2, 5)
        # Three steps of half a radian; the key follows, and at each moment the numbers are right.
        for _ in drag(tab, "m", 1.5):
            shown()
        assert shown() == (5, 8)
        tab.locator("input[value=free]").check()
        for _ in drag(tab, "n", -2.0):
            shown()
        assert shown() == (5, 4)
        tab.locator("[data-handle=n]").press("ArrowRight")
        assert shown() == (5, 5)
        tab.keyboard.press("End")  # the focus stays on the arrow that was drawn anew
        assert shown() == (5, 20)
        tab.keyboard.press("ArrowUp")
        assert shown() == (5, 20), "an arrow stops at the end of its range"
        assert errors == []


@pytest.mark.browser
def test_figures_are_accessible_in_both_schemes_and_widths(tmp_path):
    folder, plans = tmp_path / "site", {}
    for scheme in ("light", "dark"):
        # Light or dark is the page's own choice here, so the machine's does not change under it.
        wide, phone = (State(width, scheme) for width in (1280, 390))
        page = write_page(folder, scheme)
        plans[page.name] = (Load(True, (wide, phone)), Load(False, (phone,)))
    assert check_site(folder, pages=list(plans), plans=plans) == []


@pytest.mark.browser
def test_without_javascript_nothing_of_it_is_seen(tmp_path):
    page = write_page(tmp_path / "site")
    assert move_controls(page, [], javascript=False)["text"].strip() == "Figures"
