"""What a build does again: the pages that changed, or all of them.

A page may show a title, a number or a mark of another one, and links to style sheets by their
checksums. A hash of all that is kept from build to build. While it stays the same, Sphinx's own
choice is enough: it writes the pages whose source changed.
"""

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from bookformat.records import SENTENCES
from booksite.annotated_rows import CHAPTERS_NAMED, EQUATIONS
from booksite.ledger import records_of
from booksite.summary import CITATION, QUESTION

HERE = Path(__file__).parent


def facts_of_pages(env: BuildEnvironment) -> Iterator[Any]:
    """What other pages show of a page; without line numbers, which any new line changes."""
    yield sorted((page, title.astext()) for page, title in env.titles.items())
    yield sorted(env.toc_secnumbers.items())
    yield sorted(env.toc_fignumbers.items())
    for page, known in sorted(env.metadata.items()):
        slugs = known.get("myst_slugs", {})
        yield page, [(name, anchor, title) for name, (_line, anchor, title) in slugs.items()]
        yield page, known.get(QUESTION)
        yield page, sorted(known.get(EQUATIONS, {}).items()), known.get(CHAPTERS_NAMED)
    for domain, kind in (
        ("std", "labels"),
        ("std", "anonlabels"),
        ("std", "objects"),
        ("std", "terms"),
        ("math", "objects"),
        ("py", "objects"),
    ):
        yield domain, kind, sorted(env.domaindata[domain][kind].items())
    theorems = getattr(env, "proof_list", {})
    yield sorted((label, str(known)) for label, known in theorems.items())
    exercises = getattr(env, "sphinx_exercise_registry", {})
    for label, known in sorted(exercises.items()):
        yield label, known["docname"], [part.astext() for part in known["node"].children[:1]]
    # Which page has a source in its list, what the list says of it, and who cites it.
    for source in env.domaindata["cite"]["citations"]:
        yield source.citation_id, source.bibliography_key, repr(source.entry)
    cited = env.domaindata["cite"]["citation_refs"]
    yield sorted({(use.docname, target.key) for use in cited for target in use.targets})


def files_of_site(app: Sphinx) -> Iterator[Path]:
    """What all pages depend on: the contents, the authors, the site's own code, what is served."""
    yield Path(app.srcdir, app.config.external_toc_path)
    yield CITATION
    for pattern in ("*.py", "*.cjs", "templates/**/*"):
        yield from HERE.glob(pattern)
    for folder in app.config.html_static_path:
        yield from Path(app.confdir, folder).rglob("*")


def facts_of_site(app: Sphinx) -> Iterator[Any]:
    """Marks of executed equations, settings from outside, and the contents of files."""
    for label, record in sorted(records_of(app).items()):
        if not label.startswith(SENTENCES):  # only counted, on pages that are always read
            yield record
    yield sorted((name, value) for name, value in os.environ.items() if name.startswith("BOOK_"))
    for path in sorted(files_of_site(app)):
        if path.is_file():
            yield str(path), hashlib.sha256(path.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=1)
def shown_elsewhere(app: Sphinx) -> str:
    """The hash; first asked for when Sphinx has numbered all sections and figures."""
    found = hashlib.sha256()
    for fact in (*facts_of_pages(app.env), *facts_of_site(app)):
        found.update(repr(fact).encode())
    return found.hexdigest()


def kept_hash(app: Sphinx) -> Path:
    """The file with the hash of the last build that was not interrupted."""
    return Path(app.doctreedir) / f"shown-elsewhere-{app.builder.name}"


@functools.lru_cache(maxsize=1)
def writes_all(app: Sphinx) -> bool:
    """Whether this build writes all pages, and all that shows something of all pages."""
    # Before pages are written, which takes numbers from the environment (contents.py).
    shown = shown_elsewhere(app)
    path = kept_hash(app)
    return not path.is_file() or path.read_text(encoding="utf-8") != shown


def forget_hash(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """A build that reads all pages writes all (`--all`)."""
    if env.found_docs <= set(pages):
        kept_hash(app).unlink(missing_ok=True)


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """All pages, or none beyond those that Sphinx chooses."""
    return sorted(env.found_docs) if writes_all(app) else []


def keep_hash(app: Sphinx, error: Exception | None) -> None:
    """Keep the hash; after an error or a warning the next build writes all pages.

    A page that has a warning would otherwise be silent in the next build.
    """
    if error is None and app._warncount == 0:
        kept_hash(app).write_text(shown_elsewhere(app), encoding="utf-8")
    else:
        kept_hash(app).unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.connect("env-before-read-docs", forget_hash)
    # After Sphinx itself, which here assigns the numbers of sections and figures.
    app.connect("env-get-updated", pages_to_write, priority=900)
    app.connect("build-finished", keep_hash, priority=900)
