"""The tasks and the text that the experiments train on are what they say."""

import itertools

import numpy as np
import pytest

from bookcheck.paths import ROOT
from bookkit.experiments.training import corpus, tasks


def digits(question):
    return int("".join(str(digit) for digit in question))


@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_the_answers_of_all_tasks_are_right(length):
    rng = np.random.default_rng(length)
    for _ in range(20):
        question, answer = tasks.copy_symbols(length, rng)
        assert answer == question
        assert all(symbol < 10 or 15 <= symbol < tasks.STUDIED_VOCABULARY for symbol in question)
        question, answer = tasks.reverse_symbols(length, rng)
        assert answer[::-1] == question
        question, answer = tasks.sorting(length, rng)
        assert all(a <= b for a, b in itertools.pairwise(answer))
        assert sorted(question) == sorted(answer)
        question, answer = tasks.parity(length, rng)
        assert answer == [question.count(1) % 2]
        question, answer = tasks.addition(length, rng)
        middle = question.index(tasks.PLUS)
        total = digits(question[:middle]) + digits(question[middle + 1 :])
        assert digits(answer[::-1]) == total
        assert len(answer) == length + 1


def test_only_the_answer_is_scored_and_padding_never():
    tokens, scored = tasks.batch("copy, 100 symbols", np.array([1, 3]), np.random.default_rng(0))
    assert tokens.shape == scored.shape == (2, tasks.tokens_needed("copy, 100 symbols", 3))
    assert tokens[0, 2] == tasks.EQUALS
    assert scored[0].tolist() == [False] * 3 + [True] * 2 + [False] * 4
    assert (tokens[0, 5:] == tasks.PAD).all()
    wide, _ = tasks.batch("copy, 100 symbols", np.array([1]), np.random.default_rng(0), width=12)
    assert wide.shape == (1, 12)
    with pytest.raises(ValueError, match="task must be one of"):
        tasks.batch("guessing", np.array([1]), np.random.default_rng(0))


def test_the_corpus_is_python_source_and_its_parts_do_not_mix():
    train, held_out, sha256 = corpus.pinned()
    assert len(train) > len(held_out) > 1_000_000
    assert b"def " in train.tobytes()
    assert 0 not in train
    assert 0 not in held_out
    assert sha256 == corpus.SHA256
    pieces = corpus.windows(held_out, 3, 10, np.random.default_rng(0))
    assert pieces.shape == (3, 10)
    assert pieces[0].astype(np.uint8).tobytes() in held_out.tobytes()
    with pytest.raises(ValueError, match="fewer than one window"):
        corpus.windows(held_out[:5], 1, 10, np.random.default_rng(0))


def test_the_pin_of_the_corpus_is_the_pin_of_the_requirements():
    pin = f"{corpus.PACKAGE}=={corpus.VERSION}"
    for name in ("requirements.in", "requirements.txt"):
        assert pin in (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_a_corpus_with_one_other_byte_is_refused(monkeypatch):
    monkeypatch.setattr(corpus.Path, "read_bytes", lambda path: b"changed")
    with pytest.raises(ValueError, match=r"must have SHA-256 e9aa4a1.*gives.*pip install"):
        corpus.pinned.__wrapped__()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(corpus, "PACKAGE", "sympy-that-is-not-there")
    with pytest.raises(ModuleNotFoundError, match=r"not installed; run: pip install"):
        corpus.pinned.__wrapped__()
