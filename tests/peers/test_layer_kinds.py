"""Kinds of layers, and the numbers of heads, against the configuration classes of transformers."""

import importlib
import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import transformers
from text_configurations import RECORD, text
from transformers import PreTrainedConfig

from attention_to_rope.checkpoints.attention_config import layer_kinds
from attention_to_rope.checkpoints.attention_types import PATTERNS, ROLES
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary_keys import model_type

MODELS = Path(transformers.__file__).parent / "models"
LAYERS = 13
CHANGES: list[dict[str, Any]] = [
    {},
    {"sliding_window": 64},
    {"sliding_window": None},
    {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 3},
    {"sliding_window": 64, "use_sliding_window": False},
    {"sliding_window_pattern": 3, "sliding_window": 64},
    {"global_attn_every_n_layers": 5, "sliding_window": 64},
    {"full_attention_interval": 3},
    {"layer_group_size": 4},
]


def test_the_record_is_current() -> None:
    stored = json.loads(RECORD.read_text(encoding="utf-8"))
    assert stored == json.loads(text()), "run tests/peers/text_configurations.py"


def configurations() -> Iterator[type[PreTrainedConfig]]:
    """All configuration classes with kinds of layers."""
    for file in sorted(MODELS.glob("*/configuration_*.py")):
        module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
        for kind in vars(module).values():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__:
                continue
            if issubclass(kind, PreTrainedConfig) and "layer_types" in kind.__annotations__:
                yield kind


def roles(kinds: Sequence[str], change: dict[str, Any]) -> list[str]:
    """What layers of these kinds keep; a window of None is none, whatever the kind's name."""
    off = "sliding_window" in change and change["sliding_window"] is None
    known = [ROLES.get(kind, kind) for kind in kinds]
    return ["full" if off and role == "window" else role for role in known]


def test_kinds_of_layers_without_layer_types() -> None:
    """Where a file has no `layer_types`, the library has those of the class, or refuses."""
    agreed = set()
    wrong = []
    for kind in configurations():
        for change in CHANGES:
            given = {"num_hidden_layers": LAYERS, **change}
            try:
                built = kind(**given)
                expected = list(built.layer_types or [])
            except Exception:  # a class that does not take such a change
                continue
            if len(expected) != LAYERS:
                continue
            try:
                found = layer_kinds({"model_type": kind.model_type, **given})
            except ConfigError:
                continue
            name = str(model_type({"model_type": kind.model_type}))
            if roles(found, change) == roles(expected, change):
                agreed.add(name)
            else:
                wrong.append((name, change, expected, found))
    assert not wrong
    # The others are listed in the file, or refused.
    assert agreed >= PATTERNS.keys() & {str(kind.model_type) for kind in configurations()}
