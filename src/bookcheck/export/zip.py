"""The built site as one zip file that a reader unpacks and opens from disk.

`python -m bookcheck.export.zip _build/html _build/book.zip`
"""

import argparse
import sys
import zipfile
from pathlib import Path

# What hosts and programs read: the answer to a wrong address, Sphinx's own notes.
NOT_FOR_READERS = {"404.html", ".buildinfo"}
# The same bytes for the same site: the earliest time that a zip file can hold.
TIME = (1980, 1, 1, 0, 0, 0)


class ArchiveError(RuntimeError):
    """What keeps the site from becoming a zip file."""


def make_archive(site: Path, archive: Path) -> int:
    """Write the site into one folder of a zip file, named like the file; return how many files."""
    if not (site / "index.html").is_file():
        raise ArchiveError(f"there is no site in {site}: build it first (make book)")
    files = sorted(
        path for path in site.rglob("*") if path.is_file() and path.name not in NOT_FOR_READERS
    )
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in files:
            name = path.relative_to(site).as_posix()
            entry = zipfile.ZipInfo(f"{archive.stem}/{name}", TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            target.writestr(entry, path.read_bytes())
    return len(files)


def main() -> int:
    """Pack the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("archive", type=Path)
    arguments = parser.parse_args()
    try:
        count = make_archive(arguments.site, arguments.archive)
    except ArchiveError as error:
        print(error, file=sys.stderr)
        return 2
    size = arguments.archive.stat().st_size / 1e6
    print(f"{arguments.archive}: {count} files, {size:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
