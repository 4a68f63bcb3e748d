"""Mistakes in steps 1 to 4: softmax, attention, masks, heads."""

from laboratory.workshop.changing import Mistake, adder

MISTAKES: list[Mistake] = []
add = adder(MISTAKES)

SUM = "exponentials.sum(axis=-1, keepdims=True)"
MAXIMUM = "x = x - x.max(axis=-1, keepdims=True)"
AXIS = "Look at the axis of the sum. The scores of one query lie along the last axis."
add(
    "softmax",
    "it sums over the wrong axis: over the queries (axis -2), not over the keys (the last axis)",
    AXIS,
    (MAXIMUM, "x = np.atleast_2d(x)"),
    (SUM, "exponentials.sum(axis=-2, keepdims=True)"),
)
add(
    "softmax",
    "it sums over the first axis. That is a row of queries or even of heads, not a row of keys",
    AXIS,
    (SUM, "exponentials.sum(axis=0, keepdims=True)"),
    (MAXIMUM, "x = x - x.max(axis=0, keepdims=True)"),
)
add(
    "softmax",
    "it sums over axis 1. That is the last axis of a matrix, but not of an array with heads",
    AXIS,
    (SUM, "exponentials.sum(axis=1, keepdims=True)"),
    (MAXIMUM, "x = x - x.max(axis=1, keepdims=True)"),
)
add(
    "softmax",
    "it sums over all numbers at once, so all rows together sum to 1, not each row",
    "Look at the sum. Without an axis, NumPy sums the whole array.",
    (SUM, "exponentials.sum()"),
)
add(
    "softmax",
    "it sums over all numbers at once, and the maximum is that of the whole array too",
    "Look at the sum and the maximum. Without an axis, NumPy takes the whole array.",
    (SUM, "exponentials.sum()"),
    (MAXIMUM, "x = x - x.max()"),
)
add(
    "softmax",
    "large scores overflow: exp(1000) is infinite, and infinity divided by infinity is no number",
    "What can you subtract from all scores of a row without changing the result?",
    (MAXIMUM, "x = x + 0"),
)
add(
    "softmax",
    "the sums lose their axis (no keepdims), so rows are divided by the sums of other rows where "
    "the matrix is square, and it is an error elsewhere",
    "Look at the shape of the sum. (3, 5) divided by (3,) does not line up, (3, 1) does.",
    (SUM, "exponentials.sum(axis=-1)"),
)
add(
    "softmax",
    "the sums and the maxima lose their axis (no keepdims), so they are taken for other rows where "
    "the matrix is square, and it is an error elsewhere",
    "Look at the shape of the sum and the maximum. (3, 5) minus (3,) does not line up.",
    (SUM, "exponentials.sum(axis=-1)"),
    (MAXIMUM, "x = x - x.max(axis=-1)"),
)
add(
    "softmax",
    "the maxima lose their axis (no keepdims), so another row's maximum is subtracted where the "
    "matrix is square, and it is an error elsewhere",
    "Look at the shape of the maximum. (3, 5) minus (3,) does not line up.",
    (MAXIMUM, "x = x - x.max(axis=-1)"),
)
add(
    "softmax",
    "the maximum is that of the whole array. Rows whose scores are all far below it become 0 / 0",
    "Look at the maximum: each row needs its own.",
    (MAXIMUM, "x = x - x.max()"),
)
add(
    "softmax",
    "the minimum is subtracted in place of the maximum, so large scores still overflow",
    "Look at what you subtract. After it, no score of a row may be above 0.",
    (MAXIMUM, "x = x - x.min(axis=-1, keepdims=True)"),
)
add(
    "softmax",
    "the mean is subtracted in place of the maximum. A score of -infinity makes the mean infinite",
    "Look at what you subtract. After it, no score of a row may be above 0.",
    (MAXIMUM, "x = x - x.mean(axis=-1, keepdims=True)"),
)
add(
    "softmax",
    "it takes the exponential but does not divide by the sum, so rows do not sum to 1",
    "Look at the last line: a row of weights must sum to 1.",
    (f"exponentials / {SUM}", "exponentials"),
)
add(
    "softmax",
    "it is exp(x) without the division by the sum, and without the maximum",
    "Look at the last line: a row of weights must sum to 1.",
    (f"exponentials / {SUM}", "exponentials"),
    (MAXIMUM, "x = x + 0"),
)
add(
    "softmax",
    "it divides the scores by their sum, without the exponential",
    "Where is exp?",
    (f"exponentials / {SUM}", "x / x.sum(axis=-1, keepdims=True)"),
    (MAXIMUM, "x = x + 0"),
)
add(
    "softmax",
    "it returns the logarithm of the softmax",
    "Look at the last line: weights are positive.",
    (f"exponentials / {SUM}", f"np.log(exponentials / {SUM})"),
)
add(
    "softmax",
    "the sign of the scores is turned: the largest score gets the smallest weight",
    "Look at the exponent: a larger score must give a larger weight.",
    (MAXIMUM, "x = x.min(axis=-1, keepdims=True) - x"),
)
add(
    "softmax",
    "the sign of the scores is turned: the largest score gets the smallest weight",
    "Look at the exponent: a larger score must give a larger weight.",
    (MAXIMUM, "x = x.max(axis=-1, keepdims=True) - x"),
)
add(
    "softmax",
    "it takes the exponential but does not divide by the sum, so rows do not sum to 1",
    "Look at the last line: a row of weights must sum to 1.",
    (SUM, "exponentials.max(axis=-1, keepdims=True)"),
)
add(
    "softmax",
    "it divides by the root of the sum of squares, so the squares of the weights sum to 1",
    "Look at the last line: a row of weights must sum to 1.",
    (SUM, "np.sqrt((exponentials**2).sum(axis=-1, keepdims=True))"),
)
add(
    "softmax",
    "it takes powers of 2 in place of powers of e",
    "Look at the exponential.",
    ("np.exp(x)", "np.exp2(x)"),
)
add(
    "softmax",
    "it divides by the mean of the exponentials, so a row sums to its length and not to 1",
    "Look at the last line: a row of weights must sum to 1.",
    (SUM, "exponentials.mean(axis=-1, keepdims=True)"),
)
# Many readers write exp(x) / sum first, without the maximum; each slip at the sum is then another.
WITHOUT = (MAXIMUM, "x = x + 0")
AND_LARGE = ". Large scores also need the maximum of their row subtracted first"
AND_WHOLE = ". And the maximum is that of the whole array, not of each row"
OVER_ALL = ("x.max(axis=-1, keepdims=True)", "x.max()")
for says, look, new_sum in (
    (
        "the sums lose their axis (no keepdims), so rows are divided by the sums of other rows where "
        "the matrix is square, and it is an error elsewhere",
        "Look at the shape of the sum. (3, 5) divided by (3,) does not line up, (3, 1) does.",
        "exponentials.sum(axis=-1)",
    ),
    (
        "it sums over all numbers at once, so all rows together sum to 1, not each row",
        "Look at the sum. Without an axis, NumPy sums the whole array.",
        "exponentials.sum()",
    ),
    (
        "it sums over the first axis. That is a row of queries or even of heads, not a row of keys",
        AXIS,
        "exponentials.sum(axis=0, keepdims=True)",
    ),
    (
        "it sums over the first axis. That is a row of queries or even of heads, not a row of keys",
        AXIS,
        "exponentials.sum(axis=0)",
    ),
    (
        "it sums over axis 1. That is the last axis of a matrix, but not of an array with heads",
        AXIS,
        "exponentials.sum(axis=1, keepdims=True)",
    ),
):
    add("softmax", says + AND_LARGE, look, WITHOUT, (SUM, new_sum))
    if new_sum.endswith(("(axis=-1)", "(axis=1, keepdims=True)")):
        add("softmax", says + AND_WHOLE, look, OVER_ALL, (SUM, new_sum))
add(
    "softmax",
    "it sums over the first axis. That is a row of queries or even of heads, not a row of keys",
    AXIS,
    (SUM, "exponentials.sum(axis=0)"),
    (MAXIMUM, "x = x - x.max()"),
)
add(
    "softmax",
    "it sums over the first axis. That is a row of queries or even of heads, not a row of keys",
    AXIS,
    (SUM, "exponentials.sum(axis=0)"),
    (MAXIMUM, "x = x - x.max(axis=0)"),
)
add(
    "softmax",
    "it divides the scores by their maximum. Subtract it: only a difference leaves weights as they are",
    "Look at the maximum.",
    (MAXIMUM, "x = x / x.max(axis=-1, keepdims=True)"),
)
add(
    "softmax",
    "a small number is added to the sum that is too large, so rows do not sum to 1",
    "Look at the sum. It is never 0, because the largest exponential is 1.",
    (SUM, f"({SUM} + 1)"),
)

# ---------------------------------------------------------------------------------------- attend
ROOT = "Look at the line of the scores and at what they are divided by."
ROOT_OF_DK = "/ q.shape[-1] ** 0.5"
SCORES = "q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5"
WEIGHTED = "softmax(scores) @ v"
for name in ("attend", "masked_attend"):
    add(name, "the scores are not divided by the root of d_k", ROOT, (ROOT_OF_DK, ""))
    add(
        name,
        "the scores are divided by d_k, not by its square root",
        ROOT,
        (ROOT_OF_DK, "/ q.shape[-1]"),
    )
    add(
        name,
        "the scores are multiplied by the root of d_k, not divided by it",
        ROOT,
        (ROOT_OF_DK, "* q.shape[-1] ** 0.5"),
    )
    add(
        name,
        "the scores are divided by the root of the number of keys, not of d_k",
        ROOT + " Which axis of q is d_k?",
        (ROOT_OF_DK, "/ k.shape[-2] ** 0.5"),
    )
    add(
        name,
        "the scores are divided by the root of the number of queries, not of d_k",
        ROOT + " Which axis of q is d_k?",
        (ROOT_OF_DK, "/ q.shape[-2] ** 0.5"),
    )
    add(
        name,
        "the scores are divided by the root of the dimension of the values, not of d_k",
        ROOT,
        (ROOT_OF_DK, "/ v.shape[-1] ** 0.5"),
    )
    add(
        name,
        "the scores are divided by the root of the first length of q. With heads, that is the "
        "number of heads",
        ROOT + " Which axis of q is d_k?",
        (ROOT_OF_DK, "/ q.shape[0] ** 0.5"),
    )
    add(
        name,
        "the scores are divided by the root of the length of axis 1 of q. With heads, that is the "
        "number of queries",
        ROOT + " Which axis of q is d_k?",
        (ROOT_OF_DK, "/ q.shape[1] ** 0.5"),
    )
    add(
        name,
        "the scores are divided by the root of all numbers in q, not of d_k",
        ROOT,
        (ROOT_OF_DK, "/ q.size ** 0.5"),
    )
    add(
        name,
        "queries and keys are exchanged: a row of scores belongs to a key",
        "Look at the line of the scores: one row for each query, one column for each key.",
        ("q @ k.swapaxes(-1, -2)", "k @ q.swapaxes(-1, -2)"),
    )
    add(
        name,
        "k is not transposed. With as many keys as dimensions this is silent, otherwise an error",
        "Look at the line of the scores: (N, d_k) times (d_k, N_k).",
        ("q @ k.swapaxes(-1, -2)", "q @ k"),
    )
    add(
        name,
        "k.T turns all axes around. With heads, only the last two may be exchanged",
        "Look at the transpose. What does .T do with three axes?",
        ("k.swapaxes(-1, -2)", "k.T"),
    )
    add(
        name,
        "k is reshaped, not transposed. The shape is right, but its numbers are in other places",
        "Look at the transpose: reshape keeps the order of the numbers in memory.",
        ("k.swapaxes(-1, -2)", "k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])"),
    )
    add(
        name,
        "the first two axes of k are exchanged. With heads, these are not the last two",
        "Look at the transpose: the last two axes are to be exchanged.",
        ("k.swapaxes(-1, -2)", "k.swapaxes(0, 1)"),
    )
    add(
        name,
        "the weights are multiplied by the keys, not by the values",
        "Look at the last line.",
        (" @ v", " @ k"),
    )

add(
    "attend",
    "the softmax is missing: the values are weighted by the scores themselves",
    "Look at the last line.",
    (WEIGHTED, "scores @ v"),
)
add(
    "attend",
    "it returns the weights, without the weighted mean of the values",
    "Look at the last line: what is done with v?",
    (WEIGHTED, "softmax(scores)"),
)
add(
    "attend",
    "the softmax runs over the queries, not over the keys",
    "Look at the last line: the weights of each query sum to 1.",
    (WEIGHTED, "softmax(scores.swapaxes(-1, -2)).swapaxes(-1, -2) @ v"),
)
add(
    "attend",
    "the division by the root comes after the softmax, so weights do not sum to 1",
    ROOT,
    (SCORES, "q @ k.swapaxes(-1, -2)"),
    (WEIGHTED, "softmax(scores) / q.shape[-1] ** 0.5 @ v"),
)
add(
    "attend",
    "it has a causal mask. Here every query looks at all keys: the mask is step 3",
    "Leave the mask out.",
    (
        "return",
        "scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)\n    return",
    ),
)
add(
    "attend",
    "the weights are transposed before they meet the values",
    "Look at the last line: (N, N_k) times (N_k, d_v).",
    (WEIGHTED, "softmax(scores).swapaxes(-1, -2) @ v"),
)
add(
    "attend",
    "the values are exchanged with the keys: the scores come from q and v",
    "Look at the line of the scores.",
    ("q @ k.swapaxes(-1, -2)", "q @ v.swapaxes(-1, -2)"),
)

# ------------------------------------------------------------------------------------------ mask
ALIGN = "Look at the position of the first query: N_k - N tokens come before it."
add(
    "causal_mask",
    "it starts at the top left: the first query is taken for the first token. But the last query "
    "belongs to the last key",
    ALIGN,
    ("np.arange(N_k - N, N_k)", "np.arange(N)"),
)
add(
    "causal_mask",
    "a token may not look at itself",
    "Look at the comparison: is the token itself allowed?",
    ("columns <= rows", "columns < rows"),
)
add(
    "causal_mask",
    "a token may not look at itself, and the first query is taken for the first token",
    "Look at the comparison, and at the position of the first query.",
    ("columns <= rows", "columns < rows"),
    ("np.arange(N_k - N, N_k)", "np.arange(N)"),
)
add(
    "causal_mask",
    "a token sees the next one. The loss would become better than it can honestly be",
    "Look at the comparison: the token after this one is what the model has to predict.",
    ("columns <= rows", "columns <= rows + 1"),
)
add(
    "causal_mask",
    "it is transposed: a token looks at itself and at those after it",
    "Look at the comparison: rows are queries, columns are keys.",
    ("columns <= rows", "columns >= rows"),
)
add(
    "causal_mask",
    "it is turned around: True where a token may not look",
    "Remember: True means that a query may look at a key.",
    ("columns <= rows", "columns > rows"),
)
add(
    "causal_mask",
    "it is turned around, True where a token may not look, and aligned at the top left",
    "Remember: True means that a query may look at a key. " + ALIGN,
    ("columns <= rows", "columns > rows"),
    ("np.arange(N_k - N, N_k)", "np.arange(N)"),
)
add(
    "causal_mask",
    "it is transposed and aligned at the top left",
    "Rows are queries, columns are keys. " + ALIGN,
    ("columns <= rows", "columns >= rows"),
    ("np.arange(N_k - N, N_k)", "np.arange(N)"),
)
add(
    "causal_mask",
    "every token may look at every other: there is no mask",
    "Look at the comparison: tokens after this one must be False.",
    ("columns <= rows", "(columns <= rows) | True"),
)
add(
    "causal_mask",
    "it has the shape (N, N): keys that came before the new tokens are missing",
    "Look at the shape: one column for each of the N_k keys.",
    ("np.arange(N_k)", "np.arange(N_k - N, N_k)"),
)
add(
    "causal_mask",
    "it has the shape (N_k, N_k): rows of tokens that ask nothing are still there",
    "Look at the shape: one row for each of the N queries.",
    ("np.arange(N_k - N, N_k)", "np.arange(N_k)"),
)
add(
    "causal_mask",
    "it has the shape (N_k, N): rows and columns are exchanged",
    "Look at the shape: one row for each query, one column for each key.",
    ("columns <= rows", "(columns <= rows).T"),
)
add(
    "causal_mask",
    "it holds numbers, 1 and 0, not Booleans",
    "Look at the dtype.",
    ("columns <= rows", "(columns <= rows).astype(float)"),
)
add(
    "causal_mask",
    "it holds numbers, 1 and 0, not Booleans, and the first query is taken for the first token",
    "Look at the dtype. " + ALIGN,
    ("columns <= rows", "(columns <= rows).astype(float)"),
    ("np.arange(N_k - N, N_k)", "np.arange(N)"),
)
add(
    "causal_mask",
    "it holds 0 and -infinity, to be added to scores. Here a mask is Boolean",
    "Return the comparison itself.",
    ("columns <= rows", "np.where(columns <= rows, 0, -np.inf)"),
)
add(
    "causal_mask",
    "each token sees only itself",
    "Look at the comparison: earlier tokens are allowed too.",
    ("columns <= rows", "columns == rows"),
)
add(
    "causal_mask",
    "it is turned around, left and right",
    "Look at the comparison: the first columns are the oldest tokens.",
    ("columns <= rows", "(columns <= rows)[:, ::-1]"),
)

MASKED = "visible = np.where(mask, scores, -np.inf)"
AFTER = "softmax(visible) @ v"
add(
    "masked_attend",
    "the mask is applied after the softmax, so the weights that stay do not sum to 1",
    "Look at the order: mask the scores, then take the softmax.",
    (MASKED, "visible = scores"),
    (AFTER, "np.where(mask, softmax(visible), 0) @ v"),
)
add(
    "masked_attend",
    "hidden scores become 0, not -infinity. The exponential of 0 is 1, so they still count",
    "Look at what a hidden score becomes: its weight must be 0 after the softmax.",
    ("-np.inf", "0"),
)
add(
    "masked_attend",
    "hidden scores become -1. Their weight is small only where other scores are large",
    "Look at what a hidden score becomes: its weight must be 0 after the softmax.",
    ("-np.inf", "-1"),
)
for number in ("10", "100"):
    add(
        "masked_attend",
        f"hidden scores become -{number}. That is not low enough where other scores are lower still",
        "Look at what a hidden score becomes: its weight must be 0 for all scores.",
        ("-np.inf", f"-{number}"),
    )
add(
    "masked_attend",
    "hidden scores become +infinity, so no weight is a number",
    "Look at the sign.",
    ("-np.inf", "np.inf"),
)
add(
    "masked_attend",
    "the mask is not used",
    "Look at the scores: where the mask is False, the weight must be 0.",
    (MASKED, "visible = scores"),
)
add(
    "masked_attend",
    "the mask is turned around: True means that a query may look at a key",
    "Look at the condition.",
    (MASKED, "visible = np.where(mask, -np.inf, scores)"),
)
add(
    "masked_attend",
    "the mask is transposed",
    "Look at the mask: its rows are queries, as those of the scores.",
    (MASKED, "visible = np.where(mask.T, scores, -np.inf)"),
)
add(
    "masked_attend",
    "the mask is added to the scores: True counts as 1, which hides nothing",
    "Look at what a hidden score becomes: its weight must be 0 after the softmax.",
    (MASKED, "visible = scores + mask"),
)
add(
    "masked_attend",
    "scores are masked before the division and the product is taken as it is: no softmax",
    "Look at the last line.",
    (AFTER, "np.where(mask, scores, 0) @ v"),
)
add(
    "masked_attend",
    "it always takes the causal mask, not the one that it is given",
    "Look at the mask: it is an argument.",
    (MASKED, "visible = np.where(causal_mask(*scores.shape[-2:]), scores, -np.inf)"),
)
add(
    "masked_attend",
    "the exponentials are masked, but the softmax before was divided by the sum of all and the "
    "weights are divided by the root once more",
    "Look at the order: mask the scores, then take the softmax.",
    (MASKED, "visible = scores"),
    (AFTER, "np.where(mask, softmax(visible), 0) / q.shape[-1] ** 0.5 @ v"),
)
add(
    "masked_attend",
    "the softmax runs over the queries, not over the keys",
    "Look at the last line: the weights of each query sum to 1.",
    (AFTER, "softmax(visible.swapaxes(-1, -2)).swapaxes(-1, -2) @ v"),
)
add(
    "masked_attend",
    "it returns the weights, without the weighted mean of the values",
    "Look at the last line: what is done with v?",
    (AFTER, "softmax(visible)"),
)
add(
    "masked_attend",
    "hidden scores are multiplied by -infinity. That is right for positive scores only",
    "Look at what a hidden score becomes: its weight must be 0 whatever the score was.",
    (MASKED, "visible = scores * np.where(mask, 1.0, -np.inf)"),
)
add(
    "masked_attend",
    "hidden scores become the smallest number of all, which is not low enough",
    "Look at what a hidden score becomes: its weight must be 0 after the softmax.",
    ("-np.inf", "scores.min()"),
)

# ----------------------------------------------------------------------------------------- heads
SPLIT = "x.reshape(N, heads, -1).swapaxes(0, 1)"
add(
    "split_heads",
    "it reshapes without a transpose: the shape is right, but tokens and heads are mixed",
    "reshape keeps the order of the numbers in memory. First cut each token, then exchange axes.",
    (SPLIT, "x.reshape(heads, N, -1)"),
)
add(
    "split_heads",
    "the axes of tokens and heads are not exchanged: the result is (N, heads, d_k)",
    "Look at the order of the axes in the result.",
    (SPLIT, "x.reshape(N, heads, -1)"),
)
add(
    "split_heads",
    "the last two axes are exchanged too: the result is (heads, d_k, N)",
    "Look at the order of the axes in the result.",
    (SPLIT, "x.reshape(N, heads, -1).transpose(1, 2, 0)"),
)
add(
    "split_heads",
    "it takes every heads-th number, so the numbers of one head do not lie together",
    "Head 0 has the first d_k numbers of each token. Look at the order in reshape.",
    (SPLIT, "x.reshape(N, -1, heads).transpose(2, 0, 1)"),
)
add(
    "split_heads",
    "x is transposed before it is cut, so a head holds numbers of several tokens",
    "Look at the order: first cut each token's vector, then exchange axes.",
    (SPLIT, "x.T.reshape(heads, N, -1)"),
)
add(
    "split_heads",
    "the result is (d_k, N, heads): `heads` is taken for the length of one head",
    "Look at reshape: which of the two lengths is `heads`?",
    (SPLIT, "x.reshape(N, -1, heads).swapaxes(0, 1)"),
)
add(
    "split_heads",
    "it cuts the tokens into heads, not the numbers of each token",
    "Look at what is cut: every head has all tokens.",
    (SPLIT, "x.reshape(-1, heads, x.shape[1] // heads).swapaxes(0, 1)[:, ::-1]"),
)
add(
    "split_heads",
    "all axes are turned around (.T): the result is (d_k, heads, N)",
    "Look at the transpose: only tokens and heads are to be exchanged.",
    (SPLIT, "x.reshape(N, heads, -1).T"),
)
MERGE = "x.swapaxes(0, 1).reshape(N, -1)"
add(
    "merge_heads",
    "it reshapes without a transpose: the shape is right, but tokens and heads are mixed",
    "Before reshape, the numbers of one token must lie together: exchange axes first.",
    (MERGE, "x.reshape(N, -1)"),
)
add(
    "merge_heads",
    "the numbers of all heads alternate: the heads do not lie one after the other",
    "Look at the axes before reshape: (N, heads, d_k).",
    (MERGE, "x.transpose(1, 2, 0).reshape(N, -1)"),
)
add(
    "merge_heads",
    "the last two axes are exchanged, not the first two",
    "Look at the axes before reshape: (N, heads, d_k).",
    (MERGE, "x.swapaxes(1, 2).reshape(N, -1)"),
)
add(
    "merge_heads",
    "all axes are turned around (.T) before reshape",
    "Look at the axes before reshape: (N, heads, d_k).",
    (MERGE, "x.T.reshape(N, -1)"),
)
add(
    "merge_heads",
    "the result has the shape (heads, N * d_k): heads are still the first axis",
    "Look at the shape: one row for each token.",
    (MERGE, "x.reshape(x.shape[0], -1)"),
)
add(
    "merge_heads",
    "heads and tokens are exchanged, but not merged: the result still has three axes",
    "Look at the shape: (N, heads * d_k).",
    (MERGE, "x.swapaxes(0, 1)"),
)
add(
    "merge_heads",
    "the heads are added up or averaged, not put side by side",
    "Look at the shape: (N, heads * d_k).",
    (MERGE, "x.sum(axis=0)"),
)
add(
    "merge_heads",
    "the heads are averaged, not put side by side",
    "Look at the shape: (N, heads * d_k).",
    (MERGE, "x.mean(axis=0)"),
)
add(
    "merge_heads",
    "the heads are put one below the other, not side by side",
    "Look at the axis: the vectors of one token become one long vector.",
    (MERGE, "np.concatenate(list(x), axis=0)"),
)
add(
    "merge_heads",
    "the number of heads is taken for the number of tokens",
    "Look at the axes of x: (heads, N, d_k).",
    (MERGE, "x.swapaxes(0, 1).reshape(x.shape[0], -1)"),
)
REPEAT = "np.repeat(x, times, axis=0)"
add(
    "repeat_groups",
    "the groups are tiled (0, 1, 0, 1 …), but neighbours share a group (0, 0, 0, 1, 1, 1)",
    "Look at the order of the copies.",
    (REPEAT, "np.tile(x, (times, 1, 1))"),
)
add(
    "repeat_groups",
    "it repeats the tokens, not the heads",
    "Look at the axis: heads are the first one.",
    (REPEAT, "np.repeat(x, times, axis=1)"),
)
add(
    "repeat_groups",
    "it repeats the dimensions, not the heads",
    "Look at the axis: heads are the first one.",
    (REPEAT, "np.repeat(x, times, axis=-1)"),
)
add(
    "repeat_groups",
    "there is no axis in repeat, so NumPy makes one long row of all numbers",
    "Look at the axis: heads are the first one.",
    (REPEAT, "np.repeat(x, times)"),
)
add(
    "repeat_groups",
    "each group is repeated `heads` times. All groups together must give `heads`",
    "How many query heads share one group?",
    ("heads // x.shape[0]", "heads"),
)
add(
    "repeat_groups",
    "each group is repeated g times, but the number of copies is heads / g",
    "How many query heads share one group?",
    ("heads // x.shape[0]", "x.shape[0]"),
)
add(
    "repeat_groups",
    "nothing is repeated",
    "How many query heads share one group?",
    (REPEAT, "x"),
)
add(
    "repeat_groups",
    "every query head gets the first group",
    "Which group does query head 3 use?",
    (REPEAT, "np.repeat(x[:1], heads, axis=0)"),
)
add(
    "repeat_groups",
    "the copies get an axis of their own: (g, copies, N_k, d_k)",
    "Look at the shape: the copies are heads.",
    (REPEAT, "np.repeat(x[:, None], times, axis=1)"),
)
add(
    "repeat_groups",
    "the copies are in the order of the groups, but backwards",
    "Which group does query head 0 use?",
    (REPEAT, "np.repeat(x[::-1], times, axis=0)"),
)
add(
    "repeat_groups",
    "the copies are reshaped in a way that mixes tokens and heads",
    "Look at the axis: heads are the first one.",
    (REPEAT, "np.repeat(x, times, axis=1).reshape(heads, x.shape[1], x.shape[2])"),
)
