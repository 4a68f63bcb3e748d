"""What Python's and NumPy's errors mean, in the words of the workshop."""

import re

# The type of the error, what its message contains, and what readers are told.
MEANINGS: list[tuple[type[BaseException], str, str]] = [
    (
        KeyError,
        "",
        "it asks a dictionary for a name that is not in it",
    ),
    (
        NameError,
        "",
        "it uses a name that has no value (yet)",
    ),
    (
        TypeError,
        "interpreted as an integer|slice indices must be integers|integer argument expected",
        "a size or an index is no integer. `/` gives a float, `//` an integer",
    ),
    (
        IndexError,
        "valid indices",
        "a size or an index is no integer. `/` gives a float, `//` an integer",
    ),
    (
        TypeError,
        "has no len|not iterable|not subscriptable|len\\(\\) of unsized",
        "a single value stands where a list or an array is expected",
    ),
    (
        IndexError,
        "out of bounds|out of range",
        "an index runs over the edge of an array or a list",
    ),
    (
        ValueError,
        "truth value of an array",
        "a Python `if`, `and`, `or`, `min` or `max` is used on a whole array. np.where, np.minimum "
        "and np.clip take arrays",
    ),
    (
        ValueError,
        "cannot reshape",
        "the sizes in reshape do not fit the array",
    ),
    (
        ValueError,
        "matmul|not aligned",
        "the inner lengths of a matrix product differ. Weights are stored as (out, in), so a "
        "linear layer is x @ W.T",
    ),
    (
        ValueError,
        "broadcast",
        "two arrays do not fit: their shapes cannot be lined up",
    ),
    (
        ValueError,
        "must have the same shape|must match exactly",
        "arrays of different shapes are joined",
    ),
    (
        ValueError,
        "inhomogeneous",
        "a tuple or a list whose parts differ in size stands where an array is expected. `rope` is "
        "such a pair: frequencies, factor = rope",
    ),
    (
        ValueError,
        "read-only",
        "it writes into an array that it was given. Work on a copy",
    ),
]


def meaning(errors: list[BaseException | None]) -> str:
    """What all these errors mean, if it is the same; nothing if one is none, or is not known."""
    meanings = {meaning_of(error) for error in errors}
    return meanings.pop() if len(meanings) == 1 else ""


def meaning_of(error: BaseException | None) -> str:
    """What one error means, if it is known."""
    for kind, pattern, says in MEANINGS:
        if isinstance(error, kind) and re.search(pattern, str(error)):
            return says
    return ""
