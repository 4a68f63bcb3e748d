"""The printed formulas of chapter 15, executed."""

import numpy as np
from scipy.stats import t as student

from bookcheck.equations.checks import equation, sentences
from bookkit.experiments.training.comparison import holm, interval


@equation("eq-seed-interval")
def test_seed_interval(rng):
    y = rng.normal(size=5)
    return {
        "y": y,
        r"\bar{y}": y.mean(),
        "s": y.std(ddof=1),
        "n": 5,
        r"\tau": student.ppf(0.975, 4),
        "w": interval(y).half,
    }


@equation("eq-holm")
def test_holm(rng):
    """Rising p-values, close enough that the rule must hold some of them up, and one cut at 1."""
    p = np.array([0.011, 0.012, 0.45, 0.46, 0.6]) * rng.uniform(0.9, 1.0)
    return {"p": p, r"\hat{p}": np.array(holm(p.tolist())), "T": len(p), "l": range(1, 6)}


def bindings(rng):
    return {}


test_sentences = sentences("16-which-encoding")(bindings)
