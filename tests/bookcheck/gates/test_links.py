"""Links inside the site lead somewhere; links to other hosts are asked after by `make links`."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bookcheck.gates.links import advice, ask_all, broken_links, external_links


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text('<h1 id="top">A</h1>')
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "one.html").write_text("<p id='first'>One</p>")
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
    (site / "chapters" / "page.html").write_text(link)
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
    (site / "chapters" / "page.html").write_text(link)
    assert list(broken_links(site)) == []


class Host(BaseHTTPRequestHandler):
    def do_HEAD(self):
        answers = {"/here": 200, "/gone": 404, "/no-head": 405, "/shy": 403}
        self.send_response(answers[self.path])
        self.end_headers()

    def do_GET(self):
        answers = {"/gone": 404, "/no-head": 200, "/shy": 403}
        self.send_response(answers[self.path])
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def host():
    server = HTTPServer(("127.0.0.1", 0), Host)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_dead_links_to_other_hosts_are_told_from_doubtful_ones(site, host):
    links = "".join(f'<a href="{host}/{name}">' for name in ("here", "gone", "no-head", "shy#a"))
    (site / "index.html").write_text(links)
    pages = external_links(site)
    assert pages[f"{host}/shy"] == ["index.html"]
    words, dead = advice(ask_all(pages), pages)
    assert dead == 1
    assert f"dead: {host}/gone (404), on index.html" in words
    assert f"unsure: {host}/shy (403)" in words
    assert "/here" not in words
    assert "/no-head" not in words
    assert "4 links to 1 hosts: 1 dead, 1 unsure" in words


def test_without_internet_the_advice_says_so(site):
    (site / "index.html").write_text('<a href="http://127.0.0.1:9/x">')  # nobody listens there
    pages = external_links(site)
    words, dead = advice(ask_all(pages), pages)
    assert dead == 0
    assert "no internet" in words
    assert "1 links" in words


def test_a_site_without_links_needs_no_host(site):
    assert advice(ask_all(external_links(site)), {}) == ("The site has no link to another host.", 0)


def test_links_from_the_root_of_a_host_are_followed_into_the_site(site):
    page = site / "404.html"
    page.write_text('<html data-content_root="/book/"><a href="/book/index.html#top"><a href="#">')
    assert list(broken_links(site)) == []
    page.write_text('<html data-content_root="/book/"><a href="/book/no.html">')
    assert list(broken_links(site)) == [("404.html", "/book/no.html: there is no file no.html")]
