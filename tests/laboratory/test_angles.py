"""One change at a time in longer texts: the record is made as it says."""

import json

import pytest
import torch

from bookkit import book_model
from bookkit.records import recorded
from bookkit.trained.model import loss_by_position
from bookkit.trained.text import held_out
from laboratory import angles


@pytest.fixture(scope="module")
def model():
    return book_model()


def test_without_a_change_the_loss_is_that_of_the_model(model):
    text = held_out(400, start=30_000)
    expected = loss_by_position(model, text)[0, -angles.LAST :].mean().item()
    for scores in (angles.usual, lambda m, q, k: angles.clamped(m, q, k, angles.NEVER)):
        loss, entropy = angles.read(model, text, scores)
        assert loss == pytest.approx(expected, abs=1e-4)
        assert 0.5 < entropy < 6
    sharper = angles.read(model, text, factor=1.2)
    assert sharper[1] < entropy


def test_offsets_are_those_that_a_case_allows(model):
    q = k = torch.ones(1, 1, 40, 32)
    usual = angles.usual(model, q, k)[0, 0]
    by_offset = torch.stack([angles.at_offset(model, q, k, n)[0, 0, 0, 0] for n in range(40)])
    distance = angles.distances(40, q.device)
    below = distance >= 0
    torch.testing.assert_close(usual[below], by_offset[distance[below]])
    clamped = angles.clamped(model, q, k, 9)[0, 0]
    torch.testing.assert_close(clamped[below], by_offset[distance[below].clamp(max=9)])
    random = angles.replaced(model, q, k, 20, 3, 15)[0, 0]
    near = below & (distance < 20)
    torch.testing.assert_close(random[near], usual[near])
    gaps = (random[distance >= 20][:, None] - by_offset[3:15]).abs().amin(1)
    assert gaps.max() < 1e-4
    assert len(random[distance >= 20].unique()) > 1


@pytest.mark.slow
def test_a_short_run_measures_every_case(tmp_path, monkeypatch):
    monkeypatch.setattr(angles, "TRAINED_LENGTH", 272)
    file = tmp_path / "found.jsonl"
    angles.main(["--texts", "1", "--file", str(file)])
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["group"] for row in rows] == [
        *["angles"] * 5, *["far"] * 4, *["window"] * 3, *["keys"] * 6, *["faster"] * 6,
        *["growing"] * 3,
    ]  # fmt: skip
    assert all(len(row["loss"]) == 1 for row in rows)
    assert all(("entropy" in row) == (row["group"] == "faster") for row in rows)


def test_the_record_has_eight_texts_of_every_case_and_its_origin(model):
    rows = recorded("trained/angles.jsonl")
    settings = [(row["group"], row["case"], row["factor"], row["length"]) for row in rows]
    assert settings == [found[:4] for found in angles.settings(model)]
    assert all(len(row["loss"]) == 8 for row in rows)
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))
