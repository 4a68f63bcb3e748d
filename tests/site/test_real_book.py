"""The book itself builds without a warning, from a clean start, and asks no other host."""

import re

import pytest
import yaml

from bookcheck.site.node import ROOT
from bookcheck.site.offline import external_requests


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
