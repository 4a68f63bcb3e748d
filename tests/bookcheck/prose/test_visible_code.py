"""What a reader sees of the code is short, and each chapter has a listing to copy."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookcheck.notebooks.files import chapter_notebooks, main_line, page_name, stored_form
from bookcheck.prose.visible_code import code_problems

DEEPER = [path for path in chapter_notebooks() if path.parent.name == "deeper"]
LISTING = new_code_cell("import numpy as np\n\nprint(np.pi)")
LONG = "\n".join(f"x_{number} = {number}" for number in range(16))
WIDE = f"x = {'1 + ' * 20}1"


@pytest.mark.parametrize("path", main_line(), ids=page_name)
def test_visible_code_is_short_and_one_listing_stands_alone(path):
    problems = code_problems(path)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("path", DEEPER, ids=page_name)
def test_visible_code_is_short_on_deeper_pages(path):
    problems = code_problems(path, listing=False)
    assert not problems, "\n".join(problems)


def problems_of(folder, *cells):
    path = folder / "01-x.ipynb"
    path.write_text(stored_form(new_notebook(cells=list(cells))), encoding="utf-8")
    return code_problems(path)


def test_folded_code_exercises_and_a_long_listing_are_fine(tmp_path):
    folded = new_code_cell(f"{LONG}\n{WIDE}", metadata={"tags": ["hide-input"]})
    listing = new_code_cell(f"import torch\n\n{LONG}")
    solution = [new_markdown_cell("## Exercises"), new_code_cell(WIDE)]
    assert problems_of(tmp_path, folded, listing, *solution) == []


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([LISTING, new_code_cell(LONG)], "16 lines, at most 15"),
        ([LISTING, new_code_cell(f"{LONG}\nfrom bookkit import tables")], "17 lines, at most 15"),
        ([new_code_cell(f"import torch\n{LONG}\n{LONG}\n{LONG}\n{LONG}")], "65 lines, at most 60"),
        ([LISTING, new_code_cell(WIDE)], "85 columns, at most 76"),
        ([new_code_cell("x = 1")], "has no listing"),
        ([new_code_cell("import torch\nimport bookkit.tables")], "has no listing"),
    ],
)
def test_planted_faults_are_seen(tmp_path, cells, problem):
    found = problems_of(tmp_path, *cells)
    assert len(found) == 1
    assert found[0].startswith(f"01-x.ipynb: {problem}")
