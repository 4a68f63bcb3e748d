"""Mistakes that readers make in the twelve steps of the workshop.

Each record has one mistake. Its source holds only the functions that the learner got wrong; the other
functions of the same step and all functions of earlier steps are right, and np, json, START and CONFIG
are defined as in the reader's file. So a source is run in a namespace in which all of these exist.
"""

from typing import NamedTuple


class Mistake(NamedTuple):
    """A mistake: the step (1 to 12), a short name, what is wrong, and the learner's code."""

    step: int
    name: str
    what: str
    source: str


MISTAKES: list[Mistake] = [
    Mistake(
        1,
        "no-max",
        "The largest score is not subtracted first, so exp overflows for large scores and the result is nan.",
        """
def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "axis-0",
        "The maximum and the sum run down the columns (axis 0) instead of along the rows.",
        """
def softmax(x):
    e = np.exp(x - np.max(x, axis=0, keepdims=True))
    return e / np.sum(e, axis=0, keepdims=True)
""",
    ),
    Mistake(
        1,
        "whole-array",
        "The sum runs over the whole array, so all rows together sum to 1 instead of each row.",
        """
def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)
""",
    ),
    Mistake(
        1,
        "no-keepdims",
        "Without keepdims the sums of the rows are lined up with the columns, or do not fit at all.",
        """
def softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return np.exp(x) / np.exp(x).sum(axis=-1)
""",
    ),
    Mistake(
        1,
        "no-keepdims-at-max",
        "The maximum loses its axis (no keepdims), so it is subtracted from columns instead of rows.",
        """
def softmax(x):
    e = np.exp(x - x.max(axis=-1))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "max-of-everything",
        "One maximum for all rows is subtracted, so a row of much smaller scores becomes 0 / 0.",
        """
def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e, axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "in-place",
        "The maximum is subtracted in place, which changes the caller's array.",
        """
def softmax(x):
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x
""",
    ),
    Mistake(
        1,
        "clipped",
        "The scores are clipped to avoid the overflow, so all large scores become equal.",
        """
def softmax(x):
    e = np.exp(np.clip(x, -50, 50))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "divided-by-max",
        "The scores are divided by their maximum instead of having it subtracted.",
        """
def softmax(x):
    e = np.exp(x / x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "sigmoid",
        "Each score goes through the sigmoid on its own, so the weights do not sum to 1.",
        """
def softmax(x):
    return 1 / (1 + np.exp(-x))
""",
    ),
    Mistake(
        1,
        "no-exp",
        "The scores are divided by their sum without exp.",
        """
def softmax(x):
    return x / np.sum(x, axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "no-division",
        "The exponentials are returned without dividing by their sum.",
        """
def softmax(x):
    return np.exp(x - np.max(x, axis=-1, keepdims=True))
""",
    ),
    Mistake(
        1,
        "absolute-max",
        "The largest absolute value is subtracted, so a row of very negative scores underflows to 0 / 0.",
        """
def softmax(x):
    e = np.exp(x - np.abs(x).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "mean-for-max",
        "The mean is subtracted instead of the maximum, so a wide row still overflows and -inf becomes nan.",
        """
def softmax(x):
    e = np.exp(x - x.mean(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "min-for-max",
        "The minimum is subtracted instead of the maximum, so exp still overflows.",
        """
def softmax(x):
    e = np.exp(x - x.min(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "nan-to-num",
        "The nan of an overflow is replaced by 0, so the largest score gets the weight 0.",
        """
def softmax(x):
    e = np.exp(x)
    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True))
""",
    ),
    Mistake(
        1,
        "infinity-as-zero",
        "Infinite scores are replaced by 0 before exp, so -infinity gets a positive weight.",
        """
def softmax(x):
    x = np.where(np.isinf(x), 0.0, x)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "logarithm",
        "The logarithms of the weights are returned (log-softmax).",
        """
def softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
""",
    ),
    Mistake(
        1,
        "axis-1",
        "The axis is written as 1 instead of -1, which fails for one axis and is wrong for three.",
        """
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "loop-over-rows-of-a-matrix",
        "The loop over rows is written for two axes only.",
        """
def softmax(x):
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        e = np.exp(x[i] - np.max(x[i]))
        out[i] = e / np.sum(e)
    return out
""",
    ),
    Mistake(
        1,
        "base-two",
        "Powers of 2 are taken instead of powers of e.",
        """
def softmax(x):
    e = 2 ** (x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "no-return",
        "The result is computed but not returned.",
        """
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
""",
    ),
    Mistake(
        1,
        "argmax",
        "The largest score gets the weight 1 and all others 0.",
        """
def softmax(x):
    return (x == x.max(axis=-1, keepdims=True)).astype(float)
""",
    ),
    Mistake(
        2,
        "no-scale",
        "The scores are not divided by the square root of d_k.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2)) @ v
""",
    ),
    Mistake(
        2,
        "no-root",
        "The scores are divided by d_k instead of its square root.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / q.shape[-1]) @ v
""",
    ),
    Mistake(
        2,
        "multiplied-by-root",
        "The scores are multiplied by the square root of d_k instead of divided.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) * np.sqrt(q.shape[-1])) @ v
""",
    ),
    Mistake(
        2,
        "root-of-the-number-of-keys",
        "The root is taken of the number of keys instead of d_k.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-2])) @ v
""",
    ),
    Mistake(
        2,
        "root-of-first-axis",
        "The size for the root is read from the first axis (q.shape[0]) instead of the last.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[0])) @ v
""",
    ),
    Mistake(
        2,
        "root-of-the-value-width",
        "The root is taken of d_v, the width of the values, which is right only if it equals d_k.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(v.shape[-1])) @ v
""",
    ),
    Mistake(
        2,
        "constant-scale",
        "The number 32 of the book's model is written into the scale.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(32)) @ v
""",
    ),
    Mistake(
        2,
        "scale-after-softmax",
        "The weights are divided by the root after the softmax instead of the scores before it.",
        """
def attend(q, k, v):
    weights = softmax(q @ np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1])
    return weights @ v
""",
    ),
    Mistake(
        2,
        "softmax-over-queries",
        "The softmax runs over the queries instead of over the keys.",
        """
def attend(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.swapaxes(softmax(np.swapaxes(scores, -1, -2)), -1, -2)
    return weights @ v
""",
    ),
    Mistake(
        2,
        "dot-t",
        "k.T reverses all axes, so this works without leading axes only.",
        """
def attend(q, k, v):
    return softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v
""",
    ),
    Mistake(
        2,
        "np-dot",
        "np.dot pairs all leading axes of both arrays, so with heads the shape is wrong.",
        """
def attend(q, k, v):
    weights = softmax(np.dot(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1]))
    return np.dot(weights, v)
""",
    ),
    Mistake(
        2,
        "exchanged-q-and-k",
        "Queries and keys are exchanged, so each key asks.",
        """
def attend(q, k, v):
    return softmax(k @ np.swapaxes(q, -1, -2) / np.sqrt(q.shape[-1])) @ v
""",
    ),
    Mistake(
        2,
        "exchanged-k-and-v",
        "The scores are computed with the values, and the keys are averaged.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(v, -1, -2) / np.sqrt(q.shape[-1])) @ k
""",
    ),
    Mistake(
        2,
        "no-transpose",
        "The keys are not transposed, which multiplies without an error only if N_k equals d_k.",
        """
def attend(q, k, v):
    return softmax(q @ k / np.sqrt(q.shape[-1])) @ v
""",
    ),
    Mistake(
        2,
        "weights-transposed",
        "The weights are transposed before they meet the values, which fits only for N = N_k.",
        """
def attend(q, k, v):
    weights = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return np.swapaxes(weights, -1, -2) @ v
""",
    ),
    Mistake(
        2,
        "no-softmax",
        "The raw scores are used as weights, without the softmax.",
        """
def attend(q, k, v):
    return (q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v
""",
    ),
    Mistake(
        2,
        "returns-weights",
        "The weights are returned instead of the weighted mean of the values.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
""",
    ),
    Mistake(
        2,
        "returns-both",
        "The result and the weights are returned together as a tuple.",
        """
def attend(q, k, v):
    weights = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return weights @ v, weights
""",
    ),
    Mistake(
        2,
        "query-scaled-in-place",
        "The query is divided in place, which changes the caller's array.",
        """
def attend(q, k, v):
    q /= np.sqrt(q.shape[-1])
    return softmax(q @ np.swapaxes(k, -1, -2)) @ v
""",
    ),
    Mistake(
        2,
        "both-scaled-by-the-root",
        "Queries and keys are each divided by the root, so the scores are divided by d_k.",
        """
def attend(q, k, v):
    s = np.sqrt(q.shape[-1])
    return softmax((q / s) @ np.swapaxes(k / s, -1, -2)) @ v
""",
    ),
    Mistake(
        2,
        "integer-root",
        "The root is cut to an integer, which is right only if d_k is a square number.",
        """
def attend(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / int(np.sqrt(q.shape[-1]))) @ v
""",
    ),
    Mistake(
        2,
        "cosine",
        "Queries and keys are normalized to length 1 first (cosine similarity).",
        """
def attend(q, k, v):
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v
""",
    ),
    Mistake(
        3,
        "mask-top-left",
        "The triangle starts at the top left, so with more keys than queries the newest keys are hidden.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N, N_k), dtype=bool))
""",
    ),
    Mistake(
        3,
        "mask-without-itself",
        "A token may not look at itself.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N, N_k), dtype=bool), k=N_k - N - 1)
""",
    ),
    Mistake(
        3,
        "mask-sees-next",
        "The diagonal is off by one, so each token sees the one after it.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N, N_k), dtype=bool), k=N_k - N + 1)
""",
    ),
    Mistake(
        3,
        "mask-upper-triangle",
        "The upper triangle is taken, so tokens look at what comes after them.",
        """
def causal_mask(N, N_k):
    return np.triu(np.ones((N, N_k), dtype=bool), k=N_k - N)
""",
    ),
    Mistake(
        3,
        "mask-inverted",
        "True marks the forbidden keys instead of the allowed ones.",
        """
def causal_mask(N, N_k):
    return np.triu(np.ones((N, N_k), dtype=bool), k=N_k - N + 1)
""",
    ),
    Mistake(
        3,
        "mask-wrong-sign",
        "The diagonal is shifted by N - N_k instead of N_k - N.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N, N_k), dtype=bool), k=N - N_k)
""",
    ),
    Mistake(
        3,
        "mask-of-floats",
        "The mask is made of the numbers 0 and 1 instead of Booleans.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N, N_k)), k=N_k - N)
""",
    ),
    Mistake(
        3,
        "mask-additive",
        "The mask has 0 and -infinity, to be added, instead of Booleans.",
        """
def causal_mask(N, N_k):
    return np.where(np.tril(np.ones((N, N_k)), k=N_k - N) == 1, 0.0, -np.inf)
""",
    ),
    Mistake(
        3,
        "mask-square",
        "A square mask for all N_k tokens is made, without cutting it to the last N.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N_k, N_k), dtype=bool))
""",
    ),
    Mistake(
        3,
        "mask-first-rows",
        "The first N rows of the square mask are taken instead of the last N.",
        """
def causal_mask(N, N_k):
    return np.tril(np.ones((N_k, N_k), dtype=bool))[:N]
""",
    ),
    Mistake(
        3,
        "mask-transposed",
        "Rows and columns are exchanged, so the shape is (N_k, N).",
        """
def causal_mask(N, N_k):
    return np.arange(N_k)[:, None] <= np.arange(N_k - N, N_k)[None, :]
""",
    ),
    Mistake(
        3,
        "mask-loop-off-by-one",
        "The inner loop ends one too late and runs over the edge of the array.",
        """
def causal_mask(N, N_k):
    mask = np.zeros((N, N_k), dtype=bool)
    for i in range(N):
        for j in range(N_k - N + i + 2):
            mask[i, j] = True
    return mask
""",
    ),
    Mistake(
        3,
        "mask-loop-ends-early",
        "The inner loop ends one too early, so a token does not see itself.",
        """
def causal_mask(N, N_k):
    mask = np.zeros((N, N_k), dtype=bool)
    for i in range(N):
        for j in range(N_k - N + i):
            mask[i, j] = True
    return mask
""",
    ),
    Mistake(
        3,
        "mask-after-softmax",
        "The weights are set to 0 after the softmax, so they no longer sum to 1.",
        """
def masked_attend(q, k, v, mask):
    weights = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return (weights * mask) @ v
""",
    ),
    Mistake(
        3,
        "masked-after-softmax-and-renormalized",
        "Weights are zeroed after the softmax and renormalized: 0 / 0 if a hidden score is far larger.",
        """
def masked_attend(q, k, v, mask):
    weights = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) * mask
    return weights / weights.sum(axis=-1, keepdims=True) @ v
""",
    ),
    Mistake(
        3,
        "masked-zero-for-infinity",
        "Hidden scores are set to 0 instead of -infinity, and exp(0) is 1.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask, scores, 0.0)) @ v
""",
    ),
    Mistake(
        3,
        "masked-scores-times-mask",
        "The scores are multiplied by the mask, so hidden scores become 0 and keep a weight.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores * mask) @ v
""",
    ),
    Mistake(
        3,
        "masked-the-wrong-way-round",
        "The mask is read the other way round: the scores where it is True are hidden.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores[..., mask] = -np.inf
    return softmax(scores) @ v
""",
    ),
    Mistake(
        3,
        "masked-zero-times-infinity",
        "The additive mask is made by multiplying with -infinity, and 0 times infinity is nan.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores + (1 - mask) * -np.inf) @ v
""",
    ),
    Mistake(
        3,
        "masked-add-mask",
        "The Boolean mask itself is added to the scores, which only adds 1 where it is True.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores + mask) @ v
""",
    ),
    Mistake(
        3,
        "masked-minus-ten",
        "Hidden scores are set to -10, which is not small enough to hide them.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask, scores, -10.0)) @ v
""",
    ),
    Mistake(
        3,
        "masked-1e-9",
        "A typing error: hidden scores are set to 1e-9 instead of -1e9.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask, scores, 1e-9)) @ v
""",
    ),
    Mistake(
        3,
        "masked-no-scale",
        "The masked version forgets to divide by the square root of d_k.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2)
    return softmax(np.where(mask, scores, -np.inf)) @ v
""",
    ),
    Mistake(
        3,
        "masked-scaled-by-the-keys",
        "The scores are divided by the root of N_k, because the size is read from the wrong axis.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2)
    scores = scores / np.sqrt(scores.shape[-1])
    return softmax(np.where(mask, scores, -np.inf)) @ v
""",
    ),
    Mistake(
        3,
        "masked-mask-ignored",
        "The mask is not used at all.",
        """
def masked_attend(q, k, v, mask):
    return attend(q, k, v)
""",
    ),
    Mistake(
        3,
        "masked-own-mask",
        "The given mask is ignored, and the causal mask is always used.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return softmax(np.where(mask, scores, -np.inf)) @ v
""",
    ),
    Mistake(
        3,
        "masked-mask-transposed",
        "The mask is transposed, which fits only for as many queries as keys.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask.T, scores, -np.inf)) @ v
""",
    ),
    Mistake(
        3,
        "masked-boolean-index-without-heads",
        "The mask indexes the first axes of the scores, which fails as soon as there are heads.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores[~mask] = -np.inf
    return softmax(scores) @ v
""",
    ),
    Mistake(
        3,
        "masked-mask-axis-inserted-late",
        "A third axis is put at the end of the mask, so it covers the wrong axes or does not fit.",
        """
def masked_attend(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask[..., None], scores, -np.inf)) @ v
""",
    ),
    Mistake(
        4,
        "split-no-transpose",
        "The array is reshaped straight to (heads, N, d_k), which mixes the tokens.",
        """
def split_heads(x, heads):
    return x.reshape(heads, x.shape[0], -1)
""",
    ),
    Mistake(
        4,
        "split-interleaved",
        "The heads take every heads-th number instead of d_k neighbouring ones.",
        """
def split_heads(x, heads):
    return x.reshape(x.shape[0], -1, heads).transpose(2, 0, 1)
""",
    ),
    Mistake(
        4,
        "split-tokens-first",
        "The axes are left as (N, heads, d_k), without the exchange.",
        """
def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1] // heads)
""",
    ),
    Mistake(
        4,
        "split-axes-in-wrong-order",
        "The transpose puts d_k before the tokens: (heads, d_k, N).",
        """
def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, -1).transpose(1, 2, 0)
""",
    ),
    Mistake(
        4,
        "split-tokens-cut",
        "The tokens are cut into groups instead of the vectors.",
        """
def split_heads(x, heads):
    return np.array(np.split(x, heads, axis=0))
""",
    ),
    Mistake(
        4,
        "split-constant-d_k",
        "The d_k of the book's model, 32, is written into the code.",
        """
def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, 32).transpose(1, 0, 2)
""",
    ),
    Mistake(
        4,
        "split-heads-taken-for-d_k",
        "The number of heads and the size of one head are exchanged.",
        """
def split_heads(x, heads):
    return x.reshape(x.shape[0], -1, heads).transpose(1, 0, 2)
""",
    ),
    Mistake(
        4,
        "split-float-division",
        "The size of a head is computed with / and is a float, which reshape refuses.",
        """
def split_heads(x, heads):
    N, d = x.shape
    return x.reshape(N, heads, d / heads).transpose(1, 0, 2)
""",
    ),
    Mistake(
        4,
        "split-list",
        "The result is a list of heads instead of one array.",
        """
def split_heads(x, heads):
    return np.split(x, heads, axis=1)
""",
    ),
    Mistake(
        4,
        "split-slices-off-by-one",
        "The slices of the heads overlap, because each ends one number too late.",
        """
def split_heads(x, heads):
    d_k = x.shape[1] // heads
    return np.stack([x[:, i * d_k : (i + 1) * d_k + 1] for i in range(heads)])
""",
    ),
    Mistake(
        4,
        "merge-no-transpose",
        "The heads are reshaped without moving the tokens to the front first.",
        """
def merge_heads(x):
    return x.reshape(x.shape[1], -1)
""",
    ),
    Mistake(
        4,
        "merge-interleaved",
        "The numbers of the heads are interleaved instead of put one head after the other.",
        """
def merge_heads(x):
    return x.transpose(1, 2, 0).reshape(x.shape[1], -1)
""",
    ),
    Mistake(
        4,
        "merge-stacked",
        "The heads are put below each other: (heads * N, d_k).",
        """
def merge_heads(x):
    return np.concatenate(list(x), axis=0)
""",
    ),
    Mistake(
        4,
        "merge-summed",
        "The heads are added up instead of joined.",
        """
def merge_heads(x):
    return x.sum(axis=0)
""",
    ),
    Mistake(
        4,
        "merge-all-reversed",
        "x.T reverses all three axes, so each token gets the wrong order of numbers.",
        """
def merge_heads(x):
    return x.T.reshape(x.shape[1], -1)
""",
    ),
    Mistake(
        4,
        "repeat-tile",
        "The groups are tiled (0, 1, 0, 1, …) instead of repeated (0, 0, …, 1, 1, …).",
        """
def repeat_groups(x, heads):
    return np.tile(x, (heads // x.shape[0], 1, 1))
""",
    ),
    Mistake(
        4,
        "repeat-modulo",
        "Query head i takes the key-value head i % g instead of i // (h / g).",
        """
def repeat_groups(x, heads):
    return x[np.arange(heads) % x.shape[0]]
""",
    ),
    Mistake(
        4,
        "repeat-too-often",
        "Each group is repeated `heads` times instead of heads / g times.",
        """
def repeat_groups(x, heads):
    return np.repeat(x, heads, axis=0)
""",
    ),
    Mistake(
        4,
        "repeat-tokens",
        "The tokens are repeated (axis 1) instead of the heads.",
        """
def repeat_groups(x, heads):
    return np.repeat(x, heads // x.shape[0], axis=1)
""",
    ),
    Mistake(
        4,
        "repeat-no-axis",
        "np.repeat without an axis flattens the array.",
        """
def repeat_groups(x, heads):
    return np.repeat(x, heads // x.shape[0])
""",
    ),
    Mistake(
        4,
        "repeat-constant-three",
        "The ratio 3 of the book's model is written into the code.",
        """
def repeat_groups(x, heads):
    return np.repeat(x, 3, axis=0)
""",
    ),
    Mistake(
        4,
        "repeat-one-group-only",
        "The array is broadcast to `heads`, which works for one group only.",
        """
def repeat_groups(x, heads):
    return np.broadcast_to(x, (heads, x.shape[1], x.shape[2]))
""",
    ),
    Mistake(
        4,
        "repeat-wrong-axis-count",
        "The number of groups is read from the wrong axis of the shape.",
        """
def repeat_groups(x, heads):
    return np.repeat(x, heads // x.shape[1], axis=0)
""",
    ),
    Mistake(
        4,
        "repeat-new-axis-reversed",
        "The new axis is put before the groups, so the reshape makes the tiled order.",
        """
def repeat_groups(x, heads):
    g, n, d = x.shape
    return np.broadcast_to(x[None], (heads // g, g, n, d)).reshape(heads, n, d)
""",
    ),
    Mistake(
        4,
        "repeat-unchanged",
        "The groups are returned unchanged, in the hope that broadcasting does the rest.",
        """
def repeat_groups(x, heads):
    return x
""",
    ),
    Mistake(
        5,
        "no-root",
        "The root is missing: the vector is divided by the mean square itself.",
        """
def rms_norm(x, weight, eps):
    return x / (np.mean(x**2, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "eps-outside-the-root",
        "eps is added after the root instead of before it.",
        """
def rms_norm(x, weight, eps):
    return x / (np.sqrt(np.mean(x**2, axis=-1, keepdims=True)) + eps) * weight
""",
    ),
    Mistake(
        5,
        "no-eps",
        "eps is forgotten, so a vector of zeros gives nan.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True)) * weight
""",
    ),
    Mistake(
        5,
        "constant-eps",
        "eps is written into the code, and the argument is ignored.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5) * weight
""",
    ),
    Mistake(
        5,
        "eps-squared",
        "The square of eps is added, as if eps belonged to the root mean square.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps**2) * weight
""",
    ),
    Mistake(
        5,
        "eps-inside-the-mean-of-the-sum",
        "eps is added to the sum of the squares, before it is divided by d.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt((np.sum(x**2, axis=-1, keepdims=True) + eps) / x.shape[-1]) * weight
""",
    ),
    Mistake(
        5,
        "maximum-for-eps",
        "The mean is replaced by eps only where it is smaller, instead of having eps added.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.maximum(np.mean(x**2, axis=-1, keepdims=True), eps)) * weight
""",
    ),
    Mistake(
        5,
        "sum-for-mean",
        "The squares are summed instead of averaged, so the vector gets the length 1.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.sum(x**2, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "l2-norm",
        "The vector is divided by its Euclidean length (np.linalg.norm).",
        """
def rms_norm(x, weight, eps):
    return x / (np.linalg.norm(x, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "layer-norm",
        "The mean is subtracted first, as in LayerNorm.",
        """
def rms_norm(x, weight, eps):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "variance",
        "np.var is used for the mean of the squares, but it subtracts the mean.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.var(x, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "axis-0",
        "The mean runs over the tokens (axis 0) instead of over the numbers of a token.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=0, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "whole-array",
        "One mean is taken over the whole array.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2) + eps) * weight
""",
    ),
    Mistake(
        5,
        "no-keepdims",
        "Without keepdims each column is divided by the root mean square of another token.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1) + eps) * weight
""",
    ),
    Mistake(
        5,
        "no-weight",
        "The multiplication by the weight is missing.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)
""",
    ),
    Mistake(
        5,
        "divided-by-weight",
        "The weight is multiplied in the denominator, so the result is divided by it.",
        """
def rms_norm(x, weight, eps):
    return x / (np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight)
""",
    ),
    Mistake(
        5,
        "one-plus-weight",
        "The factor is 1 + weight, as in some other models.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * (1 + weight)
""",
    ),
    Mistake(
        5,
        "weight-as-matrix",
        "The weight is applied with @ as if it were a linear layer, which sums each token to one number.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) @ weight
""",
    ),
    Mistake(
        5,
        "weight-first",
        "The weight is multiplied before the root mean square is taken.",
        """
def rms_norm(x, weight, eps):
    x = x * weight
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)
""",
    ),
    Mistake(
        5,
        "square-of-the-mean",
        "The mean is squared instead of the squares being averaged.",
        """
def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x, axis=-1, keepdims=True) ** 2 + eps) * weight
""",
    ),
    Mistake(
        5,
        "multiplied-by-the-rms",
        "The vector is multiplied by its root mean square instead of divided.",
        """
def rms_norm(x, weight, eps):
    return x * np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        5,
        "in-place",
        "The division is done in place and changes the caller's array.",
        """
def rms_norm(x, weight, eps):
    x /= np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)
    return x * weight
""",
    ),
    Mistake(
        5,
        "returns-only-the-rms",
        "The root mean square is returned instead of the normalized vector.",
        """
def rms_norm(x, weight, eps):
    return np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight
""",
    ),
    Mistake(
        6,
        "no-transpose",
        "The weights are not transposed, which runs only for square weights.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate
    return (z / (1 + np.exp(-z)) * (x @ up)) @ down
""",
    ),
    Mistake(
        6,
        "down-not-transposed",
        "The last weight is not transposed.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(-z)) * (x @ up.T)) @ down
""",
    ),
    Mistake(
        6,
        "weight-on-the-left",
        "The weight is multiplied from the left, which is right only for a single vector.",
        """
def swiglu(x, gate, up, down):
    z = gate @ x
    return down @ (z / (1 + np.exp(-z)) * (up @ x))
""",
    ),
    Mistake(
        6,
        "silu-of-up",
        "The SiLU is taken of `up` instead of `gate`.",
        """
def swiglu(x, gate, up, down):
    g, u = x @ gate.T, x @ up.T
    return (g * (u / (1 + np.exp(-u)))) @ down.T
""",
    ),
    Mistake(
        6,
        "silu-of-the-product",
        "The SiLU is taken of the product of gate and up.",
        """
def swiglu(x, gate, up, down):
    z = (x @ gate.T) * (x @ up.T)
    return (z / (1 + np.exp(-z))) @ down.T
""",
    ),
    Mistake(
        6,
        "silu-of-both",
        "The SiLU is taken of both, gate and up.",
        """
def swiglu(x, gate, up, down):
    def silu(z):
        return z / (1 + np.exp(-z))

    return (silu(x @ gate.T) * silu(x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "silu-at-the-end",
        "The SiLU is taken of the result instead of the gate.",
        """
def swiglu(x, gate, up, down):
    z = ((x @ gate.T) * (x @ up.T)) @ down.T
    return z / (1 + np.exp(-z))
""",
    ),
    Mistake(
        6,
        "silu-of-the-input",
        "The SiLU is taken of x before the linear layer.",
        """
def swiglu(x, gate, up, down):
    s = x / (1 + np.exp(-x))
    return ((s @ gate.T) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "sigmoid",
        "The sigmoid is used as the gate, without the factor z.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (1 / (1 + np.exp(-z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "relu",
        "ReLU is used instead of SiLU.",
        """
def swiglu(x, gate, up, down):
    return (np.maximum(x @ gate.T, 0) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "gelu",
        "The approximation of GELU is used instead of SiLU.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(-1.702 * z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "wrong-sign",
        "The sign in the exponent is wrong: exp(z) instead of exp(-z).",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "bracket",
        "The bracket is missing, so it computes z / 1 + exp(-z).",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return ((z / 1 + np.exp(-z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "no-silu",
        "There is no SiLU at all.",
        """
def swiglu(x, gate, up, down):
    return ((x @ gate.T) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "no-up",
        "The layer `up` is left out, as in a simple feed-forward layer.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(-z))) @ down.T
""",
    ),
    Mistake(
        6,
        "no-down",
        "The last linear layer is missing.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return z / (1 + np.exp(-z)) * (x @ up.T)
""",
    ),
    Mistake(
        6,
        "added",
        "Gate and up are added instead of multiplied.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(-z)) + x @ up.T) @ down.T
""",
    ),
    Mistake(
        6,
        "unstable",
        "SiLU is computed as z exp(z) / (1 + exp(z)), which is nan for large z.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z * np.exp(z) / (1 + np.exp(z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "gate-in-place-of-up",
        "The layer `gate` is used twice.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(-z)) * z) @ down.T
""",
    ),
    Mistake(
        6,
        "with-residual",
        "The input is added inside the layer already.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return x + (z / (1 + np.exp(-z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        6,
        "matrix-product-of-both",
        "The two are multiplied with @ instead of number by number.",
        """
def swiglu(x, gate, up, down):
    z = x @ gate.T
    return (z / (1 + np.exp(-z))) @ (x @ up.T).T @ down.T
""",
    ),
    Mistake(
        6,
        "flattened",
        "The leading axes are flattened into one and not restored.",
        """
def swiglu(x, gate, up, down):
    x = x.reshape(-1, x.shape[-1])
    z = x @ gate.T
    return (z / (1 + np.exp(-z)) * (x @ up.T)) @ down.T
""",
    ),
    Mistake(
        7,
        "frequencies-i-over-d",
        "The exponent is -i / d_k instead of -2 i / d_k.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (-np.arange(d_k // 2) / d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-doubled-twice",
        "The steps of arange are already 2, and they are multiplied by 2 again.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (-2 * np.arange(0, d_k, 2) / d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-positive-exponent",
        "The minus sign of the exponent is missing.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (2 * np.arange(d_k // 2) / d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-one-per-dimension",
        "There is one frequency for each dimension, d_k of them, instead of one for each pair.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (-2 * np.arange(d_k) / d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-from-one",
        "The pairs are counted from 1 instead of 0.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (-2 * np.arange(1, d_k // 2 + 1) / d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-constant-base",
        "The base is written into the code, and the argument is ignored.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return 10_000.0 ** (-2 * np.arange(d_k // 2) / d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-float32",
        "The frequencies are rounded to float32.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (-2 * np.arange(d_k // 2, dtype=np.float32) / np.float32(d_k)).astype(np.float32)
""",
    ),
    Mistake(
        7,
        "frequencies-floor-division",
        "The exponent is divided with //, so it is always a whole number.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** (-2 * np.arange(d_k // 2) // d_k)
""",
    ),
    Mistake(
        7,
        "frequencies-linspace",
        "linspace includes its end, so the exponents are a little too far apart.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return base ** -np.linspace(0, 1, d_k // 2)
""",
    ),
    Mistake(
        7,
        "frequencies-reversed",
        "The frequencies are in the reverse order, slowest first.",
        """
def rope_frequencies(d_k, base=10_000.0):
    return (base ** (-2 * np.arange(d_k // 2) / d_k))[::-1]
""",
    ),
    Mistake(
        7,
        "table-exchanged",
        "Sines and cosines are returned in the wrong order.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = positions[:, None] * frequencies
    return factor * np.sin(angles), factor * np.cos(angles)
""",
    ),
    Mistake(
        7,
        "table-transposed",
        "The table has the pairs as rows and the positions as columns.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.outer(frequencies, positions)
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-factor-on-the-angle",
        "The factor is multiplied into the angle instead of the cosines and sines.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = factor * np.outer(positions, frequencies)
    return np.cos(angles), np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-factor-on-cosines-only",
        "Only the cosines are multiplied by the factor.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.outer(positions, frequencies)
    return factor * np.cos(angles), np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-no-factor",
        "The factor is ignored.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.outer(positions, frequencies)
    return np.cos(angles), np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-counts-positions",
        "The positions are counted from 0 again instead of read from the argument.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.outer(np.arange(len(positions)), frequencies)
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-positions-from-one",
        "One is added to every position.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.outer(positions + 1, frequencies)
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-full-width",
        "The angles are repeated for both halves, so the table is d_k wide instead of d_k / 2.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.outer(positions, frequencies)
    angles = np.concatenate([angles, angles], axis=-1)
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-no-outer-product",
        "Positions and frequencies are multiplied number by number, which fits only for equal lengths.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = positions * frequencies
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-degrees",
        "The angles are converted from degrees to radians, although they are radians already.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = np.deg2rad(np.outer(positions, frequencies))
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "table-divided",
        "The position is divided by the frequency instead of multiplied.",
        """
def rope_table(positions, frequencies, factor=1.0):
    angles = positions[:, None] / frequencies
    return factor * np.cos(angles), factor * np.sin(angles)
""",
    ),
    Mistake(
        7,
        "rotate-interleaved",
        "The pairs are neighbours (2i and 2i + 1) instead of i and i + d_k / 2.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = a * cos - b * sin
    out[..., 1::2] = b * cos + a * sin
    return out
""",
    ),
    Mistake(
        7,
        "rotate-interleaved-result",
        "The pairs are read from the halves, but the result is interleaved.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=-1)
    return np.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(x.shape)
""",
    ),
    Mistake(
        7,
        "rotate-wrong-sign",
        "The signs are exchanged, so everything turns the other way round.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos + b * sin, b * cos - a * sin], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-two-minus-signs",
        "Both halves have a minus sign, so it is not a rotation.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos - a * sin], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-halves-exchanged",
        "The halves are joined in the wrong order.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([b * cos + a * sin, a * cos - b * sin], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-uses-the-new-a",
        "The second half is computed with the a that has been rotated already.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=-1)
    a = a * cos - b * sin
    b = b * cos + a * sin
    return np.concatenate([a, b], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-in-place",
        "The result is written into x itself, which changes the caller's array.",
        """
def rotate(x, table):
    cos, sin = table
    half = x.shape[-1] // 2
    a, b = x[..., :half].copy(), x[..., half:].copy()
    x[..., :half] = a * cos - b * sin
    x[..., half:] = b * cos + a * sin
    return x
""",
    ),
    Mistake(
        7,
        "rotate-heads-for-positions",
        "The axis of the heads is taken for that of the positions.",
        """
def rotate(x, table):
    cos, sin = table[0][:, None, :], table[1][:, None, :]
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-first-half-only",
        "Only the first half of the result is returned.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=-1)
    return a * cos - b * sin
""",
    ),
    Mistake(
        7,
        "rotate-conjugate",
        "With complex numbers, the conjugate is multiplied, so it turns the other way round.",
        """
def rotate(x, table):
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * (table[0] - 1j * table[1])
    return np.concatenate([z.real, z.imag], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-one-angle",
        "Every position is turned by the angles of the first position of the table.",
        """
def rotate(x, table):
    cos, sin = table[0][0], table[1][0]
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
""",
    ),
    Mistake(
        7,
        "rotate-split-along-tokens",
        "x is cut into halves along the tokens instead of along the dimensions.",
        """
def rotate(x, table):
    cos, sin = table
    a, b = np.split(x, 2, axis=1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)
""",
    ),
    Mistake(
        8,
        "project-rotates-values",
        "The values are rotated as well.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])
    return rotate(q, table), rotate(k, table), rotate(v, table)
""",
    ),
    Mistake(
        8,
        "project-no-rotation",
        "Queries and keys are not rotated.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])
    return q, k, v
""",
    ),
    Mistake(
        8,
        "project-keys-not-rotated",
        "Only the queries are rotated.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])
    return rotate(q, table), k, v
""",
    ),
    Mistake(
        8,
        "project-result-of-rotate-dropped",
        "rotate is called, but its result is not kept.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])
    rotate(q, table)
    rotate(k, table)
    return q, k, v
""",
    ),
    Mistake(
        8,
        "project-all-with-query-heads",
        "Keys and values are split into h heads instead of g.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["heads"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["heads"])
    return rotate(q, table), rotate(k, table), v
""",
    ),
    Mistake(
        8,
        "project-wrong-order",
        "Queries, values and keys are returned in the wrong order.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])
    return rotate(q, table), v, rotate(k, table)
""",
    ),
    Mistake(
        8,
        "project-no-transpose",
        "The weights are not transposed, which runs only for square weights.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"], config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"], config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"], config["groups"])
    return rotate(q, table), rotate(k, table), v
""",
    ),
    Mistake(
        8,
        "project-normalizes-again",
        "x is normalized once more inside project.",
        """
def project(x, layer, table, config):
    x = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, config["groups"])
    return rotate(q, table), rotate(k, table), v
""",
    ),
    Mistake(
        8,
        "project-book-sizes",
        "The sizes come from the constant CONFIG instead of the argument.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, CONFIG["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, CONFIG["groups"])
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, CONFIG["groups"])
    return rotate(q, table), rotate(k, table), v
""",
    ),
    Mistake(
        8,
        "project-keys-repeated",
        "The keys and values are repeated for all query heads here already.",
        """
def project(x, layer, table, config):
    h, g = config["heads"], config["groups"]
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, h)
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, g)
    v = split_heads(x @ layer["self_attn.v_proj.weight"].T, g)
    return rotate(q, table), repeat_groups(rotate(k, table), h), repeat_groups(v, h)
""",
    ),
    Mistake(
        8,
        "project-v-from-k",
        "Copy and paste: the values are computed with the weights of the keys.",
        """
def project(x, layer, table, config):
    q = split_heads(x @ layer["self_attn.q_proj.weight"].T, config["heads"])
    k = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    v = split_heads(x @ layer["self_attn.k_proj.weight"].T, config["groups"])
    return rotate(q, table), rotate(k, table), v
""",
    ),
    Mistake(
        8,
        "mix-tile",
        "The query heads take the key-value heads in turn (0, 1, 0, 1, …).",
        """
def mix(q, k, v, mask, layer, config):
    times = config["heads"] // config["groups"]
    k, v = np.tile(k, (times, 1, 1)), np.tile(v, (times, 1, 1))
    return merge_heads(masked_attend(q, k, v, mask)) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Mistake(
        8,
        "mix-no-repeat",
        "The groups are not repeated, which works only for g = h or g = 1.",
        """
def mix(q, k, v, mask, layer, config):
    return merge_heads(masked_attend(q, k, v, mask)) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Mistake(
        8,
        "mix-no-mask",
        "The mask is not used.",
        """
def mix(q, k, v, mask, layer, config):
    h = config["heads"]
    out = attend(q, repeat_groups(k, h), repeat_groups(v, h))
    return merge_heads(out) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Mistake(
        8,
        "mix-no-o_proj",
        "The linear layer o_proj is missing.",
        """
def mix(q, k, v, mask, layer, config):
    h = config["heads"]
    return merge_heads(masked_attend(q, repeat_groups(k, h), repeat_groups(v, h), mask))
""",
    ),
    Mistake(
        8,
        "mix-o_proj-not-transposed",
        "o_proj is not transposed.",
        """
def mix(q, k, v, mask, layer, config):
    h = config["heads"]
    out = masked_attend(q, repeat_groups(k, h), repeat_groups(v, h), mask)
    return merge_heads(out) @ layer["self_attn.o_proj.weight"]
""",
    ),
    Mistake(
        8,
        "mix-merged-by-reshape",
        "The heads are merged by a reshape without the transpose.",
        """
def mix(q, k, v, mask, layer, config):
    h = config["heads"]
    out = masked_attend(q, repeat_groups(k, h), repeat_groups(v, h), mask)
    return out.reshape(q.shape[1], -1) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Mistake(
        8,
        "mix-values-not-repeated-right",
        "The keys are repeated, but the values are tiled.",
        """
def mix(q, k, v, mask, layer, config):
    h = config["heads"]
    out = masked_attend(q, repeat_groups(k, h), np.tile(v, (h // len(v), 1, 1)), mask)
    return merge_heads(out) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Mistake(
        8,
        "mix-mean-of-heads",
        "The heads are averaged instead of merged, so o_proj does not fit.",
        """
def mix(q, k, v, mask, layer, config):
    h = config["heads"]
    out = masked_attend(q, repeat_groups(k, h), repeat_groups(v, h), mask)
    return out.mean(axis=0) @ layer["self_attn.o_proj.weight"].T
""",
    ),
    Mistake(
        8,
        "block-no-first-residual",
        "The result of attention replaces x instead of being added to it.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    x = mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-no-second-residual",
        "The result of the feed-forward layer is returned without adding x.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    x = x + mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-residual-of-the-normalized",
        "The results are added to the normalized copy instead of x.",
        """
def block(x, layer, table, mask, config):
    x = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    x = x + mix(*project(x, layer, table, config), mask, layer, config)
    x = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(x, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-norm-afterwards",
        "The norms come after the additions instead of before the layers.",
        """
def block(x, layer, table, mask, config):
    x = x + mix(*project(x, layer, table, config), mask, layer, config)
    x = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    x = x + swiglu(x, gate, up, down)
    return rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
""",
    ),
    Mistake(
        8,
        "block-norms-exchanged",
        "The weights of the two norms are exchanged.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    x = x + mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-no-second-norm",
        "The feed-forward layer reads x without the norm.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    x = x + mix(*project(n, layer, table, config), mask, layer, config)
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(x, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-no-first-norm",
        "Attention reads x without the norm.",
        """
def block(x, layer, table, mask, config):
    x = x + mix(*project(x, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-parallel",
        "The feed-forward layer reads the old x instead of the new one.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    a = mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + a + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-second-residual-to-the-old-x",
        "The feed-forward result is added to the old x, so attention is lost from the sum.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    y = x + mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(y, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-in-place",
        "x += changes the caller's array.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    x += mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    x += swiglu(n, gate, up, down)
    return x
""",
    ),
    Mistake(
        8,
        "block-constant-eps",
        "eps is written into the code instead of read from the config.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], 1e-5)
    x = x + mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], 1e-5)
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-gate-and-up-exchanged",
        "gate and up are passed to swiglu in the wrong order.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    x = x + mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    up, gate, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        8,
        "block-feed-forward-first",
        "The feed-forward layer comes before attention.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    x = x + swiglu(n, gate, up, down)
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    return x + mix(*project(n, layer, table, config), mask, layer, config)
""",
    ),
    Mistake(
        8,
        "block-wrong-name",
        "A weight is looked up by a name that is not in the dictionary.",
        """
def block(x, layer, table, mask, config):
    n = rms_norm(x, layer["input_layernorm"], config["eps"])
    x = x + mix(*project(n, layer, table, config), mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        9,
        "encode-no-start",
        "The token START is missing.",
        """
def encode(text):
    return list(text.encode("utf-8"))
""",
    ),
    Mistake(
        9,
        "encode-ord",
        "Characters are turned into code points instead of bytes, which is right for ASCII only.",
        """
def encode(text):
    return [START] + [ord(c) for c in text]
""",
    ),
    Mistake(
        9,
        "encode-start-at-the-end",
        "START is put at the end.",
        """
def encode(text):
    return list(text.encode("utf-8")) + [START]
""",
    ),
    Mistake(
        9,
        "encode-latin-1",
        "The text is encoded in Latin-1 with unknown characters replaced, instead of UTF-8.",
        """
def encode(text):
    return [START] + list(text.encode("latin-1", errors="replace"))
""",
    ),
    Mistake(
        9,
        "encode-zero",
        "The start token is 0 instead of 256.",
        """
def encode(text):
    return [0] + list(text.encode("utf-8"))
""",
    ),
    Mistake(
        9,
        "encode-nested",
        "The bytes are put into the list as one element.",
        """
def encode(text):
    return [START, list(text.encode("utf-8"))]
""",
    ),
    Mistake(
        9,
        "encode-bytes",
        "START is packed into bytes, but a byte is at most 255.",
        """
def encode(text):
    return list(bytes([START]) + text.encode("utf-8"))
""",
    ),
    Mistake(
        9,
        "encode-characters-as-bytes",
        "Each character becomes a bytes object instead of integers.",
        """
def encode(text):
    return [START] + [c.encode("utf-8") for c in text]
""",
    ),
    Mistake(
        9,
        "read-offset-without-the-8",
        "The 8 bytes of the length are forgotten in the start of the arrays.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        dtype = "<f2" if entry["dtype"] == "F16" else "<f4"
        a = np.frombuffer(data[n + start : n + end], dtype)
        weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-offset-from-the-file",
        "The offsets are counted from the start of the file.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        dtype = "<f2" if entry["dtype"] == "F16" else "<f4"
        weights[name] = np.frombuffer(data[start:end], dtype).reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-big-endian",
        "The length is read with the largest byte first.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "big")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-length-of-two-bytes",
        "Only two bytes of the length are read, which is enough for small files only.",
        """
def read_weights(data):
    n = int.from_bytes(data[:2], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-json-cut-short",
        "The JSON is cut at n instead of 8 + n.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8:n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-metadata-as-array",
        "The key __metadata__ is read like an array.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        start, end = entry["data_offsets"]
        a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
        weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-first-key-skipped",
        "The first key of the JSON is always skipped, as if it were __metadata__.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in list(json.loads(data[8 : 8 + n]).items())[1:]:
        start, end = entry["data_offsets"]
        a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
        weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-f16-only",
        "All arrays are read as 16-bit numbers.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-as-f32",
        "All arrays are read as 32-bit numbers, because they are to become float32.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f4")
            weights[name] = a.reshape(entry["shape"])
    return weights
""",
    ),
    Mistake(
        9,
        "read-not-converted",
        "The arrays keep the type of the file instead of becoming float32.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.reshape(entry["shape"])
    return weights
""",
    ),
    Mistake(
        9,
        "read-flat",
        "The arrays are not brought into their shape.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(data[8 + n + start : 8 + n + end], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-one-after-the-other",
        "The arrays are read one after the other in the order of the JSON, without their offsets.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    weights = {}
    at = 8 + n
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            dtype = np.dtype("<f2" if entry["dtype"] == "F16" else "<f4")
            size = dtype.itemsize * int(np.prod(entry["shape"]))
            a = np.frombuffer(data[at : at + size], dtype)
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
            at += size
    return weights
""",
    ),
    Mistake(
        9,
        "read-end-as-length",
        "The second offset is taken for the length of the array.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    body = data[8 + n :]
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, size = entry["data_offsets"]
            a = np.frombuffer(body[start : start + size], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-big-endian-numbers",
        "The numbers of the arrays are read in big-endian order.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    body = data[8 + n :]
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(body[start:end], ">f2" if entry["dtype"] == "F16" else ">f4")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32)
    return weights
""",
    ),
    Mistake(
        9,
        "read-transposed",
        "The arrays are transposed on reading, to make x @ W possible.",
        """
def read_weights(data):
    n = int.from_bytes(data[:8], "little")
    body = data[8 + n :]
    weights = {}
    for name, entry in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            a = np.frombuffer(body[start:end], "<f2" if entry["dtype"] == "F16" else "<f4")
            weights[name] = a.reshape(entry["shape"]).astype(np.float32).T
    return weights
""",
    ),
    Mistake(
        9,
        "layer-prefix-without-the-dot",
        "The prefix has no dot at its end, so layer 1 also takes the weights of layers 10 and 11.",
        """
def layer_weights(weights, index):
    prefix = f"layers.{index}"
    return {name[len(prefix) + 1 :]: w for name, w in weights.items() if name.startswith(prefix)}
""",
    ),
    Mistake(
        9,
        "layer-full-names",
        "The names keep their prefix.",
        """
def layer_weights(weights, index):
    return {name: w for name, w in weights.items() if name.startswith(f"layers.{index}.")}
""",
    ),
    Mistake(
        9,
        "layer-keeps-everything",
        "Weights of other layers stay in the dictionary under their full names.",
        """
def layer_weights(weights, index):
    return {name.removeprefix(f"layers.{index}."): w for name, w in weights.items()}
""",
    ),
    Mistake(
        9,
        "layer-lstrip",
        "lstrip removes letters, not a prefix, and eats the beginning of some names.",
        """
def layer_weights(weights, index):
    prefix = f"layers.{index}."
    return {name.lstrip(prefix): w for name, w in weights.items() if name.startswith(prefix)}
""",
    ),
    Mistake(
        9,
        "layer-number-compared-with-text",
        "The number of the layer is compared with a string, so nothing is ever found.",
        """
def layer_weights(weights, index):
    result = {}
    for name, w in weights.items():
        parts = name.split(".")
        if parts[0] == "layers" and parts[1] == index:
            result[".".join(parts[2:])] = w
    return result
""",
    ),
    Mistake(
        9,
        "layer-name-cut-too-short",
        "One part too many of the name is cut off.",
        """
def layer_weights(weights, index):
    prefix = f"layers.{index}."
    return {".".join(name.split(".")[3:]): w for name, w in weights.items() if name.startswith(prefix)}
""",
    ),
    Mistake(
        9,
        "layer-counts-from-one",
        "The layers are counted from 1, so layer 0 is looked up as layer 1.",
        """
def layer_weights(weights, index):
    prefix = f"layers.{index + 1}."
    return {name[len(prefix) :]: w for name, w in weights.items() if name.startswith(prefix)}
""",
    ),
    Mistake(
        9,
        "layer-fixed-cut",
        "The names are cut after nine characters, which is right only for layers 0 to 9.",
        """
def layer_weights(weights, index):
    return {name[9:]: w for name, w in weights.items() if name.startswith(f"layers.{index}.")}
""",
    ),
    Mistake(
        9,
        "forward-no-final-norm",
        "The last norm is missing.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return x @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-no-causal-mask",
        "Every token may look at all tokens, also at later ones.",
        """
def forward(tokens, weights, config, rope):
    n = len(tokens)
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(n), *rope)
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, np.ones((n, n), dtype=bool), config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-last-row-only",
        "Only the logits after the last token are returned.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x[-1], weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-probabilities",
        "The softmax of the logits is returned instead of the logits.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    x = rms_norm(x, weights["norm.weight"], config["eps"])
    return softmax(x @ weights["embed_tokens.weight"].T)
""",
    ),
    Mistake(
        9,
        "forward-one-layer-less",
        "The loop leaves out the last layer.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"] - 1):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-first-layer-only-weights",
        "All blocks use the weights of layer 0.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    layer = layer_weights(weights, 0)
    for _ in range(config["layers"]):
        x = block(x, layer, table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-x-not-passed-on",
        "The result of a block is not given to the next one, so only the last block counts.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        y = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(y, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-norm-in-the-loop",
        "The last norm stands inside the loop, after every layer.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
        x = rms_norm(x, weights["norm.weight"], config["eps"])
    return x @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-factor-ignored",
        "The factor of rope is not passed to the table.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), rope[0])
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-rope-ignored",
        "The frequencies are computed again from d_k, and the argument `rope` is ignored.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), rope_frequencies(config["d_k"]))
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-tokens-as-positions",
        "The tokens themselves are used as positions.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.array(tokens), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-scaled-embedding",
        "The embedding is multiplied by the root of d, as in some other models.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    x = x * np.sqrt(x.shape[-1])
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-embedding-columns",
        "The columns of the embedding are taken instead of its rows.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"].T[tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"]
""",
    ),
    Mistake(
        9,
        "forward-six-layers",
        "The number of layers of the book's model is written into the loop.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(CONFIG["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, CONFIG)
    return rms_norm(x, weights["norm.weight"], CONFIG["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        9,
        "forward-predicted-tokens",
        "The most likely tokens are returned instead of the logits.",
        """
def forward(tokens, weights, config, rope):
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(len(tokens)), *rope)
    mask = causal_mask(len(tokens), len(tokens))
    for i in range(config["layers"]):
        x = block(x, layer_weights(weights, i), table, mask, config)
    x = rms_norm(x, weights["norm.weight"], config["eps"])
    return np.argmax(x @ weights["embed_tokens.weight"].T, axis=-1)
""",
    ),
    Mistake(
        10,
        "new-same-dictionary",
        "The list holds the same dictionary several times, so all layers share one cache.",
        """
def new_cache(config):
    return [{}] * config["layers"]
""",
    ),
    Mistake(
        10,
        "new-one-dictionary",
        "A single dictionary is returned instead of a list of them.",
        """
def new_cache(config):
    return {}
""",
    ),
    Mistake(
        10,
        "new-six-layers",
        "The number of layers of the book's model is written into the code.",
        """
def new_cache(config):
    return [{} for _ in range(6)]
""",
    ),
    Mistake(
        10,
        "new-one-too-few",
        "The list is one dictionary too short.",
        """
def new_cache(config):
    return [{} for _ in range(1, config["layers"])]
""",
    ),
    Mistake(
        10,
        "new-none",
        "The dictionaries hold None from the beginning instead of being empty.",
        """
def new_cache(config):
    return [{"k": None, "v": None} for _ in range(config["layers"])]
""",
    ),
    Mistake(
        10,
        "new-zeros",
        "The cache starts with one token of zeros instead of nothing.",
        """
def new_cache(config):
    shape = (config["groups"], 1, config["d_k"])
    return [{"k": np.zeros(shape), "v": np.zeros(shape)} for _ in range(config["layers"])]
""",
    ),
    Mistake(
        10,
        "new-keyed-by-number",
        "A dictionary with the numbers of the layers is returned instead of a list.",
        """
def new_cache(config):
    return {i: {} for i in range(config["layers"])}
""",
    ),
    Mistake(
        10,
        "block-not-kept",
        "The joined keys and values are used but not kept for the next call.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-rebinds-kept",
        "The name `kept` is bound to a new dictionary, so the caller's one stays empty.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept = {"k": k, "v": v}
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-keeps-only-new",
        "Only the new keys and values are kept, and the old ones are lost.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    new_k, new_v = k, v
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = new_k, new_v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-looks-at-new-only",
        "The cache grows, but the queries look at the new tokens only.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        kept["k"] = np.concatenate([kept["k"], k], axis=1)
        kept["v"] = np.concatenate([kept["v"], v], axis=1)
    else:
        kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-looks-at-old-only",
        "The queries look at the old keys only, because the new ones are added too late.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    old = dict(kept)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = k, v
    if old:
        k, v = old["k"], old["v"]
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-new-before-old",
        "The new keys and values are put before the old ones.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([k, kept["k"]], axis=1)
        v = np.concatenate([v, kept["v"]], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-joined-along-heads",
        "The arrays are joined along the heads (axis 0) instead of the tokens.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=0)
        v = np.concatenate([kept["v"], v], axis=0)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-joined-along-the-last-axis",
        "The arrays are joined along d_k instead of the tokens.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=-1)
        v = np.concatenate([kept["v"], v], axis=-1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-values-not-joined",
        "Only the keys are joined with the old ones, the values are forgotten.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-keys-as-values",
        "Copy and paste: the old keys are put before the new values.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        v = np.concatenate([kept["k"], v], axis=1)
        k = np.concatenate([kept["k"], k], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-exchanged-when-kept",
        "Keys and values are exchanged when they are kept.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = v, k
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-empty-not-handled",
        "The first call fails, because the empty dictionary has no keys yet.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    kept["k"] = k = np.concatenate([kept["k"], k], axis=1)
    kept["v"] = v = np.concatenate([kept["v"], v], axis=1)
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-first-call-twice",
        "In the first call the new tokens are kept and then put behind themselves.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if not kept:
        kept["k"], kept["v"] = k, v
    k = np.concatenate([kept["k"], k], axis=1)
    v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-list-of-arrays",
        "The arrays are appended to a list and never joined, so the cache holds lists.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    kept.setdefault("k", []).append(k)
    kept.setdefault("v", []).append(v)
    k, v = np.concatenate(kept["k"], axis=1), np.concatenate(kept["v"], axis=1)
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-only-the-last-token-kept",
        "Only the last of the new tokens is kept, which is right for one token at a time.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    old = kept["k"].shape[1] if kept else 0
    kept["k"] = np.concatenate([k[:, :old], k[:, -1:]], axis=1)
    kept["v"] = np.concatenate([v[:, :old], v[:, -1:]], axis=1)
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-keeps-repeated-heads",
        "The keys and values are kept for all h query heads instead of the g groups.",
        """
def cached_block(x, layer, table, mask, config, kept):
    h = config["heads"]
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    k, v = repeat_groups(k, h), repeat_groups(v, h)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + merge_heads(masked_attend(q, k, v, mask)) @ layer["self_attn.o_proj.weight"].T
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-unrotated-keys-kept",
        "The keys are kept before they are rotated, so old keys are never turned.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    plain = split_heads(n @ layer["self_attn.k_proj.weight"].T, config["groups"])
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
        plain = np.concatenate([kept["k"], plain], axis=1)
    kept["k"], kept["v"] = plain, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-rotated-again",
        "The keys of the cache are rotated once more in every call.",
        """
def cached_block(x, layer, table, mask, config, kept):
    n = rms_norm(x, layer["input_layernorm.weight"], config["eps"])
    q, k, v = project(n, layer, table, config)
    if kept:
        first = (table[0][:1], table[1][:1])
        k = np.concatenate([rotate(kept["k"], first), k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-inputs-kept",
        "The inputs x are not normalized before the keys and values are computed.",
        """
def cached_block(x, layer, table, mask, config, kept):
    q, _, _ = project(rms_norm(x, layer["input_layernorm.weight"], config["eps"]), layer, table, config)
    _, k, v = project(x, layer, table, config)
    if kept:
        k = np.concatenate([kept["k"], k], axis=1)
        v = np.concatenate([kept["v"], v], axis=1)
    kept["k"], kept["v"] = k, v
    x = x + mix(q, k, v, mask, layer, config)
    n = rms_norm(x, layer["post_attention_layernorm.weight"], config["eps"])
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    return x + swiglu(n, gate, up, down)
""",
    ),
    Mistake(
        10,
        "block-calls-block",
        "The block of step 8 is called, so the cache is neither read nor filled.",
        """
def cached_block(x, layer, table, mask, config, kept):
    return block(x, layer, table, mask, config)
""",
    ),
    Mistake(
        10,
        "forward-positions-restart",
        "The positions start at 0 in every call.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-positions-off-by-one",
        "The positions of the new tokens start one too late.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past + 1, past + N + 1), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-positions-of-all",
        "The table is made for all tokens, old and new, so it does not fit the new ones.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-mask-top-left",
        "The mask starts at the top left, so the new tokens do not see the newest ones.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = np.tril(np.ones((N, past + N), dtype=bool))
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-mask-for-new-only",
        "The mask covers the new tokens only and does not fit the keys.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-mask-all-true",
        "All new tokens may look at everything, also at later new tokens.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = np.ones((N, past + N), dtype=bool)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-mask-hides-the-past",
        "The new tokens do not see the old ones.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = np.hstack([np.zeros((N, past), dtype=bool), causal_mask(N, N)])
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-one-cache-for-all-layers",
        "All layers use the dictionary of layer 0.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[0])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-next-layers-cache",
        "Each layer uses the dictionary of the layer before it.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i - 1])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-length-of-the-list",
        "The number of old tokens is taken from the length of the list, which is that of the layers.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = len(cache) if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-length-from-the-heads",
        "The number of old tokens is read from the axis of the heads.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[0] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-last-row-only",
        "Only the logits after the last token are returned.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x[-1], weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-cache-copied",
        "The function works on a copy, so the caller's cache never changes.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    cache = [dict(kept) for kept in cache]
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-cache-emptied",
        "A new cache is made in every call.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    cache = new_cache(config)
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-cache-cleared",
        "The cache is cleared at the beginning of every call.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    for kept in cache:
        kept.clear()
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-past-of-an-empty-cache",
        "The first call fails, because the empty dictionary is asked for its keys.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1]
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    mask = causal_mask(N, past + N)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-past-read-in-the-loop",
        "The number of old tokens is read again after layer 0 has added the new ones to its dictionary.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    x = weights["embed_tokens.weight"][tokens]
    for i in range(config["layers"]):
        past = cache[0]["k"].shape[1] if cache[0] else 0
        table = rope_table(np.arange(past, past + N), *rope)
        mask = np.ones((N, (cache[i]["k"].shape[1] if cache[i] else 0) + N), dtype=bool)
        mask = np.tril(mask, k=mask.shape[1] - N)
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-no-cache",
        "The function calls `forward` for the new tokens and forgets the cache.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    return forward(tokens, weights, config, rope)
""",
    ),
    Mistake(
        10,
        "forward-no-final-norm",
        "The last norm is missing in the version with a cache.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), *rope)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, causal_mask(N, past + N), config, cache[i])
    return x @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-factor-ignored",
        "The factor of rope is not passed to the table in the version with a cache.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    N = len(tokens)
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens]
    table = rope_table(np.arange(past, past + N), rope[0])
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, causal_mask(N, past + N), config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        10,
        "forward-only-one-new-token",
        "Only the last of the tokens is read, as if the cache already had the others.",
        """
def cached_forward(tokens, weights, config, rope, cache):
    past = cache[0]["k"].shape[1] if cache[0] else 0
    x = weights["embed_tokens.weight"][tokens[-1:]]
    table = rope_table(np.array([past]), *rope)
    mask = np.ones((1, past + 1), dtype=bool)
    for i in range(config["layers"]):
        x = cached_block(x, layer_weights(weights, i), table, mask, config, cache[i])
    return rms_norm(x, weights["norm.weight"], config["eps"]) @ weights["embed_tokens.weight"].T
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-multiplied",
        "The logits are multiplied by the temperature instead of divided.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits * temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-ignored",
        "The temperature is not used, except when it is 0.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-after-softmax",
        "The probabilities are divided by the temperature, which changes nothing after normalizing.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z) / temperature
    p = p / p.sum()
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-zero-divides",
        "A temperature of 0 is not treated separately, so the logits are divided by 0.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-zero-returns-the-token",
        "With temperature 0 the token itself is returned instead of probabilities.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        return np.argmax(logits)
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-zero-is-uniform",
        "With temperature 0 all tokens get the same probability.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        return np.full(len(logits), 1 / len(logits))
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-zero-returns-the-logit",
        "With temperature 0 the largest place keeps its logit instead of the probability 1.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        return np.where(logits == logits.max(), logits, 0.0)
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-temperature-squared",
        "The temperature is applied twice, to the logits and inside the softmax.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z / temperature)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-in-place",
        "The logits are divided in place, which changes the caller's array.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    logits /= temperature
    z = logits
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-in-place",
        "Logits that do not stay are overwritten in the caller's array.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits
    z_t = temperature
    if top_k > 0:
        z[np.argsort(z)[:-top_k]] = -np.inf
    p = softmax(z / z_t)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-smallest",
        "The top_k smallest logits stay.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z <= np.sort(z)[top_k - 1], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-one-too-many",
        "One token too many stays (off by one).",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[::-1][min(top_k, len(z) - 1)], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-one-too-few",
        "The comparison is strict, so the smallest of the top_k is lost.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z > np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-zero-logit",
        "Logits that do not stay are set to 0 instead of -infinity.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, 0.0)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-after-softmax-not-normalized",
        "top_k is applied to the probabilities, which are not divided by their sum afterwards.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        pass
    p = softmax(z)
    if top_k > 0:
        p = np.where(p >= np.sort(p)[-top_k], p, 0.0)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-sorted-result",
        "Only the sorted top_k probabilities are returned, not one for each token.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.sort(z)[::-1][:top_k]
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-zero-keeps-none",
        "top_k = 0 is not treated separately, so one token or none stays.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    stay = np.argsort(-z)[:top_k]
    cut = np.full(len(z), -np.inf)
    cut[stay] = z[stay]
    z = cut
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-places-instead-of-order",
        "The indices of argsort are taken for ranks.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(np.argsort(-z) < top_k, z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_k-ignored",
        "top_k is not used.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        pass
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-ignored",
        "top_p is not used.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        pass
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-one-too-few",
        "The token that reaches top_p is dropped, so the sum stays below top_p, or nothing is left.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p)
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-one-too-many",
        "One token too many stays after the sum has reached top_p.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 2
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-strictly-more",
        "A sum that equals top_p is not accepted, so one token too many stays then.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p, side="right") + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-cumulative-at-most",
        "Only tokens stay whose cumulative sum is at most top_p.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        stay = np.cumsum(p[order]) <= top_p
        kept = np.zeros_like(p)
        kept[order[stay]] = p[order[stay]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-threshold",
        "Tokens stay whose own probability is at least 1 - top_p (a threshold, not a sum).",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        p = np.where(p >= min(1 - top_p, p.max()), p, 0.0)
        p = p / p.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-unlikeliest",
        "The sum starts at the unlikeliest tokens.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-unsorted",
        "The sum runs in the order of the tokens, without sorting.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.arange(len(p))
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-not-normalized",
        "What stays after top_p is not divided by its sum.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-sorted-result",
        "The result stays in the order of the probabilities, not of the tokens.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        p = np.sort(p)[::-1]
        count = np.searchsorted(np.cumsum(p), top_p) + 1
        p[count:] = 0.0
        p = p / p.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-before-top_k",
        "top_p is measured with the probabilities of all tokens, before top_k.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        full = softmax(logits / temperature)
        count = np.searchsorted(np.cumsum(full[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-at-temperature-one",
        "top_p is measured with the probabilities at temperature 1.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        plain = softmax(np.where(np.isfinite(z), logits, -np.inf))
        count = np.searchsorted(np.cumsum(plain[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = kept / kept.sum()
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-top_p-second-softmax",
        "After top_p another softmax is taken over the probabilities.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = softmax(z)
    if top_p < 1:
        order = np.argsort(-p)
        count = np.searchsorted(np.cumsum(p[order]), top_p) + 1
        kept = np.zeros_like(p)
        kept[order[:count]] = p[order[:count]]
        p = softmax(np.where(kept > 0, kept, -np.inf))
    return p
""",
    ),
    Mistake(
        11,
        "probabilities-log",
        "The logarithms of the probabilities are returned.",
        """
def probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    if temperature == 0:
        p = np.zeros(len(logits))
        p[np.argmax(logits)] = 1.0
        return p
    z = logits / temperature
    if top_k > 0:
        z = np.where(z >= np.sort(z)[-top_k], z, -np.inf)
    p = z - np.log(np.sum(np.exp(z - z.max()))) - z.max()
    if top_p < 1:
        pass
    return p
""",
    ),
    Mistake(
        11,
        "sample-argmax",
        "The likeliest token is always taken.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(np.argmax(p))
""",
    ),
    Mistake(
        11,
        "sample-global-chance",
        "np.random is used instead of the given generator, so a seed has no effect.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(np.random.choice(len(p), p=p / p.sum()))
""",
    ),
    Mistake(
        11,
        "sample-own-generator",
        "A new generator with a fixed seed is made in every call, so the draw is always the same.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(np.random.default_rng(0).choice(len(p), p=p / p.sum()))
""",
    ),
    Mistake(
        11,
        "sample-arguments-exchanged",
        "top_k and top_p are passed in the wrong order.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_p, top_k)
    return int(random.choice(len(p), p=p / p.sum()))
""",
    ),
    Mistake(
        11,
        "sample-arguments-dropped",
        "Temperature, top_k and top_p are not passed on.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits)
    return int(random.choice(len(p), p=p / p.sum()))
""",
    ),
    Mistake(
        11,
        "sample-uniform",
        "The token is drawn uniformly, because p is not given to choice.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(random.choice(len(p)))
""",
    ),
    Mistake(
        11,
        "sample-uniform-among-those-that-stay",
        "The token is drawn uniformly among those that stay.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(random.choice(np.flatnonzero(p)))
""",
    ),
    Mistake(
        11,
        "sample-probability-returned",
        "The probability of the drawn token is returned instead of the token.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return random.choice(p, p=p / p.sum())
""",
    ),
    Mistake(
        11,
        "sample-array-returned",
        "An array with one token is returned instead of an int.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return random.choice(len(p), size=1, p=p / p.sum())
""",
    ),
    Mistake(
        11,
        "sample-index-one-too-large",
        "The index after the right one is taken from the cumulative sums.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(np.searchsorted(np.cumsum(p), random.random()) + 1)
""",
    ),
    Mistake(
        11,
        "sample-softmax-twice",
        "The probabilities go through a softmax once more before the draw.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    return int(random.choice(len(p), p=softmax(p) / softmax(p).sum()))
""",
    ),
    Mistake(
        11,
        "sample-new-random-number-for-each-token",
        "A new random number is drawn for every token, so early tokens are favoured.",
        """
def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
    p = probabilities(logits, temperature, top_k, top_p)
    for i in range(len(p)):
        if random.random() < p[i]:
            return i
    return int(np.argmax(p))
""",
    ),
    Mistake(
        11,
        "generate-one-too-many",
        "One token too many is yielded.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    logits = cached_forward(tokens, weights, config, rope, cache)[-1]
    for _ in range(count + 1):
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        logits = cached_forward([token], weights, config, rope, cache)[-1]
""",
    ),
    Mistake(
        11,
        "generate-one-too-few",
        "The loop counts from 1, so one token too few is yielded.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    logits = cached_forward(tokens, weights, config, rope, cache)[-1]
    for _ in range(1, count):
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        logits = cached_forward([token], weights, config, rope, cache)[-1]
""",
    ),
    Mistake(
        11,
        "generate-at-least-one",
        "One token is yielded even if count is 0.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new = tokens
    while True:
        logits = cached_forward(new, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        count -= 1
        if count <= 0:
            break
        new = [token]
""",
    ),
    Mistake(
        11,
        "generate-changes-tokens",
        "The new tokens are appended to the caller's list.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    for _ in range(count):
        token = sample(forward(tokens, weights, config, rope)[-1], random, temperature, top_k, top_p)
        tokens.append(token)
        yield token
""",
    ),
    Mistake(
        11,
        "generate-reads-everything-again",
        "All tokens are given to the same cache again in every step, so it holds them twice.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    tokens = list(tokens)
    for _ in range(count):
        logits = cached_forward(tokens, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        tokens.append(token)
        yield token
""",
    ),
    Mistake(
        11,
        "generate-forgets-the-context",
        "A new cache is made for every token, so each follows the last one alone.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    new = tokens
    for _ in range(count):
        cache = new_cache(config)
        logits = cached_forward(new, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        new = [token]
""",
    ),
    Mistake(
        11,
        "generate-first-row",
        "The logits after the first token are used instead of those after the last.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new = tokens
    for _ in range(count):
        logits = cached_forward(new, weights, config, rope, cache)[0]
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        new = [token]
""",
    ),
    Mistake(
        11,
        "generate-never-reads-the-new-token",
        "The logits are computed once, and all tokens are drawn from them.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    logits = forward(tokens, weights, config, rope)[-1]
    for _ in range(count):
        yield sample(logits, random, temperature, top_k, top_p)
""",
    ),
    Mistake(
        11,
        "generate-last-prompt-token-twice",
        "The whole text is read, and then its last token is read once more.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    cached_forward(tokens, weights, config, rope, cache)
    token = tokens[-1]
    for _ in range(count):
        logits = cached_forward([token], weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
""",
    ),
    Mistake(
        11,
        "generate-prompt-yielded-too",
        "The given tokens are yielded first.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    yield from tokens
    cache = new_cache(config)
    new = tokens
    for _ in range(count):
        logits = cached_forward(new, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        new = [token]
""",
    ),
    Mistake(
        11,
        "generate-returns-a-list",
        "All tokens are collected in a list and returned at the end.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new, result = tokens, []
    for _ in range(count):
        logits = cached_forward(new, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        result.append(token)
        new = [token]
    return result
""",
    ),
    Mistake(
        11,
        "generate-yields-at-the-end",
        "All tokens are drawn first and yielded only afterwards.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new, result = tokens, []
    for _ in range(count):
        logits = cached_forward(new, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        result.append(token)
        new = [token]
    yield from result
""",
    ),
    Mistake(
        11,
        "generate-yields-lists",
        "The whole text so far is yielded every time instead of the new token.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    tokens = list(tokens)
    for _ in range(count):
        logits = forward(tokens, weights, config, rope)[-1]
        tokens = tokens + [sample(logits, random, temperature, top_k, top_p)]
        yield tokens
""",
    ),
    Mistake(
        11,
        "generate-arguments-dropped",
        "Temperature, top_k and top_p are not passed to sample.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new = tokens
    for _ in range(count):
        token = sample(cached_forward(new, weights, config, rope, cache)[-1], random)
        yield token
        new = [token]
""",
    ),
    Mistake(
        11,
        "generate-reads-a-token-late",
        "The token that was drawn first is never read, because the loop is one token behind.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    logits = cached_forward(tokens, weights, config, rope, cache)[-1]
    previous = tokens[-1]
    for _ in range(count):
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        logits = cached_forward([previous], weights, config, rope, cache)[-1]
        previous = token
""",
    ),
    Mistake(
        11,
        "generate-single-token-not-in-a-list",
        "The new token is passed as a number instead of a list with one token.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new = tokens
    for _ in range(count):
        logits = cached_forward(new, weights, config, rope, cache)[-1]
        token = sample(logits, random, temperature, top_k, top_p)
        yield token
        new = token
""",
    ),
    Mistake(
        11,
        "generate-all-rows-to-sample",
        "All rows of logits are passed to sample instead of the last one.",
        """
def generate(
    tokens, count, weights, config, rope, random, temperature=1.0, top_k=0, top_p=1.0
):
    cache = new_cache(config)
    new = tokens
    for _ in range(count):
        token = sample(cached_forward(new, weights, config, rope, cache), random, temperature, top_k, top_p)
        yield token
        new = [token]
""",
    ),
    Mistake(
        12,
        "share-reversed",
        "The ramp is reversed: fast pairs keep nothing and slow pairs all.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.clip((fast - turns) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-not-clipped",
        "The share is not limited to the range from 0 to 1.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return (turns - slow) / (fast - slow)
""",
    ),
    Mistake(
        12,
        "share-clipped-at-the-top-only",
        "The share is limited to 1 but may be negative.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.minimum((turns - slow) / (fast - slow), 1)
""",
    ),
    Mistake(
        12,
        "share-no-two-pi",
        "The division by 2 pi is missing, so radians are taken for turns.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    return np.clip((length * frequencies - slow) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-only-pi",
        "The turns are computed with pi instead of 2 pi.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / np.pi
    return np.clip((turns - slow) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-bracket",
        "A bracket is missing: it divides by 2 and multiplies by pi.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / 2 * np.pi
    return np.clip((turns - slow) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-wavelength",
        "The wavelength is taken for the number of turns.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = 2 * np.pi / frequencies
    return np.clip((turns - slow) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-turns-inverted",
        "The number of turns is inverted: wavelength divided by length.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = 2 * np.pi / (frequencies * length)
    return np.clip((turns - slow) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-no-length",
        "The length is left out.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = frequencies / (2 * np.pi)
    return np.clip((turns - slow) / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-divided-by-fast",
        "The ramp is divided by fast instead of fast - slow.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.clip((turns - slow) / fast, 0, 1)
""",
    ),
    Mistake(
        12,
        "share-slow-not-subtracted",
        "slow is not subtracted, so the ramp starts at 0 turns.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.clip(turns / (fast - slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-step",
        "There is no ramp between slow and fast, only a jump at slow.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.where(turns > slow, 1.0, 0.0)
""",
    ),
    Mistake(
        12,
        "share-zero-between",
        "Between slow and fast the share stays 0, because the ramp is missing.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return (turns >= fast).astype(float)
""",
    ),
    Mistake(
        12,
        "share-constants",
        "1 and 32 are written into the code, and the arguments are ignored.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.clip((turns - 1) / 31, 0, 1)
""",
    ),
    Mistake(
        12,
        "share-logarithmic",
        "The share grows with the logarithm of the turns instead of linearly.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.clip(np.log(turns / slow) / np.log(fast / slow), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-by-index",
        "The ramp runs over the number of the pair instead of over its turns.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    first = np.sum(turns >= fast)
    last = np.sum(turns > slow)
    return np.clip((last - np.arange(len(turns))) / max(last - first, 1), 0, 1)
""",
    ),
    Mistake(
        12,
        "share-exchanged",
        "slow and fast are exchanged in the clip, so every share is 0 or 1.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    return np.where(turns < fast, 0.0, np.where(turns > slow, 1.0, (turns - slow) / (fast - slow)))
""",
    ),
    Mistake(
        12,
        "share-scalar-if",
        "A Python `if` is used on a whole array, which is ambiguous.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    if turns >= fast:
        return 1.0
    if turns <= slow:
        return 0.0
    return (turns - slow) / (fast - slow)
""",
    ),
    Mistake(
        12,
        "share-smooth",
        "The ramp is bent (smoothstep) instead of linear.",
        """
def kept_share(frequencies, length, slow=1.0, fast=32.0):
    turns = length * frequencies / (2 * np.pi)
    t = np.clip((turns - slow) / (fast - slow), 0, 1)
    return t * t * (3 - 2 * t)
""",
    ),
    Mistake(
        12,
        "yarn-shares-exchanged",
        "The share and 1 - share are exchanged.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    new = (1 - share) * frequencies + share * frequencies / scale
    return new, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-all-divided",
        "All frequencies are divided by the scale (position interpolation).",
        """
def yarn(frequencies, scale, length):
    return frequencies / scale, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-multiplied-by-scale",
        "The part that is not kept is multiplied by the scale.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies * scale, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-part-dropped",
        "The part that is not kept is dropped instead of divided by the scale.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-sum-divided",
        "The whole sum is divided by the scale because of a bracket.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return (share * frequencies + (1 - share) * frequencies) / scale, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-log10",
        "The factor uses the logarithm to base 10.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log10(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-log2",
        "The factor uses the logarithm to base 2.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log2(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-no-plus-one",
        "The 1 in the factor is missing, so it is 0 at scale 1.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log(scale)
""",
    ),
    Mistake(
        12,
        "yarn-plus-one-inside",
        "The 1 is added inside the logarithm.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log(scale + 1)
""",
    ),
    Mistake(
        12,
        "yarn-log1p",
        "np.log1p is used, which adds 1 inside the logarithm.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log1p(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-factor-squared",
        "The factor is squared.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, (0.1 * np.log(scale) + 1) ** 2
""",
    ),
    Mistake(
        12,
        "yarn-factor-inverted",
        "The factor is inverted.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, 1 / (0.1 * np.log(scale) + 1)
""",
    ),
    Mistake(
        12,
        "yarn-factor-is-scale",
        "The scale itself is returned as the factor.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale, scale
""",
    ),
    Mistake(
        12,
        "yarn-no-factor",
        "Only the frequencies are returned, without the factor.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share * frequencies + (1 - share) * frequencies / scale
""",
    ),
    Mistake(
        12,
        "yarn-result-exchanged",
        "The factor is returned before the frequencies.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return 0.1 * np.log(scale) + 1, share * frequencies + (1 - share) * frequencies / scale
""",
    ),
    Mistake(
        12,
        "yarn-long-length",
        "The turns are counted over the longer text instead of the length in training.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length * scale)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-factor-in-the-frequencies",
        "The factor is also multiplied into the frequencies.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    factor = 0.1 * np.log(scale) + 1
    return (share * frequencies + (1 - share) * frequencies / scale) * factor, factor
""",
    ),
    Mistake(
        12,
        "yarn-in-place",
        "The given frequencies are changed in place.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    frequencies *= share + (1 - share) / scale
    return frequencies, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-share-returned",
        "The shares are returned instead of the frequencies.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return share, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-arguments-exchanged",
        "The scale is passed to kept_share as the length.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, scale)
    return share * frequencies + (1 - share) * frequencies / scale, 0.1 * np.log(scale) + 1
""",
    ),
    Mistake(
        12,
        "yarn-harmonic-mean",
        "The scale is blended instead of the frequency, so it divides by share + (1 - share) scale.",
        """
def yarn(frequencies, scale, length):
    share = kept_share(frequencies, length)
    return frequencies / (share + (1 - share) * scale), 0.1 * np.log(scale) + 1
""",
    ),
]
