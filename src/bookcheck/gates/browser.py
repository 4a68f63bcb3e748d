"""Read a built site as a browser does: every page, two widths, light and dark, with and without
JavaScript. `bookcheck.gates` runs it on the book.

Loading a page and laying it out takes most of the time. So a page is loaded once or twice, and the
window's width and colours change under it, as a reader may turn a phone or dim the light.
"""

import asyncio
import contextlib
import os
import re
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from playwright.async_api import Browser, BrowserContext, Page, Request, async_playwright

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM

T = TypeVar("T")
Scheme = Literal["light", "dark"]

INSPECTION = Path(__file__).with_name("in_page.js")
ON_PAPER = Path(__file__).with_name("on_paper.js")
AXE = NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js"
PHONE = 600  # narrower windows are phones
WIDE = 1200  # here every line of code is seen whole
PAPER = 612  # the text on an A4 page, in pixels
PAGE_PATIENCE = 90_000  # milliseconds
WIDGET_PATIENCE = 10_000
# 300 ms after a change of width the theme looks which boxes scroll now, and lets the keyboard into
# them. Timers of a page run in the order of their times, however busy the machine is.
AFTER_THE_THEME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 350)))"
# Of a page's text, as much must be there without JavaScript.
LEAST_SHARE_OF_LETTERS = 0.97
# The first has no windows to draw, and takes a quarter less time.
CHROMIUM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
)
CHROMIUM_ON_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
# Letters have the same widths in every Chromium, on the screen as on paper.
QUIET = (
    "--disable-background-networking",
    "--disable-gpu",
    "--font-render-hinting=none",
    "--no-sandbox",
)
ARGUMENTS = (
    *QUIET,
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    # Requests to other hosts are reported, and get no further than this.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--no-first-run",
)
TYPES = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".ipynb": "application/json",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong on one page in one mode."""

    page: str
    mode: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.page} [{self.mode}] {self.kind}: {self.detail}"


@dataclass(frozen=True)
class PageDone:
    """A page that was looked at in every mode; `bytes` is all it loaded, uncompressed."""

    page: str
    seconds: float
    bytes: int
    faults: list[Fault]


@dataclass(frozen=True)
class Picture:
    """The first screen of a page, to be stored in a file."""

    page: str
    width: int
    height: int
    scheme: Scheme
    file: str


@dataclass
class Visit:
    """What a browser run found, and the seconds that each of its steps took."""

    faults: list[Fault] = field(default_factory=list)
    pages: list[PageDone] = field(default_factory=list)
    steps: dict[str, float] = field(default_factory=lambda: defaultdict(float))


class State(NamedTuple):
    """What a window is: its width, and the colours that the machine is set to."""

    width: int
    scheme: Scheme


class Load(NamedTuple):
    """A page is loaded in the first state; then the window changes to the others.

    In the last one axe looks at the whole page; without `whole`, as in the states before, at what
    no other has shown. With `frame` that is also the table of contents at the side, which all pages
    share, and axe's own measure of contrast.
    """

    javascript: bool
    states: tuple[State, ...]
    whole: bool = True
    frame: bool = False


Plan = tuple[Load, ...]
# How a page is looked at. Everything: every combination of width, colours and JavaScript, and a
# page with scripts is loaded in each width and each colour.
WIDE_LIGHT, WIDE_DARK = State(1280, "light"), State(1280, "dark")
PHONE_LIGHT, PHONE_DARK = State(390, "light"), State(390, "dark")
EVERY: Plan = (
    Load(True, (WIDE_LIGHT, WIDE_DARK), frame=True),
    Load(True, (PHONE_DARK, PHONE_LIGHT), frame=True),
    Load(False, (PHONE_LIGHT, PHONE_DARK, WIDE_DARK, WIDE_LIGHT), frame=True),
)
# Each width in each colour, each width and each colour with and without JavaScript: what is wrong
# by two of the three is seen in half the modes.
PAIRS: Plan = (
    Load(True, (PHONE_DARK, WIDE_LIGHT)),
    Load(False, (PHONE_LIGHT, WIDE_DARK), whole=False),
)
ONCE: Plan = (Load(True, (PHONE_LIGHT,)),)
# One load for each mode: pictures show a page as it comes, before its folds are opened.
EACH: Plan = tuple(load._replace(states=(state,)) for load in EVERY for state in load.states)


def find_chromium() -> str:
    """Return the path of Chromium, or raise with what to do."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    for name in CHROMIUM_NAMES:
        path = shutil.which(name)
        if path:
            return path
    if Path(CHROMIUM_ON_MAC).exists():
        return CHROMIUM_ON_MAC
    raise FileNotFoundError(
        "Chromium is missing: install the package `chromium` (quicker: `chromium-headless-shell`), "
        "or set CHROMIUM to the path of a Chromium or Chrome program"
    )


def pages_of(site: Path) -> list[str]:
    """Return the addresses of all pages that can be looked at, relative to the site."""
    return sorted(
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if not path.relative_to(site).parts[0].startswith("_") and not _belongs_elsewhere(path)
    )


def _belongs_elsewhere(path: Path) -> bool:
    """Whether a page needs a host with the site in a folder (404.html)."""
    with path.open("rb") as file:
        return bool(re.search(rb'data-content_root="/[^"]', file.read(4000)))


class _Files(BaseHTTPRequestHandler):
    """Serves the files of a folder, and nothing else."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: Any, site: Path) -> None:
        self.site = site
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answer with the file, or that there is none."""
        path = (self.site / unquote(urlsplit(self.path).path).lstrip("/")).resolve()
        found = path.is_file() and path.is_relative_to(self.site)
        body = path.read_bytes() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        # A browser that closes a page no longer wants the rest.
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(site: Path) -> Iterator[str]:
    """Serve a folder on this machine, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, site=site.resolve()))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Do a piece of work in a thread of its own: a browser that is not async holds this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _new_context(browser: Browser, *, javascript: bool) -> BrowserContext:
    return await browser.new_context(
        java_script_enabled=javascript, reduced_motion="reduce", service_workers="block"
    )


async def _open(page: Page, address: str, state: State, height: int) -> None:
    # The page before would be laid out once more, for nobody.
    await page.goto("about:blank")
    await _become(page, state, height)
    await page.goto(address, wait_until="load", timeout=PAGE_PATIENCE)


async def _become(page: Page, state: State, height: int) -> None:
    # At once: one after the other, the page would get its styles and be drawn twice.
    await asyncio.gather(
        page.set_viewport_size({"width": state.width, "height": height}),
        page.emulate_media(color_scheme=state.scheme, media="screen"),
    )


@contextlib.contextmanager
def _listening(
    page: Page, origin: str, javascript: bool, add: Callable[[str, str], None]
) -> Iterator[Callable[[], None]]:
    """Report what the page asks for and complains about; gives a function that stops it early."""

    def on_console(message: Any) -> None:
        # The failed request itself is reported below, with its address.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            add("console", message.text)

    def on_request(request: Request) -> None:
        if not request.url.startswith((f"{origin}/", "data:", "blob:")):
            add("external", f"asks another host: {request.url}")

    def on_failure(request: Request) -> None:
        wanted = javascript or request.resource_type != "script"
        if wanted and request.url.startswith(origin):
            add("request", f"{request.failure} for {request.url}")

    def on_response(response: Any) -> None:
        if response.status >= 400:
            add("request", f"{response.status} for {response.url}")

    listeners: dict[Any, Callable[[Any], None]] = {
        "console": on_console,
        "pageerror": lambda error: add("console", error.message),
        "request": on_request,
        "requestfailed": on_failure,
        "response": on_response,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    waiting = list(listeners.items())

    def stop() -> None:
        while waiting:
            page.remove_listener(*waiting.pop())

    try:
        yield stop
    finally:
        stop()


@dataclass
class _Look:
    """One load of a page, and what is found in each of its states."""

    page: Page
    name: str
    load: Load
    visit: Visit
    faults: list[Fault]

    def __post_init__(self) -> None:
        self.state = self.load.states[0]
        self.javascript = self.load.javascript
        self.manner = "" if self.javascript else ", no JavaScript"
        self.letters: dict[int, int] = {}
        self.parts: dict[State, set[str]] = {}

    def in_scheme(self, kind: str, detail: str) -> None:
        """Note a fault that depends on the colours."""
        mode = f"{self.state.width} {self.state.scheme}{self.manner}"
        self.faults.append(Fault(self.name, mode, kind, detail))

    def in_width(self, kind: str, detail: str) -> None:
        """Note a fault that does not."""
        self.faults.append(Fault(self.name, f"{self.state.width}{self.manner}", kind, detail))

    async def timed(self, step: str, work: Awaitable[T]) -> T:
        """Do a piece of work, and count its seconds under a name."""
        start = time.monotonic()
        try:
            return await work
        finally:
            self.visit.steps[step] += time.monotonic() - start

    async def run(self, step: str, *values: Any) -> Any:
        """Call a function of the inspection inside the page."""
        call = "([step, values]) => inspect[step](...values)"
        return await self.timed(step, self.page.evaluate(call, [step, list(values)]))

    async def collect(
        self, report: Callable[[str, str], None], kind: str, step: str, *values: Any
    ) -> None:
        """Note everything that a function of the inspection finds."""
        for detail in await self.run(step, *values):
            report(kind, detail)

    def height(self) -> int:
        """The height of the window."""
        return 844 if self.state.width < PHONE else 900

    async def become(self, state: State) -> None:
        """Let the window have another width or the machine other colours; the page must follow."""
        resized = state.width != self.state.width
        self.state = state
        await self.timed("change", _become(self.page, state, self.height()))
        if resized and self.javascript:
            await self.timed("change", self.page.evaluate(AFTER_THE_THEME))
        await self.collect(self.in_scheme, "scheme", "findOtherScheme", state.scheme)

    async def open(self, origin: str) -> None:
        """Load the page, without scripts if that is asked for; the inspection needs them."""
        session = await self.page.context.new_cdp_session(self.page)
        disable = "Emulation.setScriptExecutionDisabled"
        if not self.javascript:
            await session.send(disable, {"value": True})
        address = f"{origin}/{self.name}"
        await self.timed("load", _open(self.page, address, self.state, self.height()))
        if not self.javascript:
            await session.send(disable, {"value": False})
        await session.detach()
        await self.page.evaluate(INSPECTION.read_text(encoding="utf-8"))
        ready = "() => document.fonts.ready.then(() => {})"
        await self.timed("fonts", self.page.evaluate(ready))

    async def inspect(self) -> int:
        """Look at everything but axe's rules, in each state; return the bytes of the page."""
        await self.run("prepare")
        await self.collect(self.in_scheme, "scheme", "findOtherScheme", self.state.scheme)
        if self.javascript:
            await self.collect(self.in_width, "widget", "wakeWidgets", WIDGET_PATIENCE)
        size: int = await self.run("countBytes")
        # Only after a key was pressed does the browser show where the focus is.
        await self.page.keyboard.press("Tab")
        for state in self.load.states:
            if state != self.state:
                await self.become(state)
            if state.width not in self.letters:
                await self.inspect_layout()
            await self.collect(self.in_scheme, "contrast", "findFaintText")
            await self.collect(self.in_scheme, "contrast", "findLinksLikeText")
            await self.collect(self.in_scheme, "figure", "findFaintMarks")
            await self.collect(self.in_scheme, "focus", "findUnseenFocus")
            self.parts[state] = set((await self.run("visibleParts")).split())
        return size

    async def inspect_layout(self) -> None:
        """Look at what depends on the width, and not on the colours."""
        if not self.javascript:
            await self.collect(self.in_width, "control", "findDeadControls")
        await self.collect(self.in_width, "overflow", "findOverflow")
        await self.collect(self.in_width, "scroll", "findUnreachableBoxes")
        await self.collect(self.in_width, "cut", "findCutWithoutSign")
        if self.state.width >= WIDE:
            await self.collect(self.in_width, "cut", "findCutCode")
        if self.state.width < PHONE:
            await self.collect(self.in_width, "letters", "findSmallLetters")
        await self.collect(self.in_width, "formula", "findBadFormulas")
        await self.collect(self.in_width, "heading", "findHeadingFaults")
        self.letters[self.state.width] = await self.run("countLetters")

    async def ask_axe(self, seen: set[str]) -> None:
        """Run axe's rules on the whole page in the last state, then on what only others show.

        `seen` are the parts that axe has looked at, in this load or another one; it grows.
        """
        lightened = False
        for state in self.load.states[::-1]:
            whole = self.load.whole and state == self.load.states[-1]
            fresh = self.parts[state] - seen
            seen |= fresh
            if not whole and not fresh:
                continue
            if not lightened:
                await self.run("lighten", self.load.frame)
                await self.timed("axe", self.page.evaluate(AXE.read_text(encoding="utf-8")))
                lightened = True
            if state != self.state:
                await self.become(state)
            parts = None if whole else " ".join(fresh)
            await self.collect(self.in_scheme, "axe", "findViolations", parts, self.load.frame)

    async def try_on_paper(self) -> None:
        """See what does not fit on the paper after wide lines became smaller, as in `make pdf`."""
        await self.page.emulate_media(media="print", color_scheme="light")
        await self.page.set_viewport_size({"width": PAPER, "height": 900})
        await self.page.evaluate(ON_PAPER.read_text(encoding="utf-8"))
        find = "() => { paper.shrinkWhatIsWide(); return paper.findWhatIsCut('.bd-article'); }"
        for detail in await self.timed("paper", self.page.evaluate(find)):
            self.faults.append(Fault(self.name, "paper", "print", detail))
        self.state = State(PAPER, "light")


def _screenshot_name(look: _Look) -> str:
    manner = "" if look.javascript else "-no-js"
    width, scheme = look.state
    return f"{look.name.replace('/', '_')}-{width}-{scheme}{manner}.png"


async def _check_page(
    windows: dict[bool, Page],
    origin: str,
    name: str,
    plan: Plan,
    visit: Visit,
    screenshots: Path | None,
) -> PageDone:
    start = time.monotonic()
    letters: dict[int, int] = {}
    faults: list[Fault] = []
    seen_by_axe: set[str] = set()
    size = 0
    for load in plan:
        page = windows[load.javascript]
        look = _Look(page, name, load, visit, faults)
        with _listening(page, origin, load.javascript, look.in_scheme) as stop:
            await look.open(origin)
            if screenshots:
                await page.screenshot(path=screenshots / _screenshot_name(look), full_page=True)
            size = max(size, await look.inspect())
            # As `make pdf` prints it: without scripts.
            if not load.javascript and await page.query_selector(".bd-article"):
                await look.try_on_paper()
            # Axe puts style elements into the page, which the site's policy refuses: its
            # complaint, not ours.
            stop()
            await look.ask_axe(seen_by_axe)
        for width, found in look.letters.items():
            other = letters.setdefault(width, found)
            if found < LEAST_SHARE_OF_LETTERS * other:
                words = f"shows {found} letters without JavaScript, {other} with it"
                faults.append(Fault(name, f"{width}, no JavaScript", "script", words))
    return PageDone(name, time.monotonic() - start, size, sorted(faults))


# Nothing moves in a picture; its letters are the site's own, not the machine's.
STILL = """* {
  caret-color: transparent !important;
  animation: none !important;
  transition: none !important;
}
"""
STAND_STILL = """async (style) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets.push(sheet);
  await document.fonts.ready;
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}"""


async def _take_picture(browser: Browser, origin: str, picture: Picture) -> None:
    context = await _new_context(browser, javascript=True)
    page = await context.new_page()
    address = f"{origin}/{picture.page}"
    await _open(page, address, State(picture.width, picture.scheme), picture.height)
    await page.evaluate(STAND_STILL, STILL)
    # An interactive figure in view loads its script late.
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=picture.file)
    await context.close()


def visit_site(
    site: Path,
    *,
    pages: Sequence[str] | None = None,
    plans: Mapping[str, Plan] = MappingProxyType({}),
    screenshots: Path | None = None,
    pictures: Sequence[Picture] = (),
    report: Callable[[PageDone], None] = lambda done: None,
) -> Visit:
    """Open the pages in every mode, or as their plan says, and return what is wrong.

    `report` hears of each page.
    """
    pages = pages_of(site) if pages is None else pages
    if not pages and not pictures:
        raise FileNotFoundError(f"there is no page in {site}: build the site first (make book)")
    ensure_packages(NODE_ROOM)
    # The heavy ones first: a light one at the end keeps no processor waiting.
    waiting = sorted(pages, key=lambda page: (site / page).stat().st_size)
    visit = Visit()

    async def work(browser: Browser, origin: str) -> None:
        # Windows that serve all pages: to open one takes longer than to load a small page.
        contexts = {value: await _new_context(browser, javascript=value) for value in (True, False)}
        windows = {value: await context.new_page() for value, context in contexts.items()}
        while waiting:
            name = waiting.pop()
            plan = EACH if screenshots else plans.get(name, EVERY)
            done = await _check_page(windows, origin, name, plan, visit, screenshots)
            visit.pages.append(done)
            visit.faults += done.faults
            report(done)

    async def run(origin: str) -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=list(ARGUMENTS)
            )
            for picture in pictures:
                await _take_picture(browser, origin, picture)
            # One more than processors: a page also waits, for the theme for example.
            at_once = max(1, min(4, (os.cpu_count() or 1) + 1, len(waiting)))
            await asyncio.gather(*(work(browser, origin) for _ in range(at_once)))
            await browser.close()

    with serving(site) as origin:
        run_apart(run(origin))
    visit.faults.sort()
    return visit


def check_site(site: Path, **options: Any) -> list[Fault]:
    """Return what is wrong in a site, sorted; the options are those of `visit_site`."""
    return visit_site(site, **options).faults
