"""Names of chapters and versions in code and templates are those of the pages and the package."""

import re
import tomllib

from bookcheck.numbers import beside_pages, pages
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS, ROOT, STATIC

CONTROLS = STATIC / "runnable" / "playground" / "controls.js"
OF_SWITCH = re.compile(r'chapters\("([\w/-]+)"\),\s*phrase`Chapter: ([^`]+)`')
OR_NEWER = re.compile(r"Python (\d+\.\d+) or newer")


def title_of(page):
    """The first heading of a chapter."""
    cells = cells_of(CHAPTERS / f"{page}.ipynb")
    return re.search(r"^# (.+)$", cells[0].source, re.MULTILINE)[1]


def test_a_switch_of_the_playground_names_its_chapter():
    found = OF_SWITCH.findall(CONTROLS.read_text(encoding="utf-8"))
    assert len(found) > 3
    assert [title for page, title in found if title != title_of(page)] == []


def test_the_oldest_python_is_that_of_the_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    files = [file for file in (pages() | beside_pages()).values() if file.suffix != ".ipynb"]
    said = [one for file in files for one in OR_NEWER.findall(file.read_text(encoding="utf-8"))]
    assert len(said) > 3
    assert {f">={version}" for version in said} == {settings["project"]["requires-python"]}
