"""Checks of the exercises on attention, heads, caches, norms, feed-forward layers and masks."""

import torch
from torch import Tensor

from attention_to_rope import relu, rms_norm, softmax
from attention_to_rope.recurrent_attention import linear_attention_steps
from bookkit.exercises.comparing import ANY, Cases, expect, parts_of, result_of
from bookkit.randomness import normal


def attend_with_sink() -> Cases:
    """In attention: one more term exp(b) in every sum, and no value for it."""
    Q = normal(3, 6, seed=1)
    K = normal(5, 6, seed=2)
    V = normal(5, 2, seed=3)
    low = torch.full_like(Q, -1000.0)  # with positive keys: all scores far below 0
    cases = [("3 queries and 5 keys", Q, K, b) for b in (-torch.inf, 0.0, 1.5, 3000.0)]
    cases += [("scores of both signs in the thousands", 5000 * Q, K, b) for b in (0.0, 800.0)]
    cases += [("all scores below -1000", low, K.abs(), b) for b in (-torch.inf, -1139.0)]
    for words, queries, keys, b in cases:
        S = queries @ keys.T / 6**0.5
        highest = S.amax(1, keepdim=True).clamp(min=b)
        E = (S - highest).exp()
        expected = E @ V / (E.sum(1, keepdim=True) + (b - highest).exp())
        yield f"With {words}, b = {b:g}", (queries, keys, V, b), expected


def clip() -> Cases:
    """In why-sqrt-d: both matrices times one number, so that the largest score is the threshold."""
    for d_k, seed in ((5, 2), (9, 7)):  # the smallest score is larger in size than the largest
        X = normal(7, 6, seed=seed)
        W_Q, W_K = normal(2, 6, d_k, seed=seed + 1)
        largest = float(((X @ W_Q) @ (X @ W_K).T / d_k**0.5).max())
        for threshold in (largest / 3, 2 * largest):
            case = f"With d_k = {d_k}, largest score {largest:.2f} and threshold {threshold:.2f}"
            root = min(threshold / largest, 1.0) ** 0.5
            expected = {"the first matrix": root * W_Q, "the second matrix": root * W_K}
            yield case, (W_Q, W_K, X, threshold), expected


def copying() -> Cases:
    """In many-heads: the mean weight on the token after the previous occurrence of one's own."""
    for heads, length, period in ((2, 11, 4), (3, 8, 5)):
        A = softmax(normal(heads, length, length, seed=length).tril())
        rows = torch.arange(period, length)
        expected = A[:, rows, rows - period + 1].mean(-1)
        yield f"With {heads} heads, {length} tokens and the period {period}", (A, period), expected


def cache_gib() -> Cases:
    """In cache: layers that keep all tokens, and layers that keep a window."""
    yield "With no windows", (4, 256, 1000), 256 * 4000 * 2 / 2**30
    windows = (4, 256, 1000, [100, 100])
    yield "With a text longer than two windows of 100", windows, 256 * 4200 * 2 / 2**30
    yield "With a text shorter than its window", (4, 256, 60, [100]), 256 * 300 * 2 / 2**30
    yield "With 4 bytes a number", (4, 256, 1000, (), 4), 256 * 4000 * 4 / 2**30


def groups_as_latents() -> Cases:
    """In latent-attention: matrices that make the keys and values of groups from one row."""
    for heads, groups in ((6, 2), (4, 4), (4, 1)):
        case = f"With {heads} heads in {groups} groups"
        X = normal(7, 9, seed=heads)
        W_K, W_V = normal(2, groups, 9, 3, seed=groups)
        results = parts_of(case, (yield case, (W_K, W_V, heads), ANY), 3)
        wanted = f"{case}, the results must be tensors that can be multiplied"
        down, key_up, value_up = (result_of(wanted, torch.as_tensor, one) for one in results)
        latents = result_of(wanted, torch.matmul, X, down)
        keys = result_of(wanted, torch.matmul, latents, key_up)
        values = result_of(wanted, torch.matmul, latents, value_up)
        expect(f"{case}, the length of a row", latents.shape[-1], 2 * groups * 3)
        # Each group serves as many neighbouring heads.
        own_keys = (X @ W_K).repeat_interleave(heads // groups, dim=0)
        own_values = (X @ W_V).repeat_interleave(heads // groups, dim=0)
        expect(f"{case}, the keys that they make", keys, own_keys)
        expect(f"{case}, the values that they make", values, own_values)


def rms_norm_gradient() -> Cases:
    """In residuals-and-norms: the gradient that RMSNorm passes back, for vectors in any batch."""
    for case, x, gradient in (
        ("With one token of 6 coordinates", normal(6, seed=6), normal(6, seed=7)),
        ("With 2 × 3 tokens of 5 coordinates", normal(2, 3, 5, seed=8), normal(2, 3, 5, seed=9)),
        ("With a gradient along the token", normal(7, seed=10), 2 * normal(7, seed=10)),
        ("With a token of size 100", 100 * normal(4, seed=11), normal(4, seed=12)),
    ):
        token = x.clone().requires_grad_()
        (expected,) = torch.autograd.grad(rms_norm(token, eps=1e-30), token, gradient)
        # Along the token nothing passes: what rounding leaves is compared as 0.
        exact = torch.where(expected.abs() < 1e-12, 0.0, expected)
        yield case, (x, gradient), exact


def product_layer() -> Cases:
    """In feed-forward: a layer with the square of ReLU and no biases multiplies two features."""
    case = "With inputs of both signs"
    W_1, W_2 = parts_of(case, (yield case, (), ANY), 2)
    x = torch.cat([torch.eye(2), -torch.eye(2), torch.ones(1, 2), normal(9, 2, seed=10)])

    def layer() -> Tensor:
        units = relu(x.double() @ torch.as_tensor(W_1).double()) ** 2
        return units @ torch.as_tensor(W_2).double()

    wanted = "The two results must be matrices of shapes (2, 4), (4, 1)"
    expect(case, result_of(wanted, layer), x[:, :1] * x[:, 1:])


def document_mask() -> Cases:
    """In encoder-decoder: who sees whom where several documents are packed into one sequence."""
    for documents in ([0, 0, 1, 1, 1], [3, 3, 3, 1, 2, 2], [5]):
        numbers = torch.tensor(documents)
        m = torch.arange(len(documents))
        allowed = (numbers[:, None] == numbers) & (m <= m[:, None])
        yield f"With the documents {documents}", (numbers,), allowed


def best_keys() -> Cases:
    """In fewer-scores: the keys with the largest scores among those that a query may see."""
    for N, count in ((6, 2), (5, 1), (3, 4)):
        S = normal(N, N, seed=N)
        expected = torch.zeros(N, N, dtype=torch.bool)
        for m in range(N):
            order = S[m, : m + 1].argsort(descending=True)
            expected[m, order[:count]] = True
        yield f"With N = {N} and the {count} best keys", (S, count), expected


def linear_attention() -> Cases:
    """In state-instead-of-cache: all outputs at once; a token reads itself and earlier tokens."""
    for N, d_k, d_v in ((5, 3, 4), (1, 2, 6)):
        Q = normal(N, d_k, seed=1)
        K = normal(N, d_k, seed=2)
        V = normal(N, d_v, seed=3)
        expected = linear_attention_steps(Q, K, V)[0]
        yield f"With N = {N}, d_k = {d_k} and d_v = {d_v}", (Q, K, V), expected
