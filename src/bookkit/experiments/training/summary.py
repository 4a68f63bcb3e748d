"""Reading the recorded rows: means with intervals over seeds."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from bookkit.experiments.training.run import RESULTS, read_rows


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.half:.3f}"


def interval(values: Sequence[float]) -> Interval:
    """Student's 95 % interval of the mean over seeds: t · s / √n."""
    sample = np.asarray(values, dtype=float)
    if len(sample) < 2:
        raise ValueError(f"an interval needs at least two values, got {len(sample)}")
    half = student.ppf(0.975, len(sample) - 1) * sample.std(ddof=1) / math.sqrt(len(sample))
    return Interval(float(sample.mean()), float(half))


@cache
def _recorded(size: str) -> list[dict[str, Any]]:
    return read_rows(RESULTS / f"{size}.jsonl")


def rows(size: str, study: str, **chosen: Any) -> list[dict[str, Any]]:
    """The recorded rows of one study, ordered by seed; `chosen` narrows them: scheme="RoPE"."""
    found = [
        row
        for row in _recorded(size)
        if row["study"] == study and all(row.get(key) == value for key, value in chosen.items())
    ]
    if not found:
        raise ValueError(f"no recorded rows for {size}, {study}, {chosen}")
    return sorted(found, key=lambda row: row["seed"])
