"""The pages of the workshop show the functions of the skeleton and those of the solution."""

import ast
import inspect

import pytest

from bookformat.contents import book_entries
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS
from bookkit.workshop import skeleton, solution
from bookkit.workshop.probes import STEPS, functions_of
from bookkit.workshop.steps import HINTS

PAGES = [
    entry.page.removeprefix("workshop/")
    for entry in book_entries()
    if entry.page.startswith("workshop/")
    and entry.page not in ("workshop/begin", "workshop/what-breaks", "workshop/playground")
]


def functions(source):
    """The functions of a source text, by their names, without regard to line breaks."""
    return {
        part.name: ast.dump(part)
        for part in ast.parse(source).body
        if isinstance(part, ast.FunctionDef)
    }


def test_there_is_a_page_for_each_step():
    assert len(PAGES) == len(STEPS)


@pytest.mark.parametrize(("step", "page"), list(enumerate(PAGES, 1)))
def test_a_page_has_the_empty_functions_and_the_solution(step, page):
    cells = read(CHAPTERS / "workshop" / f"{page}.ipynb").cells
    assert cells[0].source.startswith(f"# Step {step}: {STEPS[step - 1][0]}\n")
    empty, written = (functions(cell.source) for cell in cells if cell.source.startswith("def "))
    for shown, module in ((empty, skeleton), (written, solution)):
        expected = functions(inspect.getsource(module))
        assert shown == {name: expected[name] for name in functions_of(step)}
    words = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for name in functions_of(step):
        for hint in HINTS[name]:
            assert hint in words


@pytest.mark.parametrize(("step", "page"), list(enumerate(PAGES, 1)))
def test_the_check_of_a_page_fails_before_the_solution_and_passes_after(step, page):
    cells = read(CHAPTERS / "workshop" / f"{page}.ipynb").cells
    checks = [cell.outputs[0].text for cell in cells if cell.source == f"check({step})"]
    before, after = checks
    assert "It is not written yet." in before
    assert after.count("✓") == len(functions_of(step))
    assert "✗" not in after
    assert "·" not in after
