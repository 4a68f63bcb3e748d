"""Pages that nobody wrote: made from records and tests, each written again only when it changed."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import ParallelTasks, make_chunks


class ExtraPage(NamedTuple):
    """A page of the site: what its body depends on, and a function that makes the body."""

    name: str
    title: str
    state: str
    body: Callable[[], str]


Source = Callable[[Sphinx], Iterable[ExtraPage]]


def add_pages(app: Sphinx, source: Source) -> None:
    """Let the build write the pages that a function gives."""
    if not hasattr(app, "book_page_sources"):
        app.book_page_sources = []  # type: ignore[attr-defined]
        # After Sphinx has given all numbers, and freshness has compared all names.
        app.connect("env-get-updated", find_outdated, priority=950)
        app.connect("html-collect-pages", write_pages)
    app.book_page_sources.append(source)  # type: ignore[attr-defined]


def all_pages(app: Sphinx) -> list[ExtraPage]:
    """The pages of all sources."""
    sources: list[Source] = app.book_page_sources  # type: ignore[attr-defined]
    return [page for source in sources for page in source(app)]


def find_outdated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Compare the pages with those of the last build; if any changed, pages will be written."""
    # The frame around a body shows the names of the book, by the code and style of the book.
    frame = (getattr(env, "book_names", ""), getattr(app.config, "book_sources", ""))
    states = {page.name: (page.title, page.state, *frame) for page in all_pages(app)}
    known = getattr(env, "book_page_states", {})
    app.book_outdated_pages = {  # type: ignore[attr-defined]
        name for name, state in states.items() if known.get(name) != state
    }
    env.book_page_states = states  # type: ignore[attr-defined]
    return [app.config.root_doc] if app.book_outdated_pages else []  # type: ignore[attr-defined]


def write_pages(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Write what changed, or is not there; in the workers of the build, where it has any."""
    builder: Any = app.builder
    outdated: set[str] = app.book_outdated_pages  # type: ignore[attr-defined]
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
        for chunk in make_chunks(pages, app.parallel):  # type: ignore[arg-type]
            workers.add_task(write, chunk)
        workers.join()
    else:
        write(pages)
    return ()
