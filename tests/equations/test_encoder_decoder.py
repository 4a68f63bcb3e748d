"""The chapter: the displayed equations of the page are executed against the model of its file."""

import numpy as np
import torch
from torch import nn

from attention_to_rope import attention, causal_mask, softmax
from bookcheck.equations.checks import equation, sentences
from one_file.transformer_2017 import DecoderBlock, EncoderBlock
from shared import every, library_scores, sizes, tensor

N, M, D, H, F, WORDS = 5, 7, 6, 2, 10, 4


def on_matrices(module):
    """A function of tensors (B, N, d) as one of NumPy matrices."""

    def function(*matrices):
        with torch.no_grad():
            return module(*(tensor(matrix)[None] for matrix in matrices))[0].numpy()

    return function


def parts(rng, kind):
    """A block, and what its formula names; no norm is the identity, so mixing them up shows."""
    block = kind(D, H, F, 0.1).double().eval()
    for parameter in block.parameters():
        nn.init.normal_(parameter).data.copy_(tensor(rng.normal(size=parameter.shape)))
    norms = [name for name, _ in block.named_children() if name.startswith("norm")]
    symbols = {
        rf"\operatorname{{{name.replace('_', '}_')}": on_matrices(getattr(block, name))
        for name in norms
    }
    symbols[r"\operatorname{FeedForward}"] = on_matrices(block.feed_forward)
    return block, symbols | {"X": rng.normal(size=(N, D))}


def reads(layer, mask):
    """Attention to the last of its arguments: to the tokens themselves, or to the source."""
    return on_matrices(lambda *x: layer(x[0], layer.project(x[-1]), mask))


@equation("eq-encoder-block")
def test_encoder_block(rng):
    block, symbols = parts(rng, EncoderBlock)
    X, mask = symbols["X"], torch.ones(N, N, dtype=torch.bool)
    own = reads(block.attention, mask)
    Y = symbols[r"\operatorname{norm}_1"](X + own(X))
    Z = on_matrices(lambda x: block(x, mask))(X)
    return symbols | {r"\operatorname{Attention}": own, "Y": Y, "Z": Z}


@equation("eq-decoder-block")
def test_decoder_block(rng):
    block, symbols = parts(rng, DecoderBlock)
    X, E = symbols["X"], rng.normal(size=(M, D))
    whole = torch.ones(N, M, dtype=torch.bool)
    causal, cross = reads(block.attention, causal_mask(N)), reads(block.cross, whole)

    def run(x, e):
        return block(x, causal_mask(N), block.cross.project(e), whole, None)[0]

    Y = symbols[r"\operatorname{norm}_1"](X + causal(X))
    Z = symbols[r"\operatorname{norm}_2"](Y + cross(Y, E))
    symbols |= {"E": E, "Y": Y, "Z": Z, "U": on_matrices(run)(X, E)}
    symbols[r"\operatorname{CausalAttention}"] = causal
    return symbols | {r"\operatorname{CrossAttention}": cross}


@equation("eq-cross-attention", equivalent=every("Y", "E"))
def test_cross_attention(rng):
    d_k, d_v = sizes(rng, 3, 2)
    Y, E = rng.normal(size=(N, D)), rng.normal(size=(M, D))
    W_Q, W_K, W_V = (rng.normal(size=(D, width)) for width in (d_k, d_k, d_v))

    def library(y, e):
        return attention(tensor(y @ W_Q), tensor(e @ W_K), tensor(e @ W_V)).numpy()

    weights = {"W^Q": W_Q, "W^K": W_K, "W^V": W_V, "d_k": d_k}
    return {"Y": Y, "E": E, r"\operatorname{Cross}": library} | weights


@equation("eq-logits", first_index=0)
def test_logits(rng):
    u, head = rng.normal(size=(N, D)), rng.normal(size=(D, WORDS))
    z = u @ head
    p = softmax(tensor(z)).numpy()
    return {"u": u, r"W^{\text{head}}": head, "z": z, "p": p, "m": range(N)}


@equation("eq-loss", first_index=0)
def test_loss(rng):
    """The probabilities of the words of one target, and PyTorch's loss for them."""
    (N,) = sizes(rng, 3)
    logits, words = tensor(rng.normal(size=(N, WORDS))), torch.from_numpy(rng.integers(0, WORDS, N))
    loss = nn.functional.cross_entropy(logits, words).item()
    return {"p": softmax(logits).numpy(), "y": words.numpy(), r"\mathcal{L}": loss, "N": N}


@equation(
    "eq-causal-output", first_index=0, fixed={"n": "The sum says n ≤ m; the others have no weight."}
)
def test_causal_output(rng):
    d_k, d_v = 3, 2
    q, k, v = (tensor(rng.normal(size=(N, width))) for width in (d_k, d_k, d_v))
    o, A = attention(q, k, v, mask=causal_mask(N), return_weights=True)
    S = library_scores(q, k)
    # What stands above the diagonal must not count.
    A = A.numpy() + np.triu(rng.uniform(0.1, 0.9, size=(N, N)), 1)
    # Every n ≤ m is an instance of its own: above the diagonal the printed weight is not defined.
    return [
        {"o": o.numpy(), "A": A, "v": v.numpy(), "S": S, "m": m, "n": range(m + 1)}
        for m in range(N)
    ]


test_sentences = sentences("encoder-decoder")(lambda rng: {})
