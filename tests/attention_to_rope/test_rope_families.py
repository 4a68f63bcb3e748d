"""Families and test vectors: whoever reads the JSON alone gets the rotation again."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from attention_to_rope import reference, rope_families


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("vectors") / "new"
    rope_families.write_vectors(target)
    return target


@pytest.mark.parametrize("name", rope_families.FAMILIES)
def test_vectors_say_what_the_reference_says(folder: Path, name: str) -> None:
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    held = json.loads((folder / index[name]).read_text(encoding="utf-8"))
    assert held["family"] == name
    assert [case["position"] for case in held["cases"]] == list(rope_families.POSITIONS)
    assert 2 * len(held["frequencies"]) == held["rotary_dim"] <= held["head_dim"]
    for case in held["cases"]:
        m, factor = case["position"], held["attention_factor"]
        assert case["x"] == [math.sin(j + 1) for j in range(held["head_dim"])]
        for theta, cos, sin in zip(held["frequencies"], case["cos"], case["sin"], strict=True):
            assert cos == pytest.approx(factor * math.cos(m * theta), abs=1e-9)
            assert sin == pytest.approx(factor * math.sin(m * theta), abs=1e-9)
        x = np.array(case["x"])
        expected = reference.rotate(x, m, held["frequencies"], held["layout"])
        expected[: held["rotary_dim"]] *= factor
        assert np.abs(expected - np.array(case["rotated"])).max() <= 1e-8


def test_every_file_is_listed_and_described(folder: Path) -> None:
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    names = {path.name for path in folder.iterdir()}
    assert names == {*index.values(), "index.json", "FORMAT.txt"}
    held = json.loads((folder / index["Llama 2"]).read_text(encoding="utf-8"))
    text = (folder / "FORMAT.txt").read_text(encoding="utf-8")
    for key in (*held, *held["cases"][0]):
        assert key in text


def test_layouts_are_those_of_the_model_types() -> None:
    for family in rope_families.FAMILIES.values():
        assert family.settings().layout in (family.layout, None)
