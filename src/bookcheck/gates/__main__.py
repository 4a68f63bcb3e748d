"""Everything that a built site must keep, checked on every page: `make test-site`.

`python -m bookcheck.gates _build/html` prints a line for each page as it goes, then one for
each fault, and ends with 1 if there is any.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from playwright.async_api import Error as PlaywrightError

from bookcheck.gates.check import check_book, grouped


def main() -> int:
    """Check the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--page", action="append", help="check this page only (may be repeated)")
    parser.add_argument("--screenshots", type=Path, help="store a picture of each page and mode")
    parser.add_argument("--renew", action="store_true", help="store the reference pictures anew")
    parser.add_argument("--every", action="store_true", help="look at each page in every mode")
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
            every=arguments.every,
        )
    except (FileNotFoundError, PlaywrightError) as error:
        print(error, file=sys.stderr)
        return 2
    lines = grouped(faults)
    print("\n".join(lines))
    print(f"{len(lines)} faults, {time.monotonic() - started:.0f} s on {os.cpu_count()} processors")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
