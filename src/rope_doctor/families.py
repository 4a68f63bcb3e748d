"""The rotations of model families as configurations, and test vectors that any language can read.

Each family is a Hugging Face style configuration, read by `rotary_settings`. `write_vectors` turns
the list into JSON: frequencies, cos and sin, and rotated vectors, all in float64. The rotations of
single models are in `models.jsonl`, which a command writes from the book's table of models.
"""

import json
import math
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attention_to_rope import rotary_table, rotate
from attention_to_rope.checkpoints import RotarySettings, rotary_settings
from attention_to_rope.rope import Layout

POSITIONS = (0, 1, 2, 100, 4095, 131_071, 1_048_575)
FORMAT = """Test vectors for rotary position embeddings, one JSON file per model family (index.json)

config            the configuration that was read, in the style of Hugging Face; layer_type says
                  which kind of layer, or null if all are alike
head_dim          the length d of a vector; its first rotary_dim entries rotate in pairs
layout            "half": pair i is (i, i + rotary_dim/2); "interleaved": (2i, 2i + 1)
frequencies       theta_i, the angle per position of pair i
attention_factor  multiplies cos and sin, and is already in them
score_factor      multiplies the scale of the softmax; not in cos and sin
cases             for each position m: cos and sin of m theta_i, a vector x_j = sin(j + 1), and
                  x rotated: x_a cos_i - x_b sin_i and x_a sin_i + x_b cos_i for the pair (a, b)

All numbers are float64 and read back exactly. In float64 expect agreement to about 1e-9 at the
largest position, in float32 with angles computed in float64 to about 1e-6; angles computed in
float32 are off by about 1e-7 times the position.
"""


class Family(NamedTuple):
    """A model family: its configuration, the layer if layers differ, and its layout."""

    config: dict[str, Any]
    layout: Layout
    layer_type: str | None = None

    def settings(self) -> RotarySettings:
        """What `rotary_settings` reads from the configuration."""
        return rotary_settings(self.config, layer_type=self.layer_type)


def _family(
    model_type: str, base: float, layout: Layout = "half", *, head_dim: int = 128, **others: Any
) -> Family:
    """A family with one base for all layers; `others` are further entries of its configuration."""
    config = {"model_type": model_type, "head_dim": head_dim, "rope_theta": base}
    return Family(config | others, layout)


def _yarn(factor: float, **others: Any) -> dict[str, Any]:
    """The scaling of DeepSeek and gpt-oss, both from 4,096 positions."""
    scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 4096}
    return scaling | {"beta_fast": 32, "beta_slow": 1} | others


_LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}
_GEMMA_3 = {
    "model_type": "gemma3_text",
    "head_dim": 128,
    "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    },
}
_GEMMA_4 = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}

FAMILIES: dict[str, Family] = {
    "Llama 2": _family("llama", 1e4),
    "Llama 3.1": _family(
        "llama", 5e5, rope_scaling=_LLAMA_3 | {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    ),
    "Qwen3": _family("qwen3", 1e6),
    # As vLLM's page on context extension sets it, for texts of up to 131,072 tokens.
    "Qwen3 with YaRN": _family(
        "qwen3",
        1e6,
        rope_scaling={
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
    ),
    "Gemma 3 local": Family(_GEMMA_3, "half", "sliding_attention"),
    "Gemma 3 global": Family(_GEMMA_3, "half", "full_attention"),
    "Gemma 4 global": Family({"head_dim": 512, "rope_parameters": _GEMMA_4}, "half"),
    "GPT-NeoX-20B": Family(
        {"model_type": "gpt_neox", "head_dim": 96, "rotary_emb_base": 1e4, "rotary_pct": 0.25},
        "half",
    ),
    "GLM": _family("glm", 1e4, "interleaved", partial_rotary_factor=0.5),
    "Command R7B": Family(
        {"model_type": "cohere2", "head_dim": 128, "rope_theta": 5e4},
        "interleaved",
        "sliding_attention",
    ),
    "DeepSeek-V3": _family(
        "deepseek_v3",
        1e4,
        "interleaved",
        head_dim=64,
        rope_scaling=_yarn(40.0, mscale=1.0, mscale_all_dim=1.0),
    ),
    "gpt-oss": _family("gpt_oss", 1.5e5, head_dim=64, rope_scaling=_yarn(32.0, truncate=False)),
}


class Wanted(NamedTuple):
    """A rotation to compare with; layout None: not known. latent: of latent attention (MLA)."""

    name: str
    settings: RotarySettings
    layout: Layout | None
    latent: bool = False


@cache
def known_models() -> dict[str, Wanted]:
    """The rotations of published models, by the model's name."""
    lines = (files("rope_doctor") / "models.jsonl").read_text(encoding="utf-8").splitlines()
    found = {}
    for row in map(json.loads, lines):
        config = {"head_dim": row["head_dim"], "rope_parameters": row["rope"]}
        settings = rotary_settings(config)
        found[row["name"]] = Wanted(row["name"], settings, row["layout"], row["latent"])
    return found


@cache
def all_rotations() -> dict[str, Wanted]:
    """Families first, then single models."""
    families = {
        name: Wanted(name, family.settings(), family.layout) for name, family in FAMILIES.items()
    }
    return families | known_models()


@cache
def known_bases() -> frozenset[float]:
    """The bases of all models of the list."""
    return frozenset(wanted.settings.base for wanted in all_rotations().values())


def named_rotation(name: str) -> Wanted:
    """A family or a model by its name, in upper or lower case."""
    known = all_rotations()
    for candidate, wanted in known.items():
        if candidate.lower() == name.lower():
            return wanted
    near = [candidate for candidate in known if candidate.lower().startswith(name.lower()[:4])]
    raise ValueError(
        f"family must be one of {', '.join(FAMILIES)}, or a model of the list such as "
        f"{', '.join(near or list(known_models())[:6])}; got {name!r}"
    )


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
    x = x.expand(len(POSITIONS), -1)
    columns = {
        "position": torch.tensor(POSITIONS),
        "cos": table.cos,
        "sin": table.sin,
        "x": x,
        "rotated": rotate(x, table, layout=family.layout, rotary_dim=settings.rotary_dim),
    }
    numbers = ("head_dim", "rotary_dim", "attention_factor", "score_factor")
    return {
        "family": name,
        "config": family.config,
        "layer_type": family.layer_type,
        "layout": family.layout,
        **{name: getattr(settings, name) for name in numbers},
        "frequencies": settings.frequencies.tolist(),
        "cases": [
            dict(zip(columns, case, strict=True))
            for case in zip(*(column.tolist() for column in columns.values()), strict=True)
        ],
    }


def write_vectors(directory: Path | str) -> list[Path]:
    """Write one JSON file per family, an index and a description of the format; give the paths."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    index = {name: name.lower().replace(" ", "-") + ".json" for name in FAMILIES}
    texts = {file: json.dumps(vectors(name)) for name, file in index.items()}
    texts |= {"index.json": json.dumps(index, indent=1), "FORMAT.txt": FORMAT.rstrip("\n")}
    for file, text in texts.items():
        (folder / file).write_text(text + "\n", encoding="utf-8")
    return [folder / file for file in texts]
