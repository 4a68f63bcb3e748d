"""What a page is about and who wrote it, in words for those who have not opened it.

The opening page shows the question of each chapter beside its title. Search engines and programs
that show a link find a description in the page's head, and who wrote the book and when, from
CITATION.cff; the opening page shows that too.
"""

import html
import re
from datetime import date, datetime, time
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _
from sphinx.util.i18n import format_date

from bookformat.paths import ROOT

CITATION = ROOT / "CITATION.cff"
# What is kept of a page.
QUESTION = "question"
DESCRIPTION = "description"
# What search engines show of a description.
LONGEST = 300
ENTRY = re.compile(r'(<li class="toctree-l1"><a class="reference internal" href="([^"]+)">.*?</a>)')
SENTENCE = re.compile(r"(?<=[.?!])\s+")


def words_of(paragraph: nodes.paragraph) -> str:
    """The text of a paragraph up to its first formula, which a line of text cannot show."""
    words = ""
    for part in paragraph.findall(lambda node: isinstance(node, (nodes.Text, nodes.math))):
        if isinstance(part, nodes.math):
            return " ".join(words.split()[:-1])
        if not isinstance(part.parent, nodes.math):
            words += part.astext()
    return words.replace("\n", " ").strip()


def is_question(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is set in italics, as the question at the top of a chapter is."""
    parts = [part for part in paragraph.children if not isinstance(part, nodes.inline)]
    return bool(parts) and all(isinstance(part, nodes.emphasis) for part in (parts[0], parts[-1]))


def note_summary(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the question and the description of a page that was read."""
    known = app.env.metadata[app.env.docname]
    question = ""
    sentences: list[str] = []
    for paragraph in doctree.findall(nodes.paragraph):
        words = words_of(paragraph)
        if not question and is_question(paragraph):
            question = words
        elif words and "edition" not in paragraph["classes"]:
            sentences = SENTENCE.split(words)
            break
    if question:
        known[QUESTION] = question
    description = question
    for sentence in sentences:
        is_whole = sentence.endswith((".", "?", "!", "。", "？"))
        if description and (not is_whole or len(description) + len(sentence) >= LONGEST):
            break
        description = f"{description} {sentence}".strip()
    known[DESCRIPTION] = description


def show_summary(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Write the description into the head, and the questions into the opening page."""
    description = app.env.metadata.get(page, {}).get(DESCRIPTION, "")
    if description:
        context["metatags"] += (
            f'<meta name="description" content="{html.escape(description)}" />'
            f'<meta property="og:description" content="{html.escape(description)}" />'
        )
    if page == app.config.root_doc and "body" in context:
        builder: Any = app.builder
        questions = {
            builder.get_relative_uri(page, other): known[QUESTION]
            for other, known in app.env.metadata.items()
            if QUESTION in known
        }

        def add_question(entry: re.Match[str]) -> str:
            question = questions.get(entry[2])
            shown = f'<span class="question">{html.escape(question)}</span>' if question else ""
            return entry[1] + shown

        context["body"] = ENTRY.sub(add_question, context["body"])


def read_citation(_app: Sphinx, config: Config) -> None:
    """Take the authors, the version and the date of the book from CITATION.cff."""
    citation = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    names = [
        author.get("name") or f"{author['given-names']} {author['family-names']}"
        for author in citation["authors"]
    ]
    released: date = citation["date-released"]
    config.html_context["citation"] = {
        "title": citation["title"],
        "authors": names,
        "version": citation["version"],
        "date": released.isoformat(),
    }
    language = "zh_CN" if str(config.language).startswith("zh") else "en"
    midnight = datetime.combine(released, time())
    shown = format_date("%x", date=midnight, language=language)
    said = _("%s. %s, %s.") % (", ".join(map(_, names)), citation["version"], shown)
    config.myst_substitutions["edition"] = said


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.connect("config-inited", read_citation)
    app.connect("doctree-read", note_summary)
    app.connect("html-page-context", show_summary)
