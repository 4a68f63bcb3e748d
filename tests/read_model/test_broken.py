"""Broken and unusual inputs: a clear message, nothing thrown and nothing executed."""

import re

import pytest
from broken_inputs import GOOD, INPUTS
from reader import call, run_reader


@pytest.fixture(scope="module")
def answers():
    requests = [call("readModel", text) for text, _, _ in INPUTS.values()]
    return dict(zip(INPUTS, run_reader(requests), strict=True))


@pytest.mark.parametrize("name", INPUTS)
def test_the_reason_is_named(answers, name):
    answer = answers[name]
    _, place, reason = INPUTS[name]
    if place == "error":
        found = answer["error"]
    else:
        assert "error" not in answer, answer["error"]
        found = answer["refused"]
        if place == "rotation":
            found = answer["layers"][0]["rotation"]["refused"]
        if place == "read":
            assert found is None
            assert answer["layers"][0]["rotation"]["frequencies"][0] == 1
            return
    assert found["reason"] == reason, found
    assert not re.search(r"\{\w+\}", found["text"]), found


def test_a_name_is_text_and_nothing_else(answers):
    assert answers["markup in a name"]["name"] == "<img src=x onerror=alert(1)>"


STRANGE = [
    {"length": -5, "batch": "many", "batches": "all", "gpu": 3},
    {"length": 1e300, "weights_bytes": -1, "gpu": {"bandwidth": 0, "peak": "fast"}},
    {"length": None, "batches": [0, -1, "x", 2.7], "weight_bytes": {}},
    {"__proto__": {"length": 3}, "length": [], "cache_bytes": True},
    [],
    "wanted",
    None,
    7,
]


def test_strange_wishes_are_replaced_by_defaults():
    requests = [
        call("readModel", GOOD | {"intermediate_size": 8, "vocab_size": 9}, wish)
        for wish in STRANGE
    ]
    for answer in run_reader(requests):
        assert answer["wanted"]["length"] == 4096
        assert answer["wanted"]["weights_bytes"] is None
        assert answer["step"][0]["seconds"] > 0
