"""The script of the page *Read my model*, run by Node.js, and the same answers in Python."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.attention_config import layer_groups, rope_kind
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary_keys import text_part
from bookformat.paths import STATIC
from booksite.node.packages import NODE

FOLDER = STATIC / "read-model"
SCRIPT = FOLDER / "read_model.js"
RULES = FOLDER / "rules.json"
RUNNER = Path(__file__).with_name("run.mjs")


def run_reader(requests: list[dict[str, Any]]) -> list[Any]:
    """The answers to {"call", "arguments"}, in order, all in one process."""
    result = subprocess.run(
        [NODE, RUNNER, SCRIPT, RULES],
        input=json.dumps(requests),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr
    answers: list[Any] = json.loads(result.stdout)
    return answers


def call(name: str, *arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": list(arguments)}


def python_groups(config: dict[str, Any]) -> Any:
    """What the library says of the layers of a configuration, or why it refuses."""
    try:
        return layer_groups(config)
    except ConfigError as error:
        return {"refused": error.reason}


def python_rotation(
    config: dict[str, Any], kind: str | None, layer: int | None, length: int
) -> Any:
    """What the library says of one layer's rotation, or why it refuses."""
    try:
        layer_type = None if kind is None else rope_kind(text_part(config), kind)
        return rotary_settings(config, layer_type=layer_type, layer=layer, length=length)
    except ConfigError as error:
        return {"refused": error.reason}


def is_near(one: float, other: float, relative: float = 1e-9) -> bool:
    return math.isclose(one, other, rel_tol=relative, abs_tol=0.0)
