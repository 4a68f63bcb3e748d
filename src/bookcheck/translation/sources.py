"""Write the book's sources in another language, for Jupyter Book to build like the English ones."""

import json
import shutil
from pathlib import Path

import yaml
from myst_parser.mdit_to_docutils.base import default_slugify

from bookcheck.myst import tokens_of
from bookcheck.paths import BUILD, CHAPTERS, ROOT, SOURCES, STATIC, book_pages
from bookcheck.translation.catalogs import pages, translations
from bookcheck.translation.messages import translate_notebook, translate_text

LONGEST_HEADING = 100
TITLES = {"zh_CN": "从注意力到 RoPE"}


def write_sources(folder: Path, language: str) -> None:
    """Fill a folder: translated pages, all other pages in English, and the settings."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / CHAPTERS.name / "deeper").mkdir(parents=True)
    shutil.copytree(STATIC, folder / STATIC.name)
    # Pages show functions of the book's own code.
    code = shutil.ignore_patterns("node_modules", "__pycache__", "*.safetensors", "*.egg-info")
    shutil.copytree(SOURCES, folder / SOURCES.name, ignore=code)
    shutil.copy(ROOT / "_toc.yml", folder)
    shutil.copy(CHAPTERS / "references.bib", folder / CHAPTERS.name)
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings["title"] = settings["project"] = TITLES[language]
    slug_function = f"{slug.__module__}.{slug.__name__}"
    settings["sphinx"]["config"] |= {"language": language, "myst_heading_slug_func": slug_function}
    settings["sphinx"]["config"]["html_theme_options"]["logo"]["text"] = TITLES[language]
    settings["sphinx"]["local_extensions"] = {"bookcheck.site.extension": str(SOURCES)}
    (folder / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    translated = set(pages())
    slugs: dict[str, str] = {}
    for page in (ROOT / "index.md", *book_pages()):
        known = translations(page, language) if page in translated else {}
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".ipynb":
            text = json.dumps(translate_notebook(json.loads(text), known.get), ensure_ascii=False)
        else:
            text = translate_text(text, known.get)
        (folder / page.relative_to(ROOT)).write_text(text, encoding="utf-8")
        slugs |= {
            title_of(known[text]): default_slugify(title_of(text))
            for text in known
            if len(text) < LONGEST_HEADING
        }
    (BUILD / "slugs.json").write_text(json.dumps(slugs), encoding="utf-8")


def title_of(heading: str) -> str:
    """The words of a heading, as its name in links is made from them."""
    (token,) = (one for one in tokens_of(heading) if one.type == "inline")
    parts = token.children or ()
    return "".join(part.content for part in parts if part.type in ("text", "code_inline"))


def slug(title: str) -> str:
    """The name of a heading in links: that of the English one, so that no link changes."""
    stored = (BUILD / "slugs.json").read_text(encoding="utf-8")
    return json.loads(stored).get(title) or default_slugify(title)
