"""Chapter 12 and its page of depth: what the formulas of both are bound to."""

import numpy as np

from attention_to_rope import rotary_frequencies
from shared_rotations import rotation_of_all_pairs, some_base

D = 6


def pairs(x):
    return x[0::2] + 1j * x[1::2]


def contents(rng, d=D):
    """A query, a key, their pairs and products, and everything that turns them.

    The vectors are shorter than 1, so that a wrong power of a length is too small a bound.
    """
    b = some_base(rng)
    q, k = (x * rng.uniform(0.3, 0.6) / np.linalg.norm(x) for x in rng.normal(size=(2, d)))
    theta = rotary_frequencies(d, b).numpy()
    h = pairs(q) * pairs(k).conj()
    return {
        "q": q,
        "k": k,
        "z": pairs(q),
        "w": pairs(k),
        "h": h,
        r"\rho": np.abs(h),
        r"\varphi": np.angle(h),
        r"\theta": theta,
        r"\mathbf{R}": rotation_of_all_pairs(theta),
        "b": b,
        "d_k": d,
    }


def only(values, *names):
    return {name: values[name] for name in names}
