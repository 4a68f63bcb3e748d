"""Old links lead on: renamed pages, and the page for addresses that do not exist."""

import re

import pytest

from bookcheck.gates.browser import pages_of
from bookcheck.gates.controls import move_controls
from bookcheck.gates.links import broken_links
from bookcheck.paths import ROOT
from bookcheck.site.policy import stopped_by_policy
from bookcheck.site.redirects import faults_of_table, from_root, moved_page, moved_pages


def test_a_renamed_page_leads_to_the_new_one(addressed_site):
    page = (addressed_site / "chapters" / "01-old.html").read_text()
    assert '<a href="02-two.html">Two &amp; three</a>' in page
    assert 'content="0; url=02-two.html"' in page
    assert '<link rel="canonical" href="https://example.org/book/chapters/02-two.html" />' in page
    assert stopped_by_policy(page) == []
    assert '<a href="index.html">' in (addressed_site / "old.html").read_text()


def test_names_of_other_folders_are_found():
    assert 'href="../chapters/new.html"' in moved_page("notes/old", "chapters/new", "New")
    assert 'src="../_static/moved.js"' in moved_page("notes/old", "chapters/new", "New")


def test_a_wrong_line_of_the_table_is_named():
    pages = {"index", "chapters/new"}
    assert list(faults_of_table({"chapters/old": "chapters/new"}, pages)) == []
    assert list(faults_of_table({"chapters/old": "chapters/newer"}, pages)) == [
        "chapters/old has moved to chapters/newer, which is no page of the book"
    ]
    assert list(faults_of_table({"chapters/new": "index"}, pages)) == [
        "chapters/new has moved to index, and is still a page of the book"
    ]


def test_a_wrong_line_stops_the_build(build, write_book, markdown, tmp_path):
    folder = write_book(tmp_path, [markdown("# Chapter\n\nText.")])
    (folder / "_moved.yml").write_text("chapters/old: chapters/nowhere\n")
    done = build(folder, "--all", "-n", "-W", "--keep-going")
    assert done.returncode != 0
    assert "_moved.yml: chapters/old has moved to chapters/nowhere, which is no page" in done.stderr


def test_the_book_s_own_table_is_read():
    assert isinstance(moved_pages(ROOT), dict)


def test_the_missing_page_works_at_any_depth(addressed_site):
    page = (addressed_site / "404.html").read_text()
    addresses = re.findall(r'\s(?:href|src)="([^"]*)"', page)
    own = [address for address in addresses if not re.match(r"#|[a-z]+:", address)]
    assert len(own) > 20
    for address in own:
        assert address.startswith("/book/"), address
        assert (addressed_site / re.sub(r"[?#].*", "", address[6:] or "index.html")).is_file()
    assert 'data-content_root="/book/"' in page
    assert "canonical" not in page


def test_links_are_rooted_and_others_left():
    html = '<a href="x.html"><a href="#y"><a href="https://example.com"><img src="a/b.png">'
    assert from_root(html, "/book/") == (
        '<a href="/book/x.html"><a href="#y"><a href="https://example.com">'
        '<img src="/book/a/b.png">'
    )


def test_the_browser_run_looks_at_pages_that_stay(addressed_site):
    pages = pages_of(addressed_site)
    assert "chapters/02-two.html" in pages
    assert not {"chapters/01-old.html", "old.html", "404.html"} & set(pages)
    assert list(broken_links(addressed_site)) == []


@pytest.mark.browser
def test_a_browser_goes_there(addressed_site):
    seen = move_controls(
        addressed_site / "chapters" / "01-old.html",
        [{"act": [["waitFor", "article h1"]], "read": "article h1"}],
    )
    assert "Two & three" in seen["steps"][0][0]
