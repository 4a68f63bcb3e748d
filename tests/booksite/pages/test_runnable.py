"""Listings that run in the page: which are offered, and what a reader does with them.

Those that need Python in the browser run where the site was built with `make book RUNNABLE=yes`.
"""

import functools
import re
import threading
from contextlib import ExitStack
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from bookformat.notebooks import read
from bookformat.paths import BUILD, CHAPTERS, NODE_ROOM, STATIC
from booksite.node.packages import ensure_packages
from booksite.runnable import PYTHON, SCRIPTS, choose
from booksite.workshop import FOLDER

SITE = BUILD / "html"
MARK = f"_static/{SCRIPTS}/page.js"
PAGES = sorted(
    path for path in SITE.glob("chapters/**/*.html") if MARK in path.read_text(encoding="utf-8")
)
ROAD = "chapters/short-road.html"
LONGEST_WAIT = 120_000  # milliseconds, to load Python


def runnable(test):
    built = (SITE / "_static" / PYTHON).is_dir()
    skip = pytest.mark.skipif(not built, reason="the site was built without RUNNABLE=yes")
    return pytest.mark.built(skip(test))


# Which listings are offered

NUMPY = "import numpy as np\nx = np.ones(2)"


@pytest.mark.parametrize(
    ("cells", "offered"),
    [
        ([(NUMPY, True), ("print(x.sum())", True)], [True, True]),
        ([(NUMPY, True), ("def f():\n    y = x\n    return y", True), ("f()", True)], [True] * 3),
        # Pure arithmetic needs no NumPy, so it is no reason to load it.
        ([("print(1 + 1)", True), (NUMPY, True)], [False, True]),
        # Folded code is not offered, and neither is what uses its names.
        ([(NUMPY, False), ("print(x)", True)], [False, False]),
        # A name that another cell binds again holds something else.
        ([(NUMPY, True), ("x = 1", False), ("print(x)", True)], [True, False, False]),
        # Other packages, at the top or inside a function.
        ([("import numpy as np\nimport torch", True)], [False]),
        ([(f"{NUMPY}\ndef f():\n    from bookkit.tables import show_table", True)], [False]),
        # Names inside a function are its own.
        ([(f"{NUMPY}\ndef f(z):\n    y = z", True), ("print(y)", True)], [True, False]),
        # So are names of a comprehension, in every Python, and they may be those of other cells.
        ([(f"{NUMPY}\nz = [y for y in x]", True), ("print(y)", True)], [True, False]),
        ([(NUMPY, True), ("[x for x in (1, 2)]", False), ("print(x)", True)], [True, False, True]),
    ],
)  # fmt: skip
def test_listings_that_need_only_numpy_are_offered(cells, offered):
    assert choose(cells) == offered


@pytest.mark.parametrize(
    "page",
    ["short-road", "attention", "why-sqrt-d", "sinusoids", "deriving-rope", "implementing-rope"],
)
def test_chapters_have_such_listings(page):
    path = CHAPTERS / f"{page}.ipynb"
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert any(choose((cell.source, "tags" not in cell.metadata) for cell in cells))


def test_a_plain_build_has_none_of_it(good_site):
    assert not [
        name for name in (SCRIPTS, PYTHON, FOLDER) if (good_site / "_static" / name).exists()
    ]
    assert not [p for p in good_site.rglob("*.html") if SCRIPTS in p.read_text(encoding="utf-8")]


# The built site, from a server


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        self.server.asked.append(self.path)


@pytest.fixture
def serve():
    """Serve a folder; the list `asked` of the server has the paths that were asked for."""
    with ExitStack() as servers:

        def start(folder):
            handler = functools.partial(Handler, directory=folder)
            server = servers.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
            servers.callback(server.shutdown)
            server.asked, server.address = [], f"http://127.0.0.1:{server.server_port}"
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return server

        yield start


@pytest.fixture
def visit(browser):
    """Open an address in a window of its own; nothing may go wrong on the page."""
    contexts, errors = [], []

    def go(address, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(error.message))
        page.goto(address)
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []


def run(listing):
    """Click "Run" and return what the page says in the end."""
    listing.get_by_role("button", name="Run").click()
    button = listing.get_by_role("button", name=re.compile("Run|Stop"))
    expect(button).to_have_text("Run", timeout=LONGEST_WAIT)
    return listing.get_by_role("status").inner_text()


@runnable
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_listing_gives_what_is_printed(path, serve, visit):
    server = serve(SITE)
    page = visit(f"{server.address}/{path.relative_to(SITE).as_posix()}")
    assert not [asked for asked in server.asked if f"/{PYTHON}/" in asked]
    for listing in page.locator(".cell.runnable").all():
        outputs = listing.locator(".cell_output pre")
        # Not `inner_texts`: they leave out what the browser has not laid out yet.
        printed = outputs.all_text_contents()
        said = run(listing)
        if printed:
            assert said == "The same as printed:"
            assert outputs.all_text_contents() == printed * 2
        else:
            assert said == "It ran without an error; it prints nothing."


@runnable
def test_a_reader_changes_a_listing_restores_it_and_stops_it(serve, visit, tmp_path):
    page = visit(f"{serve(SITE).address}/{ROAD}")
    first, second = page.locator(".cell.runnable").all()[:2]
    result = first.locator(".cell_output pre").last

    def change(code):
        if first.get_by_role("button", name="Restore").count():
            first.get_by_role("button", name="Restore").click()
        first.get_by_role("button", name="Edit").click()
        page.keyboard.press("Control+End")
        page.keyboard.type(f"\n{code}")

    change("print(len(CITIES) / 4)")
    assert run(first) == "Not as printed; new and changed lines are marked:"
    assert result.locator("mark").all_inner_texts() == ["0.5"]
    # A later listing runs after the changed one, from the start.
    change("K = 1 / 0")
    assert run(first) == "Python reports an error:"
    expect(result).to_contain_text('File "listing 1", line 27, in <module>')
    assert run(second) == "An earlier listing, which runs first, failed:"

    # Nothing that a listing does reaches another host.
    other = serve(tmp_path)
    change(
        "from js import XMLHttpRequest\nrequest = XMLHttpRequest.new()\n"
        f"request.open('GET', '{other.address}', False)\nrequest.send()"
    )
    assert run(first) == "Python reports an error:"
    expect(result).to_contain_text("NetworkError")
    assert other.asked == []

    change("while True: pass")
    first.get_by_role("button", name="Run").click()
    expect(first.get_by_role("status")).to_have_text("Running …")
    expect(second.get_by_role("button", name="Run")).to_be_disabled()
    first.get_by_role("button", name="Stop").click()
    expect(first.get_by_role("status")).to_have_text("Stopped.")
    first.get_by_role("button", name="Restore").click()
    expect(first.locator(".cell_input pre")).to_be_visible()
    assert run(second) == "The same as printed:"


# NumPy writes a result over an array that nobody needs any more, if that has 256 KiB or more, such
# as 182 rows of 182 numbers of 8 bytes. Before it does, it asks the C library who called it.
LARGE = "a = np.ones((182, 182))\nprint(float(((a + 1) / 2).sum()))"


@runnable
def test_a_large_temporary_array_does_not_stop_python(serve, visit):
    page = visit(f"{serve(SITE).address}/{ROAD}")
    first = page.locator(".cell.runnable").first
    first.get_by_role("button", name="Edit").click()
    first.locator("textarea").fill(f"import numpy as np\n{LARGE}")
    assert run(first).startswith("Not as printed")
    expect(first.locator(".cell_output pre").last).to_have_text("33124.0")


@pytest.mark.browser
@pytest.mark.parametrize("module", ["undefined", "{}", "{ mergeLibSymbols: 1 }"])
def test_another_pyodide_may_lack_what_is_private(visit, module):
    page = visit("about:blank")
    page.add_script_tag(path=STATIC / SCRIPTS / "private.js")
    page.evaluate(f"() => addBacktrace({{ _module: {module} }})")


@runnable
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_buttons_and_editor_are_accessible(serve, visit, width, scheme):
    size = {"width": width, "height": 844}
    page = visit(f"{serve(SITE).address}/{ROAD}", viewport=size, color_scheme=scheme)
    for bar in page.locator(".run-bar").all():
        bar.get_by_role("button", name="Edit").click()
    ensure_packages(NODE_ROOM)
    axe = NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js"
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('.cell.runnable')")["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@runnable
def test_where_python_cannot_run_the_page_says_what_to_do(serve, visit, tmp_path):
    words = re.compile("see “Run this chapter” at the top")
    for options, address in (
        ({}, (SITE / ROAD).as_uri()),
        ({"java_script_enabled": False}, f"{serve(SITE).address}/{ROAD}"),
    ):
        page = visit(address, **options)
        expect(page.locator(".run-note")).to_contain_text(words)
        expect(page.locator(".run-bar")).to_have_count(0)
    # The zip file has the scripts without Python; somebody may serve it.
    (tmp_path / "_static").mkdir()
    for part in (SITE / "chapters", *(SITE / "_static").iterdir()):
        if part.name != PYTHON:
            (tmp_path / part.relative_to(SITE)).symlink_to(part)
    page = visit(f"{serve(tmp_path).address}/{ROAD}")
    assert words.search(run(page.locator(".cell.runnable").first))
