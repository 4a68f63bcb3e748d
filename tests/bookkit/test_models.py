"""Models as read: every row is whole, has its sources, and its numbers fit each other."""

import math

import pytest

from attention_to_rope import rotary_frequencies
from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.rotary import HALF_MODELS, INTERLEAVED_MODELS
from bookkit.models import (
    cache_bytes_per_token,
    far_layers,
    frequencies,
    pairs_that_rotate_fully,
    read_models,
    slowest_wavelength,
)

MODELS = {model["name"]: model for model in read_models()}
OF_MODEL = {"width", "heads", "context", "layout"}
OF_LAYERS = {"count", "kv_heads", "head_dim", "window", "rope", "latent", "rotary"}


def problems(model):
    """What does not fit in a row."""
    missing = [key for key in ("heads", "layers", "sources", "layout") if key not in model]
    if missing:
        return [f"there is no {key}; src/bookkit/models.py says what a row has" for key in missing]
    found = []
    values = OF_MODEL & set(model)
    values |= {key for group in model["layers"] for key in OF_LAYERS & set(group)}
    if values != set(model["sources"]):
        found.append(f"values without source, or the reverse: {values ^ set(model['sources'])}")
    if any(":" not in source or "/" not in source for source in model["sources"].values()):
        found.append("a source is owner/repository:path@commit")
    for group in model["layers"]:
        if group["count"] < 1:
            found.append("a group without layers")
        if model["heads"] % group.get("kv_heads", 1):
            found.append(f"{group['kv_heads']} heads of keys do not divide {model['heads']}")
        if group.get("window", 0) > model.get("context", math.inf):
            found.append("a window longer than the context")
        if group.get("rope"):
            part = group.get("rotary") or group["head_dim"]
            settings = rotary_settings({"head_dim": part, "rope_parameters": group["rope"]})
            scale = group["rope"].get("factor", 1.0)
            trained = group["rope"].get("original_max_position_embeddings")
            yarn = group["rope"]["rope_type"] == "yarn"  # Llama 3.1 goes beyond, by its own rule
            if yarn and trained * scale < model.get("context", 0):
                found.append(f"context beyond {trained} × {scale}")
            if not 2 <= settings.rotary_dim <= part:
                found.append("more dimensions rotate than there are")
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_row_is_consistent(name):
    found = problems(MODELS[name])
    assert not found, f"{name}, in src/bookkit/models.jsonl: " + "; ".join(found)


def test_a_fault_of_a_row_is_told():
    good = MODELS["Llama 2-7B"]
    (group,) = good["layers"]
    for changed, told in (
        ({"sources": {**good["sources"], "window": "a/b:c@d"}}, "values without source, or"),
        ({"sources": {**good["sources"], "width": "a paper"}}, "a source is owner/repository:path"),
        ({"layers": [{**group, "kv_heads": 5}]}, "5 heads of keys do not divide 32"),
    ):
        (problem,) = problems({**good, **changed})
        assert told in problem
    without = {key: value for key, value in good.items() if key != "heads"}
    assert problems(without) == ["there is no heads; src/bookkit/models.py says what a row has"]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_computed_fits_the_row(name):
    model = MODELS[name]
    group = far_layers(model)
    theta = frequencies(group)
    plain = rotary_frequencies(2 * len(theta), group["rope"]["rope_theta"])
    # Scaling only slows pairs, by its factor at most; a spectrum cut short ends earlier.
    assert slowest_wavelength(model) >= 2 * math.pi * (1 - 1e-9)
    if group["rope"]["rope_type"] != "proportional":
        slowed = float(plain[-1] / theta.min())
        assert 1 - 1e-9 <= slowed <= group["rope"].get("factor", 1.0) * (1 + 1e-9)
    complete = pairs_that_rotate_fully(model)
    if complete is not None:
        seen = min(model["context"], group.get("window", math.inf))
        assert 0 < complete[0] <= len(theta) <= complete[1]
        assert (complete[0] == len(theta)) == (slowest_wavelength(model) <= seen)
    size = cache_bytes_per_token(model)
    if size is not None and "latent" not in group:
        keeping = [g for g in model["layers"] if "kv_heads" in g]
        full = 2 * 2 * sum(g["count"] * g["kv_heads"] * g["head_dim"] for g in keeping)
        windowed = any("window" in g for g in model["layers"])
        assert size < full if windowed else size == full


@pytest.mark.parametrize("name", MODELS)
def test_the_layout_is_the_one_of_the_library(name):
    """Where a class of transformers is the source, the library's own lists say the same."""
    places = " ".join(MODELS[name]["sources"].values())
    found = {kind for kind in INTERLEAVED_MODELS | HALF_MODELS if f"/{kind}/" in places}
    lists = {"interleaved": INTERLEAVED_MODELS, "half": HALF_MODELS}
    assert all(kind in lists[MODELS[name]["layout"]] for kind in found)


def test_known_sizes():
    assert len(MODELS) >= 25
    assert cache_bytes_per_token(MODELS["DeepSeek-V3"]) == 2 * 576 * 61
    assert cache_bytes_per_token(MODELS["Llama 2-7B"]) == 2 * 2 * 4096 * 32
    whole = cache_bytes_per_token(MODELS["Gemma 3-27B"]) * 131_072 / 2**30
    assert round(whole, 1) == 10.4
    assert cache_bytes_per_token(MODELS["ModernBERT-base"]) is None
    assert cache_bytes_per_token(MODELS["Apertus-8B"]) is None
    assert pairs_that_rotate_fully(MODELS["Qwen3-Next-80B"]) == (22, 128)
    unread = {key: value for key, value in MODELS["Gemma 4-31B"].items() if key != "context"}
    assert pairs_that_rotate_fully(unread) is None
    assert cache_bytes_per_token(unread) is None
    assert round(slowest_wavelength(MODELS["Llama 2-7B"])) == 54_410
    assert all("window" not in far_layers(MODELS[name]) for name in ("Gemma 2-9B", "OLMo 3-7B"))
