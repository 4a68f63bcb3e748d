"""What mistakes of the workshop cost the trained model, for the page "What breaks when …".

    python -m laboratory.workshop.losses   # about ten minutes on a CPU

Each row is one mistake in an otherwise right model: its loss on held-out text, a text that it
writes, and how strange that text is for the right model. Mistakes in the cache are measured by
reading the same text in pieces, and those of step 12 at the end of a text four times as long as in
training.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bookkit.records import RESULTS, Row
from bookkit.trained.model import STORED, TRAINED_LENGTH
from bookkit.trained.text import held_out
from bookkit.workshop import solution
from laboratory.record import origin, write
from laboratory.workshop.changing import Mistake, names_with
from laboratory.workshop.mistakes import ALL

TEXTS, LENGTH = 4, 512
PIECE = 32
SCALE, LAST = 4, 256
PROMPT = "def mean(values):\n    "
COUNT = 100


class Shown(NamedTuple):
    """A mistake of the page: its step, how it is measured, and how to find it in the list."""

    step: int
    how: str  # whole, pieces, long, text
    words: str  # what the page calls it
    function: str
    begins: str  # the beginning of what it says


SHOWN = [
    Shown(1, "whole", "sum over the queries", "softmax", "it sums over the wrong axis"),
    Shown(1, "whole", "sum over everything", "softmax", "it sums over all numbers at once, so"),
    Shown(1, "whole", "no maximum subtracted", "softmax", "large scores overflow"),
    Shown(2, "whole", "no root", "masked_attend", "the scores are not divided"),
    Shown(2, "whole", "d_k in place of its root", "masked_attend", "the scores are divided by d_k"),
    Shown(2, "whole", "root of the number of keys", "masked_attend", "the scores are divided by the root of the number of keys"),
    Shown(3, "whole", "no mask", "causal_mask", "every token may look"),
    Shown(3, "whole", "mask after the softmax", "masked_attend", "the mask is applied after"),
    Shown(3, "whole", "0 in place of minus infinity", "masked_attend", "hidden scores become 0"),
    Shown(3, "whole", "mask transposed", "causal_mask", "it is transposed: a token"),
    Shown(3, "whole", "a token does not see itself", "causal_mask", "a token may not look at itself"),
    Shown(3, "whole", "a token sees the next one", "causal_mask", "a token sees the next one"),
    Shown(4, "whole", "split without a transpose", "split_heads", "it reshapes without"),
    Shown(4, "whole", "merge without a transpose", "merge_heads", "it reshapes without"),
    Shown(4, "whole", "groups tiled", "repeat_groups", "the groups are tiled"),
    Shown(5, "whole", "LayerNorm", "rms_norm", "this is LayerNorm"),
    Shown(5, "whole", "no root", "rms_norm", "the root is missing"),
    Shown(5, "whole", "eps outside the root", "rms_norm", "eps is added to the root"),
    Shown(5, "whole", "no weight", "rms_norm", "the result is not multiplied"),
    Shown(5, "whole", "mean over the tokens", "rms_norm", "the mean runs over the tokens"),
    Shown(6, "whole", "gate and up exchanged", "swiglu", "gate and up are exchanged"),
    Shown(6, "whole", "sigmoid", "swiglu", "the gate is a sigmoid"),
    Shown(6, "whole", "ReLU", "swiglu", "the gate is a ReLU"),
    Shown(6, "whole", "GELU", "swiglu", "the gate is a GELU"),
    Shown(7, "whole", "interleaved layout", "rotate", "it pairs neighbours, dimensions 2i and 2i + 1 (the"),
    Shown(7, "whole", "rotation backwards in queries and keys", "rotate", "it rotates backwards"),
    Shown(7, "whole", "no 2 in the exponent", "rope_frequencies", "the 2 in the exponent"),
    Shown(7, "whole", "another base", "rope_frequencies", "the default of the base"),
    Shown(7, "whole", "positions from 1", "rope_table", "positions count from 1"),
    Shown(8, "whole", "keys not rotated", "project", "keys are not rotated"),
    Shown(8, "whole", "values rotated too", "project", "values are rotated too"),
    Shown(8, "whole", "no rotation", "project", "nothing is rotated"),
    Shown(8, "whole", "q_proj not transposed", "project", "q_proj is not transposed"),
    Shown(8, "whole", "o_proj not transposed", "mix", "o_proj is not transposed"),
    Shown(8, "whole", "no residual connection", "block", "no residual connection"),
    Shown(8, "whole", "norms exchanged", "block", "the two norms are exchanged"),
    Shown(8, "whole", "norms after the sums", "block", "the norms come after"),
    Shown(9, "whole", "no start token", "encode", "the start token is missing"),
    Shown(9, "whole", "no last norm", "forward", "the last norm (norm.weight) is missing"),
    Shown(9, "whole", "five layers of six", "forward", "one layer is missing"),
    Shown(10, "pieces", "positions restart", "cached_forward", "positions restart"),
    Shown(10, "pieces", "positions one late", "cached_forward", "positions are one too late"),
    Shown(10, "pieces", "positions one early", "cached_forward", "positions are one too early"),
    Shown(10, "pieces", "mask at the top left", "cached_forward", "the mask is aligned"),
    Shown(10, "pieces", "one dictionary for all layers", "cached_forward", "all layers use"),
    Shown(10, "pieces", "keys kept without rotation", "cached_block", "the keys are kept without"),
    Shown(11, "text", "multiplied by the temperature", "probabilities", "the logits are multiplied"),
    Shown(11, "text", "ascending order", "probabilities", "the order is ascending"),
    Shown(11, "text", "rank taken for the token", "probabilities", "the result is in the order of the ranks"),
    Shown(12, "long", "nothing done", "yarn", "the frequencies do not change"),
    Shown(12, "long", "all frequencies divided", "yarn", "all frequencies are divided"),
    Shown(12, "long", "ramp reversed", "kept_share", "the ramp is reversed"),
    Shown(12, "long", "new length for old", "yarn", "the new length"),
    Shown(12, "long", "no factor", "yarn", "the factor is always 1"),
]  # fmt: skip
# In the function that a model calls for itself, these mistakes sit in the cached twin as well.
TWINS = {"forward": "cached_forward", "block": "cached_block"}


def found(shown: Shown) -> list[Mistake]:
    """The mistake of a row, and the same one in the functions with a cache."""
    functions = [shown.function]
    if shown.function in TWINS:
        functions.append(TWINS[shown.function])
    mistakes = []
    for function in functions:
        all_of = [one for one in ALL if one.function == function]
        mistakes.append(next(one for one in all_of if one.says.startswith(shown.begins)))
    return mistakes


def mean_loss(logits: np.ndarray, following: list[int]) -> float:
    """Nats per byte, for the logits before each of the following tokens."""
    rows = logits.astype(np.float64)
    largest = rows.max(axis=-1, keepdims=True)
    total = largest[:, 0] + np.log(np.exp(rows - largest).sum(axis=-1))
    return float((total - rows[np.arange(len(following)), following]).mean())


def loss(names: dict[str, Any], weights: dict[str, np.ndarray], shown: Shown | None) -> float:
    """The loss of a model, as the row says how."""
    config = solution.CONFIG
    rope = (names["rope_frequencies"](config["d_k"]), 1.0)
    how = shown.how if shown else "whole"
    if how == "long":
        return long_loss(names, weights)
    losses = []
    for number in range(TEXTS):
        tokens = held_out(LENGTH, start=70_000 * number)[0].tolist()
        if shown is not None and shown.function == "encode":
            logits = names["forward"](tokens[1:-1], weights, config, rope)
            losses.append(mean_loss(logits, tokens[2:]))
            continue
        if how == "pieces":
            logits = in_pieces(names, weights, tokens[:-1], rope, PIECE)
        else:
            logits = names["forward"](tokens[:-1], weights, config, rope)
        losses.append(mean_loss(logits, tokens[1:]))
    return float(np.mean(losses))


def in_pieces(
    names: dict[str, Any],
    weights: dict[str, np.ndarray],
    tokens: list[int],
    rope: tuple[np.ndarray, float],
    size: int,
) -> np.ndarray:
    """The logits of a text that is read in several calls with a cache."""
    cache = names["new_cache"](solution.CONFIG)
    parts = []
    for start in range(0, len(tokens), size):
        piece = tokens[start : start + size]
        parts.append(names["cached_forward"](piece, weights, solution.CONFIG, rope, cache))
    return np.concatenate(parts)


def long_loss(names: dict[str, Any], weights: dict[str, np.ndarray]) -> float:
    """The loss of the last bytes of a text that is longer than those in training."""
    frequencies = names["rope_frequencies"](solution.CONFIG["d_k"])
    rope = names["yarn"](frequencies, SCALE, TRAINED_LENGTH)
    tokens = held_out(SCALE * TRAINED_LENGTH)[0].tolist()
    logits = in_pieces(names, weights, tokens[:-1], rope, LAST)
    return mean_loss(logits[-LAST:], tokens[-LAST:])


def written(names: dict[str, Any], weights: dict[str, np.ndarray]) -> tuple[str, float]:
    """A text that the model writes, and the right model's loss on it."""
    config = solution.CONFIG
    rope = (names["rope_frequencies"](config["d_k"]), 1.0)
    random = np.random.default_rng(0)
    prompt = names["encode"](PROMPT)
    settings = {"temperature": 0.7, "top_p": 0.95}
    made = list(names["generate"](prompt, COUNT, weights, config, rope, random, **settings))
    text = bytes(token for token in made if token < 256).decode(errors="replace")
    whole = [*solution.encode(PROMPT), *made]
    right_rope = (solution.rope_frequencies(config["d_k"]), 1.0)
    logits = solution.forward(whole[:-1], weights, config, right_rope)
    return text, mean_loss(logits[-COUNT:], whole[-COUNT:])


def rounded(number: float | None, digits: int) -> float | None:
    """A number for the record, if there is one."""
    return None if number is None else round(number, digits)


def row(shown: Shown | None, how: str) -> Row:
    """The measurements of one mistake, or of the right model."""
    weights = solution.read_weights(STORED.read_bytes())
    right = Shown(0, how, "right", "", "")
    mistakes = found(shown) if shown else []
    names = names_with(*mistakes)
    measured, text, strangeness, error = None, "", None, ""
    with np.errstate(all="ignore"):
        try:
            if how != "text":
                measured = loss(names, weights, shown or right)
            if how != "long":
                text, strangeness = written(names, weights)
        except ValueError as problem:
            error = type(problem).__name__
    one = shown or right
    return {
        "step": one.step,
        "mistake": one.words,
        "how": how,
        "loss": "NaN" if measured is not None and math.isnan(measured) else rounded(measured, 3),
        "error": error,
        "text": text,
        "strangeness": rounded(strangeness, 2),
    }


def rows() -> Iterator[Row]:
    """The right model in each measurement, then every mistake."""
    for how in ("whole", "pieces", "text", "long"):
        yield row(None, how)
    for shown in SHOWN:
        yield row(shown, shown.how)


if __name__ == "__main__":
    about = origin("python -m laboratory.workshop.losses")
    write(RESULTS / "workshop.jsonl", rows(), about)
