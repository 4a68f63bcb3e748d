"""Checkpoints for the model in one file: folders, shards, dtypes, tied weights, end tokens."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from one_file.llama import Config, Model, load_checkpoint, read_weights
from small_llama import SMALL

RAW = SMALL | {"eos_token_id": 2}
TOKENS = torch.arange(14).view(2, 7)
INDEX = "model.safetensors.index.json"


def weights_of(dtype: torch.dtype = torch.bfloat16, **changes: Any) -> dict[str, torch.Tensor]:
    """A checkpoint's weights by their names there."""
    torch.manual_seed(0)
    weights = Model(Config.from_dict(RAW | changes)).to(dtype).state_dict()
    named = {f"model.{name}": weight for name, weight in weights.items()}
    named["lm_head.weight"] = named.pop("model.lm_head.weight")
    if changes.get("tie_word_embeddings"):
        del named["lm_head.weight"]
    return named


def write(folder: Path, weights: dict[str, torch.Tensor], shards: int = 1, **config: Any) -> Path:
    """A folder as on the Hub, with one file or with several and an index."""
    (folder / "config.json").write_text(json.dumps(RAW | config), encoding="utf-8")
    if shards == 1:
        save_file(weights, folder / "model.safetensors")
        return folder
    names = sorted(weights)
    weight_map = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {name: weights[name] for name in names[shard::shards]}
        save_file(part, folder / file)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
    return folder


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_folder_loads_in_the_dtype_of_its_weights(
    tmp_path: Path, shards: int, dtype: torch.dtype
) -> None:
    weights = weights_of(dtype)
    model = load_checkpoint(write(tmp_path, weights, shards))
    assert {weight.dtype for weight in model.parameters()} == {dtype}
    assert {weight.device.type for weight in model.parameters()} == {"cpu"}
    expected = Model(Config.from_dict(RAW)).load(weights)
    assert torch.equal(model(TOKENS)[0], expected(TOKENS)[0])


def test_another_dtype_can_be_chosen_and_a_single_file_named(tmp_path: Path) -> None:
    write(tmp_path, weights_of(torch.bfloat16))
    model = load_checkpoint(tmp_path / "model.safetensors", torch.float32)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert model.norm.weight.requires_grad


def test_weights_of_mixed_dtypes_get_that_of_the_embedding() -> None:
    weights = weights_of(torch.bfloat16)
    weights["model.norm.weight"] = weights["model.norm.weight"].float()
    model = Model(Config.from_dict(RAW)).load(weights)
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert model(TOKENS)[0].dtype == torch.bfloat16


def test_a_folder_without_weights_and_an_index_that_is_wrong_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"expected model.safetensors or {INDEX}"):
        read_weights(tmp_path)
    write(tmp_path, weights_of(), shards=3)
    index = json.loads((tmp_path / INDEX).read_text(encoding="utf-8"))
    index["weight_map"]["model.extra.weight"] = "model-00001-of-00003.safetensors"
    (tmp_path / INDEX).write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(ValueError, match=r"found none: \['model.extra.weight'\]"):
        load_checkpoint(tmp_path)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="model-00002-of-00003"):
        load_checkpoint(tmp_path)


def test_names_that_are_missing_or_unknown_are_errors() -> None:
    model = Model(Config.from_dict(RAW))
    weights = weights_of()
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"layers.0.self_attn.q_proj.bias"'):
        model.load(weights | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(24)})
    with pytest.raises(ValueError, match=r"^embed_tokens.weight: expected .*, got \['a'\]"):
        model.load({"a": torch.zeros(1)})
    with pytest.raises(
        ValueError, match=r"^model.norm.weight: expected floating.*, got torch.int8"
    ):
        model.load(weights | {"model.norm.weight": torch.zeros(24, dtype=torch.int8)})
    # Older checkpoints store frequencies, in their own dtype; they are computed instead.
    model.load(weights | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(3)})
    assert model.frequencies[0] == 1


def test_a_model_on_a_device_keeps_it() -> None:
    weights = {name: weight.to("meta") for name, weight in weights_of().items()}
    model = Model(Config.from_dict(RAW))
    with pytest.raises(NotImplementedError, match="no data"):  # to the CPU, where the model is
        model.load(weights)


@pytest.mark.parametrize("way", ["load", "assign", "copy"])
def test_tied_weights_stay_tied_from_meta(way: str) -> None:
    weights = weights_of(tie_word_embeddings=True)
    with torch.device("meta"):
        model = Model(Config.from_dict(RAW | {"tie_word_embeddings": True}))
    stored = {name.removeprefix("model."): weight for name, weight in weights.items()}
    stored["lm_head.weight"] = stored["embed_tokens.weight"]
    if way == "load":
        model.load(weights)
    if way == "assign":
        model.load_state_dict(stored, assign=True)
    if way == "copy":
        model.to_empty(device="cpu").load_state_dict(stored)
    assert model.lm_head.weight is model.embed_tokens.weight
    assert "lm_head.weight" not in dict(model.named_parameters())


def test_a_tied_model_refuses_another_output_matrix() -> None:
    tied = {"tie_word_embeddings": True}
    weights = weights_of(**tied)
    head = weights["model.embed_tokens.weight"]
    model = Model(Config.from_dict(RAW | tied))
    model.load(weights | {"lm_head.weight": head.clone()})  # stored twice
    with pytest.raises(ValueError, match=r"^lm_head.weight: expected the embedding's matrix"):
        model.load(weights | {"lm_head.weight": head + 1})


@pytest.mark.parametrize(
    ("config", "generation", "end", "padding"),
    [
        ({}, None, (2,), None),
        ({"eos_token_id": None}, None, (), None),
        ({"eos_token_id": [5, 7], "pad_token_id": 0}, None, (5, 7), 0),
        ({"eos_token_id": 0}, None, (0,), None),
        ({"pad_token_id": -1}, None, (2,), None),  # how older files say that there is none
        ({"pad_token_id": 1}, {"eos_token_id": [5, 7], "pad_token_id": 3}, (5, 7), 3),
        ({"pad_token_id": 1}, {"temperature": 0.6}, (2,), 1),
        ({"pad_token_id": 1}, {"eos_token_id": [], "pad_token_id": -1}, (), None),  # there is none
        ({"pad_token_id": 1}, {"eos_token_id": None, "pad_token_id": None}, (2,), 1),
    ],
)
def test_end_tokens_come_from_both_files(
    tmp_path: Path,
    config: dict[str, Any],
    generation: dict[str, Any] | None,
    end: tuple[int, ...],
    padding: int | None,
) -> None:
    write(tmp_path, weights_of(), **config)
    if generation is not None:
        file = tmp_path / "generation_config.json"
        file.write_text(json.dumps(generation), encoding="utf-8")
    found = load_checkpoint(tmp_path).config
    assert (found.eos_token_id, found.pad_token_id) == (end, padding)


@pytest.mark.parametrize("value", ["2", [2, "3"], True, 2.0, [[2]]])
def test_an_end_token_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^eos_token_id: expected a token number or a list"):
        Config.from_dict(RAW | {"eos_token_id": value})
