"""The twelve steps: where each comes from in the book, and hints for those who have not begun.

A hint has three stages: which property is asked for, the chapter that explains it, and the line to
look at. Once a function is written, the checks know more, and take the place of stages 1 and 3.
"""

from typing import NamedTuple

from bookkit.workshop.probes import STEPS


class Chapter(NamedTuple):
    """A chapter of the book."""

    title: str
    file: str  # without its ending


CHAPTERS = [
    Chapter("Attention is a weighted average", "chapters/attention"),
    Chapter("Why divide by √d", "chapters/why-sqrt-d"),
    Chapter("Attention is a weighted average", "chapters/attention"),
    Chapter("Many heads", "chapters/many-heads"),
    Chapter("Residuals and norms", "chapters/residuals-and-norms"),
    Chapter("Feed-forward layers and gates", "chapters/feed-forward"),
    Chapter("Implementing RoPE", "chapters/implementing-rope"),
    Chapter("Residuals and norms", "chapters/residuals-and-norms"),
    Chapter("A model in one file", "chapters/one-file"),
    Chapter("The cache", "chapters/cache"),
    Chapter("A model in one file", "chapters/one-file"),
    Chapter("Longer contexts", "chapters/longer-contexts"),
]
LAST = len(STEPS)

# For each function: the property that it must have, and where to begin.
HINTS: dict[str, tuple[str, str]] = {
    "softmax": (
        "Every row of the result sums to 1, and a row of equal scores gets equal weights.",
        "Subtract the largest score of each row, take np.exp, divide by the sum of each row. Both "
        "the maximum and the sum need axis=-1 and keepdims=True.",
    ),
    "attend": (
        "With one key the result is its value. With equal keys it is the mean of the values.",
        "Two lines: the scores, a product of q with k whose last two axes are exchanged, and the "
        "product of their softmax with v.",
    ),
    "causal_mask": (
        "The last row is True everywhere. The row before it has one False, at the end.",
        "Compare two ranges: the positions of the queries as a column, those of the keys as a row.",
    ),
    "masked_attend": (
        "A key that is hidden from a query has no influence on its result.",
        "As step 2, with one line between scores and softmax: np.where.",
    ),
    "split_heads": (
        "Head 0 has the first d_k numbers of every token.",
        "First reshape to three axes, the tokens still in front. Then exchange two axes.",
    ),
    "merge_heads": (
        "After split_heads, it gives the tokens back as they were.",
        "The same two operations as in split_heads, in the opposite order.",
    ),
    "repeat_groups": (
        "Neighbouring query heads have the same keys.",
        "NumPy has a function that repeats entries along an axis.",
    ),
    "rms_norm": (
        "Without weight and eps, the mean of the squares of each result is 1.",
        "Two lines: the mean of the squares with axis=-1 and keepdims=True, then the division.",
    ),
    "swiglu": (
        "A token of zeros gives zeros. No token has influence on another one.",
        "Three linear layers, each written as x @ W.T, and one SiLU.",
    ),
    "rope_frequencies": (
        "The first frequency is 1, and each is the same fraction of the one before.",
        "One power: its exponent is an array made with np.arange.",
    ),
    "rope_table": (
        "At position 0 all cosines are 1 and all sines are 0.",
        "np.outer makes a table of all products.",
    ),
    "rotate": (
        "At position 0 nothing changes, and no rotation changes the length of a vector.",
        "Cut x into two halves along the last axis, compute two new halves, join them.",
    ),
    "project": (
        "Queries have h heads, keys and values g heads. At position 0 the rotation does nothing.",
        "Three products x @ W.T, three times split_heads, two times rotate.",
    ),
    "mix": (
        "A token that is hidden by the mask has no influence.",
        "Your functions of step 4 and masked_attend do the work. The last product is o_proj.",
    ),
    "block": (
        "If o_proj and down_proj were zero, the result would be x.",
        "Two times the same pattern: normalize a copy, compute, add to x.",
    ),
    "encode": (
        'The text "Hi" has three tokens.',
        "str.encode gives bytes, and a list of bytes is a list of integers.",
    ),
    "read_weights": (
        "Every array is float32, and has the shape that the JSON names.",
        "int.from_bytes, json.loads, np.frombuffer, reshape, astype.",
    ),
    "layer_weights": (
        "A layer of the book's model has 9 weights.",
        "Take the names that begin with the prefix of the layer, and cut the prefix off.",
    ),
    "forward": (
        "The logits of a token do not depend on the tokens after it.",
        "Look up the embeddings, run the blocks in a loop, normalize, multiply.",
    ),
    "new_cache": (
        "What is put into the dictionary of one layer is not in those of the others.",
        "A list comprehension makes a new dictionary for each layer.",
    ),
    "cached_block": (
        "With an empty dictionary it is `block`.",
        "Copy your block. Between project and mix, join old and new keys and values, and keep "
        "them.",
    ),
    "cached_forward": (
        "Reading a text in several calls gives the logits of reading it in one.",
        "Copy your forward. How many tokens does the cache have? Positions and mask need it.",
    ),
    "probabilities": (
        "The result sums to 1, has an entry for each token, and never a negative one.",
        "np.argsort gives the tokens by their logits. Keep the first ones, and put the "
        "probabilities back to the places of their tokens.",
    ),
    "sample": (
        "With the same seed it draws the same tokens.",
        "random.choice takes probabilities as p=…",
    ),
    "generate": (
        "At temperature 0 it writes the same text every time.",
        "Read the whole prompt in the first round, and one token in each later round.",
    ),
    "kept_share": (
        "The fastest pair keeps its frequency, the slowest does not.",
        "The number of rotations, a linear function of them, and np.clip.",
    ),
    "yarn": (
        "A scale of 1 changes nothing.",
        "The share comes from kept_share; what follows is the formula of the text.",
    ),
}
