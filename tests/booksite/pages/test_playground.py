"""The playground: a reader types, chooses a head, switches parts, stops, and sends a link.

As for the editors of the workshop, the page here is a small one that a test writes, with the
scripts, the style, Python and the files of the site. It is skipped where Python for the browser is
not installed (`make workshop` installs it).
"""

import functools
import re
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from bookformat.paths import NODE_ROOM, STATIC
from bookkit.workshop.playground import LENGTHS, LONGEST_PROMPT, RULES, Playground
from bookkit.workshop.probes import WEIGHTS
from booksite.node.packages import ensure_packages, installed
from booksite.playground import script_tags
from booksite.runnable import FILES, FORMS, PYTHON, ROOM, SCRIPTS
from booksite.workshop import FOLDER, pack

LONGEST_WAIT = 180_000  # milliseconds, to load Python
needs_python = pytest.mark.skipif(not installed(ROOM), reason="no Python for the browser")

PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Playground</title>
<link rel="stylesheet" href="_static/book.css"></head><body style="background:
var(--pst-color-background); color: var(--pst-color-text-base)"><main class="bd-article">
<h1>Playground</h1><div class="playground"><p>make workshop</p></div>
{scripts}<div class="cell"><figure id="fig-playground">A picture</figure></div></main></body>"""
ENDLESS = "\ndef losses(model):\n    while True:\n        pass\n"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder that is served: a page, and one whose model computes for ever."""
    folder = tmp_path_factory.mktemp("site")
    for part in ("", "endless/"):
        static = folder / part / "_static"
        static.mkdir(parents=True)
        (static / "book.css").symlink_to(STATIC / "book.css")
        for name in (FORMS, SCRIPTS):
            (static / name).symlink_to(STATIC / name)
        (static / PYTHON).mkdir()
        for name, path in FILES.items():
            (static / PYTHON / name).symlink_to(ROOM / "node_modules" / path)
        pack(static / FOLDER)
        page = PAGE.format(scripts=script_tags(""))
        (folder / part / "page.html").write_text(page, encoding="utf-8")
    spoil(folder / "endless" / "_static" / FOLDER / "tools.zip")
    handler = functools.partial(QuietHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def spoil(archive):
    """Give the model of an archive a computation without an end."""
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    files["bookkit/workshop/playground.py"] += ENDLESS.encode()
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in files.items():
            new.writestr(name, content)


@pytest.fixture
def reader(browser, site):
    """Open pages in a window of a reader; requests to other hosts and errors are counted."""
    contexts, errors, elsewhere = [], [], []

    def visit(address, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(error.message))
        page.on("request", lambda one: elsewhere.append(one.url) if is_other(one.url) else None)
        page.goto(f"{site}/{address}")
        return page

    def is_other(url):
        return not url.startswith((site, "blob:", "data:"))

    yield visit
    for context in contexts:
        context.close()
    assert errors == []
    assert elsewhere == []


def said(page):
    """What the page says when the model has computed everything."""
    status = page.locator(".playground .status")
    expect(status).to_have_text(re.compile(r"^Loss [^:]*\.$"), timeout=LONGEST_WAIT)
    return status.inner_text()


def losses_in(sentence):
    return [float(number) for number in re.findall(r"\d+\.\d\d", sentence)]


def head_button(page, layer, head):
    return page.get_by_role("button", name=f"layer {layer}, head {head}")


@pytest.fixture(scope="module")
def model():
    return Playground(WEIGHTS.read_bytes())


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_a_reader_types_chooses_a_head_switches_and_sends_a_link(reader, model):
    page = reader("page.html")
    expect(page.get_by_text("make workshop")).to_be_hidden()
    expect(page.get_by_text("A picture")).to_be_hidden()
    (trained,) = losses_in(said(page))
    *_, measured = model.measures({})
    assert trained == pytest.approx(measured["trained"], abs=0.006)

    # The next bytes are those of the same functions outside the browser.
    page.get_by_role("textbox").fill("import numpy as n")
    expect(page.locator(".next tbody th").first).to_have_text("p", timeout=LONGEST_WAIT)
    (found,) = model.looks("import numpy as n", {})
    expect(page.locator(".next tbody th")).to_have_count(len(found["next"]))
    shown = page.locator(".next tbody tr td:last-child").all_inner_texts()
    assert shown[0] == f"{100 * found['next'][0][1]:.0f}\u00a0%"

    # Heads by keys, tokens by the slider.
    head_button(page, 0, 1).focus()
    page.keyboard.press("ArrowDown")
    expect(head_button(page, 1, 1)).to_be_focused()
    expect(page.get_by_role("heading", name="Layer 1, head 1")).to_be_visible()
    page.get_by_role("slider").fill("2")
    expect(page.locator(".said")).to_contain_text(re.compile("Token 2, “m”, looks at: .*%"))

    # A switch: the loss before and after, and what the address says.
    page.get_by_label("switch this head off").check()
    page.get_by_label("rotation off").check()
    before, after = losses_in(said(page))
    *_, measured = model.measures({"heads": [[1, 1]], "rotation": False})
    assert before == trained
    assert after == pytest.approx(measured["changed"], abs=0.006)
    expect(head_button(page, 1, 1)).to_have_class(re.compile("is-off"))
    expect(page).to_have_url(re.compile("heads=1.1"))

    # The text streams, as trained and changed, and the same seed gives the same text.
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled(timeout=LONGEST_WAIT)
    texts = page.locator(".texts pre").all_inner_texts()
    written = model.writes("import numpy as n", {}, 120, seed=0)
    text = bytes(event["token"] for event in written if event["token"] < 256).decode()
    assert texts[0] == f"import numpy as n{text}"
    assert texts[1] not in ("", texts[0])

    # Somebody else opens the link and sees the same.
    other = reader(page.url.split("/", 3)[3])
    expect(other.get_by_role("textbox")).to_have_value("import numpy as n")
    expect(other.get_by_label("rotation off")).to_be_checked()
    assert losses_in(said(other)) == [before, after]
    expect(other.locator(".said")).to_contain_text("Token 2")
    # Back to the trained model; the prompt stays.
    other.get_by_role("button", name="All as trained").click()
    assert losses_in(said(other)) == [trained]
    expect(other).to_have_url(re.compile(r"#prompt=import\+numpy\+as\+n&layer=1&token=2$"))


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_a_long_text_is_stretched_and_the_reader_can_stop(reader):
    page = reader("page.html#length=2048&rule=yarn", viewport={"width": 390, "height": 844})
    before, after = losses_in(said(page))
    assert before > 2
    assert after < 1.2
    page.get_by_label("frequencies").select_option("linear")
    expect(page.locator(".status")).to_contain_text("of 2,048 bytes", timeout=LONGEST_WAIT)
    page.get_by_role("textbox").fill("x = ")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".status")).to_contain_text("Stopped.")
    expect(page.get_by_role("textbox")).to_have_value("x = ")
    page.get_by_label("fixed text of").select_option("512")
    assert len(losses_in(said(page))) == 2
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_a_computation_without_an_end_is_ended_and_nothing_is_lost(reader):
    page = reader("endless/page.html")
    status = page.locator(".status")
    expect(page.locator(".next tbody tr").first).to_be_visible(timeout=LONGEST_WAIT)
    page.get_by_role("textbox").fill("what I typed")
    with page.workers[0].expect_event("close", timeout=LONGEST_WAIT):
        page.get_by_role("button", name="Stop").click()
        expect(status).to_contain_text("Stopped. What you typed is still there")
    expect(page.get_by_role("textbox")).to_have_value("what I typed")
    # A new worker answers.
    page.get_by_label("causal mask off").check()
    expect(page.locator(".said")).to_contain_text("Token 12", timeout=LONGEST_WAIT)
    page.reload()
    expect(page.get_by_role("textbox")).to_have_value("what I typed")


SIZES = """[...document.querySelectorAll('.playground *')]
  .filter((one) => one.checkVisibility() && [...one.childNodes].some((n) => n.nodeType === 3))
  .map((one) => parseFloat(getComputedStyle(one).fontSize))"""


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_it_is_accessible_on_a_phone_and_its_letters_are_large_enough(reader):
    page = reader("page.html#heads=0.1", viewport={"width": 390, "height": 844})
    said(page)
    assert min(page.evaluate(SIZES)) >= 10
    for button in page.locator(".small-maps button").all()[:2]:
        assert min(button.bounding_box()[side] for side in ("width", "height")) >= 40
    ensure_packages(NODE_ROOM)
    page.evaluate((NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js").read_text())
    pictures = []
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        found = page.evaluate("axe.run('.playground')")["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == []
        pictures.append(page.evaluate("document.querySelector('.scroller canvas').toDataURL()"))
    assert pictures[0] != pictures[1]  # the maps are drawn anew


def test_the_page_offers_what_the_model_has():
    script = (STATIC / SCRIPTS / "playground" / "state.js").read_text(encoding="utf-8")
    rules = re.findall(r"^    (\w+): phrase`", script, re.MULTILINE)
    assert tuple(rules) == RULES
    assert f"const LENGTHS = {list(LENGTHS)};" in script
    assert f"const LONGEST = {LONGEST_PROMPT};" in script
