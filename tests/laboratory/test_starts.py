"""Two reasons of losses on a small task: the record is made as it says."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from bookkit.records import recorded
from laboratory import starts


@pytest.fixture(autouse=True)
def backend():
    with sdpa_kernel(SDPBackend.MATH):
        yield


def test_a_short_run_changes_only_the_buckets_that_training_does_not_reach(monkeypatch):
    tables = []

    def share(models, seeds, device, **test):
        if starts.TABLE in models.weights:
            tables.append(models.weights[starts.TABLE].detach().clone())
        return [0.5] * seeds

    monkeypatch.setattr(starts, "right_shares", share)
    found = list(starts.rows(seeds=2, steps=3))
    assert [row["control"] for row in found] == [
        "random starts", "buckets: none", "buckets: last", "buckets: zero",
    ]  # fmt: skip
    as_trained, last, zero = tables
    assert as_trained.shape[:2] == (2, 32)
    for changed in (last, zero):
        assert torch.equal(changed[:, :14], as_trained[:, :14])
    assert torch.equal(last[:, 14:], as_trained[:, 13:14].expand(-1, 18, -1))
    assert not zero[:, 14:].any()
    assert as_trained[:, 14:].abs().min() > 0


def test_training_sequences_begin_where_the_control_says(monkeypatch):
    asked = []
    call = starts.Models.__call__

    def listening(self, tokens, first=0):
        asked.append(first)
        return call(self, tokens, first)

    monkeypatch.setattr(starts.Models, "__call__", listening)
    starts.trained("Sinusoidal", 1, 12, starts=100)
    assert len(set(asked)) > 6
    assert all(0 <= first < 100 for first in asked)
    asked.clear()
    starts.trained("Sinusoidal", 1, 3)
    assert set(asked) == {0}


def test_the_record_has_eight_seeds_and_its_origin():
    rows = recorded("starts.jsonl")
    assert len(rows) == 4
    for row in rows:
        shares = [found for found in row.values() if isinstance(found, list)]
        assert [len(found) for found in shares] in ([8], [8, 8, 8])
        assert all(row[fact] for fact in ("date", "device", "torch", "command"))
    (control,) = recorded("starts.jsonl", control="buckets: none")
    kind = {"scheme": "T5Bias", "rate": starts.RATE, "steps": control["steps"]}
    (other,) = recorded("three_back.jsonl", **kind)
    assert control["longer"] == pytest.approx(other["longer"], abs=0.05)  # on another processor
