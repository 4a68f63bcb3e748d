"""Which two heads of the book's model does the copying of a repetition need? All pairs, one by one.

    python -m laboratory.pairs   # minutes on a CPU

The two heads that attend most to what followed before are left out, and so is every pair of the
other heads: the control of a single pair would be a choice, and of some random ones an accident.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import torch
from torch import Tensor

from bookkit import book_model
from bookkit.records import Row
from bookkit.trained.model import loss_by_position
from bookkit.trained.probes import (
    Head,
    largest,
    repeated,
    trace,
    weight_on_copy,
    weight_on_previous,
    without,
)
from laboratory.record import main
from one_file.llama import Model

TEXTS = 8
LENGTH = 64  # random letters, which then come again


@torch.no_grad()
def losses_without(model: Model, heads: Sequence[Head], texts: Tensor) -> list[float]:
    """For each text, the loss on its second half without these heads."""
    half = texts.shape[1] // 2
    losses = loss_by_position(without(model, heads), texts)
    return [round(one, 3) for one in losses[:, -half:].mean(1).tolist()]


def rows(model: Model, others: int | None = None, texts: int = TEXTS) -> Iterator[Row]:
    """A row for no heads, for the two induction heads, and for every pair of the other heads.

    `others` takes only the first of the other heads, for a quick look.
    """
    letters = torch.cat([repeated(LENGTH, seed) for seed in range(texts)])
    found = trace(model, letters)
    on_copy = weight_on_copy(found)
    ordered = largest(on_copy, on_copy.numel())
    induction = ordered[:2]
    rest = sorted(ordered[2:])[:others]
    previous = largest(weight_on_previous(found), 2)
    choices: list[tuple[str, list[Head]]] = [("none", []), ("induction", induction)]
    choices.append(("previous", previous))
    choices += [("others", list(pair)) for pair in combinations(rest, 2)]
    for kind, heads in choices:
        yield {"kind": kind, "heads": heads, "losses": losses_without(model, heads, letters)}


if __name__ == "__main__":
    main("pairs", rows(book_model()))
