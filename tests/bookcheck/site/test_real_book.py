"""The book itself builds without a warning, from a clean start, and asks no other host."""

import re
import shutil

import pytest
import yaml

from bookcheck.gates.offline import external_requests
from bookcheck.gates.search import find
from bookcheck.paths import ROOT
from bookcheck.site import api
from bookcheck.site.policy import policy_faults

CHAPTERS = sorted((ROOT / "chapters").glob("[0-9][0-9]-*.ipynb"))


@pytest.fixture(scope="module")
def site(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, "--path-output", str(folder), "--all", "-n", "-W", "--keep-going", "-q")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "_build" / "html"


def test_no_page_asks_another_host(site):
    assert list(external_requests(site)) == []


def test_every_notebook_can_be_downloaded(site):
    for page in site.glob("chapters/*.html"):
        notebook = ROOT / "chapters" / f"{page.stem}.ipynb"
        if notebook.exists():
            download = site / "_sources" / "chapters" / notebook.name
            assert download.read_bytes() == notebook.read_bytes()
            assert f'href="../_sources/chapters/{notebook.name}"' in page.read_text()


def test_every_figure_stands_in_its_page(site):
    for page in site.glob("chapters/*.html"):
        assert not re.search(r'<img\b[^>]*_images/[^>]*\.svg"', page.read_text()), page.name


def test_buttons_that_need_an_address_are_there_only_with_one(site):
    settings = yaml.safe_load((ROOT / "_config.yml").read_text())
    known = bool(settings["repository"]["url"])
    page = (site / "chapters" / "01-attention.html").read_text()
    for address in ("mybinder.org", "colab.research", "/edit/", "/issues/"):
        assert (address in page) == known


def test_what_no_page_needs_is_not_there(site):
    assert not (site / "_static" / "scripts" / "fontawesome.js").exists()
    assert not list(site.rglob("*.map"))
    assert "mathjax" not in (site / "index.html").read_text().lower()


def test_every_page_carries_the_policy_and_keeps_it(site):
    assert list(policy_faults(site)) == []


def test_every_link_of_the_missing_page_leads_somewhere(site):
    page = (site / "404.html").read_text()
    for address in re.findall(r'\s(?:href|src)="/([^"?#]*)', page):
        assert (site / (address or "index.html")).is_file(), address


def test_every_chapter_has_a_picture_of_its_own(site):
    chapters = [path.stem for path in CHAPTERS]
    pictures = {path.stem: path.read_bytes() for path in (site / "_static" / "cards").glob("*.png")}
    assert sorted(pictures) == [*chapters, "book"]
    assert len(set(pictures.values())) == len(pictures)
    for chapter in chapters:
        page = (site / "chapters" / f"{chapter}.html").read_text()
        assert f'content="../_static/cards/{chapter}.png"' in page
        assert re.search(r'<meta name="description" content="[^"]{40,}"', page), chapter


def test_the_search_finds_symbols_words_and_every_name_of_the_library(site):
    for query in ("theta", "θ", "d_k", "R_m", "W^Q", "epsilon"):
        assert find(site, [query])[0][0].page == "chapters/notation", query
    for query in ("RMSNorm", "head dimension", "YaRN", "warm-up"):
        anchors = [found.anchor for found in find(site, [query])[0][:3]]
        assert any(anchor.startswith("#term-") for anchor in anchors), query
    entries = api.public_entries()
    for entry, results in zip(entries, find(site, [e.name for e in entries]), strict=True):
        assert ("chapters/api", f"#{entry.full_name}") in [(r.page, r.anchor) for r in results[:15]]


def test_names_chapters_and_tests_are_linked_both_ways(site):
    assert list(api.missing_links(site, CHAPTERS)) == []


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
    text = path.read_text()
    assert link in text
    path.write_text(text.replace(link, ""))
    assert list(api.missing_links(tmp_path, CHAPTERS)) == [complaint]
