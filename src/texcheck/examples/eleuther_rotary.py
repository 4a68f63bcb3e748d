"""EleutherAI's post on rotary embeddings.

github.com/EleutherAI/website at a4e418347d3091fdb16e4201069dee5ef1fde939::

    texcheck check website/content-blog/rotary-embeddings.md eleuther_rotary.py

The first check fails: in the third line of the display, k_j has lost its conjugate.
"""

import os
from pathlib import Path

import numpy as np

from texcheck import Formulas
from texcheck.sources import formulas_in

BOOK = Formulas(formulas_in(Path(os.environ["TEXTS"], "rotary-embeddings.md")))


@BOOK.test("line 51", fixed={"i": "the imaginary unit"})
def test_rotations_of_complex_numbers(rng):
    """q and k are complex, and of two complex numbers the inner product conjugates one."""
    epsilon = rng.uniform(0.1, 1)
    q, k = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    return {
        r"\mathrm{RoPE}": lambda x, m: x * np.exp(1j * m * epsilon),
        r"\langle\cdot,\cdot\rangle": lambda a, b: a * np.conj(b),
        **{"q": q, "k": k, "j": range(1, 4), "x": complex(rng.normal(), rng.normal())},
        **{"i": 1j, r"\varepsilon": epsilon, "m": rng.uniform(1, 9), "n": rng.uniform(1, 9)},
    }
