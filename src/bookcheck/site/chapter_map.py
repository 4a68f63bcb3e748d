"""A map of the chapters: which of them each needs, from the `:needs:` lines of their answers.

The directive `{chapter-map}` stands on the opening page. Each chapter is a line with its minutes;
an arc leads to it from each chapter to read first. What such a chapter needs itself is not drawn
again.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

ROW, GUTTER, WIDEST = 44, 84, 76  # pixels
CHAPTER = re.compile(r"chapters/(\d\d)-[^/]*")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
LIST = re.compile(r"\bchapters? (\d+(?:(?:,| and| to|, and) \d+)*)")
RANGE = re.compile(r"(\d+) to (\d+)")


class Needs(NamedTuple):
    """The numbers of the chapters that one needs, and of those that help."""

    needed: frozenset[int]
    helpful: frozenset[int]


class Chapter(NamedTuple):
    """A chapter as the map shows it."""

    page: str
    title: str
    minutes: int
    needs: Needs


def numbers_in(text: str) -> set[int]:
    """The chapters that a text names: "chapters 1, 7 and 8", "chapters 1 to 5"."""
    found: set[int] = set()
    for named in LIST.findall(text):
        for low, high in RANGE.findall(named):
            found |= {*range(int(low), int(high) + 1)}
        found |= {int(digits) for digits in re.findall(r"\d+", named)}
    return found


def needs_of(line: str) -> Needs:
    """What a line `:needs:` asks for; a part with "help" in it asks less."""
    parts = LINK.sub(r"\1", line).split(";")
    helpful = {n for part in parts if "help" in part for n in numbers_in(part)}
    needed = {n for part in parts if "help" not in part for n in numbers_in(part)}
    return Needs(frozenset(needed), frozenset(helpful - needed))


def all_before(number: int, needed: Mapping[int, frozenset[int]]) -> set[int]:
    """All chapters that one rests on, through others too."""
    found: set[int] = set()
    waiting = [*needed.get(number, ())]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += needed.get(one, ())
    return found


def without_indirect(needed: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """The needs that no other need brings along."""
    return {
        number: frozenset(
            one for one in own if not any(one in all_before(other, needed) for other in own)
        )
        for number, own in needed.items()
    }


def chapters_of(env: BuildEnvironment) -> dict[int, Chapter]:
    """The chapters of the book, by number."""
    found = {}
    for page, data in sorted(env.metadata.items()):
        name = CHAPTER.fullmatch(page)
        if name and int(name[1]) and "minutes" in data and page in env.titles:
            title = env.titles[page].astext()
            found[int(name[1])] = Chapter(page, title, data["minutes"], needs_of(data["needs"]))
    return found


def words(numbers: frozenset[int]) -> str:
    """Numbers in a sentence: 9, 12 and 13."""
    *most, last = map(str, sorted(numbers))
    return f"{', '.join(most)} and {last}" if most else last


def arc(first: int, last: int, *, dashed: bool) -> str:
    """A line from one row to a later one, further out the longer it is."""
    x, top, bottom = GUTTER - 4, (first + 0.5) * ROW, (last + 0.5) * ROW
    out = x - min(WIDEST, 14 + 9 * (last - first))
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return (
        f'<path d="M{x} {top:g}C{out} {top:g} {out} {bottom:g} {x} {bottom:g}"{dashes}/>'
        f'<circle cx="{x}" cy="{bottom:g}" r="3"/>'
    )


def map_html(chapters: Mapping[int, Chapter], addresses: Mapping[str, str]) -> str:
    """The map: arcs, and beside them a line for each chapter."""
    order = {number: row for row, number in enumerate(sorted(chapters))}
    needed = without_indirect({n: chapter.needs.needed for n, chapter in chapters.items()})
    arcs, lines = [], []
    for number, row in order.items():
        chapter = chapters[number]
        helpful = chapter.needs.helpful
        for dashed, before in ((False, needed[number]), (True, helpful)):
            arcs += [arc(order[one], row, dashed=dashed) for one in sorted(before & order.keys())]
        facts = [f"{chapter.minutes} minutes"]
        facts += [f"needs {words(needed[number])}"] if needed[number] else []
        facts += [f"{words(helpful)} {'helps' if len(helpful) == 1 else 'help'}"] if helpful else []
        lines.append(
            f'<li><a href="{escape(addresses[chapter.page])}">{number} {escape(chapter.title)}</a>'
            f"<span>{' · '.join(facts)}</span></li>"
        )
    height = ROW * len(order)
    return (
        '<nav class="chapter-map" aria-label="Map of chapters">'
        f'<svg width="{GUTTER}" height="{height}" viewBox="0 0 {GUTTER} {height}" '
        f'aria-hidden="true">{"".join(arcs)}</svg><ol>{"".join(lines)}</ol></nav>'
    )


class chapter_map(nodes.General, nodes.Element):  # noqa: N801 - as docutils does
    """Stands where the map will be, once all chapters are read."""


class ChapterMap(SphinxDirective):
    """The directive `chapter-map`."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the map."""
        return [chapter_map()]


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Draw the map."""
    for place in list(doctree.findall(chapter_map)):
        chapters = chapters_of(app.env)
        addresses = {
            chapter.page: app.builder.get_relative_uri(docname, chapter.page)
            for chapter in chapters.values()
        }
        place.replace_self(nodes.raw("", map_html(chapters, addresses), format="html"))


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_node(chapter_map)
    app.add_directive("chapter-map", ChapterMap)
    app.connect("doctree-resolved", resolve)
    app.add_css_file("chapter-map.css")
