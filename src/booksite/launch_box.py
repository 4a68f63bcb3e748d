"""A folded box under each chapter's title: how to run it, here or on somebody else's machine.

What is downloaded and opened is the reader's notebook: the build writes it beside the pages, and
the workflow puts all of them on a branch of their own, which Binder and Colab open.
"""

from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from pybtex.database import parse_file
from sphinx.application import Sphinx
from sphinx.util import logging

from bookformat.paths import CHAPTERS
from booksite.again import writes_all
from booksite.reader import Book, notebook_names, targets_of, write_notebooks

logger = logging.getLogger(__name__)

# The folder of the site, and the branch of the repository, that hold the reader's notebooks.
NOTEBOOKS = "notebooks"


def add_box(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Put the box of templates/running.html under the title of pages that are notebooks."""
    path = PurePosixPath(str(app.env.doc2path(pagename, base=False)))
    if doctree is None or path.suffix != ".ipynb" or path.parts[0] != CHAPTERS.name:
        return
    page = path.relative_to(CHAPTERS.name).with_suffix("").as_posix()
    names = notebook_names(Path(app.srcdir, CHAPTERS.name))
    facts = {
        "branch": NOTEBOOKS,
        "folder": context["pathto"](NOTEBOOKS, 1),
        "language": "" if app.config.language == "en" else app.config.language,
        "notebook": f"{names[page]}.ipynb",
        "repository": app.config.html_theme_options.get("repository_url", ""),
    }
    box = app.builder.templates.render("running.html", facts)
    before, end, after = context["body"].partition("</h1>")
    context["body"] = before + end + box + after


def offer_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the reader's notebooks into the site, or say what they cannot show."""
    if error is not None or app.builder.name != "html":
        return
    folder = Path(app.srcdir) / CHAPTERS.name
    sources = parse_file(str(folder / "references.bib")).entries
    repository = app.config.html_theme_options.get("repository_url", "")
    book = Book(
        targets=targets_of(app.env),
        sources=sources,
        site=app.config.html_baseurl,
        repository=repository,
        notebooks=notebook_names(folder),
    )
    try:
        write_notebooks(Path(app.outdir) / NOTEBOOKS, folder, book, all_anew=writes_all(app))
    except LookupError as problem:
        logger.warning("the reader's notebooks: %s", problem, type="reader")


def setup(app: Sphinx) -> None:
    """Connect the box, and what it offers."""
    app.connect("html-page-context", add_box)
    app.connect("build-finished", offer_notebooks)
