"""Read a built site as a browser does: every page, two widths, light and dark, with and without
JavaScript. `bookcheck.gates` runs it on the book.
"""

import asyncio
import contextlib
import os
import re
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from playwright.async_api import Browser, BrowserContext, Page, Request, async_playwright

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM

T = TypeVar("T")

INSPECTION = Path(__file__).with_name("in_page.js")
ON_PAPER = Path(__file__).with_name("on_paper.js")
AXE = NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
JAVASCRIPT = (True, False)
PHONE = 600  # narrower windows are phones
WIDE = 1200  # here every line of code is seen whole
PAPER = 612  # the text on an A4 page, in pixels
PAGE_PATIENCE = 90_000  # milliseconds
WIDGET_PATIENCE = 10_000
# Of a page's text, as much must be there without JavaScript.
LEAST_SHARE_OF_LETTERS = 0.97
# The modes in which axe runs: each width, each scheme and each manner, colours with JavaScript.
AXE_MODES = {(1280, "light", True), (390, "dark", True), (390, "light", False)}
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM_ON_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
QUIET = ("--disable-background-networking", "--disable-gpu", "--no-sandbox")
ARGUMENTS = (
    *QUIET,
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--font-render-hinting=none",
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
    scheme: str
    file: str


@dataclass
class Visit:
    """What a browser run found, and the seconds that each of its steps took."""

    faults: list[Fault] = field(default_factory=list)
    pages: list[PageDone] = field(default_factory=list)
    steps: dict[str, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(frozen=True)
class Modes:
    """How a page is looked at: all combinations of these."""

    widths: Sequence[int] = WIDTHS
    schemes: Sequence[str] = SCHEMES
    javascript: Sequence[bool] = JAVASCRIPT


BRIEF = Modes(widths=(390,), schemes=("light",), javascript=(True,))


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
        "Chromium is missing: install the package `chromium`, "
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


async def _new_context(browser: Browser, *, javascript: bool) -> BrowserContext:
    return await browser.new_context(
        java_script_enabled=javascript, reduced_motion="reduce", service_workers="block"
    )


async def _open(page: Page, address: str, width: int, height: int, scheme: Any) -> None:
    await page.set_viewport_size({"width": width, "height": height})
    await page.emulate_media(color_scheme=scheme)
    await page.goto(address, wait_until="load", timeout=PAGE_PATIENCE)


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
    """One page in one width and manner, loaded in the first of the schemes, then in the others."""

    page: Page
    name: str
    width: int
    schemes: Sequence[str]
    javascript: bool
    visit: Visit
    faults: list[Fault]
    scheme: str = ""

    def __post_init__(self) -> None:
        self.scheme = self.schemes[0]
        self.manner = "" if self.javascript else ", no JavaScript"

    def in_scheme(self, kind: str, detail: str) -> None:
        """Note a fault that depends on the colours."""
        mode = f"{self.width} {self.scheme}{self.manner}"
        self.faults.append(Fault(self.name, mode, kind, detail))

    def in_width(self, kind: str, detail: str) -> None:
        """Note a fault that does not."""
        self.faults.append(Fault(self.name, f"{self.width}{self.manner}", kind, detail))

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

    async def switch_to(self, scheme: Any) -> None:
        """Let the machine be light or dark, which the page must follow."""
        if scheme != self.scheme:
            self.scheme = scheme
            await self.page.emulate_media(color_scheme=scheme)
            await self.collect(self.in_scheme, "scheme", "findOtherScheme", scheme)

    async def load(self, origin: str) -> None:
        """Load the page, without scripts if that is asked for; the inspection needs them."""
        session = await self.page.context.new_cdp_session(self.page)
        disable = "Emulation.setScriptExecutionDisabled"
        if not self.javascript:
            await session.send(disable, {"value": True})
        height = 844 if self.width < PHONE else 900
        address = f"{origin}/{self.name}"
        await self.timed("load", _open(self.page, address, self.width, height, self.scheme))
        if not self.javascript:
            await session.send(disable, {"value": False})
        await session.detach()
        await self.page.evaluate(INSPECTION.read_text(encoding="utf-8"))
        ready = "() => document.fonts.ready.then(() => {})"
        await self.timed("fonts", self.page.evaluate(ready))

    async def inspect(self) -> tuple[int, int]:
        """Look at everything but axe's rules; return the letters and bytes of the page."""
        await self.run("prepare")
        await self.collect(self.in_scheme, "scheme", "findOtherScheme", self.scheme)
        if self.javascript:
            await self.collect(self.in_width, "widget", "wakeWidgets", WIDGET_PATIENCE)
        else:
            await self.collect(self.in_width, "control", "findDeadControls")
        await self.collect(self.in_width, "overflow", "findOverflow")
        await self.collect(self.in_width, "scroll", "findUnreachableBoxes")
        await self.collect(self.in_width, "cut", "findCutWithoutSign")
        if self.width >= WIDE:
            await self.collect(self.in_width, "cut", "findCutCode")
        if self.width < PHONE:
            await self.collect(self.in_width, "letters", "findSmallLetters")
        await self.collect(self.in_width, "formula", "findBadFormulas")
        await self.collect(self.in_width, "heading", "findHeadingFaults")
        letters, size = await self.run("countLetters"), await self.run("countBytes")
        # Only after a key was pressed does the browser show where the focus is.
        await self.page.keyboard.press("Tab")
        for scheme in self.schemes:
            await self.switch_to(scheme)
            await self.collect(self.in_scheme, "contrast", "findFaintText")
            await self.collect(self.in_scheme, "figure", "findFaintMarks")
            await self.collect(self.in_scheme, "focus", "findUnseenFocus")
        return letters, size

    async def ask_axe(self, *, once: bool) -> None:
        """Run axe's rules; colours, which take most of its time, once in each scheme."""
        modes = AXE_MODES if not once else {(self.width, self.scheme, self.javascript)}
        schemes = [s for s in self.schemes[::-1] if (self.width, s, self.javascript) in modes]
        if schemes:
            await self.run("lighten")
            await self.timed("axe", self.page.evaluate(AXE.read_text(encoding="utf-8")))
        for scheme in schemes:
            await self.switch_to(scheme)
            await self.collect(self.in_scheme, "axe", "findViolations", self.javascript)

    async def try_on_paper(self) -> None:
        """See what does not fit on the paper after wide lines became smaller, as in `make pdf`."""
        await self.page.emulate_media(media="print", color_scheme="light")
        await self.page.set_viewport_size({"width": PAPER, "height": 900})
        await self.page.evaluate(ON_PAPER.read_text(encoding="utf-8"))
        find = "() => { paper.shrinkWhatIsWide(); return paper.findWhatIsCut('.bd-article'); }"
        for detail in await self.timed("paper", self.page.evaluate(find)):
            self.faults.append(Fault(self.name, "paper", "print", detail))
        await self.page.emulate_media(media="screen")


def _screenshot_name(look: _Look) -> str:
    manner = "" if look.javascript else "-no-js"
    return f"{look.name.replace('/', '_')}-{look.width}-{look.scheme}{manner}.png"


async def _check_page(
    contexts: dict[bool, BrowserContext],
    origin: str,
    name: str,
    modes: Modes,
    visit: Visit,
    screenshots: Path | None,
) -> PageDone:
    start = time.monotonic()
    letters: dict[int, int] = {}
    faults: list[Fault] = []
    size = 0
    once = len(modes.widths) * len(modes.schemes) * len(modes.javascript) == 1
    for javascript in modes.javascript:
        page = await contexts[javascript].new_page()
        for place, width in enumerate(modes.widths):
            # Every second width starts with the other scheme, so that each of them is loaded.
            schemes = modes.schemes[::-1] if place % 2 else modes.schemes
            look = _Look(page, name, width, schemes, javascript, visit, faults)
            with _listening(page, origin, javascript, look.in_scheme) as stop:
                await look.load(origin)
                if screenshots:
                    file = screenshots / _screenshot_name(look)
                    await page.screenshot(path=file, full_page=True)
                found, loaded = await look.inspect()
                # Axe puts style elements into the page, which the site's policy refuses: its
                # complaint, not ours.
                stop()
                await look.ask_axe(once=once)
            size = max(size, loaded)
            other = letters.setdefault(width, found)
            if found < LEAST_SHARE_OF_LETTERS * other:
                words = f"shows {found} letters without JavaScript, {other} with it"
                faults.append(Fault(name, f"{width}, no JavaScript", "script", words))
            if javascript and not once and place == 0 and await page.query_selector(".bd-article"):
                await look.load(origin)  # anew: axe has left boxes in place of the formulas
                await look.try_on_paper()
        await page.close()
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
    await _open(page, address, picture.width, picture.height, picture.scheme)
    await page.evaluate(STAND_STILL, STILL)
    # An interactive figure in view loads its script late.
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=picture.file)
    await context.close()


def visit_site(
    site: Path,
    *,
    pages: Sequence[str] | None = None,
    brief: Collection[str] = (),
    widths: Sequence[int] = WIDTHS,
    schemes: Sequence[str] = SCHEMES,
    javascript: Sequence[bool] = JAVASCRIPT,
    screenshots: Path | None = None,
    pictures: Sequence[Picture] = (),
    report: Callable[[PageDone], None] = lambda done: None,
) -> Visit:
    """Open the pages in every mode, those of `brief` in one, and return what is wrong.

    `report` hears of each page.
    """
    pages = pages_of(site) if pages is None else pages
    if not pages and not pictures:
        raise FileNotFoundError(f"there is no page in {site}: build the site first (make book)")
    ensure_packages(NODE_ROOM)
    modes = Modes(widths, schemes, javascript)
    # The heavy ones first: a light one at the end keeps no processor waiting.
    waiting = sorted(pages, key=lambda page: (site / page).stat().st_size)
    visit = Visit()

    async def work(browser: Browser, origin: str) -> None:
        contexts = {value: await _new_context(browser, javascript=value) for value in (True, False)}
        while waiting:
            name = waiting.pop()
            how = BRIEF if name in brief else modes
            done = await _check_page(contexts, origin, name, how, visit, screenshots)
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
            at_once = max(1, min(4, os.cpu_count() or 1, len(waiting)))
            await asyncio.gather(*(work(browser, origin) for _ in range(at_once)))
            await browser.close()

    with serving(site) as origin:
        asyncio.run(run(origin))
    visit.faults.sort()
    return visit


def check_site(site: Path, **options: Any) -> list[Fault]:
    """Return what is wrong in a site, sorted; the options are those of `visit_site`."""
    return visit_site(site, **options).faults
