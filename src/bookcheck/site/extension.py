"""The book's own Sphinx extension, named in _config.yml."""

import gc
import os
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_proof.domain import ProofDomain

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
    quiz,
    search,
    symbols,
    tables,
    theme,
    theorems,
    values,
    widgets,
)

PARTS = (
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
)


def write_all_pages(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Any page may show a title, number, mark or symbol of another, so all are written again."""
    return sorted(env.found_docs)


def allow_workers(app: Sphinx, _env: BuildEnvironment, _docnames: list[str]) -> None:
    """Let pages be read in parallel, which two extensions forbid without need."""
    # It does not say whether it is safe; it only numbers sections when all pages are read.
    numbering = app.extensions.get("sphinx_multitoc_numbering")
    if numbering is not None:
        numbering.parallel_read_safe = True
    # It says that it is safe and lacks this method; it merges its list of proofs elsewhere.
    ProofDomain.merge_domaindata = lambda _domain, _docnames, _data: None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything the site needs beyond Jupyter Book."""
    # Jupyter Book's command has no option for this.
    app.parallel = (os.cpu_count() or 1) + 1
    # Trees of documents are millions of objects that live long: collecting them again and again
    # takes a third of a build.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    for part in PARTS:
        part.setup(app)
    app.connect("env-before-read-docs", allow_workers)
    app.connect("env-updated", write_all_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
