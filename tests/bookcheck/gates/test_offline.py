"""What a browser would load from another host is found in the files."""

import pytest

from bookcheck.gates.offline import (
    external_in_css,
    external_in_html,
    external_in_script,
    external_requests,
)


@pytest.mark.parametrize(
    "html",
    [
        '<img src="https://example.com/a.png">',
        '<img src="//example.com/a.png">',
        '<img srcset="a.png 1x, https://example.com/a.png 2x">',
        '<script src="http://example.com/a.js"></script>',
        '<script>fetch("https://example.com/")</script>',
        '<script>load("//cdn.example.com/a.js")</script>',
        '<link rel="stylesheet" href="https://example.com/a.css">',
        '<link rel="preconnect" href="https://example.com">',
        '<style>@import "https://example.com/a.css";</style>',
        '<p style="background: url(https://example.com/a.png)">',
        '<iframe src="https://example.com"></iframe>',
        '<form action="https://example.com"></form>',
        '<svg><image xlink:href="https://example.com/a.png"/></svg>',
        '<svg><use href="https://example.com/a.svg#b"/></svg>',
        '<meta http-equiv="refresh" content="0; url=https://example.com">',
        '<base href="https://example.com/">',
        "<button onclick=\"open('https://example.com')\">",
    ],
)
def test_each_way_to_load_is_caught(html):
    assert len(external_in_html(html)) == 1


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://example.com">to read</a>',
        '<link rel="canonical" href="https://example.com">',
        '<img src="a.png"><script src="../a.js?v=1"></script>',
        '<img src="data:image/png;base64,//8=">',
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        "<p>https://example.com in the text</p>",
    ],
)
def test_links_and_own_files_are_fine(html):
    assert external_in_html(html) == []


def test_style_sheets_and_scripts():
    assert external_in_css("a{src:url('https://example.com/f.woff2')}")
    assert external_in_css("/* see url(https://example.com) */ a{src:url(f.woff2)}") == []
    assert external_in_script("const a = 'https://example.com/x'")
    assert external_in_script("// https://example.com\n/* https://example.com */ a()") == []
    assert external_in_script('createElementNS("http://www.w3.org/2000/svg", "g")') == []


def test_a_fault_is_named_with_its_file(tmp_path):
    (tmp_path / "index.html").write_text("<p>fine</p>")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.html").write_text('<img src="https://example.com/a.png">')
    assert list(external_requests(tmp_path)) == [
        'chapters/a.html asks another host: <img src="https://example.com/a.png">'
    ]


def test_an_empty_folder_is_not_a_clean_site(tmp_path):
    with pytest.raises(FileNotFoundError, match="make book"):
        list(external_requests(tmp_path))
