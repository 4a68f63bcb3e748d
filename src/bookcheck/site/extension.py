"""The book's own Sphinx extension, named in _config.yml."""

import gc
import os
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from bookcheck.site import (
    answer,
    api,
    contents,
    figures,
    folding,
    head,
    launch_box,
    ledger,
    library_source,
    math,
    patches,
    quiz,
    search,
    symbols,
    tables,
    theme,
    theorems,
    values,
    widgets,
)


def write_all_pages(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Any page may show a title, number, mark or symbol of another, so all are written again."""
    return sorted(env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything the site needs beyond Jupyter Book."""
    # Jupyter Book's command reads and writes one page after the other, and has no option for this.
    app.parallel = (os.cpu_count() or 1) + 1
    # Trees of documents are millions of objects that live long: looking through them over and over
    # takes a third of a build.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    for part in (
        math,
        symbols,
        tables,
        figures,
        library_source,
        theorems,
        folding,
        theme,
        head,
        launch_box,
        widgets,
        quiz,
        search,
        answer,
        contents,
        values,
        ledger,
        api,
        patches,
    ):
        part.setup(app)
    app.connect("env-updated", write_all_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
