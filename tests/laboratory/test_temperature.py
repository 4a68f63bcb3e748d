"""YaRN's factor at the trained length: the record, and a small run."""

import pytest

from bookkit.records import recorded
from laboratory.temperature import FACTORS, RULES, rows


@pytest.mark.slow
def test_a_short_run_measures_every_rule_and_factor_on_every_text():
    found = list(rows(texts=1, length=257))
    assert [(row["rule"], row["factor"]) for row in found] == [
        (rule, factor) for rule in RULES for factor in FACTORS
    ]
    assert all(len(row["loss"]) == 1 for row in found)
    assert len({row["loss"][0] for row in found}) == len(found)  # every setting arrives


def test_the_record_has_eight_texts_of_every_rule_and_factor_and_its_origin():
    found = recorded("trained/temperature.jsonl")
    assert [(row["rule"], row["factor"]) for row in found] == [
        (rule, factor) for rule in RULES for factor in FACTORS
    ]
    assert all(len(row["loss"]) == 8 for row in found)
    assert all(row[fact] for row in found for fact in ("date", "device", "torch", "command"))
