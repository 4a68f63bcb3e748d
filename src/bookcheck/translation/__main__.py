"""Keep the translations of the book, and write its sources in another language."""

import argparse

from bookcheck.paths import BUILD, ROOT
from bookcheck.translation.catalogs import pages, status, update
from bookcheck.translation.sources import write_sources


def main() -> None:
    """Do what the first argument says."""
    parser = argparse.ArgumentParser(prog="python -m bookcheck.translation", description=__doc__)
    parser.add_argument("task", choices=("update", "status", "sources"))
    parser.add_argument("--language", default="zh_CN")
    given = parser.parse_args()
    if given.task == "sources":
        write_sources(BUILD / given.language, given.language)
        return
    for page in pages():
        if given.task == "update":
            update(page, given.language)
        found = status(page, given.language)
        counts = ", ".join(f"{len(messages)} {kind}" for kind, messages in found.items())
        print(f"{page.relative_to(ROOT)}: {counts}")
        for kind in ("outdated", "wrong"):
            for message in found[kind]:
                print(f"  {kind}: {message}")


if __name__ == "__main__":
    main()
