"""The rotations of model families as configurations, and test vectors that any language can read.

Each family is a Hugging Face style configuration, read by `rotary_settings`. `write_vectors` turns
the list into JSON: frequencies, cos and sin, and rotated vectors, all in float64.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attention_to_rope import rotary_table, rotate
from attention_to_rope.checkpoints import RotarySettings, rotary_settings
from attention_to_rope.rope import Layout

POSITIONS = (0, 1, 2, 100, 4095, 131_071, 1_048_575)
FORMAT = """Test vectors for rotary position embeddings
===========================================

One JSON file per model family; index.json lists them. All numbers are float64 and read back
exactly. Every file holds

  family            the name of the family
  config            the configuration that was read, in the style of Hugging Face
  layer_type        which kind of layer, or null if all are alike
  layout            "half": pair i is (i, i + rotary_dim/2); "interleaved": (2i, 2i + 1)
  head_dim          the length d of a vector
  rotary_dim        how many of its first entries turn; the others stay as they are
  attention_factor  multiplies cos and sin, and is already in them
  score_factor      multiplies the scale of the softmax; not in cos and sin
  frequencies       theta_i, the angle per position of pair i, for i = 0 ... rotary_dim/2 - 1
  cases             a list of
    position        m
    cos, sin        attention_factor * cos(m theta_i), attention_factor * sin(m theta_i)
    x               a vector: x_j = sin(j + 1), j = 0 ... d - 1
    rotated         x turned: for the pair (a, b) of frequency i
                    rotated_a = x_a cos_i - x_b sin_i,  rotated_b = x_a sin_i + x_b cos_i

Compute your own rotation of x at each position and compare with `rotated`. In float64 expect
agreement to about 1e-9 at the largest position (the angle has that rounding), in float32 with
angles computed in float64 about 1e-6; float32 angles are off by about 1e-7 times the position.
"""


class Family(NamedTuple):
    """A model family: its configuration, the layer if layers differ, and its layout."""

    config: dict[str, Any]
    layout: Layout
    layer_type: str | None = None

    def settings(self) -> RotarySettings:
        """What `rotary_settings` reads from the configuration."""
        return rotary_settings(self.config, layer_type=self.layer_type)


_GEMMA_3 = {
    "model_type": "gemma3_text",
    "head_dim": 128,
    "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    },
}

FAMILIES: dict[str, Family] = {
    "Llama 2": Family({"model_type": "llama", "head_dim": 128, "rope_theta": 1e4}, "half"),
    "Llama 3.1": Family(
        {
            "model_type": "llama",
            "head_dim": 128,
            "rope_theta": 5e5,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
        },
        "half",
    ),
    "Qwen3": Family({"model_type": "qwen3", "head_dim": 128, "rope_theta": 1e6}, "half"),
    "Gemma 3 local": Family(_GEMMA_3, "half", "sliding_attention"),
    "Gemma 3 global": Family(_GEMMA_3, "half", "full_attention"),
    "Gemma 4 global": Family(
        {
            "head_dim": 512,
            "rope_parameters": {
                "rope_type": "proportional",
                "partial_rotary_factor": 0.25,
                "rope_theta": 1e6,
            },
        },
        "half",
    ),
    "GPT-NeoX": Family(
        {"model_type": "gpt_neox", "head_dim": 128, "rotary_emb_base": 1e4, "rotary_pct": 0.25},
        "half",
    ),
    "GLM": Family(
        {"model_type": "glm", "head_dim": 128, "rope_theta": 1e4, "partial_rotary_factor": 0.5},
        "interleaved",
    ),
    "Command R7B": Family(
        {"model_type": "cohere2", "head_dim": 128, "rope_theta": 5e4}, "interleaved"
    ),
    "DeepSeek-V3": Family(
        {
            "model_type": "deepseek_v3",
            "qk_rope_head_dim": 64,
            "rope_theta": 1e4,
            "rope_scaling": {
                "rope_type": "yarn",
                "factor": 40.0,
                "original_max_position_embeddings": 4096,
                "beta_fast": 32,
                "beta_slow": 1,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
            },
        },
        "interleaved",
    ),
    "gpt-oss": Family(
        {
            "model_type": "gpt_oss",
            "head_dim": 64,
            "rope_theta": 1.5e5,
            "rope_scaling": {
                "rope_type": "yarn",
                "factor": 32.0,
                "original_max_position_embeddings": 4096,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "truncate": False,
            },
        },
        "half",
    ),
}


def vectors(name: str) -> dict[str, Any]:
    """The test vectors of one family, as `FORMAT` describes them."""
    family = FAMILIES[name]
    settings = family.settings()
    x = torch.tensor([math.sin(j + 1) for j in range(settings.head_dim)], dtype=torch.float64)
    table = rotary_table(
        torch.tensor(POSITIONS),
        settings.frequencies,
        dtype=torch.float64,
        attention_factor=settings.attention_factor,
    )
    rotated = rotate(
        x.expand(len(POSITIONS), -1),
        table,
        layout=family.layout,
        rotary_dim=settings.rotary_dim,
    )
    return {
        "family": name,
        "config": family.config,
        "layer_type": family.layer_type,
        "layout": family.layout,
        "head_dim": settings.head_dim,
        "rotary_dim": settings.rotary_dim,
        "attention_factor": settings.attention_factor,
        "score_factor": settings.score_factor,
        "frequencies": settings.frequencies.tolist(),
        "cases": [
            {
                "position": position,
                "cos": table.cos[i].tolist(),
                "sin": table.sin[i].tolist(),
                "x": x.tolist(),
                "rotated": rotated[i].tolist(),
            }
            for i, position in enumerate(POSITIONS)
        ],
    }


def write_vectors(directory: Path | str) -> list[Path]:
    """Write one JSON file per family, an index and a description of the format; give the paths."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    index = {name: name.lower().replace(" ", "-") + ".json" for name in FAMILIES}
    texts = {file: json.dumps(vectors(name)) for name, file in index.items()}
    texts["index.json"] = json.dumps(index, indent=1)
    texts["FORMAT.txt"] = FORMAT
    paths = []
    for file, text in texts.items():
        path = folder / file
        path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        paths.append(path)
    return paths
