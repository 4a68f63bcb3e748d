"""Every page carries the policy, and what it would stop is found."""

import pytest

from bookcheck.site.policy import HEADER, META, POLICY, stopped_by_policy
from bookcheck.site.theme import REPAIRS, repair

PAGE = f'<html><head><meta charset="utf-8" />{META}{{head}}</head><body>{{body}}</body></html>'


def page(head="", body=""):
    return PAGE.format(head=head, body=body)


@pytest.mark.parametrize(
    "part",
    [
        "<script>alert(1)</script>",
        '<script type="module">alert(1)</script>',
        "<style>p { color: red }</style>",
        '<button onclick="print()">Print</button>',
        "<button title='a > b' OnClick=print()>Print</button>",
        '<a href="javascript:print()">Print</a>',
        '<iframe src="a.html"></iframe>',
        '<base href="/x/">',
    ],
)
def test_a_planted_fault_is_found(part):
    assert len(stopped_by_policy(page(body=part))) == 1


@pytest.mark.parametrize(
    "part",
    [
        '<script src="a.js"></script>',
        '<script type="application/json">{"a": 1}</script>',
        '<p style="color: red">Formulas need this.</p>',
        "<!-- <script>alert(1)</script> --><p>turned on = run</p>",
        '<a href="https://example.com">to read</a>',
    ],
)
def test_what_the_policy_allows_is_no_fault(part):
    assert stopped_by_policy(page(body=part)) == []


def test_a_policy_that_is_absent_changed_or_late_is_found():
    assert "found []" in stopped_by_policy("<p>A page</p>")[0]
    assert stopped_by_policy(page().replace("object-src 'none'", "object-src *"))
    assert stopped_by_policy(page(head=META))
    late = f'<script src="a.js"></script>{META}'
    assert "stands before the policy" in stopped_by_policy(late)[0]


def test_no_script_in_a_page_and_no_other_host_are_allowed():
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["script-src"] == rules["style-src-elem"] == "'self' file:"
    assert "https:" not in POLICY
    assert "*" not in POLICY
    assert HEADER.startswith("Content-Security-Policy: default-src 'self'; ")
    assert "file:" not in HEADER


def test_what_the_theme_writes_moves_into_files():
    theme = (
        '<html data-content_root="../"><head><meta charset="utf-8" />'
        '<script data-cfasync="false">\n document.documentElement.dataset.mode = "x";\n</script>'
        "<noscript>\n<style>\n.pst-js-only { display: none !important; }\n</style></noscript>"
        "<script>DOCUMENTATION_OPTIONS.pagename = 'a/b';</script></head>"
        '<body><button onclick="window.print()">PDF</button></body></html>'
    )
    html, idle = repair(theme)
    assert stopped_by_policy(html) == []
    assert '<script src="../_static/early.js"></script>' in html
    assert "<button data-print>" in html
    assert len(idle) == len(REPAIRS) - 4


def test_every_page_of_a_site_carries_it(good_site):
    pages = [path for path in good_site.rglob("*.html") if "_static" not in path.parts]
    assert len(pages) > 5
    for path in pages:
        assert stopped_by_policy(path.read_text(encoding="utf-8")) == [], path
    assert (good_site / "_static" / "early.js").is_file()


@pytest.mark.browser
def test_a_browser_stops_a_planted_script(good_site, open_page):
    planted = good_site / "planted.html"
    text = (good_site / "index.html").read_text(encoding="utf-8")
    planted.write_text(
        text.replace("</h1>", "</h1><script>document.title = 'run'</script>", 1), encoding="utf-8"
    )
    try:
        page = open_page(planted)
    finally:
        planted.unlink()
    assert any("Content Security Policy" in error for error in page.errors)
    page.errors.clear()
    assert page.title() != "run"
