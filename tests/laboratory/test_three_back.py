"""The record of the chapter is made as it says, and says where it comes from."""

import pytest
import torch

from attention_to_rope import Decoder
from bookkit.records import recorded
from laboratory import record, three_back
from laboratory.three_back import (
    BACK,
    RATES,
    SCHEMES,
    SYMBOLS,
    TESTED,
    Models,
    initial,
    right_shares,
    run,
)


def test_an_answer_is_right_if_it_is_the_token_three_before():
    def copies(tokens, first):
        assert first == 7
        said = tokens.roll(BACK, 2)
        said[1, :100] += 1  # the second model answers half of the sequences wrongly
        return torch.nn.functional.one_hot(said % SYMBOLS, SYMBOLS).float()

    assert right_shares(copies, 2, "cpu", length=20, first=7) == [1.0, 0.5]


def test_models_side_by_side_are_the_models_alone():
    variant = SCHEMES["T5Bias"]
    tokens = torch.arange(2 * 3 * 9).view(2, 3, 9) % SYMBOLS
    together = Models([initial(variant, seed) for seed in range(2)])(tokens, first=4)
    sizes = three_back.Architecture(d=32, heads=4, layers=1, hidden=64)
    alone = Decoder(SYMBOLS, sizes, seed=1, scheme=variant.scheme(101))
    expected = alone(tokens[1], positions=torch.arange(9) + 4)
    torch.testing.assert_close(together[1], expected)


def test_the_record_has_eight_seeds_of_every_scheme_and_rate_and_its_origin():
    rows = recorded("three_back.jsonl")
    runs = [(row["scheme"], row["rate"], row["steps"]) for row in rows]
    wanted = [(one, rate, steps) for one in SCHEMES for rate in RATES for steps in TESTED]
    assert sorted(runs) == sorted(wanted)
    assert all(len(row[test]) == 8 for row in rows for test in ("as trained", "shifted", "longer"))
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))


def test_a_run_trains_and_is_tested_three_times(monkeypatch):
    asked = []

    def tested(models, seeds, device, **test):
        asked.append(test)
        return [0.5] * seeds

    monkeypatch.setattr(three_back, "right_shares", tested)
    rows = list(run("T5Bias", 0.01, 2, 2))
    assert [(row["steps"], row["longer"]) for row in rows] == [(2, [0.5, 0.5])]
    assert asked == [{}, {"first": 50}, {"length": 42}]


@pytest.mark.slow
def test_a_short_training_already_learns_the_task():
    assert next(run("T5Bias", 0.01, 1, 80))["as trained"][0] > 0.9


def test_the_command_of_an_experiment_writes_its_rows_with_their_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RESULTS", tmp_path / "folder")
    record.main("name", [{"a": 1}, {"a": 2}])
    found = recorded(tmp_path / "folder" / "name.jsonl")
    assert [row["a"] for row in found] == [1, 2]
    assert found[0]["command"] == "python -m laboratory.name"
