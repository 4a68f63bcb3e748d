"""The book's own Sphinx extension, named in _config.yml."""

import gc

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PARTS = (
    "math",
    "tables",
    "figures",
    "folding",
    "theme",
    "languages",
    "launch_box",
    "widgets",
    "runnable",
    "quiz",
    "search",
    "answer",
    "contents",
    "values",
    "ledger",
    "reference",
)


def write_all_pages(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Any page may show a title, number or mark of another, so all are written again."""
    return sorted(env.found_docs)


def setup(app: Sphinx) -> None:
    """Register everything the site needs beyond Jupyter Book."""
    # Trees of documents are millions of objects that live long: collecting them again and again
    # takes a sixth of a build.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    for part in PARTS:
        app.setup_extension(f"booksite.{part}")
    app.connect("env-updated", write_all_pages)
