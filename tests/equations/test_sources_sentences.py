"""The sources: the relations that the notes print, those that are right."""

import numpy as np

from bookcheck.equations.checks import sentences
from shared_rotations import plane_rotation, some_angle


def bindings(rng):
    """The library's turn of one plane, and two angles."""
    a, b = rng.uniform(0.2, 3, size=2)
    return {"a": a, "b": b, "R": plane_rotation}


def turn(rng):
    theta = some_angle(rng)
    return {r"R^\top": np.asarray(plane_rotation(theta)).T, r"\theta": theta}


def by_places(rng):
    theta = some_angle(rng)
    return {"R": lambda n: plane_rotation(n * theta), "i": range(4), "j": range(4)}


test_sentences = sentences(
    "sources",
    first_index=0,
    where={
        "… and": turn,
        "… ,": by_places,
    },
    equivalent={
        "…": {"turn difference: a-b → b-a": "The cosine is even."},
    },
)(bindings)
