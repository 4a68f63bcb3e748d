"""Everything that a built site must keep, checked on every page.

What was looked at before and found right is not opened again while the page, the files it loads,
the code of the gates and the browser are the same.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bookcheck.cache import Notes, digest_of
from bookcheck.gates import pictures
from bookcheck.gates.browser import (
    EVERY,
    PAIRS,
    Fault,
    PageDone,
    Plan,
    find_chromium,
    pages_of,
    visit_site,
)
from bookcheck.gates.links import broken_links
from bookcheck.gates.weight import text_weight, too_heavy, too_many_elements
from bookcheck.paths import KEPT, NODE_ROOM

# Kinds of pages, by the start of their address; the first that fits counts. Of each the one in the
# middle, by size, is looked at in every mode, the rest in half of all.
KINDS = ("chapters/deeper/", r"chapters/\d\d-", "chapters/", "")
# What a page may load beside its own text.
LOADED = ("_static", "_images")
# Changes with every word of the book, and only the search page reads it.
SEARCH_DATA = "search-data.js"
# Names the version of axe, also where it is not installed.
NODE_LOCK = NODE_ROOM / "package-lock.json"


def plans_of(site: Path, pages: Collection[str]) -> dict[str, Plan]:
    """How each page is looked at."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for page in sorted(pages, key=lambda page: (site / page).stat().st_size):
        by_kind[_kind(page)].append(page)
    middle = {alike[len(alike) // 2] for alike in by_kind.values()}
    plans: dict[str, Plan] = {}
    for page in pages:
        plans[page] = EVERY if page in middle else PAIRS
    return plans


def _kind(page: str) -> str:
    return next(kind for kind in KINDS if re.match(kind, page))


class Passed:
    """Notes of the pages that were found right."""

    def __init__(
        self, site: Path, plans: Mapping[str, Plan], folder: Path = KEPT / "gates"
    ) -> None:
        self.site, self.plans, self.notes = site, plans, Notes(folder)
        code = sorted(path for path in Path(__file__).parent.iterdir() if path.is_file())
        files = (path for name in LOADED for path in sorted((site / name).rglob("*")))
        shown = (path for path in files if path.is_file() and path.name != SEARCH_DATA)
        self.frame = digest_of([*code, NODE_LOCK, *shown], browser_version())

    def state_of(self, page: str) -> str:
        """Changes with anything that a visit of the page could see."""
        files = [self.site / page]
        if page == "search.html":
            files.append(self.site / "_static" / SEARCH_DATA)
        return digest_of(files, self.frame, page, repr(self.plans.get(page)))

    def holds(self, page: str) -> bool:
        """Whether the page was right, as it is now."""
        return self.notes.holds(page.replace("/", "__"), self.state_of(page))

    def note(self, page: str) -> None:
        """Remember that the page is right."""
        self.notes.note(page.replace("/", "__"), self.state_of(page))


def browser_version() -> str:
    """What the browser calls itself."""
    asked = [find_chromium(), "--version"]
    return subprocess.run(asked, capture_output=True, encoding="utf-8", check=False).stdout


def check_book(
    site: Path,
    *,
    pages: Sequence[str] | None = None,
    screenshots: Path | None = None,
    renew: bool = False,
    every: bool = False,
    kept: Path = KEPT / "gates",
) -> list[Fault]:
    """Run every gate on a site, or on some of its pages, and tell how far it is.

    Some pages, or all with `every`, are looked at in every mode; otherwise as `plans_of` says.
    """
    wanted = pages_of(site) if pages is None else list(pages)
    plans = plans_of(site, wanted) if pages is None and not every else {}
    passed = Passed(site, plans, kept)
    again = pages is not None or screenshots is not None
    chosen = [page for page in wanted if again or not passed.holds(page)]
    if len(chosen) < len(wanted):
        print(f"{len(wanted) - len(chosen)} pages were found right before, as they are now")
    faults = [Fault(page, "file", "link", detail) for page, detail in broken_links(site)]
    folder = site.parent / "pictures"
    folder.mkdir(exist_ok=True)
    shots = pictures.wanted_pictures(folder) if pages is None else []
    count = 0

    def report(done: PageDone) -> None:
        nonlocal count
        count += 1
        html = (site / done.page).read_text(encoding="utf-8")
        weights = too_heavy(html, done.bytes) + too_many_elements(done.page, html)
        heavy = [Fault(done.page, "all", "weight", words) for words in weights]
        faults.extend(heavy)
        lines = grouped([*heavy, *sorted(done.faults)])
        if not lines and not again:
            passed.note(done.page)
        print(
            f"{count:3}/{len(chosen)} {done.page:44} {done.seconds:6.1f} s  "
            f"text {text_weight(html) / 1e3:4.0f} kB, all {done.bytes / 1e6:4.2f} MB  "
            + (f"{len(lines)} FAULTS" if lines else "ok")
        )
        for line in lines:
            print(f"    {line}")
        sys.stdout.flush()

    if chosen or shots:
        visit = visit_site(
            site,
            pages=chosen,
            plans=plans,
            screenshots=screenshots,
            pictures=shots,
            report=report,
        )
        faults += visit.faults
        slowest = sorted(visit.steps.items(), key=lambda step: -step[1])
        print("seconds of each step: " + ", ".join(f"{name} {s:.0f}" for name, s in slowest))
    for shot in shots:
        if renew:
            pictures.renew(shot)
        faults += pictures.compare(shot)
    return sorted(faults)


def grouped(faults: Sequence[Fault]) -> list[str]:
    """Return a line for each fault, with all the modes in which it was seen."""
    modes: dict[tuple[str, str, str], list[str]] = {}
    for fault in faults:
        modes.setdefault((fault.page, fault.kind, fault.detail), []).append(fault.mode)
    return [
        f"{page} {kind}: {detail} [{'; '.join(seen)}]"
        for (page, kind, detail), seen in modes.items()
    ]
