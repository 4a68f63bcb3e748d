"""What a build after a change must read and write again, so that it equals a clean build.

Sphinx writes only pages whose own source changed. That is not enough in these cases:

- The code, the settings or the style sheets changed: all pages are read again.
- A chapter is gone: so is its page.
- The last build failed or warned: Sphinx would not look again at a page whose source is the same,
  and the second build would pass. All pages are read again until a build has no warning.
- A title, a number or a name that other pages can point to changed: all pages are written again,
  since any may show it, in its text or in the table of contents at its side. This also finds the
  references that a change in another chapter breaks.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sphinx_exercise
import sphinx_proof
from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from bookcheck.cache import digest_of
from bookcheck.paths import NODE_ROOM, PAGE_ROOMS, ROOT
from bookcheck.site.state import memory_of
from bookcheck.site.symbols import notation_rows

SETTINGS = ("_config.yml", "_toc.yml")
PASSED = "passed"
# What references to labels, terms, formulas and functions look up.
NAMING_DOMAINS = ("std", "math", "py")


def sources(book: Path, config: Config) -> Iterator[Path]:
    """The files on which every page depends: code, settings, style, pinned packages, references."""
    for room in PAGE_ROOMS:
        yield from (path for path in sorted(room.rglob("*")) if is_source(path))
    yield from (path for path in sorted((book / "_static").rglob("*")) if path.is_file())
    names = [*SETTINGS, *config.bibtex_bibfiles]
    files = [
        *(book / name for name in names),
        ROOT / "requirements-book.txt",
        NODE_ROOM / "package.json",
    ]
    yield from (path for path in files if path.is_file())


def is_source(path: Path) -> bool:
    """Whether a page can depend on the file: not on what Python or a README says."""
    return path.is_file() and path.parent.name != "__pycache__" and path.suffix != ".md"


def note_sources(app: Sphinx, config: Config) -> None:
    """A setting that changes with the sources lets Sphinx read everything again."""
    config.book_sources = digest_of(sources(Path(app.srcdir), config))


def forget_failed_build(app: Sphinx, _config: Config) -> None:
    """Start anew unless the last build passed; until this one has, none did."""
    passed = Path(app.doctreedir) / PASSED
    if not passed.is_file():
        (Path(app.doctreedir) / ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    passed.unlink(missing_ok=True)


def note_passed_build(app: Sphinx, error: Exception | None) -> None:
    """Remember a build without any warning."""
    if error is None and not app._warncount:
        (Path(app.doctreedir) / PASSED).touch()


def names(env: BuildEnvironment) -> str:
    """A digest of everything by which one page can show something of another."""
    proofs = getattr(env, "proof_list", {})
    exercises = getattr(env, "sphinx_exercise_registry", {})
    facts: list[dict[Any, Any]] = [
        {page: title.astext() for page, title in env.titles.items()},
        env.toctree_includes,
        env.toc_secnumbers,
        env.toc_fignumbers,
        {
            page: (data.get("myst_slugs"), data.get("library"))
            for page, data in env.metadata.items()
        },
        proofs,
        {name: (one["docname"], title_of(one["node"])) for name, one in exercises.items()},
        {row.number: (row.symbols, row.chapters) for row in notation_rows(env)},
        {c.key: (c.citation_id, c.formatted_entry.label) for c in citations(env)},
    ]
    for name in NAMING_DOMAINS:
        facts += [value for value in env.domaindata[name].values() if isinstance(value, dict)]
    # In the order of their words: a page that is read again puts its names last.
    text = repr([sorted((repr(key), repr(value)) for key, value in one.items()) for one in facts])
    return hashlib.sha256(text.encode()).hexdigest()


def citations(env: BuildEnvironment) -> list[Any]:
    """The citations that the book has read."""
    found: list[Any] = env.domaindata.get("cite", {}).get("citations", [])
    return found


def title_of(exercise: nodes.Element) -> str:
    """The title of an exercise."""
    return str(exercise.children[0].astext()) if exercise.children else ""


def write_all_again(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """All pages, where a name changed; Sphinx has given all numbers by now."""
    state = names(env)
    memory = memory_of(env)
    if memory.names == state:
        return []
    memory.names = state
    return sorted(env.found_docs)


def remove_gone_pages(app: Sphinx, _error: Exception | None) -> None:
    """Take away the pages whose chapter is gone: their links lead nowhere."""
    known = app.env.found_docs
    site = Path(app.outdir)
    # The pages beside the index are Sphinx's own and the theme's.
    for path in site.glob("[!_]*/**/*.html"):
        if path.relative_to(site).with_suffix("").as_posix() not in known:
            path.unlink()


def copy_styles_first(app: Sphinx, _builder: Any) -> None:
    """These extensions copy their style sheets when all pages are written; the links of the first
    build would have no checksum, those of the next would."""
    # Here, and not for everybody who asks what pages depend on: it imports a database, for seconds.
    from myst_nb.sphinx_ext import add_global_html_resources

    (Path(app.outdir) / "_static").mkdir(parents=True, exist_ok=True)
    for copy in (
        add_global_html_resources,
        sphinx_proof.copy_asset_files,
        sphinx_exercise.copy_asset_files,
    ):
        copy(app, None)


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.add_config_value("book_sources", "", "env")
    app.connect("config-inited", note_sources)
    app.connect("config-inited", forget_failed_build)
    app.connect("write-started", copy_styles_first)
    app.connect("env-get-updated", write_all_again, priority=900)
    app.connect("build-finished", remove_gone_pages)
    app.connect("build-finished", note_passed_build, priority=900)
