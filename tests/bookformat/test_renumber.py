"""Chapters are named by the numbers that the contents give them."""

import pytest

from bookformat import renumber
from bookformat.contents import page_name
from bookformat.notebooks import cells_of
from bookformat.paths import ROOT
from bookformat.renumber import bare_numbers, linking_files, renumbered, renumbered_file

FILES = linking_files()


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("cache", "[chapter 91](attention.ipynb)", "[chapter 1](attention.ipynb)"),
        ("cache", "[Chapter 0](why-sqrt-d.ipynb#a-b)", "[Chapter 2](why-sqrt-d.ipynb#a-b)"),
        ("cache", "[5](short-road.ipynb)", "[0](short-road.ipynb)"),
        ("sources", "[9, A 7](many-heads.ipynb#a)", "[3, A 7](many-heads.ipynb#a)"),
        ("deeper/masks", "[To chapter 4](../cost.ipynb)", "[To chapter 18](../cost.ipynb)"),
        ("attention", "[chapter 4](deeper/masks.ipynb)", "[chapter 3](deeper/masks.ipynb)"),
        ("attention", "[第 4 章](many-heads.ipynb)", "[第 3 章](many-heads.ipynb)"),
        ("../index", "[chapter 4](chapters/cost.ipynb)", "[chapter 18](chapters/cost.ipynb)"),
        # Names without a number, numbers that name no chapter, pages without a number.
        ("attention", "[12 heads](many-heads.ipynb)", "[12 heads](many-heads.ipynb)"),
        ("attention", "[the 2 roots](why-sqrt-d.ipynb)", "[the 2 roots](why-sqrt-d.ipynb)"),
        ("attention", "[7](errata.ipynb#seven)", "[7](errata.ipynb#seven)"),
        ("attention", "[7](https://example.org/x.ipynb)", "[7](https://example.org/x.ipynb)"),
    ],
)  # fmt: skip
def test_links_name_the_number_of_their_chapter(page, old, new):
    assert renumbered(old, page) == new


def test_numbers_without_a_link_are_found():
    assert bare_numbers("As chapter 3 and [chapter 4](x.ipynb) say, 第 5 章.") == [
        "chapter 3",
        "第 5 章",
    ]
    assert bare_numbers("The last chapter has 3 figures.") == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_book_has_the_numbers_of_its_contents(path):
    same = renumbered_file(path, FILES[path]) == path.read_text(encoding="utf-8")
    assert same, "numbers of chapters are wrong here; run: python -m bookformat.renumber"


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix != ".po"], ids=lambda path: path.stem
)
def test_no_sentence_names_a_chapter_by_its_number_without_a_link(path):
    texts = [text for cell in cells_of(path) for text in (cell.source, cell.caption)]
    found = [words for text in texts for words in bare_numbers(text)]
    assert found == [], "make links of them, so that their numbers stay right"


def test_files_are_written_anew_and_named(tmp_path, monkeypatch, capsys):
    page = tmp_path / "cache.md"
    page.write_text("[chapter 91](attention.ipynb)", encoding="utf-8")
    monkeypatch.setattr(renumber, "ROOT", tmp_path)
    monkeypatch.setattr(renumber, "linking_files", lambda: {page: page_name(page, tmp_path)})
    assert renumber.main() == 0
    assert page.read_text(encoding="utf-8") == "[chapter 1](attention.ipynb)"
    assert "cache.md: the numbers" in capsys.readouterr().out
