"""What the site that `make book` has built must hold; `make test-site` looks at it."""

import re

import pytest

from bookformat.contents import book_entries, main_line, page_name
from bookformat.notebooks import chapter_notebooks
from bookformat.paths import BUILD, CHAPTERS, ROOT
from booksite.reader import notebook_names

pytestmark = pytest.mark.built


@pytest.fixture(scope="module")
def site():
    """The site that `make book` has built, strictly: it has no warning."""
    return BUILD / "html"


def test_every_notebook_can_be_downloaded_and_every_figure_stands_in_its_page(site):
    for name in map(page_name, chapter_notebooks()):
        page = (site / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        assert f'../notebooks/{notebook_names(CHAPTERS)[name]}.ipynb" download' in page
        assert not re.search(r'<img\b[^>]*_images/[^>]*\.svg"', page), name


def test_the_table_of_the_readme_leads_to_notebooks_for_readers(site):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    # On GitHub this is the branch to which the workflow writes this folder.
    names = re.findall(r"\]\(\.\./(notebooks/[^)]*)\)", readme)
    wanted = [notebook_names(CHAPTERS)[page_name(path)] for path in main_line()]
    assert names == [f"notebooks/{name}.ipynb" for name in wanted]
    assert all((site / name).is_file() for name in names)


def test_what_no_page_needs_is_not_there(site):
    assert not (site / "searchindex.js").exists()
    fonts = list((site / "_static" / "vendor").rglob("*.woff2"))
    assert fonts
    assert all(font.stat().st_size < 5000 for font in fonts), "icons that no page shows"
    assert "mathjax" not in (site / "index.html").read_text(encoding="utf-8").lower()
    # The search loads its data when a reader begins to type.
    assert not any(b"search-data" in page.read_bytes() for page in site.rglob("*.html"))


def test_titles_of_pages_have_no_formulas(site):
    # Browsers, the PDF's header and other programs show them as plain text.
    titles = [
        (path, title)
        for path in (site / "chapters").rglob("*.html")
        for title in re.findall(r"<h1>.*?</h1>", path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(titles) > 50
    assert [path.name for path, title in titles if "katex" in title] == []


def test_next_leads_from_chapter_to_chapter(site):
    page = site / "chapters" / "short-road.html"
    seen = []
    for _ in main_line():
        seen.append(page.stem)
        text = page.read_text(encoding="utf-8")
        (link,) = re.findall(r'<a class="right-next"\s+href="([^"]+)"', text)
        page = (page.parent / link).resolve()
    assert seen == [path.stem for path in main_line()]


def test_pages_of_depth_have_no_numbers_and_no_heading_has_three(site):
    sheet = (site / "chapters" / "cheat-sheet.html").read_text(encoding="utf-8")
    assert "(1)" in sheet[sheet.index('class="eqno"') :][:250], "it counts on from another page"
    pages = [entry.page for entry in book_entries() if entry.chapter is not None]
    assert len(pages) > 40
    for name in pages:
        path = site / "chapters" / f"{name}.html"
        page = path.read_text(encoding="utf-8")
        headings = re.findall(r"<h[1-6]>.*?</h[1-6]>", page)
        numbers = [re.findall(r'class="section-number">([\d.]+)', one) for one in headings]
        depth = path.parent.name == "deeper"
        assert all(not one if depth else "".join(one).count(".") <= 2 for one in numbers), path
