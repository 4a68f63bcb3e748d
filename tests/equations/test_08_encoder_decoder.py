"""Chapter 8: the displayed equations of the page are executed against the library's model."""

import math

import numpy as np
import torch
from torch import nn

from attention_to_rope import (
    Architecture,
    Block,
    MultiHeadAttention,
    attention,
    causal_mask,
    sample_token,
    softmax,
)
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, tensor
from shared_03_many_heads import handed_over, matrices

N, M, D, F, WORDS = 5, 7, 6, 10, 4


def on_matrices(module, **options):
    """A module of the library as a function of NumPy matrices, one sequence each."""

    def function(*matrices):
        with torch.no_grad():
            return module(*(tensor(matrix)[None] for matrix in matrices), **options)[0].numpy()

    return function


def new_block(rng, *, cross):
    """A block whose norms are not the identity, so that mixing them up is noticed."""
    block = Block(Architecture(d=D, heads=2, layers=1, hidden=F), seed=rng, cross=cross).double()
    with torch.no_grad():
        for name, parameter in block.named_parameters():
            if "norm" in name or name.endswith(".b"):
                parameter.copy_(tensor(rng.normal(size=parameter.shape)))
    return block


@equation("eq-encoder-block")
def test_encoder_block(rng):
    block = new_block(rng, cross=False)
    X = rng.normal(size=(N, D))
    norm_1, norm_2 = block.attention_residual.norm, block.feed_forward_residual.norm
    Y = X + on_matrices(block.attention)(on_matrices(norm_1)(X))
    return {
        "X": X,
        "Y": Y,
        "Z": on_matrices(block)(X),
        r"\operatorname{Attention}": on_matrices(block.attention),
        r"\operatorname{FeedForward}": on_matrices(block.feed_forward),
        r"\operatorname{norm}_1": on_matrices(norm_1),
        r"\operatorname{norm}_2": on_matrices(norm_2),
    }


@equation("eq-decoder-block")
def test_decoder_block(rng):
    block = new_block(rng, cross=True)
    X, E = rng.normal(size=(N, D)), rng.normal(size=(M, D))
    norms = [block.attention_residual, block.cross_residual, block.feed_forward_residual]
    norm_1, norm_2, norm_3 = (on_matrices(residual.norm) for residual in norms)
    causal = on_matrices(block.attention, mask=causal_mask(N))
    cross = on_matrices(block.cross_attention)
    with torch.no_grad():
        U = block(tensor(X)[None], memory=tensor(E)[None], mask=causal_mask(N))[0].numpy()
    Y = X + causal(norm_1(X))
    return {
        **{"X": X, "E": E, "Y": Y, "Z": Y + cross(norm_2(Y), E), "U": U},
        r"\operatorname{CausalAttention}": causal,
        r"\operatorname{CrossAttention}": cross,
        r"\operatorname{FeedForward}": on_matrices(block.feed_forward),
        r"\operatorname{norm}_1": norm_1,
        r"\operatorname{norm}_2": norm_2,
        r"\operatorname{norm}_3": norm_3,
    }


def cross(rng):
    d_k, d_v = 3, 2
    Y, E = rng.normal(size=(N, D)), rng.normal(size=(M, D))
    W_Q, W_K, W_V = (rng.normal(size=(D, width)) for width in (d_k, d_k, d_v))
    Q, K, V = Y @ W_Q, E @ W_K, E @ W_V

    def library(y, e):
        queries, keys, values = tensor(y @ W_Q), tensor(e @ W_K), tensor(e @ W_V)
        return attention(queries, keys, values).numpy()

    weights = {"W^Q": W_Q, "W^K": W_K, "W^V": W_V, "d_k": d_k}
    return {"Y": Y, "E": E, "Q": Q, "K": K, "V": V, **weights, r"\operatorname{Cross}": library}


@equation("eq-cross-projections")
def test_cross_projections(rng):
    """What one head of the library multiplies, with the target asking and the memory answering."""
    layer = MultiHeadAttention(D, 1, bias=False, seed=rng).double()
    Y, E = rng.normal(size=(N, D)), rng.normal(size=(M, D))
    (Q,), (K,), (V,) = handed_over(layer, Y, E)
    W_Q, W_K, W_V, _ = matrices(layer)
    return {"Y": Y, "E": E, "Q": Q, "K": K, "V": V, "W^Q": W_Q, "W^K": W_K, "W^V": W_V}


test_cross_attention = equation("eq-cross-attention")(cross)


@equation("eq-logits", first_index=0)
def test_logits(rng):
    norm = nn.LayerNorm(D).double()
    u, head = rng.normal(size=(N, D)), rng.normal(size=(D, WORDS))
    with torch.no_grad():
        z = norm(tensor(u)) @ tensor(head)
    p = softmax(z)

    def norm_of(x):
        with torch.no_grad():
            return norm(tensor(x)).numpy()

    symbols = {"u": u, r"W^{\text{head}}": head, "z": z.numpy(), "p": p.numpy(), "m": range(N)}
    return {**symbols, r"\operatorname{norm}": norm_of}


def target(rng):
    """The probabilities of the words of one target, and PyTorch's loss for them."""
    logits, words = tensor(rng.normal(size=(N, WORDS))), torch.from_numpy(rng.integers(0, WORDS, N))
    P = softmax(logits)[range(N), words].numpy()
    loss = nn.functional.cross_entropy(logits, words).item()
    return {"P": P, r"P_{\text{target}}": np.exp(-N * loss), r"\mathcal{L}": loss, "N": N}


test_chain = equation("eq-chain", first_index=0)(target)


test_loss = equation("eq-loss", first_index=0)(target)


@equation("eq-causal-output", first_index=0)
def test_causal_output(rng):
    d_k, d_v = 3, 2
    q, k, v = (tensor(rng.normal(size=(N, width))) for width in (d_k, d_k, d_v))
    o, A = attention(q, k, v, mask=causal_mask(N), return_weights=True)
    S = library_scores(q, k)
    # Every n ≤ m is an instance of its own: above the diagonal the printed weight is not defined.
    return [
        {"o": o.numpy(), "A": A.numpy(), "v": v.numpy(), "S": S, "m": m, "n": range(m + 1)}
        for m in range(N)
    ]


@equation("eq-decoding-positions")
def test_decoding_positions(rng):
    return {"N": int(rng.integers(2, 50))}


@equation("eq-temperature", first_index=0)
def test_temperature(rng):
    z, tau = rng.normal(size=WORDS), float(rng.uniform(0.3, 3.0))
    # The summed weights of sample_token jump at j where the weight of word j begins.
    grid = (np.arange(20_000) + 0.5) / 20_000

    logits = tensor(z).expand(len(grid), WORDS)
    drawn = sample_token(logits, tensor(grid[:, None]), temperature=tau)
    shares = np.bincount(drawn.numpy(), minlength=WORDS) / len(grid)
    weights = np.exp(z / tau) / np.exp(z / tau).sum()
    assert np.abs(shares - weights).max() < 1e-4

    def p(j, temperature):
        assert math.isclose(temperature, tau)
        return softmax(tensor(z / temperature))[j].item()

    return {"p": p, "z": z, r"\tau": tau, "j": range(WORDS)}


def bindings(rng):
    """A width, and the length at which scores cost as much as projections."""
    d = int(rng.integers(2, 900))
    return {"d": d, "N": 2 * d}


test_sentences = sentences(
    "08-encoder-decoder",
    where={
        "$ at … .": None,
        "has probability …": None,
        "target ba has …": None,
    },
    loose={
        "not enough, …": "Numbers of an example; that the third is needed is all it says.",
    },
)(bindings)
