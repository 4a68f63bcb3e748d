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


def test_positions_are_the_first_and_the_last_of_three_contexts(folder: Path) -> None:
    """Other languages count on them: 4, 128 and 1024 times 1024 positions."""
    held = json.loads((folder / "llama-2.json").read_text(encoding="utf-8"))
    positions = [case["position"] for case in held["cases"]]
    assert positions == [0, 1, 2, 100, *(1024 * size - 1 for size in (4, 128, 1024))]


def test_files_are_told_and_can_be_written_again(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder"
    first = rope_families.write_vectors(target)
    assert sorted(first) == sorted(target.iterdir())
    (target / "index.json").write_text("", encoding="utf-8")
    assert rope_families.write_vectors(target) == first
    lines = (target / "index.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(rope_families.FAMILIES) + 2  # one to read each
    assert lines[1] == ' "Llama 2": "llama-2.json",'
    text = (target / "llama-2.json").read_text(encoding="utf-8")
    assert text.startswith('{"family": "Llama 2", "config"')


def stretched(pair: int, dim: int, base: float, scale: float) -> float:
    """The frequency of a pair, divided by the scale."""
    return float(base ** (-2 * pair / dim) / scale)


@pytest.mark.parametrize(
    ("name", "shape", "factors", "pairs"),
    [
        ("GPT-NeoX", (128, 32), (1, 1), {1: stretched(1, 32, 1e4, 1), 15: 1e4 ** (-15 / 16)}),
        # Both weights are 1: nothing is left for the table, all goes to the scores.
        (
            "DeepSeek-V3",
            (64, 64),
            (1, (1 + 0.1 * math.log(40)) ** 2),
            {0: 1, 10: stretched(10, 64, 1e4, 1), 23: stretched(23, 64, 1e4, 40)},
        ),
        # Not truncated: pair 8 is kept, the ramp begins at 8.09.
        (
            "gpt-oss",
            (64, 64),
            (1 + 0.1 * math.log(32), 1),
            {8: stretched(8, 64, 1.5e5, 1), 18: stretched(18, 64, 1.5e5, 32)},
        ),
    ],
)
def test_numbers_of_families(
    name: str, shape: tuple[int, int], factors: tuple[float, float], pairs: dict[int, float]
) -> None:
    settings = rope_families.FAMILIES[name].settings()
    assert (settings.head_dim, settings.rotary_dim) == shape
    assert (settings.attention_factor, settings.score_factor) == pytest.approx(factors)
    for pair, theta in pairs.items():
        assert float(settings.frequencies[pair]) == pytest.approx(theta, rel=1e-9)


def test_a_ramp_that_is_not_truncated_begins_between_pairs() -> None:
    """gpt-oss: pair 9 lies on the ramp from 8.09 to 17.4, not on one from 8 to 18."""
    theta = rope_families.FAMILIES["gpt-oss"].settings().frequencies
    start, stop = (
        64 * math.log(4096 / (2 * math.pi * turns)) / (2 * math.log(1.5e5)) for turns in (32, 1)
    )
    part = (9 - start) / (stop - start)
    plain = stretched(9, 64, 1.5e5, 1)
    assert float(theta[9]) == pytest.approx(plain * (1 - part) + plain / 32 * part, rel=1e-9)


def test_layouts_are_those_of_the_model_types() -> None:
    for family in rope_families.FAMILIES.values():
        assert family.settings().layout in (family.layout, None)


def test_deepseek_v3_as_published() -> None:
    """Its frequencies would be the same with some other numbers: the ramp ends at whole pairs."""
    scaling = rope_families.FAMILIES["DeepSeek-V3"].config["rope_scaling"]
    assert scaling["original_max_position_embeddings"] == 4096
    assert (scaling["beta_fast"], scaling["beta_slow"]) == (32, 1)


@pytest.mark.parametrize(
    ("name", "head_dim", "rotary_dim", "base", "scale"),
    [
        ("Llama 2", 128, 128, 1e4, 1),
        ("Qwen3", 128, 128, 1e6, 1),
        ("Gemma 3 local", 128, 128, 1e4, 1),
        ("Gemma 3 global", 128, 128, 1e6, 8),
        ("GLM", 128, 64, 1e4, 1),
        ("Command R7B", 128, 128, 5e4, 1),
    ],
)
def test_families_whose_pairs_are_all_slowed_alike(
    name: str, head_dim: int, rotary_dim: int, base: float, scale: float
) -> None:
    settings = rope_families.FAMILIES[name].settings()
    assert (settings.head_dim, settings.rotary_dim) == (head_dim, rotary_dim)
    expected = [stretched(pair, rotary_dim, base, scale) for pair in range(rotary_dim // 2)]
    assert settings.frequencies.tolist() == pytest.approx(expected, rel=1e-12)


def test_llama_3_slows_the_pairs_that_turn_less_than_4_times_in_8192_positions() -> None:
    settings = rope_families.FAMILIES["Llama 3.1"].settings()
    assert settings.head_dim == 128
    for pair, got in enumerate(settings.frequencies.tolist()):
        theta = stretched(pair, 128, 5e5, 1)
        turns = 8192 * theta / (2 * math.pi)
        part = min(max((turns - 1) / (4 - 1), 0), 1)
        assert got == pytest.approx(part * theta + (1 - part) * theta / 8, rel=1e-12)


def test_gemma_4_turns_the_fastest_quarter_of_its_pairs() -> None:
    settings = rope_families.FAMILIES["Gemma 4 global"].settings()
    assert settings.head_dim == 512
    expected = [stretched(pair, 512, 1e6, 1) if pair < 64 else 0 for pair in range(256)]
    assert settings.frequencies.tolist() == pytest.approx(expected, rel=1e-12, abs=0)
