"""Checks of the exercises on attention, heads, caches, norms and feed-forward layers."""

from typing import Any

import torch
from torch import Tensor

from attention_to_rope import relu, rms_norm, softmax
from attention_to_rope.recurrent_attention import linear_attention_steps
from bookkit.exercises.comparing import (
    ANY,
    Cases,
    close,
    demand,
    expect,
    numbers_of,
    parts_of,
    result_of,
)
from bookkit.randomness import normal


def _with_sink(S: Tensor, V: Tensor, b: float) -> Tensor:
    """The average of the values with exp(b) in the sum of every row."""
    highest = S.amax(1, keepdim=True).clamp(min=b)
    E = (S - highest).exp()
    return E @ V / (E.sum(1, keepdim=True) + (b - highest).exp())


def attend_with_sink() -> Cases:
    """In attention: one more term exp(b) in every sum, and no value for it."""
    Q = normal(3, 6, seed=1)
    K = normal(5, 6, seed=2)
    V = torch.eye(5, dtype=Q.dtype)  # the outputs are then the weights
    S = Q @ K.T / 6**0.5
    for b in (-torch.inf, 0.0, 1.5):
        case = f"With b = {b:g}"
        weights = numbers_of(case, (yield case, (Q, K, V, b), ANY), (3, 5))
        demand(case, weights.isfinite().all(), "the output contains NaN or infinity")
        demand(case, (weights >= 0).all(), "some weights are negative")
        expected = _with_sink(S, V, b)
        found_sum = float(weights[0].sum())
        wanted_sum = float(expected[0].sum())
        words = f"the weights of a row sum to {found_sum:.3f}, and they must sum to "
        demand(case, close(weights.sum(1), expected.sum(1)), f"{words}{wanted_sum:.3f}")
        same = close(weights, expected)
        words = "the weights sum to the right number, but do not fit the scores q · k / √d_k"
        demand(case, same, words)
    case = "With b = 3000"
    far_above = numbers_of(case, (yield case, (Q, K, normal(5, 2, seed=3), 3000.0), ANY), (3, 2))
    demand(case, far_above.isfinite().all(), "the output contains NaN or infinity")
    demand(case, close(far_above, 0.0), "the sink must take all weight, and the output is not 0")
    yield from _large_scores(Q, K)


def _large_scores(Q: Tensor, K: Tensor) -> Cases:
    """Scores and b in the thousands: neither the output nor its gradients may overflow."""
    V = normal(5, 2, seed=3)
    low = torch.full_like(Q, -1000.0)  # with positive keys: all scores far below 0
    cases = [("3 queries and 5 keys", Q, K, b) for b in (0.0, 3000.0)]
    cases += [("scores of both signs in the thousands", 5000 * Q, K, b) for b in (0.0, 800.0)]
    cases += [("all scores below -1000", low, K.abs(), b) for b in (-torch.inf, -1139.0)]
    for words, queries, keys, b in cases:
        case = f"With {words}, b = {b:g}"
        inputs = [one.clone().requires_grad_() for one in (queries, keys, V)]
        result = yield case, (*inputs, b), ANY
        output = numbers_of(case, result, (3, 2))
        demand(case, output.isfinite().all(), "the output contains NaN or infinity")
        expect(case, output, _with_sink(queries @ keys.T / 6**0.5, V, b))
        learns = isinstance(result, Tensor) and result.requires_grad
        demand(case, learns, "no gradient reaches the queries: compute with PyTorch throughout")
        gradients = torch.autograd.grad(result.sum(), inputs, allow_unused=True)
        for name, gradient in zip(("queries", "keys", "values"), gradients, strict=True):
            demand(case, gradient is not None, f"no gradient reaches the {name}")
            finite = gradient.isfinite().all()
            words = f"the output is right, but the gradient of the {name} contains NaN or infinity"
            demand(case, finite, words)


def clip() -> Cases:
    """In why-sqrt-d: both matrices times one number, so that the largest score is the threshold."""

    def largest_of(W_Q: Tensor, W_K: Tensor) -> float:
        return float(((X @ W_Q) @ (X @ W_K).T / W_Q.shape[1] ** 0.5).max())

    for d_k, seed in ((5, 2), (9, 7)):  # the smallest score is larger in size than the largest
        X = normal(7, 6, seed=seed)
        W_Q, W_K = normal(2, 6, d_k, seed=seed + 1)
        largest = largest_of(W_Q, W_K)
        for threshold in (largest / 3, 2 * largest):
            case = f"With d_k = {d_k}, largest score {largest:.2f} and threshold {threshold:.2f}"
            parts = parts_of(case, (yield case, (W_Q, W_K, X, threshold), ANY), 2)
            new_Q, new_K = (numbers_of(case, part, (6, d_k)) for part in parts)
            if threshold > largest:
                unchanged = close(new_Q, W_Q) and close(new_K, W_K)
                demand(case, unchanged, "nothing may change, and a matrix has changed")
                continue
            factors = float((new_Q / W_Q).median()), float((new_K / W_K).median())
            multiples = close(new_Q, factors[0] * W_Q) and close(new_K, factors[1] * W_K)
            words = "a result is no multiple of its matrix, so queries or keys change direction"
            demand(case, multiples, words)
            now = largest_of(new_Q, new_K)
            reached = close(torch.tensor(now), threshold)
            demand(case, reached, f"the largest score is now {now:.2f}, not the threshold")
            words = f"the matrices are multiplied by {factors[0]:.2f} and by {factors[1]:.2f}"
            same = close(torch.tensor(factors[0]), factors[1])
            demand(case, same, f"{words}, and both must be multiplied by the same number")


def copying() -> Cases:
    """In many-heads: the mean weight on the token after the previous occurrence of one's own."""
    for length, period in ((11, 4), (8, 5)):
        case = f"With 3 heads, {length} tokens and the period {period}"
        A = torch.zeros(3, length, length)
        rows = torch.arange(period, length)
        A[0, rows, rows - period + 1] = 1.0  # on the token to copy
        A[1, rows, rows - period] = 1.0  # on the earlier occurrence itself
        A[2, rows, rows - 1] = 1.0  # on the previous token
        early = torch.arange(period)  # these positions do not count
        A[0, early, 0] = 1.0
        A[1:, early, early] = 1.0
        found = numbers_of(case, (yield case, (A, period), ANY), (3,), "one number for each head")
        whole = close(found[0], 1.0)
        words = "a head with all its weight on the token after the earlier occurrence must get 1, "
        demand(case, whole, f"{words}and it gets {found[0]:.2f}")
        words = "a head with no weight on that token must get 0, and one that attends to "
        demand(case, close(found[1], 0.0), f"{words}the occurrence itself gets {found[1]:.2f}")
        demand(case, close(found[2], 0.0), f"{words}the previous token gets {found[2]:.2f}")
        A = softmax(normal(3, length, length, seed=length).tril())
        wanted = A[:, rows, rows - period + 1].mean(-1)
        case = f"With weights of all kinds, {length} tokens and the period {period}"
        found = numbers_of(case, (yield case, (A, period), ANY), (3,), "one number for each head")
        words = "the mean is not over the positions of the repetition: "
        demand(case, close(found, wanted), f"{words}{period} to {length - 1}")


def cache_gib() -> Cases:
    """In cache: layers that keep all tokens, and layers that keep a window."""

    def amount(case: str, result: Any) -> float:
        return float(numbers_of(case, result, (), "one number"))

    case = "With 4 layers, 256 numbers per token and 2^19 tokens"
    whole = amount(case, (yield case, (4, 256, 2**19), ANY))
    words = f"there are 2^30 bytes, which is 1 GiB, and it gives {whole:.4g}"
    demand(case, close(torch.tensor(whole), 1.0), words)
    case = "With 4 layers, 256 numbers per token and 1000 tokens"
    plain = amount(case, (yield case, (4, 256, 1000), ANY))
    expect(case, plain, 256 * 4000 * 2 / 2**30)
    a_token = 256 * 2 / 2**30  # in one layer
    for N, windows, kept in ((1000, [100, 100], 200), (60, [100], 60)):
        case = f"With {N} tokens and the windows {windows}"
        found = amount(case, (yield case, (4, 256, N, windows), ANY))
        tokens = found / a_token - 4 * N
        words = f"the layers with a window keep {tokens:.0f} tokens together, and they must keep "
        demand(case, close(torch.tensor(found), (4 * N + kept) * a_token), f"{words}{kept}")
    case = "With 4 bytes a number"
    wide = amount(case, (yield case, (4, 256, 1000, (), 4), ANY))
    words = f"it must be twice as much as with 2 bytes, and it is {wide / plain:.3g} times as much"
    demand(case, close(torch.tensor(wide), 2 * plain), words)


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
        needed = 2 * groups * 3
        words = f"the length of a row is {latents.shape[-1]}, and keys and values need {needed}"
        demand(case, latents.shape[-1] == needed, words)
        for name, made, own in (("keys", keys, X @ W_K), ("values", values, X @ W_V)):
            found = numbers_of(f"{case}, the {name}", made, (heads, 7, 3))
            for head in range(heads):
                group = head * groups // heads  # each group serves neighbouring heads
                words = f"head {head} must get the {name} of group {group}, and does not"
                demand(case, close(found[head], own[group]), words)


def rms_norm_gradient() -> Cases:
    """In residuals-and-norms: the gradient that RMSNorm passes back, for vectors in any batch."""

    def exact(x: Tensor, gradient: Tensor) -> Tensor:
        token = x.clone().requires_grad_()
        (passed,) = torch.autograd.grad(rms_norm(token, eps=1e-30), token, gradient)
        return passed

    x = normal(6, seed=6)
    gradient = normal(6, seed=7)
    case = "With one token of 6 coordinates"
    found = numbers_of(case, (yield case, (x, gradient), ANY), (6,))
    along = float(found @ x.double() / (found.norm() * x.norm()))
    words = "the result must be perpendicular to the token, since RMSNorm ignores its length; "
    demand(case, abs(along) < 1e-6, f"{words}the cosine of their angle is {along:.2f}")
    case = "With the same token 100 times as large"
    smaller = numbers_of(case, (yield case, (100 * x, gradient), ANY), (6,))
    ratio = float(smaller.norm() / found.norm())
    words = f"the gradient must be 100 times as small, and it is {ratio:.3g} times as large"
    demand(case, close(100 * smaller, found), words)
    expect("With one token of 6 coordinates", found, exact(x, gradient))
    case = "With a gradient along the token"
    nothing = numbers_of(case, (yield case, (x, 2 * x), ANY), (6,))
    demand(case, nothing.abs().max() < 1e-6, "nothing may pass, and something does")
    case = "With 2 × 3 tokens of 5 coordinates"
    x, gradient = normal(2, 2, 3, 5, seed=8)
    found = numbers_of(case, (yield case, (x, gradient), ANY), (2, 3, 5))
    words = "a token gets another gradient than it gets alone, without the others"
    demand(case, close(found, exact(x, gradient)), words)


def product_layer() -> Cases:
    """In feed-forward: a layer with the square of ReLU and no biases multiplies two features."""
    case = "With inputs of both signs"
    W_1, W_2 = parts_of(case, (yield case, (), ANY), 2)

    def layer(x: Tensor) -> Tensor:
        units = relu(x.double() @ torch.as_tensor(W_1).double()) ** 2
        return (units @ torch.as_tensor(W_2).double())[:, 0]

    def output(*features: float) -> float:
        return float(layer(torch.tensor([features]))[0])

    shapes = [tuple(torch.as_tensor(one).shape) for one in (W_1, W_2)]
    words = f"the two results must be matrices of shapes (2, 4) and (4, 1), and have {shapes}"
    demand(case, shapes == [(2, 4), (4, 1)], words)
    for features in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
        found = output(*features)
        words = f"the output must be 0 where a feature is 0, and for {features} it is {found:.3g}"
        demand(case, abs(found) < 1e-9, words)
    for one, other in (((1.0, 2.0), (-1.0, 2.0)), ((1.0, 2.0), (1.0, -2.0))):
        changed = close(torch.tensor(output(*one)), -output(*other))
        words = "the output must change its sign with one feature, and from "
        demand(case, changed, f"{words}{one} to {other} it does not")
    of_ones = output(1.0, 1.0)
    words = f"the output must be 1 where both features are 1, and it is {of_ones:.3g}"
    demand(case, close(torch.tensor(of_ones), 1.0), words)
    x = torch.cat([torch.ones(1, 2), normal(9, 2, seed=10)])
    expect(case, layer(x), x[:, 0] * x[:, 1])


def linear_attention() -> Cases:
    """In state-instead-of-cache: all outputs at once; a token reads itself and earlier tokens."""
    for N, d_k, d_v in ((5, 3, 4), (1, 2, 6)):
        case = f"With N = {N}, d_k = {d_k} and d_v = {d_v}"
        Q = normal(N, d_k, seed=1)
        K = normal(N, d_k, seed=2)
        V = normal(N, d_v, seed=3)
        found = numbers_of(case, (yield case, (Q, K, V), ANY), (N, d_v))
        if N > 1:
            changed = V.clone()
            changed[-1] += 1.0
            later = f"{case} and another last value"
            other = numbers_of(later, (yield later, (Q, K, changed), ANY), (N, d_v))
            same = close(other[:-1], found[:-1])
            demand(later, same, "the outputs of earlier tokens change: they see the future")
            moved = not close(other[-1], found[-1])
            demand(later, moved, "the output of the last token does not change: it misses itself")
        own = (Q[0] @ K[0]) * V[0]
        words = "the first token sees only itself, and its output is not (q · k) v"
        demand(case, close(found[0], own), words)
        expect(case, found, linear_attention_steps(Q, K, V)[0])
