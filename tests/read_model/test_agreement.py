"""The script of the page and the library agree, or refuse for the same reason."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from random_configurations import configuration
from reader import call, is_near, python_groups, python_rotation, run_reader

from attention_to_rope.checkpoints.config_remarks import name_remarks, rule_remarks
from attention_to_rope.checkpoints.config_values import check_values
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary_keys import text_part
from bookkit.models import read_model, read_models
from bookkit.seconds import (
    cache_bytes,
    decode_step_seconds,
    multiplied_parameters,
    prefill_seconds,
    read_gpu,
)

LENGTH = 50_000
GPU = read_gpu("H200 SXM")
RATES = {"bandwidth": GPU.bandwidth_bytes_per_second, "peak": GPU.peak()}
PARAMETERS = 8_000_000_000


def check_rotation(theirs: Any, ours: Any, config: Any) -> str:
    """Compare the rotation of one layer; the word says whether it was read."""
    if isinstance(ours, dict):
        assert theirs.get("refused", {}).get("reason") == ours["refused"], config
        return "refused"
    assert "refused" not in theirs, (theirs["refused"], config)
    frequencies = torch.tensor(theirs["frequencies"], dtype=torch.float64)
    assert frequencies.shape == ours.frequencies.shape, config
    assert torch.allclose(frequencies, ours.frequencies, rtol=1e-9, atol=0), config
    assert is_near(theirs["attention_factor"], ours.attention_factor), config
    assert is_near(theirs["score_factor"], ours.score_factor), config
    for key in ("head_dim", "rotary_dim", "base", "kind", "layout"):
        assert theirs[key] == getattr(ours, key), (key, config)
    return "read"


def check_groups(theirs: Any, ours: Any, config: Any) -> str:
    """Compare the groups of layers."""
    if isinstance(ours, dict):
        assert isinstance(theirs, dict), (ours, config)
        assert theirs["refused"]["reason"] == ours["refused"], config
        return "refused"
    assert isinstance(theirs, list), (theirs, config)
    assert len(theirs) == len(ours), config
    for one, other in zip(theirs, ours, strict=True):
        scales = one.pop("scale", 1.0), other.get("scale", 1.0)
        assert is_near(*scales), config
        assert one == {key: value for key, value in other.items() if key != "scale"}, config
    return "read"


def compare(configs: list[dict[str, Any]]) -> dict[str, int]:
    """Ask both about layers and rotations of all configurations, and count the answers."""
    requests = []
    expected: list[tuple[str, Any, Any]] = []
    for config in configs:
        groups = python_groups(config)
        requests.append(call("layerGroups", config))
        expected.append(("groups", groups, config))
        asked: list[tuple[str | None, int | None]] = [(None, None)]
        if isinstance(groups, list):
            asked += [(g["kind"], g["indices"][0]) for g in groups if not g.get("recurrent")]
        for kind, layer in asked:
            rotation = python_rotation(config, kind, layer, LENGTH)
            options = {"layerKind": kind, "layer": layer, "length": LENGTH}
            requests.append(call("layerSettings", config, options))
            expected.append(("rotation", rotation, (config, kind, layer)))
    counts: dict[str, int] = {}
    for answer, (what, ours, config) in zip(run_reader(requests), expected, strict=True):
        check = check_groups if what == "groups" else check_rotation
        word = f"{what} {check(answer, ours, config)}"
        counts[word] = counts.get(word, 0) + 1
    return counts


def check_many(first: int, count: int) -> None:
    counts = compare([configuration(first + number) for number in range(count)])
    for word in ("groups read", "groups refused", "rotation read", "rotation refused"):
        assert counts[word] > count / 10, counts


def test_random_configurations():
    check_many(0, 400)


@pytest.mark.slow
def test_ten_thousand_random_configurations():
    check_many(1000, 10_000)


@pytest.mark.parametrize("batch", [1, 64])
def test_bytes_and_seconds_of_the_table(batch):
    models = [model for model in read_models() if known(model)]
    requests = []
    for model in models:
        work = {
            "parameters": PARAMETERS,
            "groups": model["layers"],
            "heads": model["heads"],
            "tokens": LENGTH,
            "batch": batch,
            "weightBytes": 2,
            "cacheBytesPerNumber": 2,
        }
        requests.append(call("cacheBytes", model["layers"], LENGTH, 2))
        requests.append(call("decodeStep", RATES, work))
        requests.append(call("prefill", RATES, work))
    answers = iter(run_reader(requests))
    for model in models:
        work = {
            "parameters": PARAMETERS,
            "layers": model["layers"],
            "heads": model["heads"],
            "tokens": LENGTH,
        }
        assert next(answers) == cache_bytes(model["layers"], LENGTH)
        step = decode_step_seconds(GPU, batch=batch, **work)
        assert is_near(next(answers)["seconds"], step), model["name"]
        assert is_near(next(answers)["seconds"], prefill_seconds(GPU, **work)), model["name"]


def known(model: dict[str, Any]) -> bool:
    """Whether the table has what the cache needs."""
    groups = model["layers"]
    return all(g.get("recurrent") or "latent" in g or "kv_heads" in g for g in groups)


def test_rotations_of_the_table():
    configs = []
    for model in read_models():
        for group in model["layers"]:
            if group.get("rope"):
                head_dim = group.get("rotary") or group["head_dim"]
                configs.append({"head_dim": head_dim, "rope_parameters": group["rope"]})
    counts = compare(configs)
    assert counts["rotation read"] == len(configs)


@pytest.mark.slow
def test_all_rotary_configurations_of_transformers():
    record = Path(__file__).with_name("transformers_configurations.json")
    configs = json.loads(record.read_text(encoding="utf-8"))
    counts = compare(list(configs.values()))
    assert counts["groups read"] > 130, counts
    assert counts["rotation read"] > 200, counts


def check_remarks(configs: list[dict[str, Any]]) -> set[str]:
    """Compare what both say about keys and rules; the names of all that was said."""
    readable = []
    for config in configs:
        try:
            text = text_part(config)
            check_values(text)
        except ConfigError:  # what cannot be read gets no remarks
            continue
        readable.append(text)
    answers = run_reader([call("warningsOfKeys", text) for text in readable])
    names = set()
    for answer, text in zip(answers, readable, strict=True):
        ours = [*name_remarks(text), *rule_remarks(text)]
        theirs = [(one["key"], one["text"]) for one in answer]
        assert list(dict.fromkeys(theirs)) == ours, text
        names |= {said.name for said in ours}
    return names


def test_remarks():
    names = check_remarks([configuration(number) for number in range(600)])
    assert names >= {"factor_below_one", "reach_too_short", "latent_share", "no_rope_flags"}
    assert names >= {"old_keys", "new_keys", "longrope_switch", "dynamic", "window_off"}
    assert names >= {"factor_twice", "several_axes"}


@pytest.mark.parametrize("gpus", [1, 8, 16])
def test_memory_of_the_table(gpus):
    models = [model for model in read_models() if known(model)]
    held = {"weights": 70e9, "tokens": LENGTH, "batch": 3, "cacheBytesPerNumber": 2, "ranks": gpus}
    gpu = {"memory": GPU.memory_bytes}
    requests = [call("memoryOf", gpu, {"groups": model["layers"], **held}) for model in models]
    for model, memory in zip(models, run_reader(requests), strict=True):
        text = cache_bytes(model["layers"], LENGTH, tensor_ranks=gpus)
        assert memory["cache_bytes"] == 3 * text, model["name"]
        assert memory["needed"] == 70e9 / gpus + 3 * text
        assert memory["fits"] == (memory["needed"] <= GPU.memory_bytes)
        room = GPU.memory_bytes - 70e9 / gpus
        if text:
            assert memory["largest_batch"] == room // text
        longest = memory["longest_text"]
        assert 3 * cache_bytes(model["layers"], longest, tensor_ranks=gpus) <= room
        if longest < 2**40:
            assert 3 * cache_bytes(model["layers"], longest + 1, tensor_ranks=gpus) > room


def test_reading_makes_the_logits_of_the_last_token_alone():
    """As the chapter on the cache computes it: what makes logits is no work of the other tokens."""
    (answer,) = run_reader([call("readTableModel", "Llama 3.1-8B", {"length": LENGTH})])
    model = read_model("Llama 3.1-8B")
    head = model["vocabulary"] * model["width"]
    inner = multiplied_parameters(model) - head
    work = {"layers": model["layers"], "heads": model["heads"], "tokens": LENGTH}
    expected = prefill_seconds(GPU, parameters=inner, **work) + 2 * head / GPU.peak()
    assert is_near(answer["prefill"]["seconds"], expected)


def test_gpus_share_weights_and_work():
    model = read_model("Llama 3.1-8B")
    work = {
        "parameters": PARAMETERS,
        "groups": model["layers"],
        "heads": model["heads"],
        "tokens": LENGTH,
        "batch": 4,
        "weightBytes": 2,
        "cacheBytesPerNumber": 2,
    }
    requests = []
    for ranks in (1, 8):  # eight key-value heads: each GPU has one
        requests.append(call("decodeStep", RATES, {**work, "ranks": ranks}))
        requests.append(call("prefill", RATES, {**work, "ranks": ranks}))
    step, text, shared_step, shared_text = run_reader(requests)
    assert is_near(shared_step["seconds"], step["seconds"] / 8)
    assert is_near(shared_text["seconds"], text["seconds"] / 8)
