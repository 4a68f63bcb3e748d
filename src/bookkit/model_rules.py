"""The rules by which a configuration is read, as the data file of the page *Read my model*.

Everything comes from the library and from the tables of models and GPUs; the script of the page
evaluates it. After a change of any of them: `python -m bookkit.model_rules FILE`, where FILE is
`_static/read-model/rules.json`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from attention_to_rope import context_extension
from attention_to_rope.checkpoints import (
    attention_config,
    attention_types,
    config_values,
    known_keys,
    model_types,
    rotary,
    rotary_keys,
)
from attention_to_rope.checkpoints.config_remarks import MOVED_KEYS
from attention_to_rope.checkpoints.refusals import REASONS
from attention_to_rope.checkpoints.remarks import (
    EVIDENCE,
    FAILURES,
    REMARKS,
    SETTING_NOTES,
)
from bookkit.models import OF_ATTENTION, OF_OTHER_PARTS, read_models
from bookkit.seconds import BFLOAT16_BYTES, read_gpus
from bookkit.weights import (
    BITS_KEYS,
    EXPERT_KEYS,
    FAMILIES,
    GROUP_KEYS,
    METHOD_BITS,
    STEP_BITS,
    Family,
)
from rope_doctor.families import FORMAT, POSITIONS


def plain(value: Any) -> Any:
    """A value as JSON has it: sets become sorted lists."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return {str(key): plain(inside) for key, inside in value.items()}
    return value


def constants(module: Any) -> dict[str, Any]:
    """The tables of a module by their names in lower case."""
    found = {}
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, set | frozenset | dict | tuple | int | float | str):
            found[name.lower()] = plain(value)
    return found


def table_rows() -> list[dict[str, Any]]:
    """The table of models, with the source of the layout alone."""
    rows = []
    for model in read_models():
        row = {key: value for key, value in model.items() if key != "sources"}
        if "layout" in model:
            row["layout_source"] = model["sources"]["layout"]
        rows.append(row)
    return rows


def gpu_rows() -> list[dict[str, Any]]:
    """The GPUs, with their peaks and bandwidths."""
    return [
        {
            "name": gpu.name,
            "bandwidth": gpu.bandwidth_bytes_per_second,
            "memory": gpu.memory_bytes,
            "peak": dict(gpu.peak_operations_per_second),
        }
        for gpu in read_gpus().values()
    ]


def family_row(family: Family) -> dict[str, Any]:
    """How a family's parameters are counted."""
    row = family._asdict()
    if family.experts is not None:
        row["experts"] = family.experts._asdict()
    return row


def rules() -> dict[str, Any]:
    """All rules."""
    return {
        "models": constants(model_types),
        "keys": {
            "words": rotary_keys.WORDS,
            "read_keys": plain(rotary_keys.READ_KEYS),
            "other_keys": plain(rotary_keys.OTHER_KEYS | set(OF_OTHER_PARTS)),
            **constants(known_keys),
            "moved_keys": MOVED_KEYS,
            "described": OF_ATTENTION,
            "common_keys": plain(rotary.COMMON_KEYS),
            "rule_keys": plain(rotary.KEYS),
            "rule_names": rotary.OTHER_NAMES,
            "not_a_rotation": rotary.NOT_A_ROTATION,
        },
        "values": constants(config_values),
        "attention": {
            **constants(attention_types),
            "full": attention_config.FULL,
            "sliding": attention_config.SLIDING,
            "chunked": attention_config.CHUNKED,
            "original": attention_config.ORIGINAL,
            "window_keys": attention_config.WINDOW_KEYS,
            "layer_keys": attention_config.LAYER_KEYS,
            "head_keys": attention_config.HEAD_KEYS,
            "width_keys": attention_config.WIDTH_KEYS,
            "key_value_keys": attention_config.KEY_VALUE_KEYS,
        },
        "expert_keys": EXPERT_KEYS,
        "weights": {name: family_row(family) for name, family in FAMILIES.items()},
        "stored": {
            "method_bits": METHOD_BITS,
            "bits_keys": BITS_KEYS,
            "group_keys": GROUP_KEYS,
            "step_bits": STEP_BITS,
        },
        "extension": constants(context_extension),
        "settings": {
            "rules": ["linear", "ntk", "yarn", "llama3"],
            "llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
            "kept": ["mrope_section", "mrope_interleaved", *rotary.NOT_A_ROTATION],
            # What a rule has beside its factor and its length, where the file has this rule today.
            "kept_by_rule": {
                "yarn": ["beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim"],
                "llama3": ["low_freq_factor", "high_freq_factor"],
            },
            "notes": SETTING_NOTES,
        },
        "vectors": {"positions": POSITIONS, "format": FORMAT},
        "bytes_per_number": BFLOAT16_BYTES,
        "gpus": gpu_rows(),
        "table": table_rows(),
        "reasons": REASONS,
        "evidence": EVIDENCE,
        "failures": FAILURES,
        "remarks": {name: remark._asdict() for name, remark in REMARKS.items()},
    }


def text() -> str:
    """The data file."""
    return json.dumps(rules(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text(), encoding="utf-8")
    print(place)
