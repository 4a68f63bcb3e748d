"""One command records the experiments again and compares them with the recorded intervals."""

import json

import pytest

from bookkit.experiments.training.reproduce import compare_runs, main, recorded_jobs
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
    }


RECORDED = [row(0, 1.0), row(1, 1.2), row(2, 1.1)]


def test_the_jobs_are_those_of_the_rows():
    assert recorded_jobs([*RECORDED, row(0, 1.0, study="longer")]) == [
        Job("recall", None, "T5", (0, 1, 2)),
        Job("longer", None, "T5", (0,)),
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
    assert "validation of ('recall', None, 'ALiBi'" in told
