"""How long a page keeps a slow phone from answering: `python -m bookcheck.gates.blocking SITE`.

A phone's window, a processor slowed down four times. Tasks of more than 50 ms make a reader wait;
what they take beyond that is added up while the page loads (as browsers' tools do), the middle of
three loads. What counts is the time of the page's own thread on the processor, so that other work
on the machine does not; each page has its ratio to the opening page too. A number to look at.

What can be held without a clock is its cause: the browser computes the style of every element that
it lays out, again for each part of the page that arrives and each face of letters. `elements` is
how many it computed; tests/bookcheck/site/test_phone.py has the bound.
"""

import argparse
import asyncio
import re
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from playwright.async_api import Browser, async_playwright

from bookcheck.gates.browser import ARGUMENTS, find_chromium, run_apart, serving

SLOWER = 4
LOADS = 3
SETTLED = 1500  # milliseconds after loading in which scripts that wait for quiet have run
LONG = 50  # milliseconds that nobody feels
OPENING = "index.html"
TASK, STYLE = "ThreadControllerImpl::RunTask", "UpdateLayoutTree"  # as the browser names them
RECORD = {
    "transferMode": "ReportEvents",
    "traceConfig": {
        "includedCategories": ["toplevel", "devtools.timeline"],
        "excludedCategories": ["*"],
    },
}


class Cost(NamedTuple):
    """What loading a page costs: the milliseconds that block, the elements with a new style."""

    blocked: float
    elements: float


def cost_of(events: Iterable[dict[str, Any]]) -> Cost:
    """Read what a load cost in the browser's record of it; the busiest thread is the page's own."""
    threads: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        if event.get("ph") == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    drawing = [found for found in threads.values() if any(one["name"] == STYLE for one in found)]
    if not drawing:
        raise ValueError("no thread of the record computes styles: was a page loaded?")
    own = max(drawing, key=lambda found: sum(one.get("tdur", 0) for one in found))
    tasks = [one.get("tdur", 0) / 1000 for one in own if one["name"] == TASK]
    blocked = sum(task - LONG for task in tasks if task > LONG)
    return Cost(blocked, sum(one["args"]["elementCount"] for one in own if one["name"] == STYLE))


async def load(browser: Browser, address: str, slower: float = SLOWER) -> Cost:
    """Load a page once, as a phone does."""
    recorder = await browser.new_browser_cdp_session()
    events: list[dict[str, Any]] = []
    complete = asyncio.Event()
    recorder.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    recorder.on("Tracing.tracingComplete", lambda _: complete.set())
    context = await browser.new_context(viewport={"width": 390, "height": 844})
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    await recorder.send("Tracing.start", RECORD)
    await page.goto(address, wait_until="load", timeout=120_000)
    await page.wait_for_timeout(SETTLED)
    await recorder.send("Tracing.end")
    await complete.wait()
    await context.close()
    await recorder.detach()
    return cost_of(events)


async def measure(site: Path, pages: list[str], loads: int = LOADS) -> dict[str, Cost]:
    """The middle of some loads of each page, the opening page first."""
    costs: dict[str, Cost] = {}
    with serving(site) as origin:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=list(ARGUMENTS)
            )
            for page in [OPENING, *pages]:
                found = [await load(browser, f"{origin}/{page}") for _ in range(loads)]
                costs[page] = Cost(*map(median, zip(*found, strict=True)))
                blocked, elements = costs[page]
                ratio = blocked / max(costs[OPENING].blocked, 1.0)
                print(
                    f"{page:44} {blocked:6.0f} ms  {ratio:5.1f} × {OPENING}"
                    f"  {elements:8,.0f} elements",
                    flush=True,
                )
            await browser.close()
    return costs


def main_line(site: Path) -> list[str]:
    """The chapters, without the deeper pages."""
    found = (path.name for path in (site / "chapters").glob("*.html"))
    return sorted(f"chapters/{name}" for name in found if re.match(r"\d\d-", name))


def main(arguments: list[str] | None = None) -> None:
    """Measure the pages that are named, or the main line."""
    parser = argparse.ArgumentParser(
        prog="python -m bookcheck.gates.blocking", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("site", type=Path, help="the built site, _build/html")
    parser.add_argument("page", nargs="*", help="chapters/01-attention.html; all chapters if none")
    parser.add_argument("--loads", type=int, default=LOADS, help="the middle of so many loads")
    given = parser.parse_args(arguments)
    if not (given.site / OPENING).is_file():
        parser.error(f"there is no {OPENING} in {given.site}: build the site first (make book)")
    run_apart(measure(given.site, given.page or main_line(given.site), given.loads))


if __name__ == "__main__":
    main()
