"""Training one decoder, the same way for every scheme."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attention_to_rope.transformer import Decoder

# Gives tokens (B, N) and a mask of the tokens that are scored (B, N).
Batches = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


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


def mean_loss(model: Decoder, tokens: Tensor, scored: Tensor) -> Tensor:
    """The mean loss over the scored tokens."""
    weight = scored[:, 1:].float()
    return (losses(model, tokens) * weight).sum() / weight.sum()


def losses(model: Decoder, tokens: Tensor) -> Tensor:
    """The loss of predicting each token from those before it, (B, N − 1), in nats."""
    logits = model(tokens[:, :-1])
    return torch.nn.functional.cross_entropy(
        logits.transpose(1, 2).float(), tokens[:, 1:], reduction="none"
    )


def train(
    model: Decoder,
    batches: Batches,
    schedule: Schedule,
    *,
    seed: int,
    device: str,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> None:
    """Train in place with AdamW; the batches depend on the seed alone."""
    rng = np.random.Generator(np.random.PCG64(seed))
    on_gpu = device.startswith("cuda")
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=on_gpu
    )
    # Small models leave a GPU waiting for its next kernel; a compiled step is one graph.
    step_loss = (
        torch.compile(mean_loss, mode="reduce-overhead", dynamic=False) if on_gpu else mean_loss
    )
    model.train()
    for step in range(schedule.steps):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate_at(step)
        tokens, scored = (torch.from_numpy(array).to(device) for array in batches(rng))
        loss = step_loss(model, tokens, scored)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 50 == 49 or step + 1 == schedule.steps:
            progress(step + 1, float(loss.detach()))
