"""What makes the build fast without changing a page.

Beside each patch stands what it saves in a build of the whole book, in processor time: that of all
calls, without the patch, beyond the first with the same arguments. One that saves less than a
second is not worth the private names it uses.
"""

import functools
import posixpath
from typing import Any

import pybtex.plugin
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_proof.domain import ProofDomain

from bookcheck.site.state import build_of


def remember_plugins() -> None:
    """Pybtex looks through all installed packages again for every citation: 217 times, 3.4 s."""
    pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)


def share_contents(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Pages of one folder that are not in the table of contents all show the same one.

    There are 68 of them, and each takes 65 ms: 4.3 s.
    """
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
    """Two extensions keep pages from being read in parallel, without need.

    Reading takes 8.6 s, which the workers then share.
    """
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
    app.connect("env-before-read-docs", allow_workers)
    # Before the theme asks for it.
    app.connect("html-page-context", share_contents, priority=400)
