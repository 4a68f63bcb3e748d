"""What building needs is pinned as in the list of everything."""

import re

from bookcheck.paths import ROOT


def pinned(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def test_both_lists_pin_the_same_versions():
    book, everything = pinned("requirements-book.txt"), pinned("requirements.txt")
    assert len(book) > 50
    assert book.items() <= everything.items()
    assert "torch" in everything.keys() - book.keys()
