"""Dive into Deep Learning, the section on self-attention and positional encoding.

github.com/d2l-ai/d2l-en at 23d7a5aecceee57d1292c56e90cce307f183bb0a::

    cd d2l-en/chapter_attention-mechanisms-and-transformers
    texcheck check self-attention-and-positional-encoding.md d2l_positional_encoding.py
"""

import os
from pathlib import Path

import numpy as np

from texcheck import Formulas
from texcheck.sources import formulas_in

PAGE = "self-attention-and-positional-encoding.md"
BOOK = Formulas(formulas_in(Path(os.environ["TEXTS"], PAGE)), first_index=0)


def encoding(d):
    """The encodings of twelve positions, and the frequencies."""
    frequencies = 10000 ** (-2 * np.arange(d // 2) / d)
    angles = np.arange(12)[:, None] * frequencies
    values = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(12, d)
    return values, frequencies


@BOOK.test("eq_positional-encoding-def")
def test_definition(rng):
    d = 2 * int(rng.integers(2, 6))
    values, _ = encoding(d)
    return {"p": values, "d": d, "i": range(12), "j": range(d // 2)}


@BOOK.test("line 481")
def test_an_offset_is_a_rotation(rng):
    d = 2 * int(rng.integers(2, 6))
    values, frequencies = encoding(d)
    offset = int(rng.integers(1, 5))
    indices = {"i": range(12 - offset), "j": range(d // 2)}
    return {"p": values, r"\omega": frequencies, r"\delta": offset, **indices}
