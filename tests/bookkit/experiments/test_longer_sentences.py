"""The record that the deeper page of chapter 6 plots can be made again, small, on any machine."""

import torch

from bookkit.experiments import longer_sentences
from bookkit.experiments.longer_sentences import ASK, CASES, CITIES, LENGTHS
from bookkit.experiments.record import main, recorded
from bookkit.randomness import generator


def test_sentences_have_two_cities_and_the_first_is_the_answer():
    words, first = longer_sentences.sentences(generator(0), 50, 9)
    assert words.shape == (50, 9)
    assert (words[:, -1] == ASK).all()
    is_city = words < CITIES
    assert (is_city.sum(1) == 2).all()
    assert torch.equal(words[torch.arange(50), is_city.int().argmax(1)], first)


def test_a_small_run_writes_one_row_for_each_case_and_run(tmp_path):
    path = tmp_path / "record.jsonl"
    arguments = ["--seeds", "2", "--steps", "3", "--out", str(path)]
    main("longer_sentences", longer_sentences.rows, seeds=8, steps=9, arguments=arguments)
    rows = recorded(path)
    cases = [(row["code"], row["scale"], row["run"]) for row in rows]
    assert cases == [(*case, run) for case in CASES for run in (0, 1)]
    assert all(len(row["shares"]) == len(LENGTHS) for row in rows)
    assert all(0 <= share <= 1 for row in rows for share in row["shares"])
    assert rows[0]["command"] == "python -m bookkit.experiments.longer_sentences"


def test_training_learns_the_task():
    rows = longer_sentences.rows(1, 150, 100)
    # A guess among eight cities would be right in 1 of 8.
    assert max(row["shares"][0] for row in rows if row["code"] == "sinusoidal") > 0.5


def test_the_record_names_its_origin():
    rows = recorded("longer_sentences.jsonl")
    assert len(rows) == 8 * len(CASES)
    for row in rows:
        assert all(row[fact] for fact in ("date", "device", "torch", "seeds", "command"))
