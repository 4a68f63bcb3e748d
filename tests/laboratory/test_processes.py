"""Several processes train the model that one process trains, and a training continues.

Losses are compared as they are recorded, with four digits. One process and two sum the gradients of
a batch in another order, which in float32 moved these losses by at most 1e-6 in 40 steps; that can
turn over the last digit of a record and no more, so 1e-4 is allowed.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from laboratory import checkpoint, processes, train

PROGRAM = Path(__file__).with_name("small_training.py")
SMALL = runpy.run_path(str(PROGRAM))
SIZES = ["--steps", "8", "--batch", "4", "--every", "2"]
ROUNDING = 1.01e-4


@pytest.fixture
def small(monkeypatch):
    """The training of small_training.py, in this process and on its CPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for module, name, value in SMALL["REPLACED"]:
        monkeypatch.setattr(module, name, value)


def in_two_processes(folder, *arguments, interrupt_at=None):
    """What torchrun printed and said."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", str(PROGRAM), str(folder), *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment["INTERRUPT_AT"] = str(interrupt_at)
    return subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", timeout=240, check=False
    )


def rows_of(folder):
    lines = (folder / "training-0.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def assert_same_training(folder, expected):
    """The same steps with the same losses, and at the end the same weights."""
    rows = rows_of(folder)
    expected_rows = rows_of(expected)
    assert [row["step"] for row in rows] == [row["step"] for row in expected_rows]
    for name in ("train", "held_out"):
        losses = [row[name] for row in rows]
        assert losses == pytest.approx([row[name] for row in expected_rows], abs=ROUNDING)
    weights = load_file(folder / "model-0.safetensors")
    for name, weight in load_file(expected / "model-0.safetensors").items():
        torch.testing.assert_close(weights[name], weight, rtol=2e-3, atol=2e-4)


@pytest.mark.slow
def test_two_processes_train_what_one_trains(small, tmp_path):
    alone = tmp_path / "alone"
    together = tmp_path / "together"
    train.main([str(alone), *SIZES])
    done = in_two_processes(together, *SIZES)
    assert done.returncode == 0, done.stderr
    assert_same_training(together, alone)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "step 2", "step 4", "step 6", "step 8",
    ]  # fmt: skip
    assert {row["processes"] for row in rows_of(together)} == {2}
    assert rows_of(together)[0]["command"].startswith("torchrun --nnodes=1 --nproc-per-node=2 -m ")
    assert sorted(path.name for path in together.iterdir()) == [
        "model-0.safetensors", "training-0.jsonl",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_training_continues_with_other_numbers_of_processes(small, tmp_path, monkeypatch):
    whole = tmp_path / "whole"
    broken = tmp_path / "broken"
    train.main([str(whole), *SIZES])
    monkeypatch.setenv("INTERRUPT_AT", "4")  # the third step is lost
    with pytest.raises(SystemExit, match="interrupted in step 4"):
        train.main([str(broken), *SIZES])
    done = in_two_processes(broken, *SIZES, "--resume", interrupt_at=6)
    assert "interrupted in step 6" in done.stderr
    monkeypatch.delenv("INTERRUPT_AT")
    train.main([str(broken), *SIZES, "--resume"])
    assert_same_training(broken, whole)
    assert [row["processes"] for row in rows_of(broken)] == [1, 2, 1, 1]


def test_processes_that_cannot_share_a_batch_say_so_once(small, tmp_path, capsys):
    for rank in range(2):
        one = processes.Processes(rank=rank, count=2, device=torch.device("cpu"))
        with pytest.raises(SystemExit) as ended:
            train.run([str(tmp_path), "--batch", "5"], one)
        assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("a batch of 5 cannot be divided among 2 processes") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_one_process_continues_without_a_difference(small, tmp_path, monkeypatch, capsys):
    whole = tmp_path / "whole"
    broken = tmp_path / "broken"
    sizes = ["--steps", "5", "--batch", "2", "--every", "2"]
    train.main([str(whole), *sizes])
    monkeypatch.setenv("INTERRUPT_AT", "4")
    with pytest.raises(SystemExit, match="interrupted in step 4"):
        train.main([str(broken), *sizes])
    monkeypatch.delenv("INTERRUPT_AT")
    file = broken / "checkpoint-0.pt"
    kept = file.read_bytes()
    for wrong, message in (
        ([], "a training that was interrupted; continue it with --resume"),
        (["--batch", "4", "--resume"], r"count is 2 and 4"),
        (["--seed", "1", "--resume"], "checkpoint-1.pt does not exist; leave out --resume"),
        (["--every", "0"], "must be at least 1"),
    ):
        before = rows_of(broken)
        with pytest.raises(SystemExit) as ended:
            train.main([str(broken), *sizes, *wrong])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
        assert (rows_of(broken), file.read_bytes()) == (before, kept)
    train.main([str(broken), *sizes, "--resume"])
    losses = [[(row["train"], row["held_out"]) for row in rows_of(one)] for one in (broken, whole)]
    assert losses[0] == losses[1]
    assert rows_of(broken)[0]["command"].endswith("--every 2")  # written before the interruption
    assert rows_of(broken)[1]["command"].endswith("--every 2 --resume")
    assert not file.exists()


def test_a_checkpoint_that_could_not_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    def half(content, file):
        file.write(b"half of it")
        raise OSError("No space left on device")

    alone = processes.one_process()
    kept = checkpoint.Checkpoints(tmp_path / "checkpoint.pt", {"seed": 0}, alone)
    weight = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(weight.parameters())
    training = checkpoint.Training(weight, optimizer, torch.Generator(), rows=[])
    kept.write(3, training)
    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(OSError, match="No space"):
        kept.write(4, training)
    assert kept.read(resume=True)["step"] == 3


def test_a_long_training_says_how_far_it_is(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    progress = train.Progress(done=100, steps=500)
    for step in range(101, 104):
        now[0] += 6.0
        progress.tell(step)
    # The second step is the first one behind ten seconds; 398 remain, of six seconds each.
    assert capsys.readouterr().out == "step 102 of 500, about 40 minutes left\n"


def test_more_processes_than_gpus_are_refused(monkeypatch, capsys):
    for name, value in {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "RANK": 0, "LOCAL_RANK": 0}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(SystemExit), processes.started_processes():
        pass
    assert "this machine has 1 for 2 processes" in capsys.readouterr().err
