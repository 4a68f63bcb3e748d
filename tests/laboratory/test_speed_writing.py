"""The program that times the listing of the chapter on the cache."""

import json

import pytest

from laboratory.speed import writing


def test_both_ways_are_timed_and_write_the_same(tmp_path):
    out = tmp_path / "rows.jsonl"
    writing.main(["--new", "2", "--rounds", "1", "--out", str(out)])
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(row["way"], row["new"]) for row in rows] == [("cache", 2), ("no cache", 2)]
    assert all(row["seconds"] > 0 for row in rows)


def test_a_way_that_writes_other_tokens_is_not_recorded(monkeypatch):
    wrong = lambda model, tokens, count: tokens[:, :count]  # noqa: E731
    monkeypatch.setattr(writing, "generate_without_cache", wrong)
    with pytest.raises(ValueError, match="2 new tokens are not the same"):
        list(writing.rows_of([2], rounds=1))
