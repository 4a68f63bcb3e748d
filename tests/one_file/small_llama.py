"""The configuration of the small model that several files of tests build."""

from typing import Any

SMALL: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 23,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
