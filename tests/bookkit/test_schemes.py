"""The models of chapter 16: what each scheme is, how the rate is chosen, what the record has."""

import math

import pytest
import torch

from attention_to_rope import Architecture, Rotary
from bookkit.experiments.record import recorded
from bookkit.trained import schemes, text
from bookkit.trained.schemes import RATES, SCHEMES, best_rate, build, main


@pytest.fixture
def small(monkeypatch, tmp_path):
    shape = Architecture(d=16, heads=2, layers=4, norm="rms", activation="gelu")
    small = {"ARCHITECTURE": shape, "D_K": 8, "LENGTH": 32, "BINS": 8, "BATCH": 2}
    for name, value in small.items():
        monkeypatch.setattr(schemes, name, value)
    part = text.Text(*(torch.frombuffer(bytearray(b"x = 1\n" * 99), dtype=torch.uint8),) * 2, "")
    monkeypatch.setattr(text, "installed", lambda: part)
    return tmp_path


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_it_trains_tests_and_records(small):
    short = [str(small), "--steps", "2", "--rates", "1", "--tests", "2"]
    main([*short, "--seeds", "4", "--schemes", "T5, fast table", "RoPE"])
    rows = recorded(small / "schemes.jsonl")
    assert [row["part"] for row in rows] == ["grid", "grid", "grid", "best"] * 2
    assert all(row["loss"][:2] == row["cut"][:2] for row in rows)
    assert ["YaRN" in row for row in rows[::4]] == [False, True]


def test_models_of_one_seed_share_their_weights_and_differ_in_their_positions():
    models = {name: build(name, 0) for name in SCHEMES}
    kinds = {name: type(model.scheme).__name__ for name, model in models.items()}
    assert len({*kinds.values()}) == 5  # the hybrid has its positions in its layers
    layers = models["hybrid, last"].patterns()
    assert [isinstance(one.scheme, Rotary) for one in layers] == [True, True, True, False]
    assert all(
        torch.equal(models["none"].embedding.rows, m.embedding.rows) for m in models.values()
    )


def test_the_best_rate_has_the_lowest_mean_and_a_broken_training_is_the_worst():
    tried = [(1, 2.0), (2, 1.5), (3, 1.0), (1, 2.0), (2, 1.6), (3, None)]
    assert best_rate([{"rate": rate, "validation": value} for rate, value in tried]) == 2


def test_the_record_has_the_same_configurations_for_every_scheme_and_no_best_rate_at_an_edge():
    rows = recorded("trained/schemes.jsonl")
    for scheme in {row["scheme"] for row in rows}:
        grid = recorded("trained/schemes.jsonl", scheme=scheme, part="grid")
        cases = {(row["rate"], row["seed"]) for row in grid}
        assert cases == {(rate, seed) for rate in RATES for seed in range(3)}
        best = recorded("trained/schemes.jsonl", scheme=scheme, part="best")
        assert [row["seed"] for row in best] == [3, 4, 5, 6, 7]
        assert {row["rate"] for row in best} == {best_rate(grid)} <= {*RATES[1:-1]}
    assert all(math.isfinite(value) for row in rows for value in (*row["loss"], *row["cut"]))
