"""Everything that a built site must keep, checked on every page: `make test-site`.

`python -m bookcheck.gates _build/html` prints a line for each page as it goes, then one for
each fault, and ends with 1 if there is any.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bookcheck.gates import pictures
from bookcheck.gates.browser import Fault, PageDone, pages_of, visit_site
from bookcheck.gates.links import broken_links
from bookcheck.gates.weight import text_weight, too_heavy


def check_book(
    site: Path,
    *,
    pages: Sequence[str] | None = None,
    screenshots: Path | None = None,
    renew: bool = False,
) -> list[Fault]:
    """Run every gate on a site, or on some of its pages, and tell how far it is."""
    chosen = pages_of(site) if pages is None else list(pages)
    faults = [Fault(page, "file", "link", detail) for page, detail in broken_links(site)]
    folder = site.parent / "pictures"
    folder.mkdir(exist_ok=True)
    shots = pictures.wanted_pictures(folder) if pages is None else []
    count = 0

    def report(done: PageDone) -> None:
        nonlocal count
        count += 1
        html = (site / done.page).read_text("utf8")
        heavy = [Fault(done.page, "all", "weight", words) for words in too_heavy(html, done.bytes)]
        faults.extend(heavy)
        lines = grouped([*heavy, *sorted(done.faults)])
        print(
            f"{count:3}/{len(chosen)} {done.page:44} {done.seconds:6.1f} s  "
            f"text {text_weight(html) / 1e6:4.2f} MB, all {done.bytes / 1e6:4.2f} MB  "
            + (f"{len(lines)} FAULTS" if lines else "ok")
        )
        for line in lines:
            print(f"    {line}")
        sys.stdout.flush()

    visit = visit_site(site, pages=chosen, screenshots=screenshots, pictures=shots, report=report)
    faults += visit.faults
    for shot in shots:
        if renew:
            pictures.renew(shot)
        faults += pictures.compare(shot)
    slowest = sorted(visit.steps.items(), key=lambda step: -step[1])
    print("seconds of each step: " + ", ".join(f"{name} {s:.0f}" for name, s in slowest))
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


def main() -> int:
    """Check the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--page", action="append", help="check this page only (may be repeated)")
    parser.add_argument("--screenshots", type=Path, help="store a picture of each page and mode")
    parser.add_argument("--renew", action="store_true", help="store the reference pictures anew")
    arguments = parser.parse_args()
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    try:
        faults = check_book(
            arguments.site,
            pages=arguments.page,
            screenshots=arguments.screenshots,
            renew=arguments.renew,
        )
    except (FileNotFoundError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    lines = grouped(faults)
    print("\n".join(lines))
    print(f"{len(lines)} faults, {time.monotonic() - started:.0f} s on {os.cpu_count()} processors")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
