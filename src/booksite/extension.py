"""The book's own Sphinx extension, named in _config.yml."""

import gc

from sphinx.application import Sphinx

PARTS = (
    "math",
    "tables",
    "figures",
    "folding",
    "theme",
    "lighten",
    "languages",
    "launch_box",
    "widgets",
    "runnable",
    "workshop",
    "playground",
    "read_model",
    "quiz",
    "search",
    "answer",
    "contents",
    "given_names",
    "summary",
    "values",
    "ledger",
    "reference",
    "annotated",
    "hanging",
    "again",
    "citations",
    "tips",
)


def setup(app: Sphinx) -> None:
    """Register everything the site needs beyond Jupyter Book."""
    # Trees of documents are millions of objects that live long: collecting them again and again
    # takes a sixth of a build.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    for part in PARTS:
        app.setup_extension(f"booksite.{part}")
