"""The `yarn` that chapter 15 offers to copy, with the settings of released models."""

import math
from typing import Any

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS


@pytest.fixture(scope="module")
def yarn() -> Any:
    cells = cells_of(CHAPTERS / "longer-contexts.ipynb")
    (source,) = [cell.source for cell in cells if "def yarn(d_k, base" in cell.source]
    names: dict[str, Any] = {}
    exec(source, names)
    return names["yarn"]


def quotient(s: float, mscale: float, mscale_all_dim: float) -> float:
    """What DeepSeek's two numbers put on the table."""
    return (0.1 * mscale * math.log(s) + 1) / (0.1 * mscale_all_dim * math.log(s) + 1)


GPT_OSS = {"truncate": False, "beta_slow": 1.0, "beta_fast": 32.0}
DEEPSEEK = {"mscale": 1.0, "mscale_all_dim": 0.707}
MODELS = {
    "gpt-oss": (150_000.0, 4096, 32.0, GPT_OSS, {"truncate": False}),
    "DeepSeek": (10_000.0, 4096, 40.0, DEEPSEEK, {"mu": quotient(40.0, 1.0, 0.707)}),
    "attention_factor 1": (160_000.0, 65_536, 16.0, {"attention_factor": 1.0}, {"mu": 1.0}),
    "other limits": (
        10_000.0,
        4096,
        4.0,
        {"beta_slow": 2, "beta_fast": 16},
        {"slow": 2, "fast": 16},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_computes_what_transformers_computes(yarn: Any, name: str) -> None:
    base, trained, s, theirs, mine = MODELS[name]
    config = LlamaConfig(
        hidden_size=64,
        num_attention_heads=1,
        head_dim=64,
        max_position_embeddings=int(s * trained),
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": base,
            "factor": s,
            "original_max_position_embeddings": trained,
            **theirs,
        },
    )
    expected, factor = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))
    frequencies, mu = yarn(64, base, trained, s, **mine)
    # float32 on their side: a few units in the seventh digit.
    torch.testing.assert_close(frequencies, expected.double(), rtol=2e-6, atol=0)
    assert mu == pytest.approx(factor, rel=1e-12)
