"""What RoPE's pairs of dimensions do in the book's model, as what-rope-encodes shows it.

    python -m laboratory.waves FOLDER   # measures all models of a folder, on a CPU

A head's mean query and key have the means of other heads as their control; a pair that no longer
rotates has a pair that is removed, so that its content is lost too.
"""

import copy
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from bookkit.records import Row
from bookkit.trained.model import loss
from bookkit.trained.text import held_out
from bookkit.trained.waves import by_distance, explained
from laboratory.probes import main, models
from one_file.llama import Block, Model


def loss_with(model: Model, tokens: Tensor, pairs: list[int], *, removed: bool) -> float:
    """The loss if some pairs are removed from all scores, or only do not rotate."""
    other = copy.deepcopy(model)
    keep = torch.ones(2, len(model.frequencies)).index_fill(1, torch.tensor(pairs), 0.0)
    if not removed:
        other.frequencies = model.frequencies * keep[0]
    for block in other.layers if removed else ():
        assert isinstance(block, Block)
        weight = block.self_attn.q_proj.weight.data  # the rows of a head are in the half layout
        weight *= keep.flatten().repeat(len(weight) // keep.numel())[:, None]
    return loss(other, tokens)


def rows(folder: Path, texts: int = 4, length: int = 1024) -> Iterator[Row]:
    """What the chapter shows of every model of a folder, each on texts of its own."""
    for seed, model in models(folder):
        starts = [200_000 * seed + 40_000 * text for text in range(texts)]
        tokens = torch.cat([held_out(length, start=start) for start in starts])
        curves = by_distance(model, tokens[:, :512], torch.arange(64))
        measured, predicted = (one.flatten(0, 1) for one in curves)
        others = [explained(measured, predicted.roll(s, 0)) for s in range(1, len(measured))]
        groups = [[i, i + 1] for i in range(0, len(model.frequencies), 2)]
        whole = loss(model, tokens)
        change = {
            name: [loss_with(model, tokens, pairs, removed=cut) - whole for pairs in groups]
            for name, cut in (("not_rotated", False), ("removed", True))
        }
        shares = {
            "explained": explained(measured, predicted),
            "explained_by_others": torch.stack(others).median(0).values,
        }
        numbers = {**change, **{name: one.tolist() for name, one in shares.items()}}
        yield {"seed": seed, **{name: [round(x, 3) for x in one] for name, one in numbers.items()}}


if __name__ == "__main__":
    main("waves", rows, sys.argv[1:])
