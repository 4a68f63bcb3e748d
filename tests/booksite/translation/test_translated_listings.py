"""A reader who runs the listings of a translated page sees the outputs that the page shows."""

import contextlib
import io
import os
from types import SimpleNamespace

import numpy as np
import pytest

from bookcheck.notebooks.outputs import text_difference
from bookcheck.notebooks.rules import tolerance
from bookformat.paths import CHAPTERS
from booksite.translation import catalogs
from booksite.translation.messages import is_folded, is_listing, read_page, translate_notebook

PAGES = [page for page in catalogs.pages() if page.suffix == ".ipynb"]


def outputs_of(cell):
    """What a cell printed when its output was stored."""
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")  # the compiler cannot read the checks
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_translated_page_prints_what_it_shows(page):
    notebook = translate_notebook(read_page(page), catalogs.translations(page, "zh_CN").get)
    names = {"__name__": "__main__"}
    faults = []
    with contextlib.chdir(CHAPTERS), pytest.MonkeyPatch.context() as patch, np.printoptions():
        patch.setitem(os.environ, "BOOK_LANGUAGE", "zh_CN")
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(cell["source"], page.name, "exec"), names)
            only_prints = all("text" in output for output in cell["outputs"])
            # A file of the library that a cell prints has translated comments on the page alone.
            prints_a_file = is_folded(cell) and "find_spec(" in cell["source"]
            if only_prints and is_listing(cell) and not prints_a_file:
                allowed = tolerance(SimpleNamespace(**cell))
                fault = text_difference(outputs_of(cell), stream.getvalue(), allowed)
                faults += [fault] if fault else []
    assert faults == []
