"""Small books to build, and the option that turns the browser on."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM, ROOT
from bookcheck.site.math import Katex


def pytest_addoption(parser):
    parser.addoption("--site", action="store_true", help="open the built site in a browser")


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: needs Chromium; run by `make test-site`")


def pytest_collection_modifyitems(config, items):
    """The browser's tests run with --site, all others without: a machine needs no browser."""
    wanted = bool(config.getoption("--site", default=False))
    here = [item for item in items if item.path.is_relative_to(ROOT / "tests" / "bookcheck")]
    left_out = [item for item in here if bool(item.get_closest_marker("browser")) != wanted]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def build():
    """Run Jupyter Book on a folder, as the README says, and return the finished process."""

    def run(folder, *options):
        program = Path(sys.executable).with_name("jupyter-book")
        command = [program, "build", folder, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="module")
def katex():
    ensure_packages(NODE_ROOM)
    renderer = Katex(NODE_ROOM / "node_modules" / "katex" / "dist" / "katex.js")
    yield renderer
    renderer.close()


@pytest.fixture(scope="session")
def write_book():
    """Write a book of one notebook with the real settings into a folder."""

    def write(folder, cells, *, repository=""):
        settings = (ROOT / "_config.yml").read_text(encoding="utf8")
        assert '\n  url: ""\n' in settings, "the tests expect the address to be set by them"
        settings = settings.replace('\n  url: ""\n', f'\n  url: "{repository}"\n')
        settings = settings.replace(
            "bookcheck.site.extension: src", f"bookcheck.site.extension: {ROOT / 'src'}"
        )
        (folder / "_config.yml").write_text(settings, encoding="utf8")
        (folder / "_toc.yml").write_text(
            "format: jb-book\nroot: index\nparts:\n- caption: Part\n  numbered: true\n"
            "  chapters:\n  - file: chapters/one\n"
        )
        (folder / "index.md").write_text("# A small book\n\nIts text.\n")
        (folder / "chapters").mkdir()
        (folder / "chapters" / "references.bib").touch()
        shutil.copytree(ROOT / "_static", folder / "_static")
        notebook = nbformat.v4.new_notebook(cells=cells)
        for number, cell in enumerate(cells):
            cell["id"] = f"cell-{number}"
        notebook.metadata = {
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
            "language_info": {"name": "python", "pygments_lexer": "ipython3"},
        }
        (folder / "chapters" / "one.ipynb").write_text(json.dumps(notebook))
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
:::
"""


@pytest.fixture(scope="session")
def addressed_site(build, write_book, markdown, tmp_path_factory):
    """A site with an address, a notation page, a glossary and a page that was renamed."""
    cells = [
        markdown(
            "# Two & three\n\nAll are alike. Why is it *so*?\n\nMore {term}`head dimension`.\n\n"
            "$$\ns = \\frac{m \\theta_i}{\\sqrt{d_k}}\n$$ (first)\n\nInline $n \\ne t$."
        )
    ]
    folder = write_book(tmp_path_factory.mktemp("addressed"), cells)
    (folder / "chapters" / "one.ipynb").rename(folder / "chapters" / "02-two.ipynb")
    (folder / "chapters" / "notation.md").write_text(NOTATION)
    (folder / "chapters" / "glossary.md").write_text(GLOSSARY)
    (folder / "_moved.yml").write_text("chapters/01-old: chapters/02-two\nold: index\n")
    contents = folder / "_toc.yml"
    pages = "".join(f"  - file: chapters/{name}\n" for name in ("02-two", "notation", "glossary"))
    contents.write_text(contents.read_text().replace("  - file: chapters/one\n", pages))
    settings = folder / "_config.yml"
    settings.write_text(
        settings.read_text().replace('baseurl: ""', 'baseurl: "https://example.org/book"')
    )
    done = build(folder, "--all", "-n", "-W", "--keep-going")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "_build" / "html"
