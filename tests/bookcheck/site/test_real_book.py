"""What the site that `make book` has built must hold; `make test-site` looks at it."""

import re
import shutil
from html import escape, unescape

import pytest

from bookcheck.gates.search import find
from bookcheck.notebooks.files import chapter_notebooks, main_line, page_name
from bookcheck.paths import BUILD, CHAPTERS
from bookcheck.site import api
from bookcheck.site.citations import sources_of
from bookcheck.site.reader import addresses, book_of, reader_texts
from bookcheck.site.targets import targets_of

NUMBERED = [path for path in chapter_notebooks() if path.name[0].isdigit()]


pytestmark = pytest.mark.built


@pytest.fixture(scope="module")
def site():
    """The site that `make book` has built, strictly: it has no warning."""
    return BUILD / "html"


def test_every_notebook_can_be_downloaded(site):
    texts = reader_texts(book_of(**addresses()))
    for notebook in chapter_notebooks():
        name = page_name(notebook)
        offered = site / "notebooks" / f"{name}.ipynb"
        assert offered.read_text(encoding="utf-8") == texts[f"{name}.ipynb"]
        up = "../" * f"chapters/{name}".count("/")
        page = (site / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        assert f'href="{up}notebooks/{name}.ipynb"' in page


def test_the_readers_numbers_are_those_of_the_pages(site):
    """Labels of equations, and titles of exercises and theorems, as Sphinx counted them."""
    wrong = []
    for label, target in targets_of().items():
        page = (site / "chapters" / f"{target.page}.html").read_text(encoding="utf-8")
        if target.name.startswith("("):
            shown = f'>{target.name}<a class="headerlink" href="#equation-{label}"'
        elif target.name.startswith("Fig."):
            shown = f'"caption-number">{target.name} </span><span class="caption-text">'
            shown += escape(target.title.split("{")[0].split("$")[0][:12], quote=False)
        else:
            shown = f'"caption-number">{target.name} </span>'
            shown += f" ({escape(target.title[:5], quote=False)}" if target.title else ""
        if shown not in page:
            wrong.append(f"{label}: {target}")
    assert not wrong, "\n".join(wrong)


def test_the_readers_citations_are_those_of_the_pages(site):
    sources = sources_of(CHAPTERS / "references.bib")
    link = re.compile(
        r'<a class="reference internal" href="[^"]*bibliography\.html#[^>]*>(.*?)</a>'
    )
    shown = {
        unescape(re.sub(r"<[^>]+>", "", name))
        for page in (site / "chapters").rglob("*.html")
        for name in link.findall(page.read_text(encoding="utf-8"))
    } - {"Bibliography"}
    assert len(shown) > 50
    known = {f"{source.authors}, {source.year}" for source in sources.values()}
    known |= {source.year for source in sources.values()}
    plain = {re.sub(r"(?<=\d{4})[a-z]", "", name) for name in shown}
    # The pages' style does not know a list of authors that ends with "others".
    plain = {name.replace(" and others", " et al.") for name in plain}
    assert plain <= known, sorted(plain - known)


def test_every_figure_stands_in_its_page(site):
    for page in site.glob("chapters/**/*.html"):
        assert not re.search(r'<img\b[^>]*_images/[^>]*\.svg"', page.read_text(encoding="utf-8")), (
            page.name
        )


def test_buttons_that_need_an_address_are_there_only_with_one(site):
    page = (site / "chapters" / "01-attention.html").read_text(encoding="utf-8")
    buttons = ("mybinder.org", "colab.research", "/edit/", "/issues/", "git clone")
    assert len({address in page for address in buttons}) == 1


def test_what_no_page_needs_is_not_there(site):
    for name in ("_static/scripts/fontawesome.js", "_static/searchtools.js", "searchindex.js"):
        assert not (site / name).exists()
    assert not list(site.rglob("*.map"))
    assert "mathjax" not in (site / "index.html").read_text(encoding="utf-8").lower()
    searching = {page.name for page in site.rglob("*.html") if b"search-data" in page.read_bytes()}
    assert searching == {"search.html"}


def test_every_link_of_the_missing_page_leads_somewhere(site):
    page = (site / "404.html").read_text(encoding="utf-8")
    root = re.search(r'data-content_root="(/[^"]*)"', page)[1]
    own = re.findall(rf'\s(?:href|src)="{root}([^"?#]*)', page)
    assert len(own) > 20
    for address in own:
        assert (site / (address or "index.html")).is_file(), address


def test_every_chapter_tells_what_it_is_and_has_a_picture_where_the_address_is_known(site):
    known = 'rel="canonical"' in (site / "index.html").read_text(encoding="utf-8")
    pictures = {path.stem: path.read_bytes() for path in (site / "_static" / "cards").glob("*.png")}
    own = [path.stem for path in main_line()]
    assert sorted(pictures) == ([*own, "book"] if known else [])
    assert len(set(pictures.values())) == len(pictures)
    for path in NUMBERED:
        page = (site / "chapters" / f"{page_name(path)}.html").read_text(encoding="utf-8")
        picture = path.stem if path in main_line() else "book"
        assert (f'/_static/cards/{picture}.png"' in page) == known
        assert re.search(r'<meta name="description" content="[^"]{40,}"', page), path.stem


def test_the_search_finds_symbols_words_and_every_name_of_the_library(site):
    symbols = ["theta", "θ", "d_k", "R_m", "W^Q", "epsilon"]
    terms = ["RMSNorm", "head dimension", "YaRN", "warm-up"]
    entries = api.public_entries()
    # All at once: to read the index takes longer than to ask it.
    queries = [*symbols, *terms, *(entry.name for entry in entries)]
    found = dict(zip(queries, find(site, queries), strict=True))
    for query in symbols:
        assert found[query][0].page == "chapters/notation", query
    for query in terms:
        assert any(one.anchor.startswith("#term-") for one in found[query][:3]), query
    for entry in entries:
        places = [(one.page, one.anchor) for one in found[entry.name][:15]]
        assert ("chapters/api", f"#{entry.full_name}") in places


def missing_links(site, chapters):
    """Yield one line for each link of a built site that lacks: name ↔ chapter, name ↔ test."""
    reference = (site / "chapters" / "api.html").read_text(encoding="utf-8")
    used = {page_name(path): api.chapter_uses(path) for path in chapters}
    names = [f"chapters/{chapter}" for chapter in used]
    names += {api.test_page(t.file) for entry in api.public_entries() for t in api.tests_of(entry)}
    pages = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in names}
    for entry in api.public_entries():
        body = reference.partition(f'id="{entry.full_name}"')[2]
        body = re.split(r'<dl class="py (?:function|class)', body)[0]
        ways = {
            f"chapters/{chapter}": (
                rf'href="{chapter}\.html#(?!equation-)',
                "../" * chapter.count("/") + "api.html",
            )
            for chapter, uses in used.items()
            if api.used_in(entry, uses)
        }
        for test in api.tests_of(entry):
            page = api.test_page(test.file)
            ways[page] = (rf'href="\.\./{page}\.html#L', "../chapters/api.html")
        for page, (there, back) in ways.items():
            if not re.search(there, body):
                yield f"the reference of {entry.name} has no link to {page}"
            if f'href="{back}#{entry.full_name}"' not in pages[page]:
                yield f"{page} has no link to {entry.name}"


def test_names_chapters_and_tests_are_linked_both_ways(site):
    assert list(missing_links(site, NUMBERED)) == []


@pytest.mark.parametrize(
    ("page", "link", "complaint"),
    [
        (
            "chapters/11-implementing-rope",
            'href="api.html#attention_to_rope.rotate"',
            "chapters/11-implementing-rope has no link to rotate",
        ),
        (
            "checks/test_rope",
            'href="../chapters/api.html#attention_to_rope.rotate"',
            "checks/test_rope has no link to rotate",
        ),
    ],
)
def test_a_link_that_lacks_is_named(site, tmp_path, page, link, complaint):
    for folder in ("chapters", "checks"):
        shutil.copytree(site / folder, tmp_path / folder)
    path = tmp_path / f"{page}.html"
    text = path.read_text(encoding="utf-8")
    assert link in text
    path.write_text(text.replace(link, ""), encoding="utf-8")
    assert list(missing_links(tmp_path, NUMBERED)) == [complaint]
