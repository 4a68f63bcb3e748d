"""Keep the translations of the book, and write its sources in another language.

update: store the messages that the pages have now, with the translations that still fit.
status: list what is missing, outdated or wrong; ends with 1 unless the translation is complete.
sources: write the translated book, which `make book LANGUAGE=zh_CN` builds. What is missing or
    outdated stays in English, with a note.
"""

import argparse
import sys

from bookformat.paths import BUILD, ROOT
from booksite.translation.catalogs import pages, status, update
from booksite.translation.sources import TITLES, write_sources


def main() -> int:
    """Do what the first argument says."""
    parser = argparse.ArgumentParser(
        prog="python -m booksite.translation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", choices=("update", "status", "sources"))
    parser.add_argument("--language", choices=sorted(TITLES), default="zh_CN")
    given = parser.parse_args()
    if given.task == "sources":
        write_sources(BUILD / given.language, given.language)
        return 0
    open_messages = 0
    for page in pages():
        if given.task == "update":
            update(page, given.language)
        found = status(page, given.language)
        open_messages += sum(map(len, found.values()))
        counts = ", ".join(f"{len(messages)} {kind}" for kind, messages in found.items())
        print(f"{page.relative_to(ROOT)}: {counts}")
        for kind, messages in found.items():
            for message in messages:
                print(f"  {kind}: {message}")
    return int(given.task == "status" and open_messages > 0)


if __name__ == "__main__":
    sys.exit(main())
