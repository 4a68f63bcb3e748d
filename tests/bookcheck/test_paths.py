"""A change in one room makes no page again that cannot depend on it."""

import pytest

from bookcheck.paths import SOURCES
from bookcheck.site import incremental


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the code in which a test may change a file."""
    for path in SOURCES.rglob("*.py"):
        if "node_modules" not in path.parts:
            copy = tmp_path / path.relative_to(SOURCES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    rooms = tuple(tmp_path / room.relative_to(SOURCES) for room in incremental.PAGE_ROOMS)
    monkeypatch.setattr(incremental, "PAGE_ROOMS", rooms)
    return tmp_path


def digest(book):
    settings = type("Settings", (), {"bibtex_bibfiles": []})
    return incremental.digest_of(incremental.sources(book, settings))


@pytest.mark.parametrize(
    ("file", "pages_again"),
    [
        ("bookcheck/export/downloads.py", False),
        ("bookcheck/browser.py", False),
        ("bookcheck/latex/lexer.py", False),
        ("bookcheck/site/theme.py", True),
        ("bookcheck/prose/cells.py", True),
        ("attention_to_rope/masks.py", True),
    ],
)
def test_only_what_can_depend_on_a_room_is_done_again(copied, file, pages_again):
    before = digest(copied)
    path = copied / file
    path.write_text(path.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")
    assert (digest(copied) != before) == pages_again
