"""The way through the book: "next" leads from chapter to chapter.

A page of depth is reached from its chapter and leads back to it. It has no number of its own, so
its headings have none; figures, theorems and equations keep the numbers of their chapter.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from bookformat.contents import chapter_of
from bookformat.paths import CHAPTERS, DEEPER


def is_depth(page: str) -> bool:
    """Whether a page belongs to a chapter and is not on the way through the book."""
    return page.startswith(f"{CHAPTERS.name}/{DEEPER}/")


def drop_numbers(app: Sphinx, _builder: Any) -> None:
    """Take the numbers from pages of depth, and start those of equations at 1 on pages without any.

    This happens when pages are written: the numbers of figures and equations are known by then, and
    the stored environment still has all numbers for the next build.
    """
    env = app.env
    for page in filter(is_depth, env.found_docs):
        nothing: Any = dict.fromkeys(env.toc_secnumbers.get(page, {}))
        env.toc_secnumbers[page] = nothing
        env.titles[page].attributes.pop("secnumber", None)
        for reference in env.tocs[page].findall(nodes.reference):
            reference.attributes.pop("secnumber", None)
    # Sphinx counts on from page to page where a chapter has no number.
    for kinds in env.toc_fignumbers.values():
        numbers = kinds.get("displaymath", {})
        if any(len(number) == 1 for number in numbers.values()):
            numbers.update({label: (place,) for place, label in enumerate(numbers, 1)})


def lead_past_depth(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Let the links to the previous and next page pass over pages of depth."""
    builder: Any = app.builder
    relations = getattr(builder, "relations", {})
    if page not in relations:
        return
    parent, previous, following = relations[page]
    if is_depth(page):
        previous = parent
        following = None
    while previous and is_depth(previous):
        previous = relations[previous][1]
    while following and is_depth(following):
        following = relations[following][2]
    for key, other in (("prev", previous), ("next", following)):
        context[key] = other and {
            "link": builder.get_relative_uri(page, other),
            "title": builder.render_partial(app.env.titles[other])["title"],
        }


def say_chapter(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Write the number of its chapter into the head of a page; scripts ask which pages have one."""
    folder, _, name = page.partition("/")
    chapter = chapter_of(name, Path(app.srcdir, CHAPTERS.name)) if folder == CHAPTERS.name else None
    if chapter is not None:
        context["metatags"] += f'<meta name="chapter" content="{chapter}" />'


def setup(app: Sphinx) -> None:
    """Connect all three."""
    app.connect("write-started", drop_numbers)
    app.connect("html-page-context", lead_past_depth)
    app.connect("html-page-context", say_chapter)
