"""Five small tasks whose length can grow, after Kazemnejad et al. (2023).

Each example is `start, question, =, answer, end`, in tokens; only the answer is scored.
"""

from collections.abc import Callable

import numpy as np

# Tokens 0…9 are digits.
PLUS, EQUALS, START, END, PAD = 10, 11, 12, 13, 14
VOCABULARY = 15

Example = tuple[list[int], list[int]]


def copy(length: int, rng: np.random.Generator) -> Example:
    """3 1 4 → 3 1 4"""
    digits = rng.integers(0, 10, size=length).tolist()
    return digits, digits


def reverse(length: int, rng: np.random.Generator) -> Example:
    """3 1 4 → 4 1 3"""
    digits = rng.integers(0, 10, size=length).tolist()
    return digits, digits[::-1]


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


TASKS: dict[str, Callable[[int, np.random.Generator], Example]] = {
    "copy": copy,
    "reverse": reverse,
    "sorting": sorting,
    "addition": addition,
    "parity": parity,
}


def batch(
    task: str, lengths: np.ndarray, rng: np.random.Generator, width: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens (B, N), padded at the end to `width`, and which belong to the answer (B, N)."""
    if task not in TASKS:
        raise ValueError(f"task must be one of {list(TASKS)}, got {task!r}")
    rows, marks = [], []
    for length in lengths.tolist():
        question, answer = TASKS[task](length, rng)
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
    question, answer = TASKS[task](length, np.random.default_rng(0))
    return len(question) + len(answer) + 3
