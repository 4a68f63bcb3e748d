"""What is seen first stays where it is: letters and scripts that come late move nothing.

A page asks for some faces before it is drawn (`data-faces`, theme.py). Each built page comes from a
server that gives the last style sheet, without which nothing is drawn, after these: on a busy
machine they would else come too late. The other faces are held back until all else is there. How
far things move is Chromium's measure, the layout shift.
"""

import functools
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pytest

from bookformat.paths import BUILD
from moments import wait_until_drawn

SITE = BUILD / "html"
PAGES = sorted(
    (p for p in SITE.rglob("*.html") if "/_" not in f"/{p.relative_to(SITE).as_posix()}"),
    key=lambda path: (-path.stat().st_size, path),
)
LARGEST_SHIFT = 0.05
SIZES = {1280: 900, 390: 844}
NOTE_SHIFTS = """globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries()) {
    const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
    const moved = sources.map(({ node, previousRect, currentRect }) => {
      const html = (node?.parentElement ?? node)?.outerHTML.slice(0, 80);
      return `${box(previousRect)} -> ${box(currentRect)}: ${html}`;
    });
    shifts.push([value, ...moved.slice(0, 3)]);
  }
}).observe({ type: "layout-shift", buffered: true });"""
SETTLED = """() => document.fonts.ready.then(() => new Promise(
  (done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100)))))"""


LAST_SHEET = "widgets.css"
FACE = ".woff2"
LONGEST_WAIT = 20  # seconds


class Server(ThreadingHTTPServer):
    """A server that gives the last style sheet of a page after its early faces."""

    def expect(self, faces):
        """Say which faces the next page asks for before it is drawn."""
        self.missing = set(faces)
        self.all_given = threading.Event()
        self.note("")

    def note(self, given):
        """Remember that a face was given."""
        self.missing.discard(given)
        if not self.missing:
            self.all_given.set()


class Handler(SimpleHTTPRequestHandler):
    """Its answers; it says nothing."""

    def do_GET(self):
        file = PurePosixPath(urlsplit(self.path).path)
        if file.name == LAST_SHEET:
            self.server.all_given.wait(LONGEST_WAIT)
        super().do_GET()
        if file.suffix == FACE:
            self.server.note(file.stem)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    handler = functools.partial(Handler, directory=SITE)
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


LETTERS_ARE_DRAWN = """performance.getEntriesByName("first-contentful-paint").length > 0"""
# Should the early faces come when letters are drawn already, a visit says nothing about the others.
EARLY_FACES_WERE_LATE = """(early) => {
  const [{ startTime }] = performance.getEntriesByName("first-contentful-paint");
  const stem = (address) => address.split("/").at(-1).replace(".woff2", "");
  return performance.getEntriesByType("resource").some(
    ({ name, responseEnd }) => early.includes(stem(name)) && responseEnd > startTime - 50);
}"""
MOST_VISITS = 4


def shifts_of(browser, server, page, early, width):
    """How far things moved while the page came, of a visit to which its early faces came early."""
    url = f"http://127.0.0.1:{server.server_port}/{page}"
    for _ in range(MOST_VISITS):
        server.expect(early)
        were_late, found = visit(browser, url, early, width)
        if not were_late:
            return found
    pytest.fail(
        f"in {MOST_VISITS} visits at a width of {width} px the faces that {url} asks for first "
        "came after its letters were drawn: the machine is too busy to say whether the others "
        "move anything; run the test again, alone"
    )


def visit(browser, url, early, width):
    """Whether the early faces came late; and how far things moved, each with what moved."""
    context = browser.new_context(viewport={"width": width, "height": SIZES[width]})
    late_faces = all_faces_but(early)
    held = []
    are_held = True

    def hold(route):
        if are_held:
            held.append(route)
        else:
            route.continue_()

    try:
        context.add_init_script(NOTE_SHIFTS)
        page = context.new_page()
        page.route(late_faces, hold)
        page.goto(url, wait_until="domcontentloaded")
        page.wait_for_function(LETTERS_ARE_DRAWN)
        wait_until_drawn(page)
        # What scripts ask for only now is not held, else the page would wait for it for ever.
        are_held = False
        for route in held:
            route.continue_()
        page.wait_for_load_state("load")
        page.evaluate(SETTLED)
        return page.evaluate(EARLY_FACES_WERE_LATE, early), page.evaluate("shifts")
    finally:
        context.close()


def all_faces_but(early):
    """The addresses of the other faces; the early ones do not wait for Python."""
    names = "|".join(re.escape(stem) for stem in early)
    return re.compile(rf"/(?!(?:{names})\.woff2)[^/]+\.woff2$")


@pytest.mark.built
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_nothing_moves_while_a_page_comes(browser, server, path):
    page = path.relative_to(SITE).as_posix()
    early = re.search(r'data-faces="([^"]*)"', path.read_text(encoding="utf-8"))[1].split()
    for width in SIZES:
        found = shifts_of(browser, server, page, early, width)
        assert sum(shift for shift, *_ in found) <= LARGEST_SHIFT, (width, found)


@pytest.mark.built
def test_letters_that_come_late_would_be_seen(browser, server):
    page = "chapters/encoder-decoder.html"
    found = shifts_of(browser, server, page, ["inter-latin-400-normal"], 390)
    assert sum(shift for shift, *_ in found) > LARGEST_SHIFT
