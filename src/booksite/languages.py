"""A link in the header to the same page in the other language, and the same names of its sections.

The English site has it where the variable BOOK_LANGUAGES names the folder of the other one
(`BOOK_LANGUAGES=zh`), because only then does that exist; `make book` sets it where the translated
site is built already. That one always has the link.
There, the script with what the others say is loaded before them.

On a translated page, a paragraph may still be in English. `booksite.translation` writes the role
{in-english} behind it, with a note that readers see; here the paragraph gets lang="en", and the
note the language of the page, so that a screen reader speaks both. A page that nobody translates is
in English as a whole, and says so below its title.
"""

import functools
import os
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _
from sphinx.util.docutils import SphinxRole

from bookformat.paths import ROOT
from booksite.translation.catalogs import pages
from booksite.translation.sources import anchors_in_english

VARIABLE = "BOOK_LANGUAGES"
CODES = {"zh": "zh-CN"}
NAMES = {"en": "English", "zh": "中文"}
WORDS = "words.js"  # what scripts say, in the language of a translated site
# The role, and the class of what it shows.
NOTE = "in-english"


def offer_other_language(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Tell the templates the address of this page in the other language, if there is one."""
    up = "../" * page.count("/")
    english = (app.config.language or "en") == "en"
    other = os.environ.get(VARIABLE, "") if english else "en"
    if other:
        address = f"{up}{other if english else '..'}/{app.builder.get_target_uri(page)}"
        context["other_language"] = {
            "address": address,
            "whole_address": urljoin(context.get("pageurl") or "", address),
            "code": CODES.get(other, other),
            "name": NAMES[other],
        }


def name_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Give translated sections the addresses of the English ones, and the names that MyST knows."""
    if app.config.language == "en":
        return
    for section in doctree.findall(nodes.section):
        own = section["ids"]
        slug = section.get("slug")
        english = anchors_in_english().get(slug)
        # A name that another section has already stays with it.
        free = {name for name in (english, slug) if name and name not in doctree.ids}
        # The first is the one that links use; each stands once.
        in_order = dict.fromkeys([english, *own, slug])
        section["ids"] = [name for name in in_order if name in own or name in free]


class EnglishRole(SphinxRole):
    """The note behind a paragraph that is still in English."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Show the note; docutils makes the attribute `lang` of a class `language-…`."""
        language = str(self.config.language).replace("_", "-")
        return [nodes.inline("", self.text, classes=[NOTE, f"language-{language}"])], []


def mark_english(_app: Sphinx, doctree: nodes.document) -> None:
    """Give lang="en" to what a note stands in: a paragraph, a caption, an answer of a quiz."""
    for note in doctree.findall(nodes.inline):
        if NOTE in note["classes"]:
            note.parent["classes"].append("language-en")


def say_english(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """On a translated site, say of a page that nobody translates that it is in English."""
    if app.config.language == "en" or doctree is None or page in translated_pages():
        return
    language = str(app.config.language).replace("_", "-")
    said = f'<p class="{NOTE}" lang="{language}">{_("This page is in English.")}</p>'
    before, end, after = context["body"].partition("</h1>")
    context["body"] = f'<div lang="en">{before}{end}{said}{after}</div>'


def title_in_contents(title: str) -> str:
    """The title of a page; one that stays in English is translated in the contents of its site."""
    plain = title.replace("’", "'")
    said = str(_(plain))
    return title if said == plain else said


def name_neighbours(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Links to the page before and to the next one have the titles of the contents."""
    for side in ("prev", "next"):
        if neighbour := context.get(side):
            neighbour["title"] = title_in_contents(neighbour["title"])


@functools.cache
def translated_pages() -> set[str]:
    """The names of the pages that are translated."""
    return {page.relative_to(ROOT).with_suffix("").as_posix() for page in pages()}


def add_folder(_app: Sphinx, config: Config) -> None:
    """A translated site has a folder of its own below the address of the English one."""
    if config.html_baseurl and config.language != "en":
        config.html_baseurl += f"{str(config.language)[:2]}/"


def load_words_first(app: Sphinx, config: Config) -> None:
    """Link what scripts say before all scripts, which Jupyter Book links in any order."""
    if WORDS in config.html_js_files:
        config.html_js_files.remove(WORDS)
        app.add_js_file(WORDS, priority=100)  # Sphinx' own have 200


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.add_role(NOTE, EnglishRole())
    app.connect("doctree-read", mark_english)
    # Before Sphinx collects the names for the contents.
    app.connect("doctree-read", name_sections, priority=100)
    # After the environment's address is known, and before it is used.
    app.connect("config-inited", add_folder, priority=400)
    app.connect("config-inited", load_words_first)
    app.connect("html-page-context", offer_other_language)
    app.connect("html-page-context", say_english)
    # After `contents` has passed over pages of depth.
    app.connect("html-page-context", name_neighbours, priority=600)
