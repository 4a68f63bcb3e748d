"""The book's own Sphinx extension, named in _config.yml."""

from typing import Any

from sphinx.application import Sphinx

from bookcheck.site import (
    address,
    api,
    figures,
    folding,
    incremental,
    launch_box,
    ledger,
    library_source,
    math,
    pages,
    patches,
    quiz,
    redirects,
    schemes,
    symbols,
    widgets,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything the site needs beyond Jupyter Book."""
    for part in (
        math,
        symbols,
        figures,
        library_source,
        folding,
        pages,
        schemes,
        address,
        redirects,
        launch_box,
        widgets,
        quiz,
        ledger,
        api,
        patches,
        incremental,
    ):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
