"""Write the book's sources in another language, for Jupyter Book to build like the English ones."""

import functools
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml
from babel.messages.pofile import read_po
from myst_parser.mdit_to_docutils.base import default_slugify

from bookformat.contents import book_pages
from bookformat.links import anchor_of, headings_of, title_of
from bookformat.notebooks import read
from bookformat.paths import BUILD, CHAPTERS, RECORDS, ROOT, SOURCES, STATIC
from bookformat.reading_time import minutes_of
from bookformat.records import read_records, write_record
from booksite.translation.catalogs import LOCALE, pages, translations
from booksite.translation.messages import Notes, read_page, translate_notebook

TITLES = {"zh_CN": "从注意力到 RoPE"}
# What a link to a page leads to.
TO_PAGE = re.compile(r"\]\((?!https?:)([^()#\s]+\.(?:ipynb|md))")


def write_sources(folder: Path, language: str) -> None:
    """Fill a folder: translated pages, all other pages in English, and the settings.

    On a translated page, a message whose translation is missing or outdated is in English.
    """
    shutil.rmtree(folder, ignore_errors=True)
    words = words_of_site(language)
    copy_files(folder, language)
    write_contents(folder, words)
    write_settings(folder, language, words)
    slugs: dict[str, str] = {}
    anchors: dict[str, str] = {}
    for page in (ROOT / "index.md", *book_pages()):
        known = translated_messages(page, language, words)
        write_page(folder, page, language, known, words)
        for heading in headings_of(page):
            name = default_slugify(title_of(heading))
            if slugs.setdefault(title_of(known.get(heading, heading)), name) != name:
                raise ValueError(f"{page.name}: another heading has the translation of {heading!r}")
            anchors[name] = anchor_of(heading)
    (BUILD / "slugs.json").write_text(json.dumps(slugs), encoding="utf-8")
    (BUILD / "anchors.json").write_text(json.dumps(anchors), encoding="utf-8")


def copy_files(folder: Path, language: str) -> None:
    """Copy what pages need and nobody translates, and the words of the site and of its scripts."""
    for page in book_pages():
        (folder / page.relative_to(ROOT).parent).mkdir(parents=True, exist_ok=True)
    shutil.copy(CHAPTERS / "references.bib", folder / CHAPTERS.name)
    shutil.copytree(STATIC, folder / STATIC.name)
    shutil.copy(LOCALE / language / "words.js", folder / STATIC.name)
    # Pages show functions of the book's own code.
    code = shutil.ignore_patterns("node_modules", "__pycache__", "*.safetensors", "*.egg-info")
    shutil.copytree(SOURCES, folder / SOURCES.name, ignore=code)
    # What the tests have executed is marked in every language.
    for record in read_records(RECORDS).values():
        write_record(record, folder / BUILD.name / RECORDS.name)
    # Of the catalogs, Sphinx needs the one with the words of the site; pages are translated here.
    catalogs = folder / "locale" / language / "LC_MESSAGES"
    catalogs.mkdir(parents=True)
    shutil.copy(LOCALE / language / "LC_MESSAGES" / "sphinx.po", catalogs)


def write_contents(folder: Path, words: Mapping[str, str]) -> None:
    """Write the table of contents with the translated names of parts and of pages in English."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    translated = set(pages())
    in_english = {
        page.relative_to(ROOT).with_suffix("").as_posix(): title_of(next(headings_of(page)))
        for page in book_pages()
        if page not in translated
    }
    for part in contents["parts"]:
        part["caption"] = words.get(part["caption"], part["caption"])
        for chapter in part["chapters"]:
            for entry in (chapter, *chapter.get("sections", ())):
                title = in_english.get(entry["file"])
                if title is not None and title in words:
                    entry["title"] = words[title]
    text = yaml.safe_dump(contents, sort_keys=False, allow_unicode=True)
    (folder / "_toc.yml").write_text(text, encoding="utf-8")


def write_settings(folder: Path, language: str, words: Mapping[str, str]) -> None:
    """Write the book's settings with its translated title, and what Sphinx needs for a language."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings["title"] = TITLES[language]
    settings["project"] = TITLES[language]
    settings["author"] = words[settings["author"]]
    settings["sphinx"]["local_extensions"] = {"booksite.extension": str(SOURCES)}
    settings["sphinx"]["config"] |= {
        "language": language,
        "nb_code_prompt_show": words["Code"],
        "nb_code_prompt_hide": words["Hide code"],
        "locale_dirs": ["locale"],
        "proof_title_format": "（%t）",
        "myst_heading_slug_func": f"{slug.__module__}.{slug.__name__}",
    }
    options = settings["sphinx"]["config"]["html_theme_options"]
    options["logo"]["text"] = TITLES[language]
    options["search_bar_text"] = words["Search"]
    (folder / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")


def translated_messages(page: Path, language: str, words: Mapping[str, str]) -> dict[str, str]:
    """The translations of a page; a link to a page in English says so."""
    translated = set(pages())
    known = translations(page, language) if page in translated else {}
    for message, text in known.items():
        for target in {*TO_PAGE.findall(text)}:
            if (page.parent / target).resolve() not in translated:
                text = text.replace(f"]({target}", f"{words['(in English)']}]({target}")
        known[message] = text
    return known


def labels_of(page: Path, language: str) -> dict[str, str]:
    """Labels and heads of a page's figures and tables whose English words its code needs."""
    rows = (LOCALE / language / "labels.tsv").read_text(encoding="utf-8").splitlines()
    parts = [row.split("\t") for row in rows if not row.startswith("#")]
    name = page.relative_to(ROOT).with_suffix("").as_posix()
    return {english: other for where, english, other in parts if where == name}


def write_page(
    folder: Path, page: Path, language: str, known: Mapping[str, str], words: Mapping[str, str]
) -> None:
    """Write one page with its translations."""
    # Pages that nobody translates are in English as a whole, without notes.
    notes = None
    if page in pages():
        notes = Notes(words["(This paragraph is not translated yet.)"], words["(in English)"])
    notebook = translate_notebook(read_page(page), known.get, notes, labels_of(page, language))
    text = notebook["cells"][0]["source"]
    if page.suffix == ".ipynb":
        # Reading time is measured in English.
        notebook["metadata"]["minutes"] = minutes_of(read(page))
        text = json.dumps(notebook, ensure_ascii=False)
    (folder / page.relative_to(ROOT)).write_text(text, encoding="utf-8")


def words_of_site(language: str) -> dict[str, str]:
    """The words of the site that are on no page, such as the names of its parts."""
    with (LOCALE / language / "LC_MESSAGES" / "sphinx.po").open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file)}


def slug(title: str) -> str:
    """The name of a heading in links: that of the English one, so that no link changes."""
    stored = (BUILD / "slugs.json").read_text(encoding="utf-8")
    return json.loads(stored).get(title) or default_slugify(title)


@functools.cache
def anchors_in_english() -> dict[str, str]:
    """The addresses of sections on the English site, by the names of their headings in links."""
    path = BUILD / "anchors.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
