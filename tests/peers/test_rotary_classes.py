"""`rotary_settings` and its tables against every rotary class of transformers."""

from collections import defaultdict
from typing import Any

import pytest
import torch
from rotary_classes import RotaryClass, compare, layouts, options, rotary_classes, theirs, verdict
from transformers import GPTJConfig, MiniMaxM2Config, RoFormerConfig, Zamba2Config
from transformers.models.codegen import modeling_codegen
from transformers.models.gptj import modeling_gptj
from transformers.models.roformer.modeling_roformer import (
    RoFormerSelfAttention,
    RoFormerSinusoidalPositionalEmbedding,
)

import attention_to_rope as book
from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.model_types import (
    HALF_MODELS,
    INTERLEAVED_MODELS,
    PARTIAL_MODELS,
    SWITCHED_MODELS,
)

SCALINGS: list[dict[str, Any]] = [
    {},
    {"rope_type": "linear", "factor": 4.0},
    {"rope_type": "dynamic", "factor": 4.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    {
        "rope_type": "yarn",
        "factor": 8.0,
        "original_max_position_embeddings": 512,
        "beta_fast": 16.0,
        "mscale": 1.0,
        "mscale_all_dim": 0.7,
        "truncate": False,
    },
    {
        "rope_type": "llama3",
        "factor": 8.0,
        "original_max_position_embeddings": 512,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
]
CLASSES = list(rotary_classes())


def read_again(found: RotaryClass, config: dict[str, Any]) -> RotaryClass | None:
    """The class with this configuration, None if transformers cannot build it."""
    try:
        changed = type(found.config).from_dict(dict(config))
        return found._replace(config=changed, built=type(found.built)(changed))
    except Exception:
        return None


def test_no_class_disagrees_with_its_default_configuration() -> None:
    verdicts = {found.name: verdict(found) for found in CLASSES}
    disagreeing = {name: one for name, one in verdicts.items() if one.verdict == "disagree"}
    assert not disagreeing
    agreeing = [name for name, one in verdicts.items() if one.verdict == "agree"]
    assert len(agreeing) >= 155
    assert len(verdicts) >= 175


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda scaling: scaling.get("rope_type"))
def test_configurations_as_transformers_4_wrote_them(scaling, share) -> None:
    """`rope_theta`, `rope_scaling` and `partial_rotary_factor` beside the other keys."""
    agreeing = 0
    disagreeing = []
    for found in CLASSES:
        config = found.config.to_dict()
        parameters = config.pop("rope_parameters", None)
        flat = parameters and not any(isinstance(v, dict) or v is None for v in parameters.values())
        if not flat or (share is None and "partial_rotary_factor" in parameters):
            continue
        config |= {"rope_theta": 7000.0, "rope_scaling": scaling or None}
        if config.get("layer_rope_theta"):
            config["layer_rope_theta"] = None
        if share is not None:
            config["partial_rotary_factor"] = share
        again = read_again(found, config)
        if again is None:
            continue
        for expected in theirs(again):
            one = compare(config, expected, **options(config))
            agreeing += one.verdict == "agree"
            if one.verdict == "disagree":
                disagreeing.append((found.name, one.why))
    assert not disagreeing
    assert agreeing >= (100 if share is None else 14)


def test_layouts_are_those_of_the_functions_that_rotate() -> None:
    found_layouts = defaultdict(set)
    for found in CLASSES:
        found_layouts[found.model_type] |= layouts(found)
    for model_type, expected in (
        *((name, {"half"}) for name in HALF_MODELS),
        *((name, {"interleaved"}) for name in INTERLEAVED_MODELS - WITHOUT_CLASS),
        *((name, {"half", "interleaved"}) for name in SWITCHED_MODELS),
    ):
        assert found_layouts[model_type] == expected, model_type


# GPT-J, CodeGen and RoFormer have no class for it: their functions are tested below.
WITHOUT_CLASS = {"codegen", "gptj", "roformer"}


@pytest.mark.parametrize("module", [modeling_gptj, modeling_codegen])
def test_gpt_j(module) -> None:
    config = GPTJConfig(n_embd=256, n_head=2).to_dict()
    config["model_type"] = module.__name__.split(".")[-2]
    ours = rotary_settings(config)
    assert (ours.head_dim, ours.rotary_dim, ours.layout) == (128, 64, "interleaved")
    assert ours.layout is not None
    x = torch.randn(1, 5, 2, 64)  # (batch, position, head, dimension)
    sin, cos = module.create_sinusoidal_positions(5, 64).split(32, dim=-1)
    expected = module.apply_rotary_pos_emb(x, sin[None], cos[None])
    table = book.rotary_table(torch.arange(5), ours.frequencies)
    rotated = book.rotate(x, table, layout=ours.layout, sequence_axis=-3)
    assert (rotated - expected).abs().max() <= 1e-5


def test_roformer() -> None:
    ours = rotary_settings(RoFormerConfig(hidden_size=64, num_attention_heads=2).to_dict())
    assert (ours.rotary_dim, ours.layout) == (32, "interleaved")
    sinusoids = RoFormerSinusoidalPositionalEmbedding(5, 32)
    sinusoids.weight = torch.nn.Parameter(sinusoids.create_weight())
    q, k = torch.randn(2, 1, 2, 5, 32)
    rotate = RoFormerSelfAttention.apply_rotary_position_embeddings
    expected = rotate(sinusoids(torch.Size((1, 5)))[None, None], q, k)
    table = book.rotary_table(torch.arange(5), ours.frequencies)
    assert (book.rotate(q, table, layout="interleaved") - expected[0]).abs().max() <= 1e-5


def test_who_reads_the_partial_factor() -> None:
    """PARTIAL_MODELS are the types whose class takes a part of the head in the default kind."""
    reading = set()
    for found in CLASSES:
        config = found.config.to_dict()
        if not config.get("rope_parameters"):
            continue
        pairs = []
        for share in (1.0, 0.5):
            changed = found.config.from_dict(config)
            parameters = changed.rope_parameters
            for part in [v for v in parameters.values() if isinstance(v, dict)] or [parameters]:
                part |= {"rope_type": "default", "partial_rotary_factor": share}
            try:
                built = type(found.built)(changed)
            except ValueError:  # the class knows no such kind
                continue
            pairs.append(len(theirs(found._replace(built=built))[0].frequencies))
        if len(set(pairs)) > 1:
            reading.add(found.model_type)
    assert reading == PARTIAL_MODELS


def test_keys_of_released_configurations() -> None:
    """`rotary_dim` of MiniMax-M2 and `use_mem_rope` of Zamba 2, as transformers reads them."""
    released = {"head_dim": 128, "rotary_dim": 64, "rope_theta": 5e6, "model_type": "minimax_m2"}
    theirs_m2 = MiniMaxM2Config(**released).rope_parameters["partial_rotary_factor"]
    assert rotary_settings(released).rotary_dim == 64 == 128 * theirs_m2
    zamba = next(found for found in CLASSES if found.folder == "zamba2")
    config = Zamba2Config(use_mem_rope=True).to_dict()
    assert compare(config, theirs(zamba)[0]).verdict == "agree"


@pytest.mark.parametrize("folder", ["smollm3", "llama4", "granite_swa", "muse_glimmer"])
def test_layers_that_do_not_rotate(folder: str) -> None:
    found = next(one for one in CLASSES if one.folder == folder)
    config = found.config.to_dict()
    key = "no_rope_layers" if config.get("no_rope_layers") else "layer_rope_theta"
    config[key] = [*config[key][:-1], 0]
    last = len(config[key]) - 1
    assert compare(config, theirs(found)[0], layer=0).verdict == "agree"
    assert rotary_settings(config, layer=last).rotary_dim == 0
    with pytest.raises(ValueError, match=key):
        rotary_settings(config)
