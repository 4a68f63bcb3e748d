"""Factors on the scores with every rule: the record is made as it says."""

import json
import statistics

import pytest
import torch

from bookkit.records import recorded
from bookkit.trained.model import untrained
from laboratory import controls
from laboratory.train import save


def test_every_rule_gets_every_factor_in_every_case():
    found = list(controls.settings(list(controls.CASES)))
    assert len(found) == len(set(found)) == 5 * (5 + 4 * 5 + 1)
    assert {rule for rule, _, times, scale in found if (times, scale) == (4, 10.1)} == {"NTK-aware"}
    assert {times for rule, _, times, _ in found if rule == "none"} == {1}


@pytest.mark.slow
def test_a_short_run_continues_and_every_setting_arrives(tmp_path, monkeypatch):
    file = tmp_path / "found.jsonl"
    monkeypatch.setattr(controls, "TRAINED_LENGTH", 300)
    given = ["--texts", "1", "--questions", "1", "--cases", "1,4", "--file", str(file)]
    save(untrained(seed=3), tmp_path / "model-3.safetensors")
    monkeypatch.setattr(controls, "RULES", ("none", "YaRN"))
    controls.main(given)
    monkeypatch.setattr(controls, "RULES", ("none", "YaRN", "PI"))
    controls.main(given)
    monkeypatch.setattr(controls, "RULES", ("none",))
    controls.main([str(tmp_path), "--seed", "3", *given])
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["rule"] for row in rows] == ["none"] * 5 + ["YaRN"] * 5 + ["PI"] * 5 + ["none"] * 5
    assert [row["seed"] for row in rows] == [0] * 15 + [3] * 5
    assert len({row["loss"] for row in rows}) == 20
    assert {(row["texts"], row["questions"]) for row in rows} == {(1, 1)}
    assert len({row["held_out_sha256"] for row in rows}) == 1
    assert "FOLDER --seed 3" in rows[-1]["command"]


def test_a_seed_needs_its_folder(capsys):
    with pytest.raises(SystemExit):
        controls.main(["--seed", "1"])
    assert "another seed needs the folder" in capsys.readouterr().err


def test_the_loss_is_that_of_the_end():
    class Rising(torch.nn.Module):
        def forward(self, tokens):
            logits = torch.zeros(*tokens.shape, 257)
            logits[:, : -controls.LAST, 0] = 50.0  # certain, and wrong, before the end
            return logits, None

    tokens = torch.ones(3, 300, dtype=torch.long)
    expected = torch.full((3,), 257.0).log()
    torch.testing.assert_close(controls.read(Rising(), tokens), expected)


def test_the_record_has_every_setting_and_its_origin():
    rows = recorded("trained/controls.jsonl")
    expected = list(controls.settings(list(controls.CASES)))
    for seed in range(5):
        found = [
            (row["rule"], row["excess"], row["times"], row["scale"])
            for row in rows
            if row["seed"] == seed
        ]
        assert found == expected
    assert len(rows) == 5 * len(expected)
    assert {(row["texts"], row["questions"]) for row in rows} == {(64, 256)}
    assert len({row["held_out_sha256"] for row in rows}) == 1
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))


def test_the_record_agrees_with_the_five_models():
    def medians(**kind):
        return statistics.median(row["recall"] for row in recorded(**kind))

    for rule, excess in (("YaRN", 0.1), ("Llama 3", 0.0)):
        here = {"rule": rule, "excess": excess, "times": 8, "scale": 8.0}
        there = {"rule": rule, "factor": 8, "times": 8, "steps": 0}
        recall = medians(name="trained/controls.jsonl", **here)
        other = medians(name="trained/stretch.jsonl", **there)
        assert recall == pytest.approx(other, abs=0.1)  # other questions
