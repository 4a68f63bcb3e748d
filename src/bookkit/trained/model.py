"""The stored weights of the book's model, and its loss. How it was trained: `laboratory.train`."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import cross_entropy

from one_file.llama import Config, Model

STORED = Path(__file__).parent / "model.safetensors"  # the weights that seed 0 gave
STEPS = 6_000  # of its training
TRAINED_LENGTH = 1024
CONFIG = Config(
    vocab_size=257,
    hidden_size=192,
    intermediate_size=512,
    num_hidden_layers=6,
    num_attention_heads=6,
    num_key_value_heads=2,
    head_dim=32,
    rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    rms_norm_eps=1e-5,
    tie_word_embeddings=True,
)


def load(file: Path, device: torch.device | None = None) -> Model:
    """A model from stored weights, in float32."""
    weights = {name: weight.float() for name, weight in load_file(file).items()}
    return Model(CONFIG).float().load(weights).to(device)


def untrained(seed: int = 0) -> Model:
    """The same model before its training, in float32, with other random weights for each seed."""
    torch.manual_seed(seed)
    return Model(CONFIG).float()


def loss_by_position(model: Model, tokens: Tensor) -> Tensor:
    """Nats per byte of each token but the first: (B, N - 1)."""
    logits, _ = model(tokens[:, :-1])
    losses = cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    return losses.view(len(tokens), -1)


def loss(model: Model, tokens: Tensor, last: int | None = None) -> float:
    """Mean nats per byte, of the last bytes only if `last` says how many."""
    with torch.no_grad():
        return float(loss_by_position(model, tokens)[:, -(last or 0) :].mean())
