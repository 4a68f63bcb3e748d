"""The interval over seeds, computed by SciPy."""

import numpy as np

from bookcheck.equations.checks import equation, sentences
from shared import sizes


@equation("eq-seed-interval")
def test_seed_interval(rng):
    from scipy.stats import t as student  # here: collecting the tests need not wait for it

    (n_s,) = sizes(rng, 3)
    y = rng.normal(size=n_s)
    deviation, freedom = y.std(ddof=1), n_s - 1
    u = np.ptp(student.interval(0.95, freedom, scale=deviation / n_s**0.5)) / 2
    spread = {r"\bar{y}": y.mean(), r"\sigma": deviation, r"\tau": student.ppf(0.975, freedom)}
    return {"y": y, "n_s": n_s, "u": u, **spread}


def bindings(rng):
    return {}


test_sentences = sentences("deeper/compare-encodings")(bindings)
