"""Read a built site as a browser does: every page, two widths, light and dark.

`python -m bookcheck.site.browser _build/html` prints one line for each fault and ends with 1 if
there is any.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bookcheck.site.node import NODE, ROOT, ensure_packages

SCRIPT = Path(__file__).with_name("browser.mjs")
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
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
        "the browser test needs Chromium: install the package `chromium`, "
        "or set CHROMIUM to the path of a Chromium or Chrome program"
    )


def pages_of(site: Path) -> list[str]:
    """Return the addresses of all pages, relative to the site."""
    return sorted(
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if not path.relative_to(site).parts[0].startswith("_")
    )


def check_site(
    site: Path,
    *,
    pages: Sequence[str] | None = None,
    widths: Sequence[int] = WIDTHS,
    schemes: Sequence[str] = SCHEMES,
    screenshots: Path | None = None,
) -> list[Fault]:
    """Open the pages in every mode and return what is wrong, sorted."""
    pages = pages_of(site) if pages is None else pages
    if not pages:
        raise FileNotFoundError(f"there is no page in {site}: build the site first (make book)")
    ensure_packages(ROOT)
    settings = {
        "site": str(site.resolve()),
        "pages": list(pages),
        "chromium": find_chromium(),
        "modules": str(ROOT),
        "widths": list(widths),
        "schemes": list(schemes),
        "screenshots": None if screenshots is None else str(screenshots.resolve()),
    }
    result = subprocess.run(
        [NODE, SCRIPT, json.dumps(settings)], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise RuntimeError(f"the browser run ended early:\n{result.stderr.strip()}")
    return sorted(Fault(**json.loads(line)) for line in result.stdout.splitlines())


def main() -> int:
    """Check the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--page", action="append", help="check this page only (may be repeated)")
    parser.add_argument("--screenshots", type=Path, help="store a picture of each page and mode")
    arguments = parser.parse_args()
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    try:
        faults = check_site(arguments.site, pages=arguments.page, screenshots=arguments.screenshots)
    except (FileNotFoundError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    count = len(arguments.page or pages_of(arguments.site))
    print(
        f"{count} pages × {len(WIDTHS)} widths × {len(SCHEMES)} colour schemes: "
        f"{len(faults)} faults, {time.monotonic() - started:.0f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
