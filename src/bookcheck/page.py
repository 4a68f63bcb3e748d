"""Check all that concerns one page, or some: what `make check PAGE=attention` runs.

python -m bookcheck.page attention
python -m bookcheck.page glossary deeper/clocks
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bookformat.contents import book_entries, file_of_page
from bookformat.page_data import others_that_read
from bookformat.paths import ROOT

# Files with tests of single pages. A test that concerns one page has the page's name in its own
# name, in its file's or in its parameters, with "_" or "-".
TESTS = (
    "tests/equations",
    "tests/listings",
    "tests/bookcheck/test_digits.py",
    "tests/bookcheck/test_beside.py",
    "tests/bookcheck/test_back_matter.py",
    "tests/bookformat/test_links.py",
    "tests/bookcheck/notebooks/test_rules.py",
    "tests/bookformat/test_reading_time.py",
    "tests/bookformat/test_values.py",
    "tests/booksite/test_quiz.py",
    "tests/booksite/test_notation.py",
    "tests/bookkit/test_exercises.py",
    "tests/bookkit/test_models.py",
)
# Of these files and tests, which look at all pages at once, no name of a page is asked.
ABOUT_ALL = ("test_rule", "test_back_matter", "test_the_page_names", "test_all_links")


def file_of(page: str) -> Path:
    """The notebook or the text of a page, or an error that says how pages are named."""
    # The opening page is beside the chapters.
    found = ROOT / "index.md" if page == "index" else file_of_page(page)
    if found is None:
        raise SystemExit(
            f"There is neither chapters/{page}.ipynb nor chapters/{page}.md; name a page, "
            "for example: make check PAGE=relative-positions"
        )
    return found


def selection(pages: Sequence[str]) -> str:
    """The expression for pytest's option -k that selects the tests of some pages."""
    wanted = [word for page in pages for word in words_for(page)]
    # The page "attention" is not "attention-in-blocks", whose tests have both names.
    others = [
        word
        for entry in book_entries()
        if entry.page not in pages
        for word in words_for(entry.page)
        if any(name in word and name != word for name in wanted)
    ]
    chosen = " or ".join(dict.fromkeys([*wanted, *ABOUT_ALL]))
    if not others:
        return chosen
    return f"({chosen}) and not ({' or '.join(dict.fromkeys(others))})"


def words_for(page: str) -> list[str]:
    """How the names of tests call a page: "edge-cases", "deeper_edge_cases"."""
    name = page.rpartition("/")[2]
    return [name, page.replace("/", "_").replace("-", "_")]


def commands(pages: Sequence[str]) -> list[list[str]]:
    """What is to be run for some pages, as the arguments of Python."""
    notebooks = [str(path) for path in map(file_of, pages) if path.suffix == ".ipynb"]
    style = [["ruff", "check", *notebooks]] if notebooks else []
    tests = ["pytest", *notebooks, *TESTS, "-k", selection(pages)]
    return [*style, tests, ["bookcheck.equations.mutate", *pages]]


def main(pages: Sequence[str]) -> int:
    """Run the checks of some pages up to the first that fails, and name the pages beside them."""
    if not pages:
        file_of("")
    status = 0
    for command in commands(pages):
        print("python -m", *command, flush=True)
        status = subprocess.run([sys.executable, "-m", *command], check=False).returncode
        if status:
            break
    # Also where a check failed: the others may be red for the same reason.
    if others := others_that_read(list(pages)):
        print(others)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
