"""Keys of the configuration classes behind the table of models, with their default values.

`python tests/peers/configuration_keys.py` writes tests/bookkit/configuration_keys.json for the
classes that src/bookkit/models.jsonl names: run it after a new model, with the Python of
`make test-peers`.
"""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import transformers

from bookkit.models import read_models

RECORD = Path(__file__).parents[1] / "bookkit" / "configuration_keys.json"
# A key with one of these in its name may change positions, scores or what a query sees.
WORDS = (
    "rope|rotary|partial|scaling|theta|position|window|sink|softcap|scale|compress|index"
    "|clip|kv_source"
)
LONGEST = 8  # a list of more entries, one for each layer, is recorded by its length


def default_values(name: str) -> dict[str, Any]:
    """The keys of a class such as `llama.LlamaConfig`, a key in another dictionary by its path."""
    folder, kind = name.split(".")
    module = importlib.import_module(f"transformers.models.{folder}.configuration_{folder}")
    values = flat(getattr(module, kind)().to_dict())
    return {key: value for key, value in values.items() if re.search(WORDS, key)}


def flat(values: dict[str, Any], path: str = "") -> dict[str, Any]:
    """A dictionary of dictionaries as one, with keys such as `rope_parameters.rope_theta`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and all(isinstance(name, str) for name in value):
            found.update(flat(value, f"{path}{key}."))
        elif isinstance(value, list) and len(value) > LONGEST:
            found[path + key] = f"a list of {len(value)}"
        else:
            found[path + key] = value
    return found


def all_keys() -> dict[str, Any]:
    """What the record holds."""
    names = sorted({model["class"] for model in read_models() if "class" in model})
    classes = {name: default_values(name) for name in names}
    return {"transformers": transformers.__version__, "classes": classes}


if __name__ == "__main__":
    RECORD.write_text(json.dumps(all_keys(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RECORD}")
