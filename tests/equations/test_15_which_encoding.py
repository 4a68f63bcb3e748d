"""The printed formula of chapter 15, executed."""

from scipy.stats import t as student

from bookcheck.equations import equation
from experiments.summary import interval


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
