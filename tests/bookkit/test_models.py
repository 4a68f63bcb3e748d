"""Models as read: every row is whole, has its sources, and its numbers fit each other."""

import json
import math
from pathlib import Path

import pytest

from attention_to_rope import rotary_frequencies
from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.rotary import HALF_MODELS, INTERLEAVED_MODELS
from bookkit.models import (
    OF_ATTENTION,
    OF_OTHER_PARTS,
    PROPERTIES,
    cache_bytes_per_token,
    far_layers,
    frequencies,
    how_many,
    models_that,
    pairs_that_rotate_fully,
    query_scale,
    reach,
    read_models,
    rotated_layers,
    slowest_wavelength,
)
from bookkit.seconds import cached_numbers

MODELS = {model["name"]: model for model in read_models()}
# Written by tests/peers/configuration_keys.py, where transformers is installed.
RECORDED = json.loads((Path(__file__).parent / "configuration_keys.json").read_text())
OF_MODEL = {"width", "heads", "hidden", "vocabulary", "context", "trained", "layout"}
# A model may say more of itself than values that were read.
ABOUT_A_ROW = {"name", "read_from", "class", "causal", "not_represented", "note"}
OF_LAYERS = {
    *("count", "kv_heads", "head_dim", "value_dim", "latent", "rotary", "same_key_value"),
    *("rope", "learned", "bias", "window", "chunk", "compress", "index", "query_scale"),
    *("scale", "key_dim", "sink"),
}
# The column that holds what a key of a configuration says.
OF_ROTATION = (
    *("rope_type", "type", "rope_theta", "compress_rope_theta", "partial_rotary_factor"),
    *("factor", "original_max_position_embeddings", "attention_factor", "mscale"),
    *("mscale_all_dim", "beta_fast", "beta_slow", "truncate"),
    *("low_freq_factor", "high_freq_factor"),
    *("layer_rope_theta", "no_rope_layers", "no_rope_layer_interval", "position_embedding_type"),
)
OF_INDEXERS = ("index_topk", "index_n_heads", "index_head_dim", "index_kpool", "indexer_types")
OF_QUERY_SCALES = (
    *("llama_4_scaling_beta", "attn_scale", "floor_scale"),
    *("log_scaling_n_floor", "log_scaling_alpha"),
)
COLUMNS = {
    **dict.fromkeys(OF_ROTATION, "rope"),
    **dict.fromkeys(OF_INDEXERS, "index"),
    **dict.fromkeys(OF_QUERY_SCALES, "query_scale"),
    "compressed_sparse_attention": "compress",
    "heavily_compressed_attention": "compress",
    "max_position_embeddings": "context",
    "qk_rope_head_dim": "rotary",
    "rope_interleave": "layout",
    "sliding_window": "window",
    "sliding_window_size": "window",
}
# They say which layers are meant, and no column has their values.
ONLY_WHICH = {"no_rope_layer_interval", "rope_interleave", "position_embedding_type"}
# Both say how much rotates: of a whole head by a share, beside a latent vector by a number.
HOW_MUCH = {"partial_rotary_factor": "rope", "qk_rope_head_dim": "rotary"}


def problems(model):
    """What does not fit in a row."""
    needed = ["heads", "layers", "sources"]
    if any(group.get("rope") for group in model.get("layers", ())):
        needed.append("layout")
    missing = [key for key in needed if key not in model]
    if missing:
        return [f"there is no {key}; src/bookkit/models.py says what a row has" for key in missing]
    found = []
    unknown = set(model) - OF_MODEL - ABOUT_A_ROW - {"layers", "sources"}
    unknown |= {key for group in model["layers"] for key in set(group) - OF_LAYERS}
    if unknown - {"recurrent"}:
        found.append(f"unknown: {sorted(unknown)}; src/bookkit/models.py says what a row has")
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


def shown(model, column):
    """All values of a column, those of dictionaries one by one."""
    if column in model:
        return [model[column]]
    found = []
    for group in model["layers"]:
        value = group.get(column)
        found += value.values() if isinstance(value, dict) else [value]
    return found


def unnamed(model, keys):
    """The keys of a configuration class that a row neither represents nor names."""
    folder = model["class"].split(".")[0]
    found = []
    for path, value in keys.items():
        key = path.split(".")[-1]
        column = COLUMNS.get(key)
        if value is None or path in model.get("not_represented", {}):
            continue
        if key in HOW_MUCH:
            column = "rotary" if any("rotary" in group for group in model["layers"]) else "rope"
        if column is None or column not in model["sources"]:
            found.append(path)
            continue
        own = f"/{folder}/configuration_" in model["sources"][column]
        compared = own and key not in ONLY_WHICH and not str(value).startswith("a list")
        compared = compared and column == HOW_MUCH.get(key, column)
        if compared and value not in shown(model, column):
            found.append(f"{path} is {value}, not {shown(model, column)}")
    return found


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if "class" in model])
def test_every_key_that_may_matter_is_a_column_or_is_named(name):
    model = MODELS[name]
    keys = RECORDED["classes"].get(model["class"])
    assert keys is not None, (
        f"tests/bookkit/configuration_keys.json has no {model['class']}: write it with "
        "tests/peers/configuration_keys.py"
    )
    forgotten = unnamed(model, keys)
    assert not forgotten, f"{name}: add these to not_represented, or a column: {forgotten}"
    left_out = model.get("not_represented", {})
    unexplained = {path.split(".")[-1] for path in left_out} - {*OF_ATTENTION, *OF_OTHER_PARTS}
    assert not unexplained, (
        f"OF_ATTENTION or OF_OTHER_PARTS has to say what these do: {unexplained}"
    )
    recorded = {path: value for path, value in left_out.items() if keys.get(path) is not None}
    assert all(keys[path] == value or value is None for path, value in recorded.items())


def test_a_key_that_is_forgotten_is_told():
    ministral = MODELS["Ministral 3-8B"]
    keys = RECORDED["classes"][ministral["class"]]
    assert unnamed(ministral, {**keys, "score_softcap": 50.0}) == ["score_softcap"]
    (group,) = ministral["layers"]
    without = {key: value for key, value in group.items() if key != "query_scale"}
    sources = {key: place for key, place in ministral["sources"].items() if key != "query_scale"}
    told = unnamed({**ministral, "layers": [without], "sources": sources}, keys)
    assert told == ["rope_parameters.llama_4_scaling_beta"]
    other = {**ministral, "layers": [{**group, "rope": {**group["rope"], "factor": 8.0}}]}
    (told,) = unnamed(other, keys)
    assert told.startswith("rope_parameters.factor is 16.0")
    classes = {model.get("class") for model in MODELS.values()}
    assert set(RECORDED["classes"]) <= classes


def test_scales_of_queries():
    """As the code of the classes computes them; mistral_large4 learns its own."""
    ministral = MODELS["Ministral 3-8B"]["layers"][0]
    scales = [query_scale(ministral, m) for m in (0, 16383, 16384, 262143)]
    assert scales == pytest.approx([1, 1, 1 + 0.1 * math.log(2), 1 + 0.1 * math.log(16)])
    unrotated = MODELS["Llama 4 Scout"]["layers"][0]
    assert query_scale(unrotated, 8190) == 1
    assert query_scale(unrotated, 8191) == pytest.approx(1 + 0.1 * math.log(2))
    assert query_scale(MODELS["Llama 4 Scout"]["layers"][1], 10**6) == 1
    inkling = MODELS["Inkling 2 Small"]["layers"][0]
    assert query_scale(inkling, 127_999) == 1
    assert query_scale(inkling, 255_999) == pytest.approx(1 + 0.1 * math.log(2))
    assert query_scale(MODELS["Mistral Large 4"]["layers"][0], 5) is None


def test_compressed_rows_and_values_of_another_length():
    four, many, plain = MODELS["DeepSeek-V4-Flash"]["layers"]
    assert cached_numbers(four, 1024) == 512 * (128 + 256)
    assert cached_numbers(many, 1024) == 512 * (128 + 8)
    assert cached_numbers(plain, 1024) == 512 * 128
    assert reach(four) == math.inf
    assert reach(plain) == 128
    assert far_layers(MODELS["DeepSeek-V4-Flash"]) is four
    full = MODELS["MiMo-V2-Flash"]["layers"][0]
    assert cached_numbers(full, 10) == 10 * 4 * (192 + 128)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_computed_fits_the_row(name):
    model = MODELS[name]
    group = far_layers(model)
    if group is None or group.get("learned"):
        assert slowest_wavelength(model) is None
        assert pairs_that_rotate_fully(model) is None
        assert bool(rotated_layers(model)) == (group is not None)
        return
    theta = frequencies(group)
    plain = rotary_frequencies(2 * len(theta), group["rope"]["rope_theta"])
    # Scaling only slows pairs, by its factor at most; a spectrum cut short ends earlier.
    assert slowest_wavelength(model) >= 2 * math.pi * (1 - 1e-9)
    if group["rope"]["rope_type"] != "proportional":
        slowed = float(plain[-1] / theta.min())
        assert 1 - 1e-9 <= slowed <= group["rope"].get("factor", 1.0) * (1 + 1e-9)
    complete = pairs_that_rotate_fully(model)
    if complete is not None:
        seen = min(model["context"], reach(group))
        assert 0 < complete[0] <= len(theta) <= complete[1]
        assert (complete[0] == len(theta)) == (slowest_wavelength(model) <= seen)
    size = cache_bytes_per_token(model)
    if size is not None and "latent" not in group:
        keeping = [g for g in model["layers"] if "kv_heads" in g]
        full = 2 * sum(g["count"] * cached_numbers({**g, "window": 1}, 1) for g in keeping)
        windowed = any("window" in g for g in model["layers"])
        assert size < full if windowed else size == full


@pytest.mark.parametrize("name", MODELS)
def test_the_layout_is_the_one_of_the_library(name):
    """Where a class of transformers is the source, the library's own lists say the same."""
    places = " ".join(MODELS[name]["sources"].values())
    kinds = INTERLEAVED_MODELS | HALF_MODELS
    found = {kind for kind in kinds if f"/{kind.removesuffix('_text')}/" in places}
    lists = {"interleaved": INTERLEAVED_MODELS, "half": HALF_MODELS}
    layout = MODELS[name].get("layout")
    other = [kind for kind in sorted(found) if layout is not None and kind not in lists[layout]]
    assert not other, f"{name} has the layout {layout!r}, which the code of {other} does not have"


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


def test_models_are_counted_by_their_properties():
    everything = set(MODELS)
    assert set(models_that()) == everything
    assert set(models_that("rotate")) | set(models_that("do not rotate")) == everything
    assert models_that("rotate", "do not rotate") == []
    assert {"Inkling", "Jamba v0.1"} <= set(models_that("do not rotate"))
    assert "Command R7B" in models_that("leave some layers unrotated")
    assert "Inkling" not in models_that("leave some layers unrotated")
    assert models_that("have a known slowest pair", "do not rotate") == []
    known = set(models_that("have a known slowest pair"))
    slow = set(models_that("complete no rotation of the slowest pair"))
    assert slow < known
    assert {"Gemma 4-31B", "LFM3-1.7B"} <= known - slow
    assert "Mistral Large 4" not in known
    assert "Pythia-6.9B" not in models_that("rotate whole heads")
    assert "DeepSeek-V3" not in models_that("share keys and values")
    for name in PROPERTIES:
        assert 0 < len(models_that(name)) < len(everything)
    with pytest.raises(KeyError, match="are large"):
        models_that("are large")


def test_a_word_for_how_many():
    assert how_many() == "all"
    assert how_many("rotate") == "most"
    assert how_many("choose keys") == "some"
    assert how_many("rotate", "do not rotate") == "no"
