"""Read a built site as a browser does: every page, two widths, light and dark, with and without
JavaScript. `bookcheck.gates` runs it on the book.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bookcheck.node.packages import NODE, ensure_packages
from bookcheck.paths import NODE_ROOM

SCRIPT = Path(__file__).with_name("browser.mjs")
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
JAVASCRIPT = (True, False)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_ON_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


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
    steps: dict[str, float] = field(default_factory=dict)


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
    """Whether a page leads on at once, or needs a host with the site in a folder (404.html)."""
    with path.open("rb") as file:
        head = file.read(4000)
    return b'http-equiv="refresh"' in head or bool(re.search(rb'data-content_root="/[^"]', head))


def visit_site(
    site: Path,
    *,
    pages: Sequence[str] | None = None,
    widths: Sequence[int] = WIDTHS,
    schemes: Sequence[str] = SCHEMES,
    javascript: Sequence[bool] = JAVASCRIPT,
    screenshots: Path | None = None,
    pictures: Sequence[Picture] = (),
    report: Callable[[PageDone], None] = lambda done: None,
) -> Visit:
    """Open the pages in every mode and return what is wrong; `report` hears of each page."""
    pages = pages_of(site) if pages is None else pages
    if not pages and not pictures:
        raise FileNotFoundError(f"there is no page in {site}: build the site first (make book)")
    ensure_packages(NODE_ROOM)
    settings = {
        "site": str(site.resolve()),
        # The heavy ones first: a light one at the end keeps no processor waiting.
        "pages": sorted(pages, key=lambda page: -(site / page).stat().st_size),
        "chromium": find_chromium(),
        "modules": str(NODE_ROOM),
        "widths": list(widths),
        "schemes": list(schemes),
        "javascript": list(javascript),
        "atOnce": max(1, min(4, os.cpu_count() or 1, len(pages))),
        "screenshots": None if screenshots is None else str(screenshots.resolve()),
        "pictures": [asdict(picture) for picture in pictures],
    }
    visit = Visit()
    with subprocess.Popen(
        [NODE, SCRIPT, json.dumps(settings)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf8",
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            _take(json.loads(line), visit, report)
        errors = process.stderr.read()
    if process.returncode:
        raise RuntimeError(f"the browser run ended early:\n{errors.strip()}")
    visit.faults.sort()
    return visit


def _take(record: dict[str, Any], visit: Visit, report: Callable[[PageDone], None]) -> None:
    if "done" in record:
        page = record["done"]
        faults = [fault for fault in visit.faults if fault.page == page]
        done = PageDone(page, record["seconds"], record["bytes"], faults)
        visit.pages.append(done)
        report(done)
    elif "steps" in record:
        visit.steps = record["steps"]
    else:
        visit.faults.append(Fault(**record))


def check_site(site: Path, **options: Any) -> list[Fault]:
    """Return what is wrong in a site, sorted; the options are those of `visit_site`."""
    return visit_site(site, **options).faults
