"""The addresses of site and repository, and what other programs show beside a link."""

import re
from types import SimpleNamespace

import pytest

from bookcheck.site.head import REPOSITORY_VARIABLE, SITE_VARIABLE, take_addresses

ADDRESS = "https://example.org/book/"


def tags_of(html):
    found = re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)" />', html)
    return dict(found)


def test_a_chapter_tells_what_it_is(good_site):
    page = (good_site / "chapters" / "02-two.html").read_text(encoding="utf-8")
    tags = tags_of(page)
    assert tags["description"] == tags["og:description"] == "All are alike. Why is it so?"
    assert tags["og:title"] == "Two &amp; three"
    assert tags["og:image"] == f"{ADDRESS}_static/card.png"
    assert (good_site / "_static" / "card.png").is_file()
    assert f'<link rel="canonical" href="{ADDRESS}chapters/02-two.html" />' in page


def test_without_an_address_nothing_names_one(faulty_build):
    site = faulty_build.folder / "_build" / "html"
    page = (site / "chapters" / "one.html").read_text(encoding="utf-8")
    assert 'rel="canonical"' not in page
    assert "og:image" not in page


@pytest.mark.parametrize("fork", [False, True])
def test_a_fork_has_its_own_addresses_without_an_edit(monkeypatch, fork):
    for name in (REPOSITORY_VARIABLE, SITE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    if fork:
        monkeypatch.setenv(REPOSITORY_VARIABLE, "https://github.com/fork/book")
        monkeypatch.setenv(SITE_VARIABLE, "https://fork.github.io/book")
    options = {"repository_url": "https://github.com/first/book"}
    config = SimpleNamespace(html_baseurl=ADDRESS, html_theme_options=options)
    take_addresses(None, config)
    assert config.html_baseurl == ("https://fork.github.io/book/" if fork else ADDRESS)
    assert ("fork" in options["repository_url"]) == fork
