"""The book's own Sphinx extension, named in _config.yml."""

import importlib
import importlib.util
from typing import Any

from sphinx.application import Sphinx

from bookcheck.site import figures, folding, maths, pages, running


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything the site needs beyond Jupyter Book."""
    for part in (maths, figures, folding, pages, running):
        part.setup(app)
    if importlib.util.find_spec("bookcheck.ledger"):
        importlib.import_module("bookcheck.ledger").setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
