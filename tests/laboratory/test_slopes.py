"""ALiBi's slopes, rates and steps on a small task: the record is made as it says."""

import argparse
from statistics import median

import pytest
from torch.nn.attention import SDPBackend, sdpa_kernel

from bookkit.records import recorded
from bookkit.three_back import SLOPES, with_slopes
from laboratory import slopes, three_back

GIVEN = argparse.Namespace(device="cpu", rates=[0.003, 0.01], seeds=2, steps=12)


@pytest.fixture(autouse=True)
def backend():
    with sdpa_kernel(SDPBackend.MATH):
        yield


def test_every_choice_is_the_model_of_three_back(monkeypatch):
    monkeypatch.setattr(three_back, "TESTED", ())
    monkeypatch.setitem(slopes.TRIED, 4, ((0.0,) * 4, SLOPES))
    found = {(row["slopes"], row["rate"]): row for row in slopes.train(4, GIVEN)}
    assert len(found) == 4
    for scheme, chosen in (("ALiBi, fitted", SLOPES), ("no position", (0.0,) * 4)):
        (alone,) = three_back.run(scheme, 0.01, 2, 12)
        row = found[chosen, 0.01]
        assert row["tested"] == [12]
        for test in ("as trained", "longer"):
            assert row[test] == [pytest.approx(alone[test], abs=2e-3)]
    assert found[SLOPES, 0.003]["as trained"] != found[SLOPES, 0.01]["as trained"]


def test_the_choices_have_the_slopes_of_the_other_record():
    assert SLOPES in slopes.TRIED[4]
    assert (0.5,) * 4 in slopes.TRIED[4]
    assert (0.5,) in slopes.TRIED[1]
    assert set(three_back.RATES) < set(slopes.RATES)


def test_a_file_is_continued(tmp_path, monkeypatch):
    file = tmp_path / "found.jsonl"
    trained = []

    def train(heads, given):
        trained.append(heads)
        return [{"heads": heads}]

    monkeypatch.setattr(slopes, "train", train)
    slopes.main(["--heads", "2", "--file", str(file)])
    slopes.main(["--file", str(file)])
    assert trained == [2, 4, 1]


def test_the_record_has_eight_seeds_of_every_choice_and_its_origin():
    rows = recorded("slopes.jsonl")
    assert [(tuple(row["slopes"]), row["rate"]) for row in rows] == [
        (chosen, rate)
        for choices in slopes.TRIED.values()
        for chosen in choices
        for rate in slopes.RATES
    ]
    for row in rows:
        assert row["heads"] == len(row["slopes"])
        assert row["tested"] == list(slopes.TESTED)
        for test in ("as trained", "longer"):
            assert [len(shares) for shares in row[test]] == [8] * len(slopes.TESTED)
        assert all(row[fact] for fact in ("date", "device", "torch", "command"))


def test_both_records_agree_on_the_same_slopes_rates_and_steps():
    for scheme, chosen in (("ALiBi, fitted", SLOPES), ("ALiBi, one head", (0.5,))):
        for rate in (0.003, 0.01):
            (old,) = recorded("three_back.jsonl", scheme=scheme, rate=rate, steps=2500)
            new = with_slopes(chosen)[rate][2500].tolist()
            assert median(new) == pytest.approx(median(old["as trained"]), abs=0.02)
