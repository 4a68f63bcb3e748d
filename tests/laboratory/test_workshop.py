"""The record of the page "What breaks when …" has a row for each mistake, and can be made again."""

import numpy as np
import pytest

from bookkit.records import recorded
from laboratory.workshop.losses import SHOWN, found, mean_loss, row


def test_the_record_has_a_row_for_each_mistake_of_the_page():
    rows = recorded("workshop.jsonl")
    shown = [(one.step, one.how, one.words) for one in SHOWN]
    right = [(0, how, "right") for how in ("whole", "pieces", "text", "long")]
    assert [(one["step"], one["how"], one["mistake"]) for one in rows] == right + shown


def test_every_mistake_of_the_page_is_one_of_the_list():
    for shown in SHOWN:
        mistakes = found(shown)
        assert mistakes[0].function == shown.function
        assert all(one.says.startswith(shown.begins) for one in mistakes)


def test_equal_logits_have_the_loss_of_a_uniform_distribution():
    assert mean_loss(np.zeros((3, 257)), [0, 5, 256]) == pytest.approx(np.log(257))


@pytest.mark.slow
@pytest.mark.parametrize("words", ["right", "no mask", "a token sees the next one", "GELU"])
def test_a_row_can_be_made_again(words):
    (then,) = recorded("workshop.jsonl", mistake=words, how="whole")
    shown = next((one for one in SHOWN if one.words == words), None)
    now = row(shown, "whole")
    assert now["loss"] == pytest.approx(then["loss"], abs=0.002)
    assert now["text"] == then["text"]
