"""The record of many-heads has all pairs of heads, and can be made again."""

from itertools import combinations

import pytest

from bookkit import book_model
from bookkit.records import recorded
from laboratory.pairs import TEXTS, rows


def test_the_record_has_every_pair_of_the_other_heads_once_and_its_origin():
    found = recorded("pairs.jsonl")
    (induction,) = recorded("pairs.jsonl", kind="induction")
    heads = [[layer, head] for layer in range(6) for head in range(6)]
    others = [head for head in heads if head not in induction["heads"]]
    pairs = [row["heads"] for row in found if row["kind"] == "others"]
    assert pairs == [list(pair) for pair in combinations(others, 2)]
    assert {len(row["losses"]) for row in found} == {TEXTS}
    assert all(row[fact] for row in found for fact in ("date", "device", "torch", "command"))


def test_a_few_rows_of_the_record_can_be_made_again():
    again = list(rows(book_model(), others=2, texts=1))
    assert [row["kind"] for row in again] == ["none", "induction", "previous", "others"]
    # Which heads attend to the previous token most may differ between one text and eight.
    for row in (again[0], again[1], again[3]):
        wanted = sorted(list(head) for head in row["heads"])
        alike = recorded("pairs.jsonl", kind=row["kind"])
        (stored,) = [one for one in alike if sorted(one["heads"]) == wanted]
        assert row["losses"][0] == pytest.approx(stored["losses"][0], abs=0.02)
