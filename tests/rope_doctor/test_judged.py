"""Bugs and right styles of somebody who has not seen the doctor: how many it names, and how."""

import copy
from collections import Counter

import pytest
from planted import BUGS, STYLES, Bug, Style

from rope_doctor import examine


def outcome(record):
    """What the doctor says: named, misnamed, alarm, sound, not proved, or refused."""
    head_dim = None if "config" in record.options else record.head_dim
    function = copy.deepcopy(record.function)  # some keep a state
    try:
        report = examine(function, head_dim=head_dim, **record.options)
    except ValueError:  # a configuration that it does not know, with the reason
        return "refused"
    said = " ".join([*report.faults, *report.changes]).lower()
    if not said:
        return "sound" if report.sound else "not proved"
    if isinstance(record, Style):
        return "alarm"
    return "named" if any(word.lower() in said for word in record.words) else "misnamed"


def counted(records):
    """How often each outcome came, and which records were not as they should be."""
    outcomes = {record.name: outcome(record) for record in records}
    good = {"named"} if isinstance(records[0], Bug) else {"sound"}
    others = {name: found for name, found in outcomes.items() if found not in good}
    print(dict(Counter(outcomes.values())), others)
    return Counter(outcomes.values())


@pytest.mark.slow
def test_nine_of_ten_planted_bugs_are_named_and_hardly_one_is_called_sound():
    found = counted(BUGS)
    assert found["named"] >= 0.95 * len(BUGS)
    assert 60 * found["sound"] <= 2 * len(BUGS)


@pytest.mark.slow
def test_no_right_style_is_called_wrong():
    found = counted(STYLES)
    assert found["alarm"] == 0
    assert found["sound"] >= len(STYLES) - 1


def test_of_a_sample_no_bug_is_called_sound_or_misnamed_and_no_style_is_called_wrong():
    bugs = counted(BUGS[::16])
    assert bugs["sound"] + bugs["misnamed"] == 0
    assert bugs["named"] >= 0.75 * len(BUGS[::16])
    assert counted(STYLES[::16])["alarm"] == 0
