"""The record of the chapter is made as it says, and says where it comes from."""

import torch

from bookkit.records import recorded
from laboratory import record, three_back
from laboratory.three_back import BACK, RATES, SCHEMES, SYMBOLS, right_share, run


def test_an_answer_is_right_if_it_is_the_token_three_before():
    class Copies(torch.nn.Module):
        def forward(self, tokens, positions):
            assert positions[0] == 7
            said = tokens.roll(BACK, 1)
            said[:100] += 1  # half of the sequences are answered wrongly
            return torch.nn.functional.one_hot(said % SYMBOLS, SYMBOLS).float()

    assert right_share(Copies(), seed=0, length=20, first=7) == 0.5


def test_the_record_has_eight_seeds_of_every_scheme_and_rate_and_its_origin():
    rows = recorded("three_back.jsonl")
    runs = [(row["scheme"], row["rate"], row["seed"], row["steps"]) for row in rows]
    assert runs == [(s, rate, seed, 500) for s in SCHEMES for rate in RATES for seed in range(8)]
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))


def test_a_run_trains_and_is_tested_three_times(monkeypatch):
    asked = []
    monkeypatch.setattr(three_back, "right_share", lambda model, seed, **test: asked.append(test))
    assert run("T5Bias", 0.01, 0, 2)["steps"] == 2
    assert asked == [{}, {"first": 50}, {"length": 42}]


def test_a_short_training_already_learns_the_task():
    assert run("T5Bias", 0.01, 0, 80)["as trained"] > 0.9


def test_the_command_of_an_experiment_writes_its_rows_with_their_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RESULTS", tmp_path / "folder")
    record.main("name", [{"a": 1}, {"a": 2}])
    found = recorded(tmp_path / "folder" / "name.jsonl")
    assert [row["a"] for row in found] == [1, 2]
    assert found[0]["command"] == "python -m laboratory.name"
