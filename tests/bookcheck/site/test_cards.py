"""The picture of a chapter: its size, its words, its hands."""

import io
import shutil

import numpy as np
import pytest
from matplotlib import image

from bookcheck.site.cards import HEIGHT, WIDTH, Card, draw, write

CARD = Card(2, "Why divide by √d", "Why the root, and not d, or nothing?", "A book")


def pixels(card):
    file = io.BytesIO()
    draw(card).savefig(file, format="png")
    file.seek(0)
    return image.imread(file)


def test_a_card_has_the_size_that_others_expect():
    assert pixels(CARD).shape[:2] == (HEIGHT, WIDTH)


@pytest.mark.parametrize(
    "change",
    [{"number": 3}, {"title": "Other"}, {"question": "How?"}, {"book": "Another book"}],
)
def test_each_part_of_a_card_is_seen(change):
    assert not np.array_equal(pixels(CARD), pixels(CARD._replace(**change)))


def test_words_keep_to_their_half():
    """A long title and a long question end before the hands and the lower edge."""
    long = CARD._replace(title="A title of many words " * 2, question="Is it long enough? " * 40)
    hands = pixels(CARD._replace(title="", question=""))
    both = pixels(long)
    assert np.array_equal(both[:, 830:], hands[:, 830:])
    assert np.array_equal(both[HEIGHT - 30 :], hands[HEIGHT - 30 :])


def test_a_card_is_drawn_once(tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    write(CARD, tmp_path / "a.png", kept_in=kept)
    (drawn,) = kept.iterdir()
    shutil.copyfile(drawn, tmp_path / "first.png")
    monkeypatch.setattr("bookcheck.site.cards.draw", None)
    write(CARD, tmp_path / "b" / "a.png", kept_in=kept)
    assert (tmp_path / "b" / "a.png").read_bytes() == (tmp_path / "first.png").read_bytes()
    with pytest.raises(TypeError):
        write(CARD._replace(title="Other"), tmp_path / "c.png", kept_in=kept)
