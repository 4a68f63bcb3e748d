"""The record of the chapter is made as it says, and says where it comes from."""

import hashlib
import math

import pytest
import torch

from bookkit.records import recorded
from laboratory import placements
from laboratory.placements import BETA, RATES, VARIANTS, by_frequency, initial, run


def test_the_scale_makes_what_the_sublayers_write_smaller_and_nothing_else():
    whole, small = initial(3, 1.0), initial(3, BETA)
    for one, other in zip(whole[::2], small[::2], strict=True):
        assert torch.equal(one, other)
    assert torch.equal(whole[1][:, :2], small[1][:, :2])
    assert torch.allclose(BETA * whole[1][:, 2:], small[1][:, 2:])
    deviations = [
        float(weights.detach().std()) * scale
        for weights, scale in zip(whole, (1, 32**0.5, 32**0.5), strict=True)
    ]
    assert deviations == pytest.approx([1, 1, 1], rel=0.05)


def test_a_model_starts_with_about_the_loss_of_a_guess_and_the_control_is_lower():
    found = [run(place, 1.0, 1e-3, 0, 1) for place in ("post", "pre", "deep")]
    assert all(abs(loss - math.log(256)) < 1 for loss in found)
    assert len(set(found)) == 3
    assert 2.5 < by_frequency(0, 1) < 4


def test_every_variant_is_run_at_every_rate_with_every_seed(monkeypatch):
    asked = []
    monkeypatch.setattr(placements, "by_frequency", lambda seed, steps: steps + seed)
    monkeypatch.setattr(placements, "run", lambda *case: asked.append(case) or 0.1234)
    control, *rows = placements.rows(2, 7)
    assert control["text_sha256"] == hashlib.sha256(placements.sources().tobytes()).hexdigest()
    assert (control["loss"], rows[0]["loss"]) == ([7, 8], [0.123, 0.123])
    seeds = (0, 1)
    assert asked == [(*one, rate, s, 7) for one in VARIANTS for rate in RATES for s in seeds]


def test_the_record_has_eight_seeds_of_every_variant_and_its_origin():
    control, *rows = recorded("placements.jsonl")
    cases = [(row["placement"], row["scale"], row["rate"]) for row in rows]
    assert cases == [(*variant, rate) for variant in VARIANTS for rate in RATES]
    assert all(len(row["loss"]) == 8 for row in (control, *rows))
    assert len(control["text_sha256"]) == 64
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))
