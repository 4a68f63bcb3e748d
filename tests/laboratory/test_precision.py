"""The program that compares what readers copy with float64 and records each case."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from laboratory.precision import run
from laboratory.precision.found import Found

ONLY = "attention: attend, bfloat16"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_case_is_a_row_that_says_where_it_comes_from(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    assert run.main([str(out), "--only", ONLY]) == 0
    rows = rows_of(out)
    cases = [(row["listing"], row["dtype"], row["situation"]) for row in rows]
    situations = ["alone", "padded", "batched"]
    assert cases == [("attention: attend", "bfloat16", one) for one in situations]
    for row in rows:
        assert 0 <= row["error"] <= 1
        assert 0 < row["allowance"] < 0.01
        assert row["right"]
        assert row["torch"] == torch.__version__
        assert row["command"].startswith("python -m laboratory.precision.run OUT.jsonl --device")
        assert {"device", "python", "date"} <= set(row)


def test_a_recorded_case_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rows.jsonl"
    run.main([str(out), "--only", f"{ONLY}, batched"])
    before = rows_of(out)
    ran = []

    def noted(case: run.Case) -> dict[str, Any]:
        ran.append(case.situation)
        return ROW_OF(case)

    monkeypatch.setattr(run, "row_of", noted)
    run.main([str(out), "--only", ONLY])
    assert ran == ["alone", "padded"]
    assert rows_of(out)[:1] == before
    assert len(rows_of(out)) == 3


ROW_OF = run.row_of


def test_a_case_that_fails_is_recorded_and_the_others_still_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Any) -> Found:
        raise RuntimeError("no such kernel")

    cases = {
        ("llama", "padded"): broken,
        ("llama", "batched"): lambda _: Found(2e-3, 1e-3),
        ("llama", "from meta"): lambda _: Found(float("inf"), 1e-3),
        ("llama", "generation"): lambda _: Found(1e-4, 1e-3),
    }
    monkeypatch.setattr(run, "CASES", cases)
    out = tmp_path / "rows.jsonl"
    assert run.main([str(out), "--only", "one file: llama, float32"]) == 1
    found = [(row["error"], row["right"], row.get("problem")) for row in rows_of(out)]
    assert found == [
        (None, False, "RuntimeError: no such kernel"),
        (2.0, False, None),
        (None, False, "a result is not finite"),
        (0.1, True, None),
    ]


def test_compiled_cases_are_asked_for() -> None:
    eager = [*run.cases_of_listings("cpu", ""), *run.cases_of_models("cpu", "", 40)]
    compiled = [*run.cases_of_listings("cpu", "eager"), *run.cases_of_models("cpu", "eager", 40)]
    assert not any(case.situation == "compiled" for case in eager)
    added = {case.key for case in compiled} - {case.key for case in eager}
    names = {case.key[0] for case in eager}
    assert len(names) > 20  # the listings, and the two models
    assert len(added) == 3 * len(names)  # each dtype of each of them


def test_a_name_that_no_case_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no case has 'atention' in its name"):
        run.main([str(tmp_path / "rows.jsonl"), "--only", "atention"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no CUDA device found; run it with --device cpu"):
        run.main([str(tmp_path / "rows.jsonl"), "--device", "cuda"])
