"""A folded box under each chapter's title: how to run it, here or on somebody else's machine.

What is downloaded and opened is the reader's notebook: the build writes it beside the pages, and
the workflow puts all of them on a branch of their own, which Binder and Colab open.
"""

from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from pybtex.database import parse_file
from sphinx.application import Sphinx
from sphinx.util import logging

from bookcheck.paths import CHAPTERS
from bookcheck.site.reader import Book, ReaderError, targets_of, write_notebooks

logger = logging.getLogger(__name__)

GITHUB = "https://github.com/"
BINDER = "https://mybinder.org/v2/gh"
COLAB = "https://colab.research.google.com/github"
# The folder of the site, and the branch of the repository, that hold the reader's notebooks.
NOTEBOOKS = "notebooks"


def _code(text: str) -> str:
    # The classes of a code block, for its look and its copy button.
    block = f'<div class="highlight"><pre>{escape(text)}</pre></div>'
    return f'<div class="highlight-text notranslate">{block}</div>'


def running_box(notebook: str, download: str, repository: str) -> str:
    """Return the box's HTML; without the repository's address, only what works without it."""
    steps = [
        f'<li><a href="{escape(download)}" download>Download the notebook</a>, '
        "with the outputs you see here, and an empty cell for each exercise.</li>"
    ]
    local = "make lab"
    if repository:
        library = f'pip install "attention-to-rope[pages] @ git+{repository}"'
        steps[0] = steps[0].replace(
            "</li>", f" It needs the book's library and nothing else:{_code(library)}</li>"
        )
        folder = PurePosixPath(repository).name
        local = f"git clone {repository}\ncd {folder}\nmake lab"
    steps.append(
        f"<li>On your machine, with Python 3.11 or newer, make and git:{_code(local)}</li>"
    )
    if repository.startswith(GITHUB):
        project = repository.removeprefix(GITHUB).strip("/")
        binder = f"{BINDER}/{project}/{NOTEBOOKS}?urlpath=lab/tree/{notebook}"
        colab = f"{COLAB}/{project}/blob/{NOTEBOOKS}/{notebook}"
        steps += [
            f'<li><a href="{escape(binder)}">Open it on Binder</a>. '
            "Everything is installed; the first start takes some minutes.</li>",
            f'<li><a href="{escape(colab)}">Open it on Colab</a>. '
            "The notebook's first cell of code installs the book's library there.</li>",
        ]
    return (
        '<details class="admonition running"><summary class="admonition-title">Run this chapter'
        f"</summary><ul>{''.join(steps)}</ul></details>"
    )


def add_box(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Put the box under the title of pages that are notebooks."""
    path = PurePosixPath(str(app.env.doc2path(pagename, base=False)))
    if doctree is None or path.suffix != ".ipynb" or path.parts[0] != CHAPTERS.name:
        return
    notebook = path.relative_to(CHAPTERS.name).as_posix()
    download = f"{context['pathto'](NOTEBOOKS, 1)}/{notebook}"
    repository = app.config.html_theme_options.get("repository_url", "")
    box = running_box(notebook, download, repository.rstrip("/"))
    title_ends = "</h1>"
    before, end, after = context["body"].partition(title_ends)
    context["body"] = before + end + box + after


def offer_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the reader's notebooks into the site, or say what they cannot show."""
    if error is not None or app.builder.name != "html":
        return
    folder = Path(app.srcdir) / CHAPTERS.name
    sources = parse_file(str(folder / "references.bib")).entries
    repository = app.config.html_theme_options.get("repository_url", "").rstrip("/")
    book = Book(targets_of(app.env), sources, app.config.html_baseurl, repository)
    try:
        write_notebooks(Path(app.outdir) / NOTEBOOKS, folder, book)
    except ReaderError as problem:
        logger.warning("the reader's notebooks: %s", problem, type="reader")


def setup(app: Sphinx) -> None:
    """Connect the box, and what it offers."""
    app.connect("html-page-context", add_box)
    app.connect("build-finished", offer_notebooks)
