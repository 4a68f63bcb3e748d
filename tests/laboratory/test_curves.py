"""The curves along the training: windows, what is measured, which runs are made, and resuming."""

import json
import math
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from attention_to_rope import Architecture
from bookkit.records import recorded
from bookkit.trained import encodings
from bookkit.trained import schemes as setup
from bookkit.trained.text import HELD_OUT, START, sources_of
from laboratory import curves, text
from laboratory.curves import Run
from laboratory.schemes import train
from laboratory.train import windows

SHORT = ["--steps", "2", "--every", "1", "--rates", "1e-3", "2e-3", "4e-3", "--grid", "1"]
SHORT += ["--seeds", "2", "--tests", "2"]


@pytest.fixture
def small(monkeypatch, tmp_path):
    shape = Architecture(d=16, heads=2, layers=2, norm="rms", activation="gelu")
    small = {"ARCHITECTURE": shape, "D_K": 8, "LENGTH": 32, "BINS": 8, "BATCH": 2}
    small |= {"PASSAGE": 8, "KNOWN": 2, "FARTHER": {32: (8, 24), 128: (8, 120)}}
    for name, value in small.items():
        monkeypatch.setattr(setup, name, value)
    content = torch.arange(129 * 40) % 251
    part = text.Text(content.to(torch.uint8), content.to(torch.uint8), "")
    monkeypatch.setattr(text, "installed", lambda: part)
    return tmp_path


def test_no_window_of_the_test_shares_a_byte_with_one_that_chooses_the_rate(small):
    places = torch.arange(129 * 40)  # each byte is told by its place
    windows = curves.held_out_windows(places, 20)
    assert windows.validation.shape == windows.test.shape == (20, 129)
    assert (windows.validation[:, 0] == START).all()
    assert (windows.test[:, 0] == START).all()
    read = torch.cat([*windows])[:, 1:].flatten().tolist()
    assert len({*read}) == len(read) == 40 * 128
    with pytest.raises(ValueError, match=r"40 pieces of 129, not 42"):
        curves.held_out_windows(places, 21)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["RoPE", "query bias"])
def test_every_scheme_is_trained_and_measured_along_the_training(small, scheme):
    curves.main([str(small), *SHORT, "--schemes", scheme])
    rows = recorded(small / "curves.jsonl")
    assert [row["part"] for row in rows] == ["grid", "grid", "grid", "best", "best"]
    for row in rows:
        assert row["at"] == [0, 1, 2]
        assert len(row["validation"]) == 3
        assert row["validation"][2] < row["validation"][0]
    for row in recorded(small / "curves.jsonl", part="best"):
        assert [len(one) for one in row["copy"]] == [3, 3]
        assert row["distances"] == [8, 24]
        assert sum(row["test_windows"]) / 2 == pytest.approx(row["test"][-1], abs=1e-3)
        for by_window, by_step in zip(row["copy_windows"], row["copy"], strict=True):
            assert sum(by_window) / 2 == pytest.approx(by_step[-1], abs=1e-3)
        assert len(row["longer"]) == 8
        tried = recorded(small / "curves.jsonl", part="grid", scheme=row["scheme"])
        best = min(tried, key=lambda one: one["validation"][-1])["rate"]
        assert row["rate"] == best
        assert row["rate_inside"] == (best == 2e-3)


def test_a_gain_is_the_loss_of_the_end_less_that_after_the_same_bytes(small, monkeypatch):
    def losses(_model, tokens):
        early = tokens[:, 1 : 1 + setup.PASSAGE]
        late = tokens[:, -setup.PASSAGE :]
        seen = (early == late).all(1)  # whether the passage also came 24 before
        return torch.where(seen[:, None], 1.0, 3.0).expand(-1, tokens.shape[1] - 1)

    monkeypatch.setattr(curves, "all_losses", losses)
    tokens = torch.arange(2 * 129).view(2, 129)
    assert curves.gains(None, tokens).tolist() == [[0.0, 0.0], [2.0, 2.0]]


@pytest.mark.slow
def test_what_is_in_the_file_is_not_trained_again(small, monkeypatch):
    asked = [str(small), *SHORT, "--schemes", "none"]
    curves.main(asked)
    file = small / "curves.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    trained = []
    once = curves.run_once

    def seen(run, *others):
        trained.append(run)
        return once(run, *others)

    monkeypatch.setattr(curves, "run_once", seen)
    curves.main(asked)
    again = file.read_text(encoding="utf-8").splitlines()
    assert [(run.part, run.seed) for run in trained] == [("grid", 0), ("best", 1), ("best", 2)]
    for line, other in zip(lines, again, strict=True):
        same = ("scheme", "rate", "seed", "validation")
        assert [json.loads(line)[key] for key in same] == [json.loads(other)[key] for key in same]


def test_known_grids_are_not_trained_again_and_others_get_the_same_rates():
    given = Namespace(schemes=curves.SCHEMES, rates=curves.RATES, steps=3600, grid=2, seeds=5)
    for scheme in setup.SCHEMES:
        rate = recorded("trained/schemes.jsonl", scheme=scheme, part="best", steps=3600)[0]["rate"]
        runs = curves.wanted_runs(scheme, [], given)
        assert runs == [Run(scheme, rate, seed, "best") for seed in range(2, 7)]
    for scheme in setup.VARIANTS:
        runs = curves.wanted_runs(scheme, [], given)
        assert {(run.rate, run.seed) for run in runs} == {
            (r, s) for r in curves.RATES for s in (0, 1)
        }
        assert {run.part for run in runs} == {"grid"}
    assert {*curves.SCHEMES} == {*setup.SCHEMES, *setup.VARIANTS}
    first, left = curves.next_run([], [], given)
    assert first == Run("RoPE", 0.002, 2, "best")
    assert left == 6 * 5 + 6 * (10 + 5)
    second, _ = curves.next_run([], [first], given)
    assert second == Run("RoPE", 0.002, 3, "best")


@pytest.fixture
def threads(monkeypatch):
    """Threads in place of processes, which would not see the small sizes."""
    monkeypatch.setattr(curves, "_read", None)
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)

    def pool(count, mp_context, initializer, initargs):
        assert mp_context.get_start_method() == "spawn"
        return ThreadPoolExecutor(count, initializer=initializer, initargs=initargs)

    monkeypatch.setattr(curves, "ProcessPoolExecutor", pool)


@pytest.mark.slow
def test_several_processes_make_the_same_rows_as_one(small, threads):
    found = []
    for processes in (1, 3):
        folder = small / str(processes)
        curves.main([str(folder), *SHORT, "--schemes", "ALiBi", "--processes", str(processes)])
        rows = recorded(folder / "curves.jsonl")
        found.append(sorted((r["part"], r["rate"], r["seed"], r["validation"]) for r in rows))
    assert found[0] == found[1]


def test_a_run_that_fails_is_told_and_stops_no_other(small, threads, monkeypatch):
    def once(run, _given, _text):
        if run.scheme == "none" and run.seed == 1:
            raise RuntimeError("no memory")
        return run._asdict() | {"steps": 2, "validation": [run.rate], "seconds": 0.0}

    monkeypatch.setattr(curves, "run_once", once)
    asked = [*SHORT, "--schemes", "none", "RoPE", "--processes", "2"]
    with pytest.raises(RuntimeError, match=r"1 runs failed: .*'none', rate=0.001, seed=1"):
        curves.main([str(small), *asked])
    rows = recorded(small / "curves.jsonl", part="best")
    assert sorted((row["scheme"], row["seed"]) for row in rows) == [
        ("RoPE", 1), ("RoPE", 2), ("none", 2),
    ]  # fmt: skip


def test_a_best_rate_at_an_edge_of_the_grid_is_marked():
    rates = (1e-3, 2e-3, 4e-3)
    found = [curves.inside(Run("none", rate, 0, "best"), rates)["rate_inside"] for rate in rates]
    assert found == [False, True, False]
    assert curves.inside(Run("none", 2e-3, 0, "grid"), rates) == {}


def test_no_run_is_begun_that_would_end_too_late(small, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(curves.time, "monotonic", lambda: now[0])

    def once(run, _given, _text):
        now[0] += 50
        return run._asdict() | {"steps": 2, "validation": [1.0], "seconds": 50.0}

    monkeypatch.setattr(curves, "run_once", once)
    curves.main([str(small), *SHORT, "--schemes", "none", "--minutes", "2"])
    assert len(recorded(small / "curves.jsonl")) == 2


def test_a_training_that_broke_up_is_recorded_as_such():
    assert curves.rounded(torch.tensor([1.23456, math.nan, math.inf])) == [1.2346, None, None]


def test_a_packed_text_is_the_same_text(small):
    file = small / "text.npz"
    made = text.text_of(b"trained", b"held out")
    text.pack(made, file)
    found = text.packed(file)
    assert found.train.tolist() == [*b"trained"]
    assert found.held_out.tolist() == [*b"held out"]
    assert found.sha256 == made.sha256


@pytest.mark.slow
def test_models_that_readers_get_are_stored_and_keep_their_loss(small):
    asked = ["--rates", "1e-3", "--keep", str(small)]
    curves.main([str(small), *SHORT, *asked, "--schemes", "T5, fast table", "query bias"])
    kept = [file.name for file in small.glob("*.safetensors")]
    assert kept == ["encoding-t5.safetensors"]
    first, second = recorded(small / "curves.jsonl", scheme="T5, fast table", part="best")
    assert first["test_of_8_bits"] == pytest.approx(first["test"][-1], abs=0.01)
    assert "test_of_8_bits" not in second
    assert "FOLDER --steps" in first["command"]
    assert "--keep FOLDER" in first["command"]
    windows = curves.held_out_windows(text.installed().held_out, 2)
    model = encodings.encoding_model("T5", small)
    loss = float(curves.short_losses(model, windows.test).mean())
    assert loss == pytest.approx(first["test_of_8_bits"], abs=1e-3)


@pytest.mark.parametrize("name", encodings.ENCODINGS)
def test_the_models_of_the_repository_have_the_loss_of_their_record(name):
    held_out = text.text_of(b" ", sources_of(HELD_OUT)).held_out
    windows = curves.held_out_windows(held_out, 128)
    rows = recorded("trained/curves.jsonl", scheme=encodings.ENCODINGS[name], part="best")
    (row,) = [row for row in rows if "test_of_8_bits" in row]
    model = encodings.encoding_model(name)
    loss = float(curves.short_losses(model, windows.test[:4]).mean())
    assert loss == pytest.approx(sum(row["test_windows"][:4]) / 4, abs=0.01)
    assert row["test_of_8_bits"] == pytest.approx(row["test"][-1], abs=0.01)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("scheme", [one for one in curves.SCHEMES if one != "sinusoidal"])
def test_captured_gradients_train_the_same_model(scheme):
    source = torch.frombuffer(bytearray(b"x = [1, 2]\n" * 99), dtype=torch.uint8).cuda()
    tokens = windows(source, 4, setup.LENGTH + 1, torch.Generator("cuda").manual_seed(0))
    found = []
    for capture in (False, True):
        model = setup.build(scheme, 0).cuda()
        train(model, 1e-3, 20, source, 0, capture=capture)
        found.append(float(curves.all_losses(model, tokens).mean()))
    assert found[0] == pytest.approx(found[1], rel=0.01)
