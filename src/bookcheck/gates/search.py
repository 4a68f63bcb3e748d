"""What a reader finds: the built site's own search, run without a browser.

`python -m bookcheck.gates.search _build/html rotary_table theta` prints the first results.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bookcheck.node.packages import answers_of

SCRIPT = Path(__file__).with_name("search.cjs")


class Found(NamedTuple):
    """A result: the page, its title or the name that was found, the anchor with its #."""

    page: str
    title: str
    anchor: str


def find(site: Path, queries: Sequence[str]) -> list[list[Found]]:
    """Return the results of each query, the best first."""
    if not (site / "_static" / "search-data.js").is_file():
        raise FileNotFoundError(f"there is no search index in {site}: build the site (make book)")
    results = answers_of(SCRIPT, site, queries, what="the site's search")
    return [[Found(*found) for found in answers] for answers in results]


def main() -> int:
    """Search the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("queries", nargs="+")
    arguments = parser.parse_args()
    for query, answers in zip(
        arguments.queries, find(arguments.site, arguments.queries), strict=True
    ):
        print(f"{query}: {len(answers)} results")
        for found in answers[:5]:
            print(f"  {found.title} ({found.page}{found.anchor})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
