"""Links inside the site lead somewhere."""

import pytest

from bookcheck.gates.links import broken_links


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text('<h1 id="top">A</h1>', encoding="utf-8")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "one.html").write_text("<p id='first'>One</p>", encoding="utf-8")
    (tmp_path / "chapters" / "plot.png").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ('<a href="two.html">', "two.html: there is no file chapters/two.html"),
        ("<a href='../no.html'>", "../no.html: there is no file no.html"),
        ('<a href="one.html#second">', "chapters/one.html has no anchor second"),
        ('<a href="#nowhere">', "chapters/page.html has no anchor nowhere"),
        ('<a class="x" href="../index.html#no">', "index.html has no anchor no"),
        ('<a href="../../up.html">', "leads out of the site"),
        ('<img alt="" src="no.png">', "there is no file chapters/no.png"),
        ('<svg><use xlink:href="#s1"/></svg>', "has no anchor s1"),
        ('<link rel="stylesheet" href="/no.css?v=1">', "there is no file no.css"),
    ],
)
def test_a_broken_link_is_found_and_named(site, link, complaint):
    (site / "chapters" / "page.html").write_text(link, encoding="utf-8")
    found = list(broken_links(site))
    assert len(found) == 1
    assert found[0][0] == "chapters/page.html"
    assert complaint in found[0][1]


@pytest.mark.parametrize(
    "link",
    [
        '<a href="one.html#first">',
        '<a href="../">',
        '<a href="/index.html#top">',
        '<a id="here" href="#here">',
        '<a href="#">',
        '<a href="mailto:a@example.com">',
        '<a href="https://example.com/no#such">',
        '<img alt="" src="plot.png?v=2">',
        "<script>const text = '<a href=\"made-later.html\">';</script>",
        "<!-- <a href='gone.html'> -->",
    ],
)
def test_a_good_link_is_left_alone(site, link):
    (site / "chapters" / "page.html").write_text(link, encoding="utf-8")
    assert list(broken_links(site)) == []


def test_links_from_the_root_of_a_host_are_followed_into_the_site(site):
    page = site / "404.html"
    page.write_text(
        '<html data-content_root="/book/"><a href="/book/index.html#top"><a href="#">',
        encoding="utf-8",
    )
    assert list(broken_links(site)) == []
    page.write_text('<html data-content_root="/book/"><a href="/book/no.html">', encoding="utf-8")
    assert list(broken_links(site)) == [("404.html", "/book/no.html: there is no file no.html")]
