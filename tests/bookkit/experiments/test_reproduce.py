"""One command records the experiments again and compares them with the recorded intervals."""

import json

import pytest

from bookkit.experiments.training.reproduce import (
    ROUNDING,
    compare_runs,
    main,
    record,
    recorded_jobs,
    report,
)
from bookkit.experiments.training.studies import RESULTS, SIZES, Job, members, read_rows


def row(seed, validation, study="recall", accuracy=0.5):
    return {
        "study": study,
        "scheme": "T5",
        "rate": 0.001,
        "position_rate": 1.0,
        "seed": seed,
        "validation": validation,
        "accuracy": {"2": [accuracy, accuracy], "4": [accuracy, accuracy]},
        "seconds": 1.0,
    }


RECORDED = [row(0, 1.0), row(1, 1.2), row(2, 1.1)]


def test_the_jobs_are_those_of_the_rows_and_the_slowest_comes_first():
    slow = row(0, 1.0, study="longer") | {"seconds": 4.0}
    assert recorded_jobs([*RECORDED, slow]) == [
        Job("longer", None, "T5", (0,)),
        Job("recall", None, "T5", (0, 1, 2)),
    ]


@pytest.mark.parametrize("size", ["full", "laptop", "small"])
def test_the_recorded_rows_are_whole_fleets(size):
    rows = read_rows(RESULTS / f"studies-{size}.jsonl")
    wanted = [
        member for job in recorded_jobs(rows) for member in members(job, SIZES[size][job.study])
    ]
    assert len(rows) == len(wanted)


def test_equal_runs_are_inside_and_a_shifted_one_is_not():
    assert all(one.inside for one in compare_runs(RECORDED, RECORDED))
    shifted = [row(seed, 1.5) for seed in range(3)]
    validation, test = compare_runs(RECORDED, shifted)
    assert (validation.inside, test.inside) == (False, True)
    assert validation.again == 1.5
    worse = [row(seed, 1.1, accuracy=0.4) for seed in range(3)]
    assert [one.inside for one in compare_runs(RECORDED, worse)] == [True, False]


def test_one_seed_has_no_interval():
    assert compare_runs(RECORDED[:1], RECORDED) == []


def test_the_report_says_what_was_compared_and_what_not():
    others = [row(0, 1.0, study="longer"), row(0, 1.0, "language"), row(1, 1.0, "language")]
    again = [row(seed, 1.5) for seed in range(3)]
    recorded = [*RECORDED, *others]
    assert report(recorded_jobs(recorded), compare_runs(recorded, again)) == [
        "recall T5: 1 of 2 numbers inside",
        "language T5: NOT compared, not trained again",
        "longer T5: NOT compared, one seed has no interval",
    ]


def test_the_record_has_each_number_before_and_after(tmp_path):
    about = {"size": "full", "device": "X", "torch": "2", "python": "3", "date": "2026-11-16"}
    again = [row(seed, 1.5) | about for seed in range(3)]
    path = tmp_path / "reproduced.jsonl"
    record(compare_runs(RECORDED, again), again, path)
    validation, test = read_rows(path)
    assert (validation["recorded"], validation["again"], validation["inside"]) == (1.1, 1.5, False)
    assert (test["number"], test["half"], test["inside"]) == ("test", 0.0, True)
    assert about.items() <= validation.items()
    assert validation["seeds"] == [0, 1, 2]


def test_only_what_is_asked_for_and_has_an_interval_is_trained(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "bookkit.experiments.training.reproduce.run", lambda jobs, *_, **__: asked.extend(jobs)
    )
    chosen = ["--size", "small", "--out", str(tmp_path / "none.jsonl")]
    with pytest.raises(SystemExit):  # nothing was compared
        main([*chosen, "--study", "lengths", "longer", "--tasks", "parity", "--kinds", "T5"])
    assert asked == [Job("lengths", "parity", "T5", (0, 1, 2))]


def test_no_time_means_compare_only(tmp_path, capsys):
    rows = [found for found in read_rows(RESULTS / "studies-small.jsonl") if "task" not in found]
    out = tmp_path / "again.jsonl"
    out.write_text("".join(json.dumps(found) + "\n" for found in rows), encoding="utf-8")
    main(["--size", "small", "--minutes", "0", "--device", "cpu", "--out", str(out)])
    told = capsys.readouterr().out
    assert "lengths parity T5: left out, the time was used up before it began" in told
    assert "lengths parity T5: NOT compared, not trained again" in told
    assert "recall T5: 4 of 4 numbers inside" in told
    assert len(read_rows(out)) == len(rows)


def test_a_small_study_comes_out_as_recorded(tmp_path, capsys):
    out = tmp_path / "again.jsonl"
    chosen = ["--size", "small", "--device", "cpu", "--out", str(out)]
    main([*chosen, "--study", "recall", "--kinds", "ALiBi", "T5"])
    assert "6 of 6 numbers inside" in capsys.readouterr().out
    assert {found["scheme"] for found in read_rows(out)} == {"ALiBi", "T5"}


def test_a_run_that_left_its_interval_is_an_error(tmp_path, capsys, monkeypatch):
    rows = tmp_path / "recorded.jsonl"
    text = (RESULTS / "studies-small.jsonl").read_text(encoding="utf-8")
    rows.write_text(text, encoding="utf-8")
    other = [found | {"validation": found["validation"] + 1} for found in read_rows(rows)]
    monkeypatch.setattr("bookkit.experiments.training.reproduce.run", lambda *_, **__: None)
    out = tmp_path / "again.jsonl"
    out.write_text("".join(json.dumps(found) + "\n" for found in other), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["--size", "small", "--recorded", str(rows), "--out", str(out)])
    told = capsys.readouterr().out
    assert "outside: validation of recall ALiBi, rate 0.005" in told


def test_the_stored_record_compares_with_the_recorded_rows():
    recorded = read_rows(RESULTS / "studies-full.jsonl")
    stored = read_rows(RESULTS / "reproduced.jsonl")
    expected = {
        (one.study, one.task, one.scheme, one.rate, one.position_rate, one.number): one.recorded
        for one in compare_runs(recorded, recorded)
    }
    for found in stored:
        keys = ("study", "task", "scheme", "rate", "position_rate", "number")
        mean, half = expected[tuple(found.get(key) for key in keys)]
        assert (found["recorded"], found["half"]) == pytest.approx((mean, half), abs=1e-5)
        apart = abs(found["again"] - found["recorded"])
        assert found["inside"] == (apart <= found["half"] + ROUNDING)
