"""Small books to build, and a browser."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from filelock import FileLock
from playwright.sync_api import expect

from bookformat.paths import ROOT
from booksite.browser import open_browser

# Playwright waits 5 seconds for what a test expects, which is little on a busy machine.
expect.set_options(timeout=60_000)

COMMAND = Path(__file__).with_name("jupyter_book_command.py")


def pytest_addoption(parser):
    parser.addoption("--renew", action="store_true", help="store the reference pictures again")


@pytest.fixture(scope="session")
def build():
    """Run Jupyter Book on a folder, as the README says, and return the finished process."""

    def run(folder, *options):
        # The addresses are those of the test, wherever the tests run.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BOOK_")}
        return subprocess.run(
            [sys.executable, COMMAND, "build", folder, *options],
            cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture
def open_page(browser):
    """Open a file in a window of its own; what goes wrong in it is listed in its `errors`.

    At the end of the test the list must be empty: a test that expects errors clears it.
    """
    pages = []

    def open_it(path, width=1280, *, scheme="light", javascript=True):
        size = {"width": width, "height": 900 if width > 600 else 844}
        page = browser.new_page(viewport=size, color_scheme=scheme, java_script_enabled=javascript)
        pages.append(page)
        page.errors = []

        def note_request(request):
            if not request.url.startswith(("file:", "data:", "blob:")):
                page.errors.append(f"asks another host: {request.url}")

        def note_message(message):
            if message.type == "error":
                page.errors.append(f"{message.text}: {message.location['url']}")

        page.on("pageerror", lambda error: page.errors.append(error.message))
        page.on("console", note_message)
        page.on("request", note_request)
        page.goto(path.resolve().as_uri())
        return page

    yield open_it
    for page in pages:
        page.context.close()
    assert [error for page in pages for error in page.errors] == []


@pytest.fixture(scope="session")
def write_book():
    """Write a book of notebooks, by name, with the real settings into a folder."""

    def write(folder, notebooks, *, contents="", repository="", address=""):
        settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        settings["repository"]["url"] = repository
        settings["html"]["baseurl"] = address
        settings["sphinx"]["local_extensions"] = {"booksite.extension": str(ROOT / "src")}
        (folder / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        files = contents or "".join(f"  - file: chapters/{name}\n" for name in notebooks)
        (folder / "_toc.yml").write_text(
            "format: jb-book\nroot: index\nparts:\n- caption: Part\n  numbered: true\n"
            f"  chapters:\n{files}",
            encoding="utf-8",
        )
        (folder / "index.md").write_text("# A small book\n\nIts text.\n", encoding="utf-8")
        (folder / "chapters" / "deeper").mkdir(parents=True)
        (folder / "chapters" / "references.bib").touch()
        shutil.copytree(ROOT / "_static", folder / "_static")
        for name, cells in notebooks.items():
            language = {"language_info": {"name": "python"}}
            notebook = nbformat.v4.new_notebook(cells=cells, metadata=language)
            nbformat.write(notebook, folder / "chapters" / f"{name}.ipynb")
        return folder

    return write


def markdown(*sources):
    return [nbformat.v4.new_markdown_cell(source) for source in sources]


def code(source, *outputs, number=1, **metadata):
    """An executed code cell with the given outputs, each a bundle of MIME types."""
    stored = [nbformat.v4.new_output("display_data", data) for data in outputs]
    return nbformat.v4.new_code_cell(
        source, outputs=stored, execution_count=number, metadata=metadata
    )


SVG = (
    '<svg role="img" aria-label="A line that rises from left to right" viewBox="0 0 9 9">'
    '<defs><path id="s0" d="M0 0"/></defs><use href="#s0"/><g clip-path="url(#s0)"/></svg>'
)
LINE = {"image/svg+xml": SVG, "text/plain": "line"}
ROWS = "<tr><td>n</td><td>scale</td></tr><tr><td>-2</td><td>√d_k a/b</td></tr>"
TABLE = f'<table class="book-table">{ROWS}</table>'
QUIZ = """\
Which divisor keeps $p$ the same?

- [ ] $d_k$
  > All weights become equal.
- [x] $\\sqrt{d_k}$
  > The scores then have
  > variance 1.

What is $(2, 1) \\cdot (1, 2)$? Two decimals.

- [=] 4.00 {check}`torch.tensor([2.0, 1.0]) @ torch.tensor([1.0, 2.0])`
  > Two plus two.
- [ ] 5.00 {check}`torch.tensor([2.0, 1.0]) @ torch.tensor([2.0, 1.0])`
  > This is the first vector with itself.
"""


@pytest.fixture(scope="session")
def quiz_text():
    """A right quiz: a choice and a number."""
    return QUIZ


TOP = """# Chapter & more

*How many?*

:::{answer}
:needs: [chapter 1](one.ipynb)

There are two. They are {value}`0.50 = 1 / 2` apart.
:::

See {eq}`first`, {numref}`line`, {prf:ref}`hull` and {ref}`sum`, and [more](deeper/one.ipynb).

$$
a = b
$$ (first)

Inline $x_m$.

**You can stop here**: it is answered.
"""
THEOREM = """:::{prf:theorem} Hull
:label: hull

True:
:::

$$
b = c
$$ (second)

:::{prf:proof}
:class: dropdown
Folded.
:::

:::{prf:proof}
Open.
:::
"""
GOOD = {
    "one": [
        *markdown(TOP, THEOREM),
        code("x", LINE, mystnb={"figure": {"caption": "{value}`7 = 3 + 4`.", "name": "line"}}),
        code("show(line)", LINE, number=2),
        *markdown(
            ":::{exercise-start} Sum\n:label: sum\n:::\nAdd.\n:::{exercise-end}\n:::",
            ":::{solution-start} sum\n:::\nAdded.",
        ),
        code("1 + 1", {"text/html": TABLE, "text/plain": "2"}, number=3),
        *markdown(":::{solution-end}\n:::"),
    ],
    "deeper/one": markdown(
        "# Deeper: two\n\nBack to [two](../one.ipynb) and {eq}`first`.\n\n"
        ":::{answer}\nTrue.\n:::\n\n## Part\n\n$$\nc = d\n$$ (third)\n\nBy {eq}`third`."
    ),
    "two": [
        *markdown("# Quiz\n\nText.", f":::{{quiz}}\n{QUIZ}:::", "## Code to take away\n\nHere."),
        code("show(line)", LINE, mystnb={"figure": {"caption": "A line.", "name": "fig-line"}}),
        *markdown(
            ":::{interactive} rotation\n:fallback: fig-line\n\nMove $m$.\n:::",
            ":::{interactive} clocks\n:::",
        ),
    ],
}  # fmt: skip
CONTENTS = """\
  - file: chapters/one
    sections:
    - file: chapters/deeper/one
  - file: chapters/two
  - file: chapters/api
  - file: chapters/source/index
    sections:
    - file: chapters/source/axes
"""
# An equation with code that computes it, and a listing of this code.
EXPLAINED = """# The source

$$
a = b
$$ (eq-axes)

```{literalinclude} PATH
:pyobject: axial_table
```
"""
AXES = """# Axes

See [two](../two.ipynb).

```{annotated} attention_to_rope/rope_axes.py
axial_table: eq-axes
```
"""
REPOSITORY, ADDRESS = "https://github.com/example/book", "https://example.org/book"


# What waits for one of these is slow: a book is built, or all of its sources are written anew.
BUILT_ANEW = {"good_site", "translated"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what waits for many seconds before it begins."""
    for item in items:
        if BUILT_ANEW & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


def once_for_all_workers(tmp_path_factory, name, make):
    """Make a folder once, however many workers ask for it at the same time."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            folder.mkdir()
            make(folder)
    return folder


@pytest.fixture(scope="session")
def good_site(build, write_book, tmp_path_factory):
    """A site with both addresses and everything that a chapter may hold, built once."""

    def make(folder):
        write_book(folder, GOOD, contents=CONTENTS, repository=REPOSITORY, address=ADDRESS)
        reference = "# Names\n\n```{api}\nrope_axes\n```\n"
        (folder / "chapters" / "api.md").write_text(reference, encoding="utf-8")
        explained = folder / "chapters" / "source"
        explained.mkdir()
        path = os.path.relpath(ROOT / "src" / "attention_to_rope" / "rope_axes.py", explained)
        index = EXPLAINED.replace("PATH", path)
        (explained / "index.md").write_text(index, encoding="utf-8")
        (explained / "axes.md").write_text(AXES, encoding="utf-8")
        done = build(folder, "--all", "-n", "-W", "--keep-going")
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]

    return once_for_all_workers(tmp_path_factory, "good-book", make) / "_build" / "html"
