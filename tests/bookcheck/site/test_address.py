"""One setting, the site's address, drives canonical links, pictures' addresses and the sitemap."""

import re
from types import SimpleNamespace

import pytest
from sphinx.errors import ConfigError

from bookcheck.site.address import check_address, head_tags, shortened

ADDRESS = "https://example.org/book/"


def tags_of(html):
    found = re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)" />', html)
    return dict(found)


@pytest.fixture(scope="module")
def chapter(addressed_site):
    return (addressed_site / "chapters" / "02-two.html").read_text()


def test_a_chapter_tells_what_it_is(addressed_site, chapter):
    tags = tags_of(chapter)
    assert tags["description"] == tags["og:description"] == "All are alike. Why is it so?"
    assert tags["og:title"] == "Two &amp; three"
    assert tags["og:site_name"] == "From Attention to RoPE"
    assert tags["og:url"] == f"{ADDRESS}chapters/02-two.html"
    assert tags["og:image"] == f"{ADDRESS}_static/cards/02-two.png"
    assert (addressed_site / "_static" / "cards" / "02-two.png").is_file()


def test_other_pages_have_the_book_s_picture(addressed_site):
    for name in ("index.html", "chapters/notation.html"):
        tags = tags_of((addressed_site / name).read_text())
        assert tags["og:image"] == f"{ADDRESS}_static/cards/book.png"
    assert (addressed_site / "_static" / "cards" / "book.png").is_file()


def test_canonical_links_and_sitemap_agree(addressed_site, chapter):
    assert f'<link rel="canonical" href="{ADDRESS}chapters/02-two.html" />' in chapter
    sitemap = (addressed_site / "sitemap.xml").read_text()
    listed = re.findall("<loc>(.*?)</loc>", sitemap)
    assert f"{ADDRESS}index.html" in listed
    assert len(listed) == 4
    for address in listed:
        page = (addressed_site / address.removeprefix(ADDRESS)).read_text()
        assert f'<link rel="canonical" href="{address}" />' in page


def test_without_an_address_nothing_names_one(build, write_book, markdown, tmp_path):
    folder = write_book(tmp_path, [markdown("# Chapter\n\nText.")])
    done = build(folder, "--all", "-n", "-W", "--keep-going")
    assert done.returncode == 0, done.stderr[-4000:]
    site = folder / "_build" / "html"
    page = (site / "chapters" / "one.html").read_text()
    assert 'rel="canonical"' not in page
    assert "og:url" not in page
    assert not (site / "sitemap.xml").exists()
    image = tags_of(page)["og:image"]
    assert image == "../_static/cards/book.png"
    assert (site / "chapters" / image).resolve().is_file()
    assert 'href="/index.html"' in (site / "404.html").read_text()


@pytest.mark.parametrize("address", ["example.org", "/book/", "ftp://example.org/"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ConfigError, match="must be like https://"):
        check_address(None, SimpleNamespace(html_baseurl=address))


def test_descriptions_are_short_and_safe():
    assert shortened("one two three", 9) == "one two…"
    assert shortened("one two", 9) == "one two"
    assert 'content="a &lt; &quot;b&quot;"' in head_tags('a < "b"', "", "", "c.png", "d")
