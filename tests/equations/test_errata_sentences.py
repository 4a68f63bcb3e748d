"""The errata: the relations inside their sentences, those that are right."""

from bookcheck.equations.checks import sentences


def bindings(rng):
    return {}


test_sentences = sentences(
    "errata",
    first_index=0,
)(bindings)
