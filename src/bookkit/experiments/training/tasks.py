"""Five small tasks whose length can grow, after Kazemnejad et al. (2023).

Each example is `start, question, =, answer, end`, in tokens; only the answer is scored.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

# Tokens 0…9 are digits.
PLUS, EQUALS, START, END, PAD = 10, 11, 12, 13, 14
VOCABULARY = 15

Example = tuple[list[int], list[int]]


def sorting(length: int, rng: np.random.Generator) -> Example:
    """3 1 4 → 1 3 4"""
    digits = rng.integers(0, 10, size=length).tolist()
    return digits, sorted(digits)


def addition(length: int, rng: np.random.Generator) -> Example:
    """3 1 4 + 2 7 1 → 5 8 5 0: last digit first, as one adds by hand; one digit for the carry"""
    first, second = (rng.integers(0, 10, size=length).tolist() for _ in range(2))
    total = sum(
        digit * 10**place
        for number in (first, second)
        for place, digit in enumerate(reversed(number))
    )
    return [*first, PLUS, *second], [int(digit) for digit in reversed(str(total).zfill(length + 1))]


def parity(length: int, rng: np.random.Generator) -> Example:
    """1 0 1 1 → 1: are the ones odd in number?"""
    bits = rng.integers(0, 2, size=length).tolist()
    return bits, [sum(bits) % 2]


def _symbols(length: int, rng: np.random.Generator) -> list[int]:
    """Symbols out of a hundred: the ten digits, and ninety after the marks."""
    drawn = rng.integers(0, 100, size=length)
    chosen: list[int] = np.where(drawn < 10, drawn, drawn + VOCABULARY - 10).tolist()
    return chosen


def copy_symbols(length: int, rng: np.random.Generator) -> Example:
    """17 3 54 → 17 3 54, with a hundred symbols."""
    symbols = _symbols(length, rng)
    return symbols, symbols


def reverse_symbols(length: int, rng: np.random.Generator) -> Example:
    """17 3 54 → 54 3 17, with a hundred symbols."""
    symbols = _symbols(length, rng)
    return symbols, symbols[::-1]


# As the paper has them: a hundred symbols to copy and to reverse.
STUDIED: dict[str, Callable[[int, np.random.Generator], Example]] = {
    "copy, 100 symbols": copy_symbols,
    "reverse, 100 symbols": reverse_symbols,
    "sorting": sorting,
    "addition": addition,
    "parity": parity,
}
STUDIED_VOCABULARY = VOCABULARY + 90


def batch(
    task: str,
    lengths: npt.NDArray[np.int64],
    rng: np.random.Generator,
    width: int | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Tokens (B, N), padded at the end to `width`, and which belong to the answer (B, N)."""
    if task not in STUDIED:
        raise ValueError(f"task must be one of {list(STUDIED)}, got {task!r}")
    rows, marks = [], []
    for length in lengths.tolist():
        question, answer = STUDIED[task](length, rng)
        rows.append([START, *question, EQUALS, *answer, END])
        marks.append([False] * (len(question) + 2) + [True] * (len(answer) + 1))
    longest = width or max(len(row) for row in rows)
    tokens = np.full((len(rows), longest), PAD)
    scored = np.zeros((len(rows), longest), dtype=bool)
    for number, (row, mark) in enumerate(zip(rows, marks, strict=True)):
        tokens[number, : len(row)] = row
        scored[number, : len(row)] = mark
    return tokens, scored


def tokens_needed(task: str, length: int) -> int:
    """The longest sequence that a task of this length makes."""
    question, answer = STUDIED[task](length, np.random.default_rng(0))
    return len(question) + len(answer) + 3
