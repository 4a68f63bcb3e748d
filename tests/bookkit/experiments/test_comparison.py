"""Comparisons: the rate that suits, pairs by seed, corrections, ranks with ties."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from bookkit.experiments.training.comparison import (
    compare,
    holm,
    interval,
    reciprocal_ranks,
    rows,
    tuned,
)
from bookkit.experiments.training.studies import SCHEMES, SIZES


def row(rate, validation, seed=0, scheme="RoPE", position_rate=1.0):
    return {
        "scheme": scheme,
        "rate": rate,
        "position_rate": position_rate,
        "validation": validation,
        "seed": seed,
    }


def test_the_rate_is_chosen_by_validation_and_never_a_broken_one():
    some = [row(r, v, seed) for seed in (0, 1) for r, v in ((1, 2.0), (2, 1.0), (3, np.nan))]
    assert {chosen["rate"] for chosen in tuned(some)} == {2}
    assert [chosen["seed"] for chosen in tuned(some)] == [0, 1]
    with pytest.raises(ValueError, match="one scheme"):
        tuned([row(1, 1.0), row(1, 1.0, scheme="none")])


def test_holm_multiplies_in_steps_and_never_falls():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_pairs_see_a_difference_that_the_spread_of_seeds_hides():
    spread = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    noise = np.array([0.01, -0.01, 0.02, 0.0, -0.02])
    found = compare({"a": spread, "b": spread + 0.1 + noise, "c": spread + noise}, "a")
    assert [one.name for one in found] == ["b", "c"]
    assert found[0].difference.mean == pytest.approx(0.1)
    assert found[0].p == pytest.approx(ttest_rel(spread + 0.1 + noise, spread).pvalue)
    assert found[0].corrected == pytest.approx(2 * found[0].p)
    assert found[0].corrected < 0.01 < found[1].corrected
    same = compare({"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [2.0, 2.0]}, "a")
    assert [one.p for one in same] == [1.0, 0.0]
    with pytest.raises(ValueError, match="same seeds"):
        compare({"a": [1.0, 2.0], "b": [1.0]}, "a")


def test_ties_share_a_rank_or_all_win():
    scores = np.array([[[0.5], [0.5], [0.1]]])
    assert reciprocal_ranks(scores).tolist() == pytest.approx([1 / 1.5, 1 / 1.5, 1 / 3])
    assert reciprocal_ranks(scores, "min").tolist() == pytest.approx([1, 1, 1 / 3])


def test_rows_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"no row of training/studies-full.jsonl has .*telepathy"):
        rows("full", "telepathy")


def test_an_interval_needs_two_values():
    assert interval([1.0, 1.0]).half == 0
    assert str(interval([1.0, 3.0])).startswith("2.000 ± 12.7")
    with pytest.raises(ValueError, match="at least two"):
        interval([1.0])


def test_the_recorded_rows_have_what_the_chapters_compare_and_say_where_they_come_from():
    for scheme in SCHEMES:
        language = 5 if scheme in ("learned", "T5", "ALiBi") else 3
        for study, seeds in (("language", language), ("recall", 3)):
            found = rows("full", study, scheme=scheme)
            assert {one["seed"] for one in found} == set(range(seeds))
            assert {one["rate"] for one in found} == set(SIZES["full"][study].rates)
        assert rows("full", "longer", scheme=scheme)
        assert rows("full", "lengths", scheme=scheme, task="copy, 100 symbols")
    for study in SIZES["full"]:
        for one in rows("full", study):
            assert all(one[fact] for fact in ("device", "torch", "python", "date", "command"))
