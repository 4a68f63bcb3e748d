"""The pages behind the chapters: every source item, erratum and question is there and leads on."""

import re

import nbformat
import pytest

from bookcheck.notebooks.files import page_text
from bookcheck.paths import CHAPTERS, book_pages
from bookcheck.prose.back_matter import (
    bibliography_problems,
    erratum_problems,
    question_problems,
    source_problems,
    term_problems,
)

# The items of the five notes; S2.3 is a remark outside the subject.
SOURCE_IDS = [
    f"S{note}.{item}"
    for note, count in enumerate((27, 24, 39, 37, 13))
    for item in range(1, count + 1)
    if (note, item) != (2, 3)
]
ERRATA = [
    *(str(number) for number in range(1, 39)),
    "Vaswani et al",
    "happy-llm",
    "You could have designed state of the art positional encoding",
    "labml.ai",
    "The Annotated Transformer",
    "Dive into Deep Learning",
]
QUESTIONS = [
    "My RoPE does not match the library's: pairs (0,1),(2,3)… or (0,d/2),(1,d/2+1)…? "
    "Which is right?",
    "Why do conversion scripts permute W_q and W_k?",
    "Which way does it rotate: is it −sin in the upper or the lower corner?",
    "Is the formula on that page wrong, or am I?",
    "Is 2i the token or the dimension?",
    "Why √d and not d? Why divide at all?",
    "d_k or d_model under the root?",
    "Why add the position instead of concatenating it?",
    "Pre-norm or post-norm: the text says one, the code the other?",
    "Does RoPE lose precision in bf16 / at long positions?",
    "My dynamic-NTK outputs change with a key-value cache",
    "What exactly is YaRN's mscale, and where is it applied?",
    "ALiBi slopes when the number of heads is no power of two?",
    "ALiBi in a bidirectional model?",
    "NaN when a row is fully masked",
    'Is True "attend" or "ignore"?',
    "Causal mask when there are fewer queries than keys?",
    "fp16 attention overflows",
    "Does a decoder without any positional encoding know the order?",
    "Why does the value not get rotated?",
    "Does RoPE really decay with distance?",
    "Where are the solutions to the exercises?",
    "Which positional encoding should I take?",
    "Which rope_theta do I need?",
]
PAGES = book_pages()


def read(name):
    return (CHAPTERS / name).read_text(encoding="utf8")


def none(problems):
    assert not problems, "\n".join(problems)


def test_every_source_item_has_a_row_that_leads_to_a_section():
    none(source_problems(read("sources.md"), SOURCE_IDS))


def test_every_erratum_is_computed_and_leads_to_a_chapter():
    none(erratum_problems(CHAPTERS / "errata.ipynb", ERRATA))


def test_every_question_is_answered():
    none(question_problems(read("questions.md"), QUESTIONS))


def test_the_glossary_is_in_order():
    none(term_problems(read("glossary.md")))


def test_the_bibliography_is_complete():
    none(bibliography_problems(read("references.bib")))


def test_every_cited_work_is_in_the_bibliography_and_every_entry_is_cited():
    text = "\n".join(page_text(page) for page in PAGES)
    cited = {
        key.strip()
        for keys in re.findall(r"\{cite[^}]*\}`([^`]+)`", text)
        for key in keys.split(",")
    }
    entries = set(re.findall(r"@\w+\{([^,\s]+),", read("references.bib")))
    assert cited == entries


def errata_page(folder, source, output):
    """A page with one entry, and a cell that prints `output`."""
    path = folder / "errata.ipynb"
    cell = nbformat.v4.new_code_cell("print(figure)")
    if output:
        cell.outputs = [nbformat.v4.new_output("stream", text=output)]
    cells = [nbformat.v4.new_markdown_cell(source), cell]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


class TestPlantedFaults:
    """Each check sees the fault it is there for."""

    ROW = "| [S0.1]{#s0-1} | what it says | [1](one.md#first) |\n"

    @pytest.mark.parametrize(
        ("page", "problem"),
        [
            ("", "S0.1 is missing"),
            (ROW + ROW, "S0.1 has 2 rows or an empty description"),
            (ROW + ROW.replace("0.1", "9.9"), "S9.9 is not an item of the sources"),
            (ROW.replace("[1](one.md#first)", "chapter 1"), "S0.1 has no link to a section"),
            (ROW.replace("what it says", " "), "S0.1 has 2 rows or an empty description"),
        ],
    )
    def test_sources(self, page, problem):
        assert source_problems(self.ROW, ["S0.1"]) == []
        assert problem in source_problems(page, ["S0.1"])

    @pytest.mark.parametrize(
        ("text", "printed", "problem"),
        [
            ("nothing", "1.0", "erratum 7 is missing"),
            ("[**7.**]{#erratum-7} wrong.", "1.0", "erratum 7 has no link to a chapter"),
            (
                "[**7.**]{#erratum-7} [c](01-chapter.md).",
                "",
                "erratum 7 has no cell that prints a figure",
            ),
            ("[**8.**]{#erratum-8} [c](01-chapter.md).", "1.0", "erratum 8 is not in the list"),
        ],
    )
    def test_errata(self, tmp_path, text, printed, problem):
        right = errata_page(tmp_path, "[**7.**]{#erratum-7} [c](01-chapter.md).", "1.0")
        assert erratum_problems(right, ["7"]) == []
        assert problem in erratum_problems(errata_page(tmp_path, text, printed), ["7"])

    def test_an_erratum_without_the_text_it_corrects(self, tmp_path):
        named = "[**A book.**]{#erratum-book} [c](01-chapter.md)."
        alone = errata_page(tmp_path, named, "1.0")
        problem = "erratum A book has no link to the text it corrects"
        assert erratum_problems(alone, ["A book"]) == [problem]
        linked = errata_page(tmp_path, f"{named} Its [text](https://example.org).", "1.0")
        assert erratum_problems(linked, ["A book"]) == []

    @pytest.mark.parametrize(
        ("page", "problem"),
        [
            ("### Why not?\n\nSo. See [1](one.md).\n", "not asked: Why?"),
            ("### Why?\n\nSo it is. It was so.\n", "no link: Why?"),
            ("### Why?\n\nSo it is, see [1](one.md).\n", "an answer of 1 sentence(s): Why?"),
        ],
    )
    def test_questions(self, page, problem):
        assert question_problems("### Why?\n\nSo. See [1](one.md).\n", ["Why?"]) == []
        assert problem in question_problems(page, ["Why?"])

    @pytest.mark.parametrize(
        ("terms", "problem"),
        [
            ("b\n  Two.\n\na\n  One.", "a stands after b"),
            ("a\n  One.\n\nA\n  Two.", "A stands twice"),
            ("a\n\nb\n  Two.", "a has no definition"),
        ],
    )
    def test_glossary(self, terms, problem):
        assert term_problems(":::{glossary}\na\n  One.\n\nB\n  Two.\n:::\n") == []
        assert problem in term_problems(f":::{{glossary}}\n{terms}\n:::\n")

    def test_bibliography(self):
        fields = ("author = {A}", "title = {T}", "publisher = {P}", "year = {2000}")
        entry = "@book{a2000,\n  " + ",\n  ".join(fields) + "\n}\n"
        assert bibliography_problems(entry) == []
        assert bibliography_problems(entry + entry) == ["a2000 stands twice"]
        assert bibliography_problems(entry.replace("year", "when")) == ["a2000 has no year"]
        assert bibliography_problems(entry.replace("@book", "@map")) == ["a2000: no rule for @map"]
