"""The function to take away from chapter 12 runs alone and agrees with the library."""

import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS
from bookkit.randomness import normal


def test_it_averages_the_scores_of_all_queries_with_all_keys():
    cells = read(CHAPTERS / "what-rope-encodes.ipynb").cells
    (source,) = (cell.source for cell in cells if "def preference" in cell.source)
    names = {}
    exec(source, names)
    q, k = normal(2, 3, 5, 8, seed=1), normal(2, 3, 7, 8, seed=2)
    distances = torch.tensor([0, 1, 4, 90])
    found = names["preference"](q, k, distances, base=500.0)
    assert found.shape == (2, 3, 4)
    for column, r in enumerate(distances):
        table = rotary_table(r.expand(5), rotary_frequencies(8, 500.0), dtype=torch.float64)
        scores = rotate(q, table, layout="half") @ k.mT / 8**0.5
        torch.testing.assert_close(found[..., column], scores.mean((-2, -1)))
