"""Comparing schemes: each at the rate that suits it, in pairs by seed, corrected for many looks."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from bookkit.experiments.record import Row, recorded

Values = npt.NDArray[np.float64]


def rows(size: str, study: str, **chosen: Any) -> list[Row]:
    """The recorded rows of one study, ordered by seed; `chosen` narrows them: scheme="RoPE"."""
    found = recorded(f"training/studies-{size}.jsonl", study=study, **chosen)
    return sorted(found, key=lambda row: row["seed"])


def tuned(found: Sequence[Row]) -> list[Row]:
    """The rows of the rates with the lowest mean validation loss, of one scheme and task.

    The validation loss is taken inside the training length, on other examples than the tests.
    """
    by_rate: dict[tuple[float, float], list[Row]] = {}
    for row in found:
        by_rate.setdefault((row["rate"], row["position_rate"]), []).append(row)
    if len({(row["scheme"], row.get("task")) for row in found}) != 1:
        raise ValueError("rates are chosen for one scheme and one task; narrow the rows first")

    def loss(rate: tuple[float, float]) -> float:
        value = float(np.mean([row["validation"] for row in by_rate[rate]]))
        return math.inf if math.isnan(value) else value  # a training that broke up

    return by_rate[min(by_rate, key=loss)]


def holm(p_values: Sequence[float]) -> list[float]:
    r"""Holm's correction: the k-th smallest of n values times n − k + 1, never falling, at most 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


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
    half = stdtrit(len(sample) - 1, 0.975) * sample.std(ddof=1) / math.sqrt(len(sample))
    return Interval(float(sample.mean()), float(half))


class Comparison(NamedTuple):
    """A scheme against the reference: mean difference by seed with its interval, and p-values."""

    name: str
    difference: Interval
    p: float
    corrected: float


def _p_value(change: Values) -> float:
    """Of a mean of 0, by Student's t; without any spread 1 for a mean of 0 and 0 for others."""
    if np.ptp(change) == 0:
        return float(not change.any())
    t = change.mean() / (change.std(ddof=1) / math.sqrt(len(change)))
    return 2 * float(stdtr(len(change) - 1, -abs(t)))


def compare(scores: Mapping[str, Sequence[float]], reference: str) -> list[Comparison]:
    """Every scheme against the reference, paired by seed (Student's t), corrected by Holm.

    scores: one number a seed for each scheme, seeds in the same order.
    """
    others = [name for name in scores if name != reference]
    sizes = {name: len(values) for name, values in scores.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"pairs need the same seeds in every scheme, got {sizes}")
    base = np.asarray(scores[reference], dtype=float)
    differences = [np.asarray(scores[name], dtype=float) - base for name in others]
    p_values = [_p_value(change) for change in differences]
    return [
        Comparison(name, interval(change.tolist()), p, corrected)
        for name, change, p, corrected in zip(
            others, differences, p_values, holm(p_values), strict=True
        )
    ]


def reciprocal_ranks(scores: Values, ties: Literal["average", "min"] = "average") -> Values:
    """The mean of 1/rank of each scheme, (tasks, schemes, seeds) → (schemes,); the best is 1.

    ties: schemes that are equal share the mean of their ranks, or all get the best ("min").
    """
    better = (scores[:, None] > scores[:, :, None]).sum(2)  # (tasks, schemes, seeds)
    equal = (scores[:, None] == scores[:, :, None]).sum(2)
    ranks = better + (1 if ties == "min" else (equal + 1) / 2)
    mean: Values = (1 / ranks).mean((0, 2))
    return mean
