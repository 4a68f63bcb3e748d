"""How long a page keeps a slow phone from answering: `python -m bookcheck.gates.blocking SITE`.

A phone's window, a processor slowed down four times. Tasks of more than 50 ms make a reader wait;
what they take beyond that is added up while the page loads (as browsers' tools do), the middle of
three loads. Milliseconds depend on the machine, so each page has its ratio to the opening page too.
A number to look at, no gate.
"""

import argparse
import asyncio
import re
from pathlib import Path
from statistics import median

from playwright.async_api import Browser, async_playwright

from bookcheck.gates.browser import ARGUMENTS, find_chromium, serving

SLOWER = 4
LOADS = 3
SETTLED = 1500  # milliseconds after loading in which scripts that wait for quiet have run
OPENING = "index.html"
# The browser tells of every task of more than 50 ms.
NOTE_TASKS = """
window.beyond = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.beyond += task.duration - 50;
}).observe({ type: "longtask", buffered: true });
"""


async def blocked(browser: Browser, address: str) -> float:
    """The milliseconds of one load."""
    context = await browser.new_context(viewport={"width": 390, "height": 844})
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    await page.add_init_script(NOTE_TASKS)
    await page.goto(address, wait_until="load", timeout=120_000)
    await page.wait_for_timeout(SETTLED)
    found: float = await page.evaluate("window.beyond")
    await context.close()
    return found


async def measure(site: Path, pages: list[str]) -> dict[str, float]:
    """The middle of some loads of each page, the opening page first."""
    times: dict[str, float] = {}
    with serving(site) as origin:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=list(ARGUMENTS)
            )
            for page in [OPENING, *pages]:
                loads = [await blocked(browser, f"{origin}/{page}") for _ in range(LOADS)]
                times[page] = median(loads)
                ratio = times[page] / max(times[OPENING], 1.0)
                print(f"{page:44} {times[page]:6.0f} ms  {ratio:5.1f} × {OPENING}", flush=True)
            await browser.close()
    return times


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
    given = parser.parse_args(arguments)
    if not (given.site / OPENING).is_file():
        parser.error(f"there is no {OPENING} in {given.site}: build the site first (make book)")
    asyncio.run(measure(given.site, given.page or main_line(given.site)))


if __name__ == "__main__":
    main()
