"""Stacks with and without warm-up: the record is made as it says."""

import argparse
import json
from statistics import median

import pytest
import torch

from attention_to_rope import deepnorm_constants
from bookkit.adam import adam
from bookkit.records import recorded
from laboratory import side_by_side, warm_up
from laboratory.alike import Case
from laboratory.alike import train as train_alike
from laboratory.placements import initial

GIVEN = argparse.Namespace(device="cpu", seeds=2, steps=3, warm_ups=(0, 2), rates=(0.003, 0.01))


def test_models_that_train_at_once_take_the_steps_of_each_alone():
    rates, warm_ups = torch.tensor([0.1, 0.02, 0.1]), torch.tensor([0.0, 3.0, 4.0])
    start = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 1.0]])
    together = start.clone().requires_grad_()
    side_by_side.adam([together], lambda step: (together**4).sum(), 6, rates, warm_ups)
    for model, (rate, rising) in enumerate(zip(rates.tolist(), [0, 3, 4], strict=True)):
        alone = start[model].clone().requires_grad_()
        adam([alone], lambda step, alone=alone: (alone**4).sum(), 6, rate, rising)
        torch.testing.assert_close(together[model], alone)


def test_every_variant_is_the_model_of_alike_with_its_rate_and_warm_up():
    found = list(warm_up.train("post", 18, GIVEN))
    assert [(row["scale"], row["warm_up"], row["rate"]) for row in found] == [
        (scale, rising, rate)
        for scale in warm_up.scales(18)
        for rising in GIVEN.warm_ups
        for rate in GIVEN.rates
    ]
    for row in (found[1], found[2]):
        case = Case("alone", steps=3, warm_up=row["warm_up"])
        losses, _ = train_alike(range(2), case, row["rate"])
        assert row["loss"] == [pytest.approx(losses, abs=1e-3)]
        assert all(0 < value < 1 for value in row["spread"][0])


def test_depths_have_their_own_matrices_and_small_scale():
    assert initial(1, 1.0, blocks=3)[1].shape[0] == 3
    assert torch.equal(initial(1, 1.0)[1], initial(1, 1.0, blocks=18)[1])
    assert warm_up.scales(36) == (1.0, pytest.approx(deepnorm_constants(36).beta, abs=5e-4))


def test_a_file_is_continued(tmp_path, monkeypatch):
    file = tmp_path / "found.jsonl"
    monkeypatch.setattr(
        warm_up, "train", lambda place, blocks, given: [{"placement": place, "blocks": blocks}]
    )
    monkeypatch.setattr(warm_up, "by_frequency", lambda seeds, steps: {"placement": "frequencies"})
    monkeypatch.setattr(warm_up, "FREQUENCIES", "frequencies")
    warm_up.main(["--placements", "pre", "--blocks", "2", "--file", str(file)])
    warm_up.main(["--blocks", "2", "3", "--file", str(file)])
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(row["placement"], row.get("blocks")) for row in rows] == [
        ("frequencies", None),
        ("pre", 2),
        ("post", 2),
        ("post", 3),
        ("pre", 3),
    ]
    assert recorded(file)[0]["command"] == "python -m laboratory.warm_up --device cpu"


def test_byte_frequencies_are_those_of_the_text_of_each_test():
    row = warm_up.by_frequency(2, 60)
    assert row["tested"] == [50, 60]
    assert row["loss"][0] != row["loss"][1]
    assert all(2.5 < value < 3.8 for losses in row["loss"] for value in losses)


def test_the_record_has_every_stack_with_eight_seeds_and_its_origin():
    control, *rows = recorded("warm_up.jsonl")
    assert control["placement"] == warm_up.FREQUENCIES
    assert [
        (row["placement"], row["blocks"], row["scale"], row["warm_up"], row["rate"]) for row in rows
    ] == [
        (placement, blocks, scale, rising, rate)
        for placement in warm_up.PLACEMENTS
        for blocks in warm_up.BLOCKS
        for scale in warm_up.scales(blocks)
        for rising in warm_up.WARM_UPS
        for rate in warm_up.RATES
    ]
    for row in (control, *rows):
        assert row["tested"] == list(warm_up.TESTED)
        assert [len(losses) for losses in row["loss"]] == [8] * len(warm_up.TESTED)
        assert all(row[fact] for fact in ("date", "device", "torch", "command"))


def test_both_experiments_found_the_same_losses_after_fifty_steps():
    alike = {row["name"]: row for row in recorded("alike.jsonl")}
    for name, placement in (("nothing", "post"), ("Pre-Norm", "pre")):
        wanted = {"placement": placement, "blocks": 18, "scale": 1.0, "warm_up": 0, "rate": 0.01}
        (row,) = recorded("warm_up.jsonl", **wanted)
        # Sums are rounded in another order on a GPU, which training enlarges.
        assert median(row["loss"][0]) == pytest.approx(
            median(alike[name]["loss"]["0.01"]), abs=0.03
        )
