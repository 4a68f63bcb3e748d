"""One setting, the site's address, drives canonical links, pictures' addresses and the sitemap."""

import re
from types import SimpleNamespace

import pytest
from PIL import Image
from sphinx.errors import ConfigError

from bookcheck.site.head import (
    REPOSITORY_VARIABLE,
    SITE_VARIABLE,
    check_address,
    head_tags,
    shortened,
    take_addresses,
)

ADDRESS = "https://example.org/book/"


def tags_of(html):
    found = re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)" />', html)
    return dict(found)


@pytest.fixture(scope="module")
def chapter(good_site):
    return (good_site / "chapters" / "02-two.html").read_text(encoding="utf-8")


def test_a_chapter_tells_what_it_is(good_site, chapter):
    tags = tags_of(chapter)
    assert tags["description"] == tags["og:description"] == "All are alike. Why is it so?"
    assert tags["og:title"] == "Two &amp; three"
    assert tags["og:site_name"] == "From Attention to RoPE"
    assert tags["og:url"] == f"{ADDRESS}chapters/02-two.html"


def test_all_pages_have_the_book_s_picture(good_site):
    for name in ("index.html", "chapters/notation.html", "chapters/02-two.html"):
        tags = tags_of((good_site / name).read_text(encoding="utf-8"))
        assert tags["og:image"] == f"{ADDRESS}_static/card.png"
    with Image.open(good_site / "_static" / "card.png") as picture:
        assert picture.size == (int(tags["og:image:width"]), int(tags["og:image:height"]))


def test_canonical_links_and_sitemap_agree(good_site, chapter):
    assert f'<link rel="canonical" href="{ADDRESS}chapters/02-two.html" />' in chapter
    sitemap = (good_site / "sitemap.xml").read_text(encoding="utf-8")
    listed = re.findall("<loc>(.*?)</loc>", sitemap)
    assert f"{ADDRESS}index.html" in listed
    assert len(listed) == 7
    for address in listed:
        page = (good_site / address.removeprefix(ADDRESS)).read_text(encoding="utf-8")
        assert f'<link rel="canonical" href="{address}" />' in page


def test_without_an_address_nothing_names_one(faulty_build):
    site = faulty_build.folder / "_build" / "html"
    page = (site / "chapters" / "one.html").read_text(encoding="utf-8")
    assert 'rel="canonical"' not in page
    assert "og:url" not in page
    assert not (site / "sitemap.xml").exists()
    # Others ignore a picture without a whole address.
    assert "og:image" not in page
    assert 'href="/index.html"' in (site / "404.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("address", ["example.org", "/book/", "ftp://example.org/"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ConfigError, match="must be like https://"):
        check_address(None, SimpleNamespace(html_baseurl=address))


def test_a_fork_has_its_own_addresses_without_an_edit(monkeypatch):
    options = {"repository_url": "https://github.com/first/book"}
    config = SimpleNamespace(html_baseurl=ADDRESS, html_theme_options=options)
    monkeypatch.delenv(REPOSITORY_VARIABLE, raising=False)
    monkeypatch.delenv(SITE_VARIABLE, raising=False)
    take_addresses(None, config)
    assert (config.html_baseurl, options["repository_url"]) == (
        ADDRESS,
        "https://github.com/first/book",
    )
    monkeypatch.setenv(REPOSITORY_VARIABLE, "https://github.com/fork/book")
    monkeypatch.setenv(SITE_VARIABLE, "https://fork.github.io/book")
    take_addresses(None, config)
    assert config.html_baseurl == "https://fork.github.io/book"
    assert options["repository_url"] == "https://github.com/fork/book"


def test_descriptions_are_short_and_safe():
    assert shortened("one two three", 9) == "one two…"
    assert shortened("one two", 9) == "one two"
    assert 'content="a &lt; &quot;b&quot;"' in head_tags('a < "b"', "", "", "c.png", "d")
