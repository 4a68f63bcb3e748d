"""Waiting for what a browser has done, however long that takes on a busy machine."""

from playwright.sync_api import Page

TWO_FRAMES = """() => new Promise(
  (done) => requestAnimationFrame(() => requestAnimationFrame(done)))"""
# A page hears of what came into sight before this observer, which is younger, does.
SIGHT_WAS_TOLD = """() => new Promise((done) => {
  const observer = new IntersectionObserver(() => {
    observer.disconnect();
    done();
  });
  observer.observe(document.documentElement);
})"""


def wait_until_drawn(page: Page) -> None:
    """Return when what was asked of the page before has been laid out and drawn."""
    page.evaluate(TWO_FRAMES)


def stop_the_clock(page: Page) -> None:
    """Let time pass in the page, and in those opened after it, only when a test says so."""
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)


def look_at(page: Page, selector: str, milliseconds: int) -> None:
    """Scroll to a part of a page whose clock was stopped, and stay there for some time."""
    page.locator(selector).scroll_into_view_if_needed()
    page.evaluate(SIGHT_WAS_TOLD)
    page.clock.run_for(milliseconds)
