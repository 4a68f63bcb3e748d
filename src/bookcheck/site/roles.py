"""One grammar of colour: query, key, value and score look the same wherever they stand.

A letter of a formula gets a class, `is-q` for a query; figures and widgets use the same colours.
The style sheet gives each class its colour, and `book.js` lights all of a class up together.
"""

# Symbols of the notation that are one of the roles.
SYMBOLS = {
    "q_m": "is-q",
    "Q": "is-q",
    "k_n": "is-k",
    "K": "is-k",
    "v_n": "is-v",
    "V": "is-v",
    "S": "is-s",
}
# Letters without an index, in the chapters where they are one query, one key or one value. In
# others k counts, and v is a coordinate.
BARE = {
    "q": frozenset({0, 1, 2, 9, 10, 11, 12, 15}),
    "k": frozenset({0, 1, 2, 9, 10, 11, 12, 15}),
    "v": frozenset({0, 1}),
}


def bare_symbols(chapter: int) -> list[tuple[str, str]]:
    """The letters that are a role by themselves in a chapter, each with its class."""
    return [(letter, f"is-{letter}") for letter, where in BARE.items() if chapter in where]
