"""Move controls in Chromium and read what the page then shows."""

import atexit
import functools
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Playwright, sync_playwright

from bookcheck.gates.browser import QUIET, find_chromium

PATIENCE = 30_000  # milliseconds
READ_FIGURE = """(element) => ({
  numbers: Object.fromEntries(
    [...element.querySelectorAll("dd")].map((dd) => [dd.dataset.value, dd.textContent]),
  ),
  sliders: Object.fromEntries(
    [...element.querySelectorAll("input[type=range]")].map((input) => [input.name, input.value]),
  ),
  label: element.getAttribute("aria-label"),
  panels: [...element.querySelectorAll("svg")].map((svg) => svg.getAttribute("aria-label")),
})"""
FIGURE_MOVED = """([widget, before]) =>
  [...document.querySelectorAll(`.interactive[data-widget="${widget}"] svg`)].some(
    (svg, place) => svg.getAttribute("aria-label") !== before[place],
  )"""


@functools.cache
def _started() -> tuple[Playwright, Browser]:
    chromium = find_chromium()
    playwright = sync_playwright().start()
    return playwright, playwright.chromium.launch(executable_path=chromium, args=list(QUIET))


def shared_browser() -> Browser:
    """The browser of this process: to start one takes longer than most of what is done with it.

    Who uses it opens a window or a context of their own, and closes it.
    """
    return _started()[1]


@atexit.register
def close_shared_browser() -> None:
    """End the browser, if there is one."""
    if _started.cache_info().currsize:
        playwright, _ = _started()
        _started.cache_clear()
        playwright.stop()


def move_controls(
    page: Path,
    steps: list[dict[str, Any]],
    *,
    width: int = 1280,
    height: int = 900,
    scheme: Any = "light",
    javascript: bool = True,
    screenshot: Path | None = None,
    patience: int = PATIENCE,
) -> dict[str, Any]:
    """Open a page from disk, do the steps, and return what it showed after each.

    A step acts on any element, {"act": [["click", "button"]], "read": "p"}, or moves an interactive
    figure: {"widget": "rotation", "set": {control: slider value or choice}, "press": {control:
    key}, "click": words on a button}. After a click the figure must move. What a step waits for
    must come in `patience` milliseconds.

    Returns {"errors": what went wrong, "steps": what each step showed, "text": words on the page}.
    """
    errors: list[str] = []
    shown: list[Any] = []
    tab = shared_browser().new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        java_script_enabled=javascript,
    )
    tab.set_default_timeout(patience)
    tab.on("pageerror", lambda error: errors.append(error.message))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    try:
        tab.goto(page.resolve().as_uri(), wait_until="load", timeout=PATIENCE)
        for step in steps:
            for action in step.get("act", ()):
                _act(tab, *action)
            if "read" in step:
                shown.append(tab.locator(step["read"]).all_inner_texts())
            if "widget" in step:
                shown.append(_move_figure(tab, **step))
        if screenshot is not None:
            tab.screenshot(path=screenshot, full_page=True)
        text = tab.evaluate("() => document.body.innerText")
    finally:
        tab.close()
    return {"errors": errors, "steps": shown, "text": text}


def _act(tab: Page, method: str, selector: str = "", *arguments: Any) -> None:
    if method == "reload":
        tab.reload(wait_until="load")
    else:
        options = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
        plain = arguments[:-1] if options else arguments
        getattr(tab.locator(selector).first, method)(*plain, **options)


def _read(figure: Locator) -> dict[str, Any]:
    seen: dict[str, Any] = figure.evaluate(READ_FIGURE)
    return seen


def _move_figure(
    tab: Page,
    widget: str,
    set: dict[str, Any] | None = None,
    press: dict[str, str] | None = None,
    click: str | None = None,
) -> dict[str, Any]:
    """Move a figure's controls; return what it shows, and the scripts that had come before."""
    place = f'.interactive[data-widget="{widget}"]'
    figure = tab.locator(place).first
    figure.evaluate("(element) => element.scrollIntoView()")
    tab.wait_for_selector(f"{place}[data-ready]")
    loaded = tab.evaluate("() => Object.keys(globalThis.bookWidgets)")
    for name, value in (set or {}).items():
        slider = figure.locator(f'input[type=range][name="{name}"]')
        if slider.count():
            slider.fill(str(value))
        else:
            figure.locator(f'input[type=radio][value="{value}"]').check()
    for name, key in (press or {}).items():
        figure.locator(f'input[type=range][name="{name}"]').press(key)
    if click:
        before = _read(figure)["panels"]
        figure.get_by_role("button", name=click).click()
        tab.wait_for_function(FIGURE_MOVED, arg=[widget, before])
    return {"loaded": loaded, **_read(figure)}
