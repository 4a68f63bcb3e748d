"""The default configurations of all rotary classes of transformers for text, as a record.

`python tests/peers/text_configurations.py` writes tests/read_model/transformers_configurations.json
with the Python of `make test-peers`; the tests of the page that reads a configuration use it.
"""

import json
from pathlib import Path
from typing import Any

from rotary_classes import rotary_classes

from attention_to_rope.checkpoints.attention_config import (
    HEAD_KEYS,
    KEY_VALUE_KEYS,
    LAYER_KEYS,
    WIDTH_KEYS,
)
from attention_to_rope.checkpoints.known_keys import ATTENTION_READ_KEYS, ATTENTION_WORDS

RECORD = Path(__file__).parents[1] / "read_model" / "transformers_configurations.json"
SIZES = {*HEAD_KEYS, *KEY_VALUE_KEYS, *LAYER_KEYS, *WIDTH_KEYS, "model_type", "vocab_size"}


def matters(key: str) -> bool:
    """Whether a key may matter for attention or for the rotation."""
    if key in SIZES or key in ATTENTION_READ_KEYS:
        return True
    return any(word in key for word in ATTENTION_WORDS)


def text_configurations() -> dict[str, Any]:
    """By the name of the rotary class, the keys that may matter."""
    found = {}
    for one in rotary_classes():
        config = one.config.to_dict()
        found[f"{one.folder}.{one.name}"] = {
            key: value for key, value in config.items() if matters(key) and value is not None
        }
    return found


def text() -> str:
    """The record: one configuration a line."""
    rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(text_configurations().items())]
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    RECORD.write_text(text(), encoding="utf-8")
    print(f"wrote {RECORD}")
