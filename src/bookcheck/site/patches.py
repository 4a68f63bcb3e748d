"""What makes the build fast without changing a page."""

import functools
import posixpath
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import pybtex.plugin
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_proof.domain import ProofDomain
from sphinxcontrib.bibtex.domain import BibtexDomain

from bookcheck.site.state import build_of, memory_of


def remember_plugins() -> None:
    """Pybtex looks through all installed packages again for every citation."""
    pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)


def remember_citations() -> None:
    """The entries of the bibliography are formatted again at every build, cited anew or not."""
    update = BibtexDomain.env_updated

    def update_if_changed(domain: BibtexDomain) -> Iterable[str]:
        env = domain.env
        state = repr(
            (
                [
                    (reference.docname, [target.key for target in reference.targets])
                    for reference in sorted(domain.citation_refs, key=attrgetter("docname"))
                ],
                [(key.docname, env.all_docs[key.docname]) for key in domain.bibliographies],
                sorted((path, file.mtime) for path, file in domain.bibdata.bibfiles.items()),
                list(env.toctree_includes.items()),
            )
        )
        # A build that warned leaves no state behind, so that no warning is lost here.
        memory = memory_of(env)
        if memory.citations == state:
            return []
        memory.citations = state
        return update(domain)

    BibtexDomain.env_updated = update_if_changed  # type: ignore[method-assign, assignment]  # a patch


def share_contents(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Pages of one folder that are not in the table of contents all show the same one."""
    if pagename in app.env.found_docs:
        return
    tables = build_of(app).contents
    resolve = context["toctree"]

    def shared(**options: Any) -> str:
        key = (posixpath.dirname(pagename), *sorted(options.items()))
        if key not in tables:
            tables[key] = resolve(**options)
        return tables[key]

    context["toctree"] = shared


def allow_workers(app: Sphinx, _env: BuildEnvironment, _docnames: list[str]) -> None:
    """Two extensions keep pages from being read in parallel, without need."""
    # It does not say whether it is safe; it only numbers sections when all pages are read.
    numbering = app.extensions.get("sphinx_multitoc_numbering")
    if numbering is not None:
        numbering.parallel_read_safe = True
    # It says it is, and lacks this method: its data is the list of proofs, which it merges
    # elsewhere, and nothing else.
    ProofDomain.merge_domaindata = lambda _domain, _docnames, _data: None


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    remember_plugins()
    remember_citations()
    app.connect("env-before-read-docs", allow_workers)
    # Before the theme asks for it.
    app.connect("html-page-context", share_contents, priority=400)
