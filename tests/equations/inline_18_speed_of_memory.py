"""Chapter 18: the relations inside its sentences."""

import torch

from attention_to_rope import rotary_frequencies, rotary_table
from bookcheck.equations.expressions import RESULT

PAGE = "18-speed-of-memory"


def bindings(rng):
    """Its sentences state sizes of examples only."""
    del rng
    return {}


DEFINITIONS = [r"w = 2", r"h = 32", r"B = 1", r"h = 2", r"N = 3", r"d_k = 4"]


def bytes_of_a_rotation(rng, kind, loads):
    """Sizes, the bytes of a copy of x and of its table, read so many times a sequence."""
    h, N, d_k = 3, 5, 8
    x = torch.empty(1, h, N, d_k, dtype=kind)
    table = sum(part.nbytes for part in rotary_table(torch.arange(N), rotary_frequencies(d_k)))
    sizes = {"N": N, "h": h, "d_k": d_k, "w": x.element_size()}
    return sizes, table, 1 + (h if loads == "a head" else 1) * table / (2 * x.nbytes)


def ratio(loads):
    def values(rng):
        kind = [torch.float32, torch.bfloat16][int(rng.integers(2))]
        sizes, _, copies = bytes_of_a_rotation(rng, kind, loads)
        return {**sizes, RESULT: copies}

    return values


def table_bytes(rng):
    sizes, table, _ = bytes_of_a_rotation(rng, torch.float32, "once")
    return {**sizes, RESULT: table}


EXPRESSIONS = {
    r"4 N d_k": table_bytes,
    r"1 + 2 / w": ratio("a head"),
    r"1 + 2 / (w h)": ratio("once"),
    r"1 + \frac{2}{w h}": ratio("once"),
}
