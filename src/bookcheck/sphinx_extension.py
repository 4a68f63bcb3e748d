"""The book's own Sphinx extension, named in _config.yml."""

from typing import Any

from sphinx.application import Sphinx

from bookcheck import ledger
from bookcheck.site import (
    address,
    api,
    figures,
    folding,
    freshness,
    maths,
    meanings,
    moved,
    pages,
    quiz,
    running,
    schemes,
    speed,
    widgets,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything the site needs beyond Jupyter Book."""
    for part in (
        maths,
        meanings,
        figures,
        folding,
        pages,
        schemes,
        address,
        moved,
        running,
        widgets,
        quiz,
        ledger,
        api,
        speed,
        freshness,
    ):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
