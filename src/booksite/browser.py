"""Chromium, for the tests that open pages and for `make downloads`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# The first has no windows to draw and takes a quarter less time.
NAMES = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)  # fmt: skip
ARGUMENTS = (
    "--disable-background-networking",
    "--disable-gpu",
    # Letters have the same widths in every Chromium.
    "--font-render-hinting=none",
    # A request to another host is reported and goes no further.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--no-sandbox",
)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium without a window; the variable CHROMIUM names another one.

    Where none is installed, Playwright starts its own or says how to get it.
    """
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()
