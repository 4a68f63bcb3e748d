"""Every built page carries the book's Content-Security-Policy, and nothing that it would stop."""

from collections.abc import Iterator
from pathlib import Path

from bookcheck.gates.links import page_files
from bookcheck.site.policy import stopped_by_policy


def policy_faults(site: Path) -> Iterator[tuple[str, str]]:
    """Yield (page, what is wrong) for each place of the built site that the policy would stop."""
    for path in page_files(site):
        for fault in stopped_by_policy(path.read_text(encoding="utf-8")):
            yield path.relative_to(site).as_posix(), fault
