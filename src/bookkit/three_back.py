"""The sizes of a task of relative-positions, to repeat the token three positions back.

How it is trained and tested: `laboratory.three_back`, and with other slopes `laboratory.slopes`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bookkit.records import recorded

BACK = 3
LENGTH = 14  # tokens
SYMBOLS = 8
SHIFT = 50  # added to all positions
LONGER = 3  # times as many tokens
BATCH = 24  # sequences
RATES = (0.003, 0.01, 0.03)
TESTED = (500, 1000, 1500, 2000, 2500)  # after so many steps
SLOPES = (1.0, 0.5, 0.25, 0.125)  # of ALiBi, made for this length
BUCKETS, MAX_DISTANCE = 8, 14  # of T5, made for this length: training reaches every bucket


def with_slopes(
    slopes: Sequence[float], test: str = "as trained"
) -> dict[float, dict[int, Tensor]]:
    """What `laboratory.slopes` recorded of ALiBi with one head for each of these slopes.

    By rate and number of steps: the share of right answers, for each seed.
    """
    rows = recorded("slopes.jsonl", slopes=list(slopes))
    return {
        row["rate"]: {
            steps: torch.tensor(shares)
            for steps, shares in zip(row["tested"], row[test], strict=True)
        }
        for row in rows
    }
