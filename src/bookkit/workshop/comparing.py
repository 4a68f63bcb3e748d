"""What a function returned, as a few numbers that can be stored and compared.

A description is a dictionary that JSON can hold. It has a kind: numbers, Booleans, text, items (a
tuple or a list), dictionary, nothing (None), error, changed (an argument was changed), no list
(but an array or a tuple), other.
"""

import math
from typing import Any

import numpy as np

from bookkit.workshop.errors import meaning_of
from bookkit.workshop.probes import ChangedError, Names, NoListError, Probe, StoppedError

Description = dict[str, Any]
MOST = 16  # of a larger array, this many values and three sums of all its values are kept
DIGITS = 6


def observe(probe: Probe, names: Names) -> tuple[Description, BaseException | None]:
    """Run a probe: what came out, and the error if there was one."""
    try:
        with np.errstate(all="ignore"):
            return describe(probe.run(names)), None
    except ChangedError:
        return {"kind": "changed"}, None
    except NoListError as error:
        return {"kind": "no list", "type": str(error)}, None
    except StoppedError as stopped:
        return describe(stopped.results), stopped.error
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        what = {"kind": "error", "type": type(error).__name__, "means": meaning_of(error)}
        return what, error


def describe(value: Any) -> Description:
    """A description of any value."""
    if value is None:
        return {"kind": "nothing"}
    if isinstance(value, str):
        return {"kind": "text", "text": value}
    if isinstance(value, dict):
        keys = sorted(map(str, value))
        by_name = {str(key): part for key, part in value.items()}
        return {
            "kind": "dictionary",
            "keys": keys,
            "items": [describe(by_name[key]) for key in keys],
        }
    if isinstance(value, (tuple, list)) and not all(map(is_number, value)):
        return {"kind": "items", "items": [describe(part) for part in value]}
    return describe_array(value)


def is_number(value: Any) -> bool:
    """Whether this is one number or one Boolean."""
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def describe_array(value: Any) -> Description:
    """A description of an array, or of what NumPy makes one of."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return {"kind": "other", "type": type(value).__name__}
    if array.dtype.kind not in "biuf":
        return {"kind": "other", "type": type(value).__name__}
    kind = "Booleans" if array.dtype.kind == "b" else "numbers"
    flat = array.astype(np.float64).ravel()
    return {"kind": kind, "shape": list(array.shape), "values": digest(flat)}


def digest(flat: np.ndarray) -> list[float]:
    """All values, or some of them and three sums in which every value counts."""
    values = flat
    if len(flat) > MOST:
        places = np.linspace(0, len(flat) - 1, MOST).astype(int)
        index = np.arange(len(flat))
        sums = [np.cos(rate * index + rate) @ flat / len(flat) ** 0.5 for rate in (0.7, 1.9, 3.1)]
        values = np.concatenate((flat[places], sums))
    return [float(f"{number:.{DIGITS}g}") for number in values]


def place_of(position: int, shape: list[int]) -> tuple[int, ...] | None:
    """Where in the array a stored value lies; None for a sum."""
    size = math.prod(shape)
    if size > MOST:
        if position >= MOST:
            return None
        position = int(np.linspace(0, size - 1, MOST).astype(int)[position])
    return tuple(int(one) for one in np.unravel_index(position, shape))


def wrong_places(found: Description, expected: Description, tolerance: float) -> list[int]:
    """Which stored values of two arrays of the same shape differ."""
    ours = np.array(found["values"])
    theirs = np.array(expected["values"])
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = max(float(finite.max(initial=0)), 1e-3)
    equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        near = np.abs(ours - theirs) <= tolerance * scale
    return [int(place) for place in np.flatnonzero(~(equal | near))]


def agree(found: Description, expected: Description, tolerance: float) -> bool:
    """Whether two descriptions say the same, apart from rounding."""
    if found["kind"] != expected["kind"]:
        return False
    kind = expected["kind"]
    if kind in ("numbers", "Booleans"):
        if found["shape"] != expected["shape"]:
            return False
        return not wrong_places(found, expected, tolerance)
    if kind in ("items", "dictionary"):
        if found.get("keys") != expected.get("keys"):
            return False
        if len(found["items"]) != len(expected["items"]):
            return False
        pairs = zip(found["items"], expected["items"], strict=True)
        return all(agree(ours, theirs, tolerance) for ours, theirs in pairs)
    return found == expected
