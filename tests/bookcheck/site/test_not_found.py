"""The page for addresses that do not exist works wherever a host shows it."""

import re

from bookcheck.site.not_found import from_root


def test_the_missing_page_works_at_any_depth(good_site):
    page = (good_site / "404.html").read_text(encoding="utf-8")
    addresses = re.findall(r'\s(?:href|src)="([^"]*)"', page)
    own = [address for address in addresses if not re.match(r"#|[a-z]+:", address)]
    assert len(own) > 20
    for address in own:
        assert address.startswith("/book/"), address
        assert (good_site / re.sub(r"[?#].*", "", address[6:] or "index.html")).is_file()
    assert 'data-content_root="/book/"' in page
    assert "canonical" not in page


def test_links_are_rooted_and_others_left():
    html = '<a href="x.html"><a href="#y"><a href="https://example.com"><img src="a/b.png">'
    assert from_root(html, "/book/") == (
        '<a href="/book/x.html"><a href="#y"><a href="https://example.com">'
        '<img src="/book/a/b.png">'
    )
