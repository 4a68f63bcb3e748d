"""What a browser fetches for the opening page, before its reader does anything."""

import gzip
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from bookformat.paths import BUILD

INDEX = BUILD / "html" / "index.html"
# In bytes: packed by gzip, as servers send it, and unpacked.
LARGEST_SENT, LARGEST = 300_000, 600_000
PACKED_ALREADY = {".woff2", ".png"}


@pytest.mark.built
@pytest.mark.parametrize("width", [1280, 390])
def test_the_opening_page_is_light(open_page, width):
    page = open_page(INDEX, width)
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url)))
    page.reload()
    page.wait_for_selector(".interactive[data-ready]")
    page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready.then(() => {})")
    files = {Path(url2pathname(one.path)) for one in asked if one.scheme == "file"}
    assert {".css", ".js", ".woff2"} <= {file.suffix for file in files}
    bodies = {file: file.read_bytes() for file in files}
    sent = {
        file.name: len(body if file.suffix in PACKED_ALREADY else gzip.compress(body))
        for file, body in bodies.items()
    }
    assert sum(sent.values()) <= LARGEST_SENT, sorted(sent.items(), key=lambda one: -one[1])[:8]
    assert sum(map(len, bodies.values())) <= LARGEST
