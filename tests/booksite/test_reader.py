"""Reader's notebooks: what each part of a page becomes, and that nothing raw is left in any."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pybtex.database import parse_string

from bookformat.contents import page_name
from bookformat.notebooks import chapter_notebooks, read
from bookformat.paths import BUILD, CHAPTERS
from booksite.reader import (
    Book,
    Page,
    ReaderError,
    Target,
    notebook_names,
    reader_notebook,
    write_notebooks,
)

SITE = "https://example.org/book/"
TARGETS = {
    "eq-score": Target("(1.1)", "one"),
    "eq-far": Target("(2.3)", "two"),
    "thm-hull": Target("Theorem 1.1", "one"),
    "ex-sum": Target("Exercise 1.1", "one"),
    "fig-line": Target("Fig. 1.1", "one"),
}
SOURCES = parse_string(
    """@misc{a, author={Ada and Bo and Cy}, year=2017, url={https://a.example}}
    @misc{b, author={Bo}, year=2020}""",
    "bibtex",
).entries
# What a reader must never see; HTML beside folds, since its links are not resolved.
RAW = re.compile(
    r":::|```\{|\{[\w:-]+\}`|^% |\$\$[ \t]*\(eq-|^\([\w-]+\)=|\[ \]|\[x\]|\]\{[#.]|\[\*\*"
    r"|<(?!/?(?:details|summary)>)/?[a-z]",
    re.MULTILINE,
)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def page(site=""):
    return Page("one", Book(TARGETS, SOURCES, site))


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("$$\na = b\n$$ (eq-score)", "$$\na = b \\tag{1.1}\n$$"),
        ("By {eq}`eq-score`", "By (1.1)"),
        ("By {eq}`eq-far`", "By [(2.3)](two.ipynb)"),
        ("{prf:ref}`thm-hull`, {numref}`fig-line`", "Theorem 1.1, Fig. 1.1"),
        ("{value}`0.30 = x.std()`", "0.30"),
        ("a {term}`token`", "a token"),
        ("Words. {in-english}`(in English)`", "Words. (in English)"),
        ("{cite:p}`a,b`", "([Ada et al., 2017](https://a.example); Bo, 2020)"),
        ("{cite:t}`a` says", "[Ada et al. (2017)](https://a.example) says"),
        ("[two](two.ipynb#part)", "[two](two.ipynb)"),
        ("[deep](deeper/one.ipynb)", "[deep](deeper/one.ipynb)"),
        ("[notation](notation.md) [here](#part)", "notation here"),
        ("% constants: 2\nText", "Text"),
        ("(here)=\n## Part", "## Part"),
        ("[**1.**]{#one} Text", "**1.** Text"),
        ('<a href="../_static/a.json">vectors</a>', "vectors"),
        ("```bash\nmake {eq}`x` [a](b.md)\n```", "```bash\nmake {eq}`x` [a](b.md)\n```"),
    ],
)
def test_text(source, plain):
    assert page().inline(source) == plain


def test_what_has_no_notebook_leads_to_the_site_where_its_address_is_known():
    for source, plain in [
        ("[notation](notation.md)", f"[notation]({SITE}chapters/notation.html)"),
        ('<a href="../_static/a.json">vectors</a>', f"[vectors]({SITE}_static/a.json)"),
    ]:
        assert page(SITE).inline(source) == plain


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{glue}`x`", "no plain form is known for the role {glue}`x`"),
        (":::{plot}\nx\n:::", "no plain form is known for the directive 'plot'"),
    ],
)
def test_what_is_not_known_is_refused(source, message):
    with pytest.raises(ReaderError, match=re.escape(f"chapters/one.ipynb: {message}")):
        page().markdown(source)


def said(source):
    """A Markdown cell of the source as the reader gets it."""
    made = page()
    made.markdown(source)
    made.end_prose()
    return made.cells[-1]["source"]


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        (
            "# One\n\n:::{answer}\n:needs: [two](two.ipynb)\n\nYes.\n:::",
            "# One\n\n> **The answer.** Yes.\n>\n> Needs [two](two.ipynb).",
        ),
        (
            ":::{prf:theorem} Hull\n:label: thm-hull\n\nTrue.\n:::\n\n"
            "::::{prf:proof}\n:class: dropdown\n\n$$\na = b\n$$ (eq-score)\n::::",
            "**Theorem 1.1 (Hull).** True.\n\n<details>\n<summary>Proof</summary>\n\n"
            "$$\na = b \\tag{1.1}\n$$\n\n</details>",
        ),
        (
            ":::{interactive} rotation\n:fallback: fig-line\n\nMove $m$.\n:::",
            "> On the book's page this figure can be moved. Move $m$.",
        ),
        (
            ":::{quiz}\nHow many?\n\n- [=] 4 {check}`2 + 2`\n  > Count.\n:::",
            "### Question 1\n\nHow many?\n\n<details>\n<summary>Answer</summary>\n\n"
            "**4.** Count.\n\n</details>",
        ),
        (
            ":::{quiz}\nHow many?\n\n- [=] 4 {check}`4`\n  > Count.\n"
            "- [ ] 3 {check}`3`\n  > One is missing.\n:::",
            "### Question 1\n\nHow many?\n\n<details>\n<summary>Answer</summary>\n\n"
            "**4.** Count.\n\n3: One is missing.\n\n</details>",
        ),
    ],
)
def test_blocks(source, plain):
    assert said(source) == plain


def test_included_source_code_is_a_listing():
    path = "../src/one_file/llama.py"
    text = said(f":::{{literalinclude}} {path}\n:pyobject: rotate\n:::")
    assert text.startswith("```python\ndef rotate(x: Tensor, table: Table) -> Tensor:\n")
    assert text.splitlines()[-2].startswith("    return rotated.to(x.dtype)")
    assert text.endswith("\n```")


def test_a_choice_folds_its_answers_and_hides_its_checks():
    shown, _, folded = said(
        ":::{quiz}\nIs it?\n\n- [x] Yes {check}`True`\n  > It is.\n- [ ] No\n  > It is not.\n:::"
    ).partition("<details>")
    assert shown == "### Question 1\n\nIs it?\n\n- **A.** Yes\n- **B.** No\n\n"
    assert "\n\n- **A.** Right. It is.\n- **B.** Not yet. It is not." in folded


@pytest.fixture
def notebook(tmp_path):
    """A page with a figure and an exercise that asks for a function."""
    figure = {"mystnb": {"figure": {"name": "fig-line", "caption": "A {value}`2 = 1 + 1`."}}}
    cells = [
        new_markdown_cell("# One\n\n*Why?*"),
        new_code_cell("1 + 1", execution_count=1, metadata=figure),
        new_markdown_cell(
            ":::{exercise-start} Sum\n:label: ex-sum\n:::\nWrite `lead_for(weight, n)`.\n"
            ":::{exercise-end}\n:::\n\n:::{solution-start} ex-sum\n:class: dropdown\n:::\nSolved."
        ),
        new_code_cell('def lead_for(weight, n): ...\n\n\ncheck("lead_for")', execution_count=2),
        new_markdown_cell("So.\n:::{solution-end}\n:::\n\nThe end."),
    ]
    cells[1].outputs = [new_output("execute_result", {"text/plain": "2"}, execution_count=1)]
    path = tmp_path / "one.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    (tmp_path / "references.bib").touch()
    return path


def test_an_exercise_has_a_cell_to_write_in_and_its_solution_does_not_run(notebook):
    made = reader_notebook(notebook, Book(TARGETS, SOURCES), notebook.parent)
    nbformat.validate(made)
    title, sum_, caption, asked, write, check, solution = made["cells"]
    assert title["source"] == "# One\n\n*Why?*"
    assert sum_["outputs"][0]["data"] == {"text/plain": "2"}
    assert caption["source"] == "**Fig. 1.1.** A 2."
    assert asked["source"].startswith("### Exercise 1.1: Sum\n\nWrite `lead_for(weight, n)`.")
    assert write["source"].startswith("# Write lead_for here")
    assert check["source"].endswith('check("lead_for")')
    assert solution["source"] == (
        "<details>\n<summary>Solution of exercise 1.1</summary>\n\nSolved.\n\n"
        '```python\ndef lead_for(weight, n): ...\n\n\ncheck("lead_for")\n```\n\nSo.\n\n'
        "</details>\n\nThe end."
    )


def test_binder_finds_the_library_beside_the_notebooks(notebook, tmp_path):
    for repository in ("", "https://github.com/example/book"):
        target = tmp_path / f"made {bool(repository)}"
        write_notebooks(target, notebook.parent, Book(TARGETS, SOURCES, repository=repository))
        made = (target / "one.ipynb").read_text(encoding="utf-8")
        assert ("from-attention-to-rope @ git+" in made) == bool(repository)
        wanted = target / "requirements.txt"
        assert wanted.is_file() == bool(repository)
    assert wanted.read_text(encoding="utf-8") == f"from-attention-to-rope @ git+{repository}\n"


def test_notebooks_have_the_numbers_of_the_contents_and_old_ones_go(notebook, tmp_path):
    chapters = tmp_path / "chapters"
    chapters.mkdir()
    for name in ("one", "two", "references.bib"):
        text = notebook.read_text(encoding="utf-8") if "." not in name else ""
        (chapters / (name if "." in name else f"{name}.ipynb")).write_text(text, encoding="utf-8")
    part = "parts:\n- caption: Part\n  numbered: 2\n  chapters:\n"
    for order in (("one", "two"), ("two", "one")):
        files = "".join(f"  - file: chapters/{name}\n" for name in order)
        (tmp_path / "_toc.yml").write_text(part + files, encoding="utf-8")
        book = Book(TARGETS, SOURCES, notebooks=notebook_names(chapters))
        write_notebooks(tmp_path / "made", chapters, book)
        made = sorted(path.name for path in (tmp_path / "made").glob("*.ipynb"))
        assert made == [f"01-{order[0]}.ipynb", f"02-{order[1]}.ipynb"]
    assert Page("one", book).linked("two", "two.ipynb") == "[two](01-two.ipynb)"


@pytest.mark.built
@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_a_reader_gets_the_code_of_the_page_and_nothing_raw(path):
    made = BUILD / "html" / "notebooks" / f"{notebook_names(CHAPTERS)[page_name(path)]}.ipynb"
    cells = read(made).cells
    for cell in cells:
        raw = RAW.search(CODE.sub("", cell.source)) if cell.cell_type == "markdown" else None
        assert raw is None, f"{cell.id}: {raw.group()!r}"
    # The code runs, or is read in the solutions.
    said = "\n".join(cell.source for cell in cells)
    assert all(cell.cell_type == "markdown" or cell.source in said for cell in read(path).cells)
