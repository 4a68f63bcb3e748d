"""How fast a model learns at each step."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train: linear warm-up, then a half cosine down to a tenth."""

    steps: int
    rate: float = 1e-3
    warm_up: int = 50

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        done = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return self.rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))
