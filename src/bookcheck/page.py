"""Check all that concerns one page, or some: what `make check PAGE=01-attention` runs.

python -m bookcheck.page 01-attention
python -m bookcheck.page glossary deeper/07-clocks
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bookformat.page_data import others_that_read
from bookformat.paths import CHAPTERS, ROOT

# Files with tests of single pages. A test that concerns one page has the page's name in its own
# name, in its file's or in its parameters, with "_" or "-", or says "chapter_7_" in its name.
TESTS = (
    "tests/equations",
    "tests/listings",
    "tests/bookcheck/test_digits.py",
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
    folder = ROOT if page == "index" else CHAPTERS
    files = [folder / f"{page}{suffix}" for suffix in (".ipynb", ".md")]
    found = [file for file in files if page and file.is_file()]
    if not found:
        raise SystemExit(
            f"There is neither chapters/{page}.ipynb nor chapters/{page}.md; name a page, "
            "for example: make check PAGE=09-relative-positions"
        )
    return found[0]


def selection(pages: Sequence[str]) -> str:
    """The expression for pytest's option -k that selects the tests of some pages."""
    words = []
    for page in pages:
        name = page.rpartition("/")[2]
        words += [name, page.replace("/", "_").replace("-", "_")]
        if number := re.match(r"\d\d(?=-)", page):
            words.append(f"chapter_{int(number.group())}_")
    return " or ".join(dict.fromkeys([*words, *ABOUT_ALL]))


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
