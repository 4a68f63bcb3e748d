"""The book's own small language model, and what the pages ask of it.

It is a decoder of 2.4 million parameters that reads Python sources byte by byte: 6 layers, d = 192,
6 query heads that share 2 key-value heads of 32 dimensions, texts of 1,024 bytes.

    from bookkit import book_model
    from bookkit.trained import held_out, trace

    model = book_model()                     # attention_to_rope.model.Model, float32
    found = trace(model, held_out(512))      # scores, weights, residual stream … of every layer

text     what it reads                   train    how it was trained (seed 0 is stored here)
probes   looking inside, with controls   stretch  longer texts, by every rule
waves    how scores depend on distance   schemes  smaller models with other positional encodings
"""

from pathlib import Path

from bookkit.trained.probes import (
    largest,
    loss,
    repeated,
    trace,
    untrained,
    weight_on_copy,
    weight_on_previous,
    without,
)
from bookkit.trained.text import START, held_out
from bookkit.trained.train import TRAINED_LENGTH, load

__all__ = [
    "START",
    "STORED",
    "TRAINED_LENGTH",
    "held_out",
    "largest",
    "load",
    "loss",
    "repeated",
    "trace",
    "untrained",
    "weight_on_copy",
    "weight_on_previous",
    "without",
]

STORED = Path(__file__).parent / "model.safetensors"  # the weights that seed 0 gave
