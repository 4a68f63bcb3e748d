"""`laboratory.train` with a tiny model and a short text; test_processes.py starts it with torchrun.

torchrun --standalone --nproc-per-node=2 tests/laboratory/small_training.py FOLDER --steps 6

INTERRUPT_AT=5 in the environment ends all processes in the fifth step.
"""

import argparse
import inspect
import os
import sys
from dataclasses import replace

import torch

from bookkit.trained.model import CONFIG
from laboratory import text, train

SMALL = replace(
    CONFIG,
    num_hidden_layers=2,
    hidden_size=32,
    intermediate_size=48,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=16,
)
rate_of_training = train.rate_at


def short_text() -> text.Text:
    """A module of Python's library, half to train on and half held out."""
    content = inspect.getsource(argparse).encode()
    middle = len(content) // 2
    return text.Text(
        train=torch.frombuffer(bytearray(content[:middle]), dtype=torch.uint8),
        held_out=torch.frombuffer(bytearray(content[middle:]), dtype=torch.uint8),
        sha256="of argparse",
    )


def rate_or_interrupt(step: int, steps: int, rate: float) -> float:
    """The learning rate of a step, unless the training is to end here."""
    if str(step) == os.environ.get("INTERRUPT_AT"):
        raise SystemExit(f"interrupted in step {step}")
    return rate_of_training(step, steps, rate)


# What is replaced, and by what.
REPLACED = [
    (train, "CONFIG", SMALL),
    (train, "TRAINED_LENGTH", 320),
    (train, "rate_at", rate_or_interrupt),
    (text, "installed", short_text),
]

if __name__ == "__main__":
    for module, name, value in REPLACED:
        setattr(module, name, value)
    train.main(sys.argv[1:])
