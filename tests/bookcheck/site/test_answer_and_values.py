"""The answer's box, printed values, and pages of depth, in a small book."""

import re

import nbformat
import pytest

FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 9 9" '
    'aria-label="a line that rises to the right"><path d="M0 0L9 9"/></svg>'
)
TOP = """# Two

*How many?*

:::{answer}
:needs: [chapter 1](one.ipynb)

There are two. They are {value}`0.50 = 1 / 2` apart.
:::

$$
a = b
$$ (eq-first)

Read [more](deeper/one.ipynb).
"""


@pytest.fixture(scope="module")
def site(build, write_book, markdown, code, tmp_path_factory):
    caption = {"figure": {"caption": "It is {value}`7 = 3 + 4`.", "name": "fig-a"}}
    cells = [markdown(TOP), code("x", {"image/svg+xml": FIGURE}, mystnb=caption)]
    folder = write_book(tmp_path_factory.mktemp("book"), cells)
    (folder / "chapters" / "deeper").mkdir()
    deeper = nbformat.v4.new_notebook(
        cells=[
            markdown(
                "# Deeper: two\n\nBack to [two](../one.ipynb) and {eq}`eq-first`.\n\n"
                ":::{answer}\nTrue.\n:::\n\n## Part\n\n$$\nc = d\n$$ (eq-second)\n\n"
                "By {eq}`eq-second`."
            ),
        ]
    )
    nbformat.write(deeper, folder / "chapters" / "deeper" / "one.ipynb")
    contents = folder / "_toc.yml"
    contents.write_text(
        contents.read_text(encoding="utf-8") + "    sections:\n    - file: chapters/deeper/one\n",
        encoding="utf-8",
    )
    done = build(folder, "--all", "-n", "-W", "--keep-going")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "_build" / "html"


def test_the_box_has_the_answer_its_minutes_and_its_needs(site):
    page = (site / "chapters" / "one.html").read_text(encoding="utf-8")
    box = re.search(r'<div class="answer admonition.*?</div>', page, re.DOTALL)[0]
    assert "There are two." in box
    assert "Main line: 1 minute. Needs" in box
    assert re.search(r'Needs <a class="reference[^>]*>.*?chapter 1.*?</a>\.', box, re.DOTALL)


def test_values_show_their_printed_part(site):
    page = (site / "chapters" / "one.html").read_text(encoding="utf-8")
    assert '<span class="value">0.50</span>' in page
    assert '<span class="value">7</span>' in page
    assert "1 / 2" not in page
    assert "3 + 4" not in page


def test_a_page_of_depth_belongs_to_its_chapter(site):
    page = (site / "chapters" / "deeper" / "one.html").read_text(encoding="utf-8")
    assert "Reading time:" in page
    assert 'href="../one.html#equation-eq-first"' in page
    # Its equations are numbered on after those of the chapter.
    assert "(1.1)" in page
    assert "(1.2)" in page


@pytest.mark.parametrize(
    "complaint",
    [
        "the answer has 4 sentences, at most 3",
        "write {value}`printed = expression`",
    ],
)
def test_a_fault_stops_the_build(faulty_build, complaint):
    assert faulty_build.status != 0
    assert complaint in faulty_build.words
