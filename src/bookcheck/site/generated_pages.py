"""Pages that nobody wrote: made from records and tests, each written again only when it changed."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import ParallelTasks, make_chunks

from bookcheck.site.state import build_of, memory_of


class ExtraPage(NamedTuple):
    """A page of the site: what its body depends on, and a function that makes the body."""

    name: str
    title: str
    state: str
    body: Callable[[], str]


Source = Callable[[Sphinx], Iterable[ExtraPage]]


def add_pages(app: Sphinx, source: Source) -> None:
    """Let the build write the pages that a function gives."""
    sources = build_of(app).page_sources
    if not sources:
        # After Sphinx has given all numbers, and freshness has compared all names.
        app.connect("env-get-updated", find_outdated, priority=950)
        app.connect("html-collect-pages", write_pages)
    sources.append(source)


def all_pages(app: Sphinx) -> list[ExtraPage]:
    """The pages of all sources."""
    return [page for source in build_of(app).page_sources for page in source(app)]


def find_outdated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Compare the pages with those of the last build; if any changed, pages will be written."""
    # The frame around a body shows the names of the book, by the code and style of the book.
    memory = memory_of(env)
    frame = (memory.names, getattr(app.config, "book_sources", ""))
    states: dict[str, tuple[str, ...]] = {
        page.name: (page.title, page.state, *frame) for page in all_pages(app)
    }
    known = memory.page_states
    outdated = {name for name, state in states.items() if known.get(name) != state}
    build_of(app).outdated_pages = outdated
    memory.page_states = states
    return [app.config.root_doc] if outdated else []


def write_pages(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Write what changed, or is not there; in the workers of the build, where it has any."""
    builder: Any = app.builder
    outdated = build_of(app).outdated_pages
    pages = [
        page
        for page in all_pages(app)
        if page.name in outdated or not Path(builder.get_outfilename(page.name)).is_file()
    ]

    def write(some: list[ExtraPage]) -> None:
        for page in some:
            builder.handle_page(page.name, {"title": page.title, "body": page.body()}, "page.html")

    if builder.parallel_ok and len(pages) > app.parallel:
        workers = ParallelTasks(app.parallel)
        chunks: Any = make_chunks(cast(Any, pages), app.parallel)  # its types say: names
        for chunk in chunks:
            workers.add_task(write, chunk)
        workers.join()
    else:
        write(pages)
    return ()
