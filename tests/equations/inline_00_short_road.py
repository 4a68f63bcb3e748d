"""The short road: the relations inside its sentences."""

from shared_rotations import plane_rotation, some_angle

PAGE = "00-short-road"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """The library's turn of one plane by whole positions."""
    theta = some_angle(rng)
    return {"R": lambda n: plane_rotation(n * theta), "n": range(1, 5)}


# The place where a score is largest; the cell above prints all of them.
DEFINITIONS = [r"n - m = 1", r"d_k = 128"]
