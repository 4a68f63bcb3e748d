"""The pages behind the chapters: every source item is there, and all entries lead on.

The site's build finds broken links, terms that are defined twice and incomplete references.
"""

import re

from bookformat.contents import chapter_of
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS

SOURCE_ITEMS = 139  # of the five notes, without S2.3, a remark outside the subject
LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\((?!https?://)[^()\s]*\)")


def has_number(page):
    """Whether a page is a chapter or belongs to one."""
    return chapter_of(page) is not None


def test_every_source_item_has_a_description_and_leads_to_a_section():
    page = (CHAPTERS / "sources.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(S\d\.\d+)\]\{#[\w-]+\} \|(.*)\|(.*)\|$", page, re.MULTILINE)
    found = {name for name, what, where in rows if what.strip() and LINK.search(where)}
    assert len(found) == SOURCE_ITEMS


def test_every_erratum_leads_to_a_chapter_and_is_computed_in_the_next_cell():
    cells, errata = read(CHAPTERS / "errata.ipynb").cells, 0
    for number, cell in enumerate(cells):
        pattern = r"^\[\*\*([^*]+?)\.?\*\*\]\{#erratum-"
        _, *parts = re.split(pattern, cell.source, flags=re.MULTILINE)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            errata += 1
            pages = re.findall(r"\]\(((?:deeper/)?[\w-]+)\.ipynb", text)
            assert any(map(has_number, pages)), f"{name} has no link to a chapter"
            # It names the text it corrects: a paper, an address, or an item of the sources page.
            assert re.search(r"\]\(https://|\{cite|\]\(#s\d-\d", text), name
            following = next(one for one in cells[number:] if one.cell_type == "code")
            assert any(output.get("text") for output in following.outputs), name
    assert errata >= 13


def test_the_answer_to_every_question_leads_to_a_section():
    page = (CHAPTERS / "questions.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^### (.+)$", page, flags=re.MULTILINE)
    assert len(parts) > 20
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        assert LINK.search(body.strip().split("\n\n")[0]), f"questions.md: {name}"


def test_an_entry_of_the_bibliography_names_one_paper():
    # The number that is printed and the address behind it.
    entries = (CHAPTERS / "references.bib").read_text(encoding="utf-8").split("\n@")
    for entry in entries:
        papers = set(re.findall(r"(?:arXiv:|arxiv\.org/(?:abs|pdf)/)(\d{4}\.\d{4,5})", entry))
        assert len(papers) <= 1, f"{entry.splitlines()[0]} names {sorted(papers)}"
