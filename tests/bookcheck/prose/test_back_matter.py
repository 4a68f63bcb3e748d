"""The pages behind the chapters: every source item is there, and all lead on."""

import nbformat
import pytest

from bookcheck.paths import CHAPTERS
from bookcheck.prose.back_matter import erratum_problems, question_problems, source_problems

# The items of the five notes; S2.3 is a remark outside the subject.
SOURCE_IDS = [
    f"S{note}.{item}"
    for note, count in enumerate((27, 24, 39, 37, 13))
    for item in range(1, count + 1)
    if (note, item) != (2, 3)
]


def read(name):
    return (CHAPTERS / name).read_text(encoding="utf8")


def none(problems):
    assert not problems, "\n".join(problems)


def test_every_source_item_has_a_row_that_leads_to_a_section():
    none(source_problems(read("sources.md"), SOURCE_IDS))


def test_every_erratum_is_computed_and_leads_to_a_chapter():
    none(erratum_problems(CHAPTERS / "errata.ipynb"))


def test_every_question_is_answered():
    none(question_problems(read("questions.md")))


def errata_page(folder, source, output):
    """A page with one entry, and a cell that prints `output`."""
    path = folder / "errata.ipynb"
    cell = nbformat.v4.new_code_cell("print(figure)")
    if output:
        cell.outputs = [nbformat.v4.new_output("stream", text=output)]
    cells = [nbformat.v4.new_markdown_cell(source), cell]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


ROW = "| [S0.1]{#s0-1} | what it says | [1](one.md#first) |\n"
ERRATUM = "[**7.**]{#erratum-7} wrong, see [c](01-chapter.md)."
NAMED = "[**A book.**]{#erratum-book} [c](01-chapter.md)."


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("", "S0.1 is missing"),
        (ROW.replace("[1](one.md#first)", "chapter 1"), "S0.1 needs a description and a link"),
        (ROW.replace("what it says", " "), "S0.1 needs a description and a link"),
    ],
)
def test_planted_faults_in_sources_are_seen(page, problem):
    assert source_problems(ROW, ["S0.1"]) == []
    assert problem in source_problems(page, ["S0.1"])[0]


@pytest.mark.parametrize(
    ("text", "printed", "problem"),
    [
        ("nothing", "1.0", "there is no erratum"),
        (ERRATUM.replace("(01", "(https://a"), "1.0", "erratum 7 needs a link to a chapter"),
        (ERRATUM, "", "erratum 7 needs a cell below it that prints numbers"),
        (f"{ERRATUM}\n\n{NAMED}", "1.0", "erratum A book needs a link to the text it corrects"),
    ],
)
def test_planted_faults_in_errata_are_seen(tmp_path, text, printed, problem):
    assert erratum_problems(errata_page(tmp_path, ERRATUM, "1.0")) == []
    linked = errata_page(tmp_path, f"{NAMED} Its [text](https://example.org).", "1.0")
    assert erratum_problems(linked) == []
    found = erratum_problems(errata_page(tmp_path, text, printed))
    assert f"errata.ipynb: {problem}" in found


def test_a_question_without_a_link_is_seen():
    assert question_problems("### Why?\n\nSo. See [1](one.md).\n") == []
    (problem,) = question_problems("### Why?\n\nSo it is. It was so.\n")
    assert "the answer to 'Why?' needs a link" in problem
