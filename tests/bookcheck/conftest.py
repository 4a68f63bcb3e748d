"""Small books to build, a browser, and the option that turns it on."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from filelock import FileLock
from jupyter_client.kernelspec import KernelSpecManager

from bookcheck import warm
from bookcheck.browser import open_browser
from bookcheck.notebooks import forked
from bookcheck.paths import ROOT

COMMAND = Path(__file__).with_name("jupyter_book_command.py")


def pytest_addoption(parser):
    parser.addoption("--site", action="store_true", help="open the built site in a browser")
    parser.addoption("--renew", action="store_true", help="store the reference pictures again")


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: needs Chromium; run by `make test-site`")
    config.addinivalue_line("markers", "built: needs the built site; run by `make test-site`")


def pytest_ignore_collect(collection_path, config):
    """With --site, leave out the files that have no such test: most of them are slow to import."""
    if not config.getoption("--site", default=False) or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if "mark.browser" in text or "mark.built" in text else True


def pytest_collection_modifyitems(config, items):
    """What needs a browser or the built site runs with --site, all others without."""
    wanted = bool(config.getoption("--site", default=False))
    here = [item for item in items if item.path.is_relative_to(ROOT / "tests" / "bookcheck")]
    left_out = [
        item
        for item in here
        if any(item.get_closest_marker(name) for name in ("browser", "built")) != wanted
    ]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


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


@pytest.fixture(scope="module")
def forked_kernels():
    """Let `bookcheck.notebooks.execute` fork its kernels too, where programs are forked."""
    plain = KernelSpecManager.get_kernel_spec

    def get_kernel_spec(manager, kernel_name):
        spec = plain(manager, kernel_name)
        spec.metadata["kernel_provisioner"] = {"provisioner_name": forked.NAME}
        return spec

    with pytest.MonkeyPatch.context() as patch:
        if warm.possible():
            patch.setattr(KernelSpecManager, "get_kernel_spec", get_kernel_spec)
        yield


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

    def open_it(path, width=1280, *, scheme="light", javascript=True, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900 if width > 600 else 844},
            color_scheme=scheme,
            java_script_enabled=javascript,
            **options,
        )
        page = context.new_page()
        pages.append(page)
        page.errors = []

        def note_request(request):
            if not request.url.startswith(("file:", "data:", "blob:")):
                page.errors.append(f"asks another host: {request.url}")

        def note_failure(request):
            if javascript or request.resource_type != "script":
                page.errors.append(f"{request.failure}: {request.url}")

        def note_message(message):
            # A file that cannot be loaded has been noted, with its address.
            if message.type == "error" and not message.text.startswith("Failed to load resource"):
                page.errors.append(message.text)

        page.on("pageerror", lambda error: page.errors.append(error.message))
        page.on("console", note_message)
        page.on("request", note_request)
        page.on("requestfailed", note_failure)
        page.goto(path.resolve().as_uri())
        return page

    yield open_it
    for page in pages:
        page.context.close()
    assert [error for page in pages for error in page.errors] == []


def write_notebook(path, cells):
    """Store cells as a notebook."""
    notebook = nbformat.v4.new_notebook(cells=cells)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="session")
def write_book():
    """Write a book of one notebook, or of some by name, with the real settings into a folder."""

    def write(folder, notebooks, *, pages=(), repository="", address=""):
        notebooks = notebooks if isinstance(notebooks, dict) else {"one": notebooks}
        settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        settings["repository"]["url"] = repository
        settings["html"]["baseurl"] = address
        settings["sphinx"]["local_extensions"] = {"bookcheck.site.extension": str(ROOT / "src")}
        (folder / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        names = [*notebooks, *pages]
        files = "".join(f"  - file: chapters/{name}\n" for name in names)
        (folder / "_toc.yml").write_text(
            "format: jb-book\nroot: index\nparts:\n- caption: Part\n  numbered: true\n"
            f"  chapters:\n{files}",
            encoding="utf-8",
        )
        (folder / "index.md").write_text("# A small book\n\nIts text.\n", encoding="utf-8")
        (folder / "chapters").mkdir()
        (folder / "chapters" / "references.bib").touch()
        shutil.copytree(ROOT / "_static", folder / "_static")
        for name, cells in notebooks.items():
            write_notebook(folder / "chapters" / f"{name}.ipynb", cells)
        return folder

    return write


@pytest.fixture(scope="session")
def markdown():
    return nbformat.v4.new_markdown_cell


@pytest.fixture(scope="session")
def code():
    """Write an executed code cell with the given outputs, each a bundle of MIME types."""

    def cell(source, *outputs, number=1, **metadata):
        stored = [nbformat.v4.new_output("display_data", data) for data in outputs]
        return nbformat.v4.new_code_cell(
            source, outputs=stored, execution_count=number, metadata=metadata
        )

    return cell


NOTATION = r"""# Notation

| Symbol | Meaning | In code | Chapters |
|---|---|---|---|
| $d_k$ | {term}`head dimension`: length of a key | `d_k` | all |
| $m,\ n$ | positions: $m$ of the query | `m` | 1–3 |
| $s$ | a slope | `s` | 2 |
| $s$ | a scale | `s` | 4 |
| $\theta_i$ | angle of pair $i$ | `theta[i]` | all |
"""
GLOSSARY = """# Glossary

:::{glossary}
head dimension
  The length $d_k$ of one query or key vector. It is even.

logits
  The numbers before softmax.
:::
"""


REPOSITORY = "https://github.com/example/book"
ADDRESS = "https://example.org/book"
SVG = (
    '<svg role="img" aria-label="A line that rises from left to right" viewBox="0 0 9 9">'
    '<defs><path id="s0" d="M0 0"/></defs><use href="#s0"/><g clip-path="url(#s0)"/></svg>'
)
LINE = {"image/svg+xml": SVG, "text/plain": "line"}


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
"""


@pytest.fixture(scope="session")
def quiz_text():
    """A right quiz: a choice and a number."""
    return QUIZ


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
def good_site(build, write_book, markdown, code, quiz_text, tmp_path_factory):
    """A site with both addresses and everything that a chapter may hold, built once."""
    notebooks = {
        "one": [
            markdown(
                "# Chapter\n\nSee {eq}`first`, {numref}`line`, {prf:ref}`hull` and {ref}`sum`.\n\n"
                "$$\na = b\n$$ (first)\n\nInline $x_m$."
            ),
            markdown(":::{prf:theorem} Hull\n:label: hull\n\nTrue.\n:::"),
            markdown(
                ":::{prf:proof}\n:class: dropdown\nFolded.\n:::\n\n:::{prf:proof}\nOpen.\n:::"
            ),
            code("show(line)", LINE, mystnb={"figure": {"caption": "A line.", "name": "line"}}),
            code("show(line)", LINE, number=2),
            markdown(":::{exercise-start} Sum\n:label: sum\n:::\nAdd.\n:::{exercise-end}\n:::"),
            markdown(":::{solution-start} sum\n:::\nAdded."),
            code("1 + 1", {"text/plain": "2"}, number=3),
            markdown(":::{solution-end}\n:::"),
        ],
        "quiz": [markdown("# Quiz\n\nText."), markdown(f":::{{quiz}}\n{quiz_text}:::")],
        "interactive": [
            markdown("# Figures\n\nText."),
            code("show(line)", LINE, mystnb={"figure": {"caption": "A line.", "name": "fig-line"}}),
            markdown(":::{interactive} rotation\n:fallback: fig-line\n\nMove $m$.\n:::"),
            markdown(":::{interactive} clocks\n:::"),
        ],
        "02-two": [
            markdown(
                "# Two & three\n\nAll are alike. Why is it *so*?\n\n"
                "More {term}`head dimension`. The head dimension. Two logits, again logits.\n\n"
                "$$\ns = \\frac{m \\theta_i}{\\sqrt{d_k}}\n$$ (second)\n\nInline $n \\ne t$.\n\n"
                "Look at {eq}`first`, {prf:ref}`hull`, {eq}`second`."
            )
        ],
    }

    def make(folder):
        write_book(
            folder,
            notebooks,
            pages=("notation", "glossary"),
            repository=REPOSITORY,
            address=ADDRESS,
        )
        (folder / "chapters" / "notation.md").write_text(NOTATION, encoding="utf-8")
        (folder / "chapters" / "glossary.md").write_text(GLOSSARY, encoding="utf-8")
        done = build(folder, "--all", "-n", "-W", "--keep-going")
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]

    return once_for_all_workers(tmp_path_factory, "good-book", make) / "_build" / "html"


@pytest.fixture(scope="session")
def faulty_build(build, write_book, markdown, code, tmp_path_factory):
    """What the build of a book with many faults says, and the book's folder.

    Its addresses are empty. A build with warnings writes its pages all the same.
    """
    notebooks = {
        "one": [
            markdown("# Chapter\n\n{eq}`no-such-equation`"),
            code("show(line)", {"image/svg+xml": "<svg viewBox='0 0 9 9'/>", "text/plain": "line"}),
            code("plot", {"image/svg+xml": "<svg><style>*{fill:red}</style></svg>"}, number=2),
            markdown(
                "{prf:ref}`no-theorem`, {cite}`nobody`, {term}`no-term`, "
                "[x](no-page.md), [y](one.ipynb#no-heading), [z](#no-target)"
            ),
            markdown(":::{quiz}\nIs it?\n\n- [x] Yes\n  > It is.\n:::"),
            markdown(":::{interactive} clock\n:::"),
            markdown(":::{interactive} rotation\n:fallback: fig-line\n\nMove $m$.\n:::"),
            markdown(":::{answer}\n\nOne. Two. Three. Four.\n:::"),
            markdown("It is {value}`0.30`."),
        ]
    }

    def make(folder):
        write_book(folder, notebooks)
        done = build(folder, "--all", "-n", "-W", "--keep-going")
        said = {"status": done.returncode, "words": done.stdout + done.stderr}
        (folder / "said.json").write_text(json.dumps(said), encoding="utf-8")

    folder = once_for_all_workers(tmp_path_factory, "faulty-book", make)
    said = json.loads((folder / "said.json").read_text(encoding="utf-8"))
    return SimpleNamespace(folder=folder, status=said["status"], words=said["words"])
