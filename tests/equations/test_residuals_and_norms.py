"""The chapter: residuals, norms and their placement, executed against the library."""

import numpy as np
import torch

from attention_to_rope import (
    Architecture,
    Block,
    layer_norm,
    post_norm,
    pre_norm,
    relu,
    rms_norm,
    sandwich_norm,
)
from bookcheck.equations.checks import depends, equation, sentences
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS
from shared import sizes, tensor
from shared_residuals_and_norms import (
    EPSILON,
    TINY,
    D,
    as_array,
    layer_norm_of,
    norm,
    rms_norm_of,
    some_epsilon,
    sublayer,
    token,
)


def other_norm(x):
    return rms_norm(tensor(x), eps=EPSILON)


ROWS = "The vectors x_m are the rows of X."


@equation(
    "eq-token-spread",
    first_index=0,
    equivalent={
        "another symbol: X → {x}": ROWS,
        "another symbol: x → {X}, before _m-": ROWS,
        r"another symbol: x → {X}, before _m\rVert": ROWS,
        "another symbol: x → {X}, after }": ROWS,
    },
    fixed={"x": ROWS},
)
def test_token_spread(rng):
    N, d = sizes(rng, 4, 5)
    X = rng.normal(size=(N, d)) + 0.5
    centred = X - X.mean(0)

    def spread(Y):
        Y = np.asarray(Y)
        return np.var(Y, axis=0).sum() / (Y**2).mean(axis=0).sum()

    assert np.isclose(spread(X), (centred**2).sum() / (X**2).sum())
    return {"X": X, "x": X, r"\bar{x}": X.mean(0), r"\operatorname{spread}": spread, "N": N}


@equation("eq-pre-block")
def test_pre_block(rng):
    X, A, F = rng.normal(size=(4, D)), sublayer(rng), sublayer(rng)
    after_attention = pre_norm(tensor(X), A, norm)
    return {
        "X": X,
        "X'": after_attention.numpy(),
        "Y": pre_norm(after_attention, F, other_norm).numpy(),
        "A": as_array(A),
        "F": as_array(F),
        r"\operatorname{norm}_1": as_array(norm),
        r"\operatorname{norm}_2": as_array(other_norm),
    }


@equation("eq-residual-sum", first_index=0)
def test_residual_sum(rng):
    (L,) = sizes(rng, 3)
    functions = [sublayer(rng) for _ in range(L)]
    states = [rng.normal(size=D)]
    for f in functions:
        states.append(states[-1] + f(states[-1]).numpy())
    apply = lambda block, x: functions[int(block) - 1](x).numpy()  # noqa: E731
    return {"x": np.array(states), "L": L, "f": apply}


@equation("eq-residual-jacobian", names={1: "G"})
def test_residual_jacobian(rng):
    """The derivative of the library's residual connection without a norm, by autograd."""
    W_1, W_2 = tensor(rng.normal(size=(2, D, D)))
    x = rng.normal(size=D)

    def f(x):
        return torch.tanh(x @ W_1) @ W_2

    def step(x):
        return pre_norm(x, f, torch.clone)

    slopes = torch.autograd.functional.jacobian(step, tensor(x)).numpy()
    return {"x": x, "f": as_array(f), "I": np.eye(D), "G": slopes}


test_moments = equation("eq-moments", first_index=0)(token)
ONES = {"u": "Its entries are all 1, by its definition."}
PROJECTION = {"P": "It projects at right angles: such a matrix is symmetric."}
test_centring = equation("eq-centring", fixed=ONES)(token)
test_sphere = equation(
    "eq-sphere",
    equivalent={r"another symbol: y → {u}, after \lVert": "The length of u is √d, too."},
    fixed=ONES | PROJECTION,
    symbols="x, y, d, u, P",
)(token)


@equation("eq-norm-jacobian", fixed=PROJECTION)
def test_norm_jacobian(rng):
    return {**token(rng), "y": depends("x", layer_norm_of)}


def with_gain(rng):
    values, eps = token(rng), some_epsilon(rng)
    gain, bias = rng.normal(size=(2, values["d"]))
    return {
        **values,
        "g": gain,
        "b": bias,
        r"\epsilon": eps,
        r"\operatorname{LayerNorm}": lambda x: layer_norm(
            tensor(x), tensor(gain), tensor(bias), eps=eps
        ).numpy(),
        r"\operatorname{RMSNorm}": lambda x: rms_norm(tensor(x), tensor(gain), eps=eps).numpy(),
    }


test_layer_norm = equation(
    "eq-layer-norm",
    first_index=0,
    symbols=r"x, j, \mu, \sigma, g, b, \epsilon, \operatorname{LayerNorm}",
)(with_gain)
test_rms_norm = equation(
    "eq-rms-norm", first_index=0, symbols=r"x, d, j, g, \epsilon, \operatorname{RMSNorm}"
)(with_gain)


@equation("eq-placements")
def test_placements(rng):
    f = sublayer(rng)
    return {
        "x": rng.normal(size=D),
        "f": as_array(f),
        r"\operatorname{norm}": as_array(norm),
        r"\operatorname{norm}_2": as_array(other_norm),
        r"\operatorname{post}": lambda x: post_norm(tensor(x), f, norm).numpy(),
        r"\operatorname{pre}": lambda x: pre_norm(tensor(x), f, norm).numpy(),
        r"\operatorname{sandwich}": lambda x: sandwich_norm(tensor(x), f, norm, other_norm).numpy(),
    }


@equation("eq-vanishing-pre", names={1: "D"})
def test_vanishing_pre(rng):
    """The derivative of a Pre-Norm step whose sublayer is f(y) = -r y, by autograd."""
    values = token(rng)
    x = values["x"]
    r = np.sqrt((x**2).mean())

    def step(x):
        return x - r * rms_norm(x, eps=TINY)

    slopes = torch.autograd.functional.jacobian(step, tensor(x))
    return {**values, "r": r, "y": rms_norm_of(x), "D": slopes.numpy()}


@equation("eq-fold-gain", names={1: "z"})
def test_fold_gain(rng):
    """The library's norm with a gain and a bias, before a matrix."""
    x, gain, bias = rng.normal(size=(3, D))
    W = rng.normal(size=(D, 3))
    y = layer_norm(tensor(x), None, None, eps=1e-5).numpy()
    z = layer_norm(tensor(x), tensor(gain), tensor(bias), eps=1e-5).numpy() @ W
    return {"y": y, "z": z, "g": gain, "b": bias, "W": W, r"\operatorname{diag}": np.diag}


def page(rng):
    """A token with both norms, and a ReLU layer without biases."""
    values = token(rng)
    W_1, W_2 = (tensor(rng.normal(size=(values["d"], values["d"]))) for _ in range(2))
    return {
        **values,
        "a": rng.uniform(0.2, 4),
        "f": lambda x: (relu(tensor(x) @ W_1) @ W_2).numpy(),
        r"\operatorname{norm}": rms_norm_of,
        r"\operatorname{LayerNorm}": layer_norm_of,
        r"\operatorname{RMSNorm}": rms_norm_of,
    }


def growing(rng):
    """The stream of the quiz: it starts with 1, and each of 16 layers adds a half."""
    del rng
    return {"L": 16, "v_0": 1, "v_L": 1 + sum(0.5 for _ in range(16))}


def by_hand(rng):
    """The token of the exercise; its mean square is what the library's norm divides by."""
    del rng
    x = torch.tensor([2.0, 0, 4, 2], dtype=torch.float64)
    return {"x": x.numpy(), "d": len(x), "s": float((x / rms_norm(x, eps=0))[0] ** 2)}


test_sentences = sentences(
    "residuals-and-norms",
    first_index=0,
    where={"The mean square is …": growing, "$ itself is …": by_hand},
    numbers={"The mean square is …": "v_0, L, 2, v_L", "$ itself is …": r"x x^\top, d, s"},
    fixed=ONES | PROJECTION,
)(page)


def test_the_listing_computes_the_block_of_the_library():
    page = read(CHAPTERS / "residuals-and-norms.ipynb")
    (listing,) = (c.source for c in page.cells if c.source.startswith("import torch\nfrom torch"))
    names = {}
    exec(listing, names)
    mine = names["Block"](d=24, heads=4, d_f=40)
    shape = Architecture(24, 4, 1, hidden=40, norm="rms", bias=False)
    theirs = Block(shape, seed=3).to(torch.float32)
    parts = theirs.attention.query, theirs.attention.key, theirs.attention.value
    mine.qkv.weight.data = torch.cat([part.weight.data for part in parts])
    mine.out.weight.data = theirs.attention.output.weight.data
    mine.up.weight.data = theirs.feed_forward.up.weight.data
    mine.down.weight.data = theirs.feed_forward.down.weight.data
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 5, 24))).float()
    assert torch.allclose(mine(x), theirs(x, causal=True), atol=1e-4)
    last = names["Stack"](L=3, d=24, heads=4, d_f=40)(x)
    assert torch.allclose(last.square().mean(-1), torch.ones(2, 5), atol=1e-4)
