"""The printed formulas of chapter 15, executed."""

from scipy.stats import hmean, rankdata
from scipy.stats import t as student

from bookcheck.equations.checks import equation
from bookkit.experiments.training.summary import interval


@equation("eq-seed-interval", library=interval)
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


@equation("eq-reciprocal-rank")
def test_reciprocal_rank(rng):
    """The mean of the reciprocals is the reciprocal of the harmonic mean."""
    shares = rng.uniform(size=(7, 5))  # 7 comparisons of 5 schemes
    r = rankdata(-shares, axis=1)[:, 2]
    return {"r": r, "T": 7, "M": 1 / hmean(r)}
