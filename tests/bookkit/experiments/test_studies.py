"""Each scheme is what its name says; a study trains, tests, records and continues."""

import dataclasses

import numpy as np
import pytest
import torch

from attention_to_rope import Rotary
from bookkit.experiments.record import recorded
from bookkit.experiments.training import recall, studies, tasks
from bookkit.experiments.training.studies import (
    BINS,
    SCHEMES,
    SIZES,
    Job,
    build,
    flat_curve,
    frequencies_of,
    loss_table,
    main,
    plan,
    stream,
    stretched,
    train,
    work,
)

STUDY = SIZES["full"]["lengths"]


def job(scheme, study="lengths", task="parity", rate=1e-3, own=1.0, seed=0):
    return Job(study, task, scheme, rate, own, seed)


def test_schemes_turn_what_their_names_say():
    theta = {scheme: frequencies_of(scheme, 16) for scheme in studies.ROTARY}
    assert [int((t != 0).sum()) for t in theta.values()] == [8, 8, 4, 6, 8]
    assert theta["p-RoPE"][5] == theta["RoPE"][5]
    assert theta["partial RoPE"][1] == 10000.0**-0.25
    assert theta["RoPE, raised base"][1] == 500_000.0 ** (-1 / 8)
    models = {scheme: build(job(scheme), STUDY) for scheme in SCHEMES}
    rotated = {
        scheme: [isinstance(pattern.position, Rotary) for pattern in model.patterns()]
        for scheme, model in models.items()
    }
    assert rotated["hybrid"] == [True, True, True, False]
    for scheme in SCHEMES:
        assert scheme == "hybrid" or rotated[scheme] == [scheme in studies.ROTARY] * 4
    kinds = {scheme: type(model.position).__name__ for scheme, model in models.items()}
    assert kinds["learned"] == "Learned"
    assert kinds["T5"] == "T5Bias"
    assert kinds["ALiBi"] == "ALiBi"
    assert kinds["sinusoidal"] == "Sinusoidal"


def test_models_of_one_seed_start_alike_and_random_parts_are_independent():
    first, other = (build(job(scheme), STUDY).state_dict() for scheme in ("none", "T5"))
    assert all(torch.equal(weight, other[name]) for name, weight in first.items())
    draws = [stream(seed, part).normal(size=2000) for seed in (0, 1) for part in ("model", "test")]
    assert np.abs(np.corrcoef(draws) - np.eye(4)).max() < 0.15


def test_one_model_is_planned_once_and_position_parameters_have_two_rates():
    jobs = list(plan("full", list(SIZES["full"]), list(tasks.STUDIED), 5))
    assert len(set(jobs)) == len(jobs)
    assert {one.seed for one in jobs if one.study == "longer"} == {0}
    t5 = [one for one in jobs if one.scheme == "T5" and one.study == "language"]
    assert {(one.rate, one.position_rate) for one in t5} == {
        (rate, own) for rate in (3e-4, 1e-3, 3e-3) for own in (1.0, 10.0)
    }
    assert {one.position_rate for one in jobs if one.scheme == "RoPE"} == {1.0}


def test_the_rate_warms_up_falls_to_a_tenth_and_is_ten_times_higher_for_positions(monkeypatch):
    rates = []

    class Watched(torch.optim.AdamW):
        def step(self, *arguments):
            rates.append([group["lr"] for group in self.param_groups])
            return super().step(*arguments)

    monkeypatch.setattr(torch.optim, "AdamW", Watched)
    study = dataclasses.replace(SIZES["small"]["lengths"], steps=40)
    model, one = build(job("T5", rate=0.01, own=10.0), study), job("T5", rate=0.01, own=10.0)
    train(model, studies.batches(one, study), study, one)
    common, own = np.array(rates).T
    assert own == pytest.approx(10 * common)
    assert common[0] == pytest.approx(0.001)
    assert common.max() == common[10] == pytest.approx(0.01)
    assert 0.001 < common[-1] < 0.0011


def test_training_lowers_the_loss():
    study, one = SIZES["small"]["recall"], job("ALiBi", "recall", None, rate=5e-3)
    model, draw = build(one, study), studies.batches(one, study)
    tests = draw(stream(0, "test"), 1.0)
    before = studies.mean_loss(model, *tests).item()
    train(model, draw, study, one)
    assert studies.mean_loss(model, *tests).item() < before - 0.5


def test_only_scored_tokens_enter_the_loss():
    model = build(job("RoPE"), STUDY)
    tokens, scored = tasks.batch("parity", np.array([3, 5]), stream(0, "test"))
    loss = studies.mean_loss(model, tokens, scored).item()
    changed = np.where(scored | (tokens != tasks.PAD), tokens, tasks.PLUS)
    assert studies.mean_loss(model, changed, scored).item() == pytest.approx(loss, rel=1e-5)
    assert studies.mean_loss(model, tokens, ~scored).item() != pytest.approx(loss, rel=1e-2)


def test_answers_are_right_only_to_the_last_token(monkeypatch):
    tokens, scored = tasks.batch("sorting", np.array([3, 3, 3]), stream(0, "test"))
    logits = torch.nn.functional.one_hot(torch.from_numpy(tokens[:, 1:]), 20).float()
    logits[1, 3] = 0.0  # in the question
    logits[1, 3, 0] = 1.0
    logits[2, -1] = 0.0
    logits[2, -1, 0] = 1.0  # the last token of the answer
    monkeypatch.setattr(studies, "_read", lambda *_: (logits, torch.from_numpy(tokens[:, 1:])))
    assert studies.right_answers(None, (tokens, scored)).tolist() == [True, True, False]


def test_past_the_training_length_each_bin_has_its_own_window():
    study = dataclasses.replace(SIZES["small"]["language"], length=32)
    model = build(job("RoPE", "language", None), study)
    text = stream(0, "test").integers(0, 256, size=(2, 129))
    level = flat_curve(model, text, 32)
    assert len(level) == BINS
    inside = loss_table(model, text[:, :33]).reshape(8, 4).mean(1)
    assert level[:8] == pytest.approx(inside.tolist(), abs=1e-4)
    assert level[30] == pytest.approx(loss_table(model, text[:, 92:125])[-4:].mean(), abs=1e-4)


def test_llama_3_stretches_every_layer_that_rotates():
    one, theta = job("hybrid"), frequencies_of("hybrid", 16)
    model = build(one, STUDY)
    longer = stretched(model, STUDY, one, lambda other: other)["extended"]["Llama 3"]
    changed = longer.patterns()[0].position.frequencies
    assert changed[0] > theta[0] / STUDY.extension
    assert changed[-1] == theta[-1] / STUDY.extension
    assert longer.patterns()[3].position is None
    assert torch.equal(longer.embedding.rows, model.embedding.rows)
    assert stretched(model, STUDY, job("none"), lambda other: other) == {}


def test_lists_of_recall_grow_during_the_first_half_and_are_asked_once_for_what_is_there():
    longest = [recall.longest_list(32, done) for done in (0.0, 0.125, 0.25, 0.375, 0.5, 1.0)]
    assert longest == [2, 4, 8, 16, 32, 32]
    draw = studies.batches(job("RoPE", "recall", None), SIZES["full"]["recall"])
    pairs = [(draw(stream(0, "batches"), done)[0] == recall.EQUALS).argmax(1) for done in (0.0, 1)]
    assert pairs[0].max() // 2 == 2
    assert 16 < pairs[1].max() // 2 <= 32
    tokens, scored = recall.test_batch(16, 4, 10, stream(0, "test"))
    assert scored.sum(1).tolist() == [1] * 40
    for row, line in enumerate(tokens):
        (place,) = np.flatnonzero(line[1:-3:2] == line[-2])
        assert line[2 + 2 * place] == line[-1]
        assert place * 4 // 16 == row // 10
    with pytest.raises(ValueError, match="asks for pairs below"):
        recall.batch(np.array([2]), np.array([[2]]), stream(0, "test"), 10)


def test_a_study_writes_rows_and_continues(tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    arguments = ["--study", "recall", "--seeds", "1", "--out", str(out)]
    main([*arguments, "--schemes", "RoPE"])
    (rope,) = recorded(out)
    assert set(rope["accuracy"]) == {"2", "4", "8", "16"}
    assert len(rope["accuracy"]["16"]) == studies.DEPTHS
    assert set(rope["extended"]) == {"Llama 3"}
    assert all(rope[fact] for fact in ("date", "device", "torch", "python", "command"))
    main([*arguments, "--schemes", "RoPE", "T5"])
    assert [row["scheme"] for row in recorded(out)] == ["RoPE", "T5", "T5"]
    assert "2 models to train" in capsys.readouterr().out


def test_the_language_study_has_curves_of_the_same_bytes():
    row = work(job("RoPE", "language", None, rate=5e-3), "small")
    inside = BINS // 4
    assert row["loss"][:inside] == pytest.approx(row["flat"][:inside], abs=2e-4)
    assert row["validation"] < 5
    growing = work(job("none", rate=5e-3), "small")
    assert list(growing["accuracy"]) == ["2", "4", "6", "8", "10", "12"]
