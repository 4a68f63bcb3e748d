"""The experiments: tasks are what they say, runs resume, recorded rows can be had again."""

import itertools
import json

import numpy as np
import pytest

from bookcheck.paths import ROOT
from bookkit.experiments.training import corpus, tasks
from bookkit.experiments.training.run import SIZES, identity, lengths, main, plan, read_rows
from bookkit.experiments.training.schemes import SCHEMES
from bookkit.experiments.training.summary import interval, rows
from bookkit.experiments.training.train import Schedule


def digits(question):
    return int("".join(str(digit) for digit in question))


@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_the_answers_of_all_tasks_are_right(length):
    rng = np.random.default_rng(length)
    for _ in range(20):
        question, answer = tasks.copy(length, rng)
        assert answer == question
        question, answer = tasks.reverse(length, rng)
        assert answer[::-1] == question
        question, answer = tasks.copy_symbols(length, rng)
        assert answer == question
        assert all(symbol < 10 or 15 <= symbol < tasks.STUDIED_VOCABULARY for symbol in question)
        question, answer = tasks.reverse_symbols(length, rng)
        assert answer[::-1] == question
        question, answer = tasks.sorting(length, rng)
        assert all(a <= b for a, b in itertools.pairwise(answer))
        assert sorted(question) == sorted(answer)
        question, answer = tasks.parity(length, rng)
        assert answer == [question.count(1) % 2]
        question, answer = tasks.addition(length, rng)
        middle = question.index(tasks.PLUS)
        total = digits(question[:middle]) + digits(question[middle + 1 :])
        assert digits(answer[::-1]) == total
        assert len(answer) == length + 1


def test_only_the_answer_is_scored_and_padding_never():
    tokens, scored = tasks.batch("copy", np.array([1, 3]), np.random.default_rng(0))
    assert tokens.shape == scored.shape == (2, tasks.tokens_needed("copy", 3))
    assert tokens[0, 2] == tasks.EQUALS
    assert scored[0].tolist() == [False] * 3 + [True] * 2 + [False] * 4
    assert (tokens[0, 5:] == tasks.PAD).all()
    wide, _ = tasks.batch("copy", np.array([1]), np.random.default_rng(0), width=12)
    assert wide.shape == (1, 12)
    with pytest.raises(ValueError, match="task must be one of"):
        tasks.batch("guessing", np.array([1]), np.random.default_rng(0))


def test_the_corpus_is_python_source_and_its_parts_do_not_mix():
    train, held_out, sha256 = corpus.pinned()
    assert len(train) > len(held_out) > 1_000_000
    assert b"def " in train.tobytes()
    assert 0 not in train
    assert 0 not in held_out
    assert sha256 == corpus.SHA256
    pieces = corpus.windows(held_out, 3, 10, np.random.default_rng(0))
    assert pieces.shape == (3, 10)
    assert pieces[0].astype(np.uint8).tobytes() in held_out.tobytes()
    with pytest.raises(ValueError, match="fewer than one window"):
        corpus.windows(held_out[:5], 1, 10, np.random.default_rng(0))


def test_the_pin_of_the_corpus_is_the_pin_of_the_requirements():
    pin = f"{corpus.PACKAGE}=={corpus.VERSION}"
    for name in ("requirements.in", "requirements.txt"):
        assert pin in (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_a_corpus_with_one_other_byte_is_refused(tmp_path):
    carried = tmp_path / "corpus.bin"
    corpus.main([str(carried)])
    assert corpus.pinned(carried).sha256 == corpus.SHA256
    changed = bytearray(carried.read_bytes())
    changed[1000] ^= 1
    other = tmp_path / "changed.bin"
    other.write_bytes(changed)
    with pytest.raises(ValueError, match=r"must have SHA-256 e9aa4a1.*gives.*pip install"):
        corpus.pinned(other)
    with pytest.raises(SystemExit, match="usage"):
        corpus.main([])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(corpus, "PACKAGE", "sympy-that-is-not-there")
    with pytest.raises(ModuleNotFoundError, match=r"not installed; run: pip install"):
        corpus.pinned.__wrapped__()


def test_the_learning_rate_warms_up_and_falls_to_a_tenth():
    schedule = Schedule(steps=100, rate=1.0, warm_up=10)
    rates = [schedule.rate_at(step) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[10] == pytest.approx(1.0)
    assert rates[100] == pytest.approx(0.1)


def test_every_run_is_planned_once():
    runs = plan(["language", "lengths"], 5)
    names = {identity({**run, "size": "full"}) for run in runs}
    assert len(names) == len(runs) == 5 * len(SCHEMES) * (1 + len(tasks.TASKS))


def test_every_planned_run_is_recorded_and_says_where_it_comes_from():
    for size in SIZES:
        recorded = read_rows_of(size)
        planned = plan(["language", "lengths"], 5)
        assert {identity(row) for row in recorded} >= {
            identity({**run, "size": size}) for run in planned
        }
        for row in recorded:
            assert all(row[fact] for fact in ("device", "torch", "python", "date", "command"))


def read_rows_of(size):
    return rows(size, "language") + rows(size, "lengths")


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    done = []

    def pretend(run, size, device, progress):
        done.append(run)
        return {**run, "size": size, "seconds": 0.0}

    monkeypatch.setattr("bookkit.experiments.training.run.one", pretend)
    out = tmp_path / "rows.jsonl"
    arguments = ["--study", "language", "--seeds", "1", "--out", str(out), "--device", "cpu"]
    main(arguments)
    assert len(done) == len(SCHEMES)
    kept = out.read_text(encoding="utf-8").splitlines()[:3]
    out.write_text("\n".join(kept) + "\n", encoding="utf-8")
    done.clear()
    main(arguments)
    assert len(done) == len(SCHEMES) - 3
    assert len(read_rows(out)) == len(SCHEMES)
    assert "3 done before" in capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8").splitlines()[-1])["size"] == "small"


def test_the_runs_are_shared_among_processes(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(
        "bookkit.experiments.training.run.one",
        lambda run, size, device, progress: done.append(run) or {**run, "size": size, "seconds": 0},
    )
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        main(["--study", "language", "--seeds", "1", "--out", str(tmp_path / rank)])
    assert len(done) == len(SCHEMES)


def test_the_smallest_run_agrees_with_its_recorded_rows():
    """One seed, trained again here, lies where the five recorded seeds say it should."""
    again = lengths(SIZES["small"], "RoPE", "copy", 0, "cpu", lambda step, loss: None)["accuracy"]
    recorded = rows("small", "lengths", task="copy", scheme="RoPE")
    for length in (2, 4):
        seeds = [row["accuracy"][str(length)] for row in recorded]
        mean, half = interval(seeds)
        # The interval of one new value, not of the mean: wider by the root of n + 1.
        reach = half * (len(seeds) + 1) ** 0.5
        assert mean - reach <= again[length] <= mean + reach


def test_an_interval_needs_two_values_and_rows_must_exist():
    assert interval([1.0, 1.0]).half == 0
    assert str(interval([1.0, 3.0])).startswith("2.000 ± 12.7")
    with pytest.raises(ValueError, match="at least two"):
        interval([1.0])
    with pytest.raises(ValueError, match="no recorded rows"):
        rows("small", "language", scheme="telepathy")
