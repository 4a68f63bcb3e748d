"""`make check PAGE=…` runs the tests of the page that it names, notebook or text."""

import io
from contextlib import redirect_stdout

import pytest

from bookcheck.page import TESTS, commands, file_of, selection
from bookformat.paths import CHAPTERS, ROOT


def collected(*pages):
    """The tests that are selected for some pages, of files that are quickly read."""
    files = [f"tests/{name}.py" for name in ("bookkit/test_exercises", "bookformat/test_values")]
    files += ["tests/bookcheck/test_back_matter.py", "tests/listings/test_half_precision.py"]
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-n", "0", "-q"]
    options += ["--collect-only", "-p", "no:cacheprovider", "-k", selection(pages)]
    said = io.StringIO()
    # In this process, which has imported PyTorch already.
    with redirect_stdout(said):
        status = pytest.main([*options, *(str(ROOT / file) for file in files)])
    assert status == pytest.ExitCode.OK, said.getvalue()
    return {line.partition("::")[2] for line in said.getvalue().splitlines() if "::" in line}


def test_the_tests_of_a_page_are_selected_and_those_of_others_are_not():
    found = collected("attention")
    assert "test_the_stored_solution_passes[attention-attend_with_sink]" in found
    assert "test_a_chapter_with_exercises_asks_for_code_and_checks_it[attention]" in found
    assert "test_attention_keeps_float64" in found
    assert "test_the_answer_to_every_question_leads_to_a_section" in found
    assert not [name for name in found if "[cache" in name or "encoder_decoder" in name]
    assert not [name for name in found if "attention_in_blocks" in name]


def test_the_tests_of_a_page_without_code_are_selected():
    found = collected("glossary", "deeper/clocks")
    assert "test_the_values_of_pages_without_code_are_right[glossary]" in found
    assert "test_the_values_of_pages_without_code_are_right[notation]" not in found


def test_names_are_matched_as_tests_write_them():
    words = selection(["deeper/clocks"]).split(" or ")
    assert words[:2] == ["clocks", "deeper_clocks"]


def test_all_files_of_tests_exist():
    assert [name for name in TESTS if not (ROOT / name).exists()] == []


def test_only_notebooks_are_run():
    assert file_of("glossary") == CHAPTERS / "glossary.md"
    tests, misprints = commands(["glossary"])
    assert tests[:2] == ["pytest", TESTS[0]]
    assert misprints == ["bookcheck.equations.mutate", "glossary"]
    style, tests, _ = commands(["glossary", "cache"])
    assert style == ["ruff", "check", str(CHAPTERS / "cache.ipynb")]
    assert tests[1] == style[2]


def test_the_opening_page_is_checked_too():
    assert file_of("index") == ROOT / "index.md"
    assert "test_the_values_of_pages_without_code_are_right[index]" in collected("index")


@pytest.mark.parametrize("page", ["", "cash", "references.bib"])
def test_a_page_that_does_not_exist_is_refused(page):
    with pytest.raises(SystemExit, match=r"name a page, for example: make check PAGE=relative"):
        commands([page])
