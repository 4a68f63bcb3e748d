"""Key–value recall: which value stood beside this key? Asked at every depth of every length.

Tokens: `start, k v k v … k v, =, k v k v …`. After `=` come keys that stood before, each followed
by its value; only those values are scored. All keys of an example differ, so the answer stands
exactly once, and every other pair is there to distract.
"""

import math

import numpy as np
import numpy.typing as npt

KEYS, VALUES = 128, 32
EQUALS, START, PAD = KEYS + VALUES, KEYS + VALUES + 1, KEYS + VALUES + 2
VOCABULARY = KEYS + VALUES + 3

Tokens = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


def width(pairs: int, questions: int) -> int:
    """The number of tokens of an example."""
    return 2 + 2 * pairs + 2 * questions


def batch(
    pairs: npt.NDArray[np.int64], asked: npt.NDArray[np.int64], rng: np.random.Generator, wide: int
) -> tuple[Tokens, Marks]:
    """Tokens (B, wide), padded at the end, and which are scored.

    pairs (B,): how many pairs each example has; asked (B, Q): which pair each question asks for.
    """
    if int(pairs.max()) > KEYS or bool((asked >= pairs[:, None]).any()):
        raise ValueError(
            f"an example has at most {KEYS} pairs and asks for pairs below its number of pairs; "
            f"got up to {int(pairs.max())} pairs and questions up to {int(asked.max())}"
        )
    count, questions = asked.shape
    tokens = np.full((count, wide), PAD)
    scored = np.zeros((count, wide), dtype=bool)
    keys = rng.permuted(np.tile(np.arange(KEYS), (count, 1)), axis=1)
    values = rng.integers(KEYS, KEYS + VALUES, size=(count, KEYS))
    for row, number in enumerate(pairs.tolist()):
        stored = np.stack([keys[row, :number], values[row, :number]], axis=1).ravel()
        chosen = asked[row]
        answers = np.stack([keys[row, chosen], values[row, chosen]], axis=1).ravel()
        line = np.concatenate([[START], stored, [EQUALS], answers])
        tokens[row, : len(line)] = line
        scored[row, len(line) - 2 * questions + 1 : len(line) : 2] = True
    return tokens, scored


def longest_list(longest: int, done: float) -> int:
    """The longest list at this share of the training: it doubles from 2 to `longest` by one half.

    Short lists first, because looking one token back and then matching is learned suddenly, and
    the sooner the fewer pairs distract.
    """
    return min(longest, math.ceil(2 * math.pow(longest / 2, 2 * done)))


def training_batch(
    count: int, longest: int, questions: int, rng: np.random.Generator, wide: int
) -> tuple[Tokens, Marks]:
    """Examples of 2 to `longest` pairs, each asked `questions` times, padded to `wide` tokens."""
    pairs = rng.integers(2, longest + 1, size=count)
    asked = rng.integers(0, pairs[:, None], size=(count, questions))
    return batch(pairs, asked, rng, wide)


def test_batch(
    pairs: int, depths: int, examples: int, rng: np.random.Generator
) -> tuple[Tokens, Marks]:
    """One question each, `examples` for each of `depths` equal parts, the earliest part first."""
    part = np.repeat(np.arange(depths), examples)
    asked = (part * pairs + rng.integers(0, pairs, size=part.size)) // depths
    return batch(np.full(part.size, pairs), asked[:, None], rng, width(pairs, 1))
