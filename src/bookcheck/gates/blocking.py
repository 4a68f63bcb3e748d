"""How long a page keeps a slow phone from answering: `python -m bookcheck.gates.blocking SITE`.

A phone's window, a processor slowed down four times. Tasks of more than 50 ms make a reader wait;
what they take beyond that is added up while the page loads (as browsers' tools do), the middle of
three loads. What counts is the time of the page's own thread on the processor, so that other work
on the machine does not; each page has its ratio to the opening page too. A number to look at.

What can be held without a clock is its cause: the browser computes the style of every element that
it lays out, again for each part of the page that arrives and each face of letters. How many those
are does not depend on the processor: `count_elements` counts them at full speed, and
tests/bookcheck/site/test_phone.py has the bound.
"""

import argparse
import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from playwright.async_api import Browser, Page, async_playwright

from bookcheck.gates.browser import ARGUMENTS, find_chromium, run_apart, serving

SLOWER = 4
LOADS = 3
# No script of a page waits for more than 350 ms after its first frame. Timers run in the order of
# their times, however busy the machine is. After one more frame this one writes a word into the
# record, by which the page's thread is known.
SETTLED = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const timer = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  await frame();
  await timer(500);
  await frame();
  await timer(0);
  console.timeStamp("settled");
}"""
LONG = 50  # milliseconds that nobody feels
OPENING = "index.html"
PHONE: Any = {"width": 390, "height": 844}
# As the browser names them: what it records, and what stands in the record.
TASKS, STYLES = "toplevel", "devtools.timeline"
TASK, STYLE, WORD = "ThreadControllerImpl::RunTask", "UpdateLayoutTree", "TimeStamp"


class Cost(NamedTuple):
    """What loading a page costs: the milliseconds that block, the elements with a new style."""

    blocked: float
    elements: float


def cost_of(events: Iterable[dict[str, Any]]) -> Cost:
    """Read what a load cost in the browser's record of it, on the thread that says it settled."""
    threads: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        threads.setdefault((event["pid"], event["tid"]), []).append(event)
    # Windows of the browser's own compute styles too.
    settled = [found for found in threads.values() if any(one["name"] == WORD for one in found)]
    if len(settled) != 1:
        raise ValueError(f"{len(settled)} threads of the record say settled: was a page loaded?")
    (own,) = settled
    tasks = [one.get("tdur", 0) / 1000 for one in own if one["name"] == TASK]
    blocked = sum(task - LONG for task in tasks if task > LONG)
    # The end of the record may cut a pass over the styles short: it has no count.
    styles = [one["args"].get("elementCount", 0) for one in own if one["name"] == STYLE]
    return Cost(blocked, sum(styles))


async def record(page: Page, address: str, categories: Sequence[str]) -> list[dict[str, Any]]:
    """Load a page once, and return the browser's record of it."""
    browser = page.context.browser
    if browser is None:
        raise ValueError("the window belongs to no browser: open it with new_context and new_page")
    recorder = await browser.new_browser_cdp_session()
    events: list[dict[str, Any]] = []
    complete = asyncio.Event()
    recorder.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    recorder.on("Tracing.tracingComplete", lambda _: complete.set())
    wanted = {"includedCategories": list(categories), "excludedCategories": ["*"]}
    await recorder.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": wanted})
    await page.goto(address, wait_until="load", timeout=120_000)
    await page.evaluate(SETTLED)
    await recorder.send("Tracing.end")
    await complete.wait()
    await recorder.detach()
    return events


async def load(browser: Browser, address: str) -> Cost:
    """Load a page once, as a slow phone does."""
    context = await browser.new_context(viewport=PHONE)
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    cost = cost_of(await record(page, address, [TASKS, STYLES]))
    await context.close()
    return cost


@asynccontextmanager
async def opened(site: Path) -> AsyncIterator[tuple[Browser, str]]:
    """A browser, and the address at which it finds a site."""
    with serving(site) as origin:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=list(ARGUMENTS)
            )
            yield browser, origin
            await browser.close()


async def measure(site: Path, pages: Iterable[str], loads: int = LOADS) -> dict[str, Cost]:
    """The middle of some loads of each page, the opening page first."""
    costs: dict[str, Cost] = {}
    async with opened(site) as (browser, origin):
        for page in [OPENING, *pages]:
            found = [await load(browser, f"{origin}/{page}") for _ in range(loads)]
            costs[page] = Cost(*map(median, zip(*found, strict=True)))
            blocked, elements = costs[page]
            ratio = blocked / max(costs[OPENING].blocked, 1.0)
            print(
                f"{page:44} {blocked:6.0f} ms  {ratio:5.1f} × {OPENING}  {elements:8,.0f} elements",
                flush=True,
            )
    return costs


async def count_elements(site: Path, pages: Iterable[str]) -> dict[str, float]:
    """The elements whose style is computed while each page loads."""
    counts: dict[str, float] = {}
    async with opened(site) as (browser, origin):
        # A window that serves all pages, and keeps nothing of what it has loaded.
        context = await browser.new_context(viewport=PHONE)
        window = await context.new_page()
        session = await context.new_cdp_session(window)
        await session.send("Network.enable")
        await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        for page in pages:
            await window.goto("about:blank")
            counts[page] = cost_of(await record(window, f"{origin}/{page}", [STYLES])).elements
        await context.close()
    return counts


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
