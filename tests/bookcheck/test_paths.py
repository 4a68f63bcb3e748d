"""A change in one room makes nothing of another room again."""

import pytest

from bookcheck.equations import records
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
    for module, name in ((records, "CHECK_ROOMS"), (incremental, "PAGE_ROOMS")):
        rooms = tuple(tmp_path / room.relative_to(SOURCES) for room in getattr(module, name))
        monkeypatch.setattr(module, name, rooms)
    monkeypatch.setattr(records, "SOURCES", tmp_path)
    return tmp_path


def digests(book):
    settings = type("Settings", (), {"bibtex_bibfiles": []})
    checks = records.sources_digest.__wrapped__()
    return checks, incremental.digest_of(incremental.sources(book, settings))


@pytest.mark.parametrize(
    ("file", "checks_again", "pages_again"),
    [
        ("bookcheck/export/zip.py", False, False),
        ("bookcheck/gates/browser.py", False, False),
        ("bookcheck/site/theme.py", False, True),
        ("bookcheck/prose/headings.py", False, True),
        ("bookcheck/latex/lexer.py", True, False),
        ("bookcheck/equations/checks.py", True, True),
        ("attention_to_rope/masks.py", True, True),
    ],
)
def test_only_what_can_depend_on_a_room_is_done_again(copied, file, checks_again, pages_again):
    before = digests(copied)
    path = copied / file
    path.write_text(path.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")
    after = digests(copied)
    assert [old != new for old, new in zip(before, after, strict=True)] == [
        checks_again,
        pages_again,
    ]


def test_another_python_or_other_packages_check_all_again(tmp_path, monkeypatch):
    before = records.sources_digest.__wrapped__()
    with monkeypatch.context() as patch:
        patch.setattr(records.platform, "python_version", lambda: "3.99.0")
        assert records.sources_digest.__wrapped__() != before
    (tmp_path / "requirements.txt").write_text("torch==9\n", encoding="utf-8")
    monkeypatch.setattr(records, "ROOT", tmp_path)
    assert records.sources_digest.__wrapped__() != before
