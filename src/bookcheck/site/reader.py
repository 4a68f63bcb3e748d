"""The reader's notebooks: the chapters in Markdown that every program shows.

JupyterLab, GitHub, VS Code, Colab and nbconvert do not know the book's directives. Here references
have become numbers, citations links, quizzes and proofs folds, and each exercise that is solved by
code has an empty cell, with a check where it asks for a function. Outputs stay. What is not known
here is refused, so that no raw directive reaches a reader.

`python -m bookcheck.site.reader FOLDER` writes them all.
"""

import argparse
import json
import os
import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
import yaml
from pybtex.backends.plaintext import Backend
from pybtex.database import Entry, parse_file

from bookcheck.myst import Block, blocks_of
from bookcheck.notebooks.files import chapter_notebooks, page_name
from bookcheck.notebooks.values import parse_value
from bookcheck.paths import CHAPTERS, DEEPER, ROOT
from bookcheck.prose.reading_time import reading_time_of
from bookcheck.site.quiz import Question, parse_quiz
from bookcheck.site.targets import Target, kind_of, targets_of, text_of

REPOSITORY_VARIABLE = "BOOK_REPOSITORY_URL"
SITE_VARIABLE = "BOOK_SITE_URL"

ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
DISPLAY = re.compile(r"\$\$(.*?)\$\$[ \t]*\(([^()\s]+)\)", re.DOTALL)
# Comments of the source, targets of links.
UNSEEN = re.compile(r"^% .*\n?|^\([\w-]+\)=\n", re.MULTILINE)
# A text with a name or class of its own, and a link that Sphinx leaves as it is.
SPAN = re.compile(r"\[([^\[\]]*)\]\{[#.][^}\n]*\}")
HTML_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
LINK = re.compile(r"(!?)\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\(([^()\s]+)\)")
OPTION = re.compile(r"^:([\w-]+): *(.*)$")
HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
FORMULA = re.compile(r"\$([^$]+)\$")
CODE = re.compile(r"^(`{3,})[^`{][^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
CHECKED = re.compile(r'^check\("(\w+)"\)', re.MULTILINE)

# What `bookkit.exercises.check` prints before the reader has written anything.
NOT_THERE = "not there yet. Write it in a cell above and run that cell, then this one."

BOXES = {"admonition", "attention", "caution", "hint", "important", "note", "tip", "warning"}

INSTALL = """\
# The book's library: where it is missing, this installs it; elsewhere it does nothing.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("bookkit") is None:
    library = "attention-to-rope[pages] @ git+{repository}"
    subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", library])"""
# Without the repository's address there is nothing to install from.
INSTALLED = """\
# The book's library. Where it is missing, run in the folder of the book: pip install ".[pages]"
import bookkit"""

FOLDED = "# The code of"


class ReaderError(ValueError):
    """What a page has that a reader's notebook cannot show."""


@dataclass(frozen=True)
class Book:
    """What the text of a page refers to, and where the book stands, if that is known."""

    targets: dict[str, Target]
    sources: dict[str, Entry]
    site: str = ""
    repository: str = ""


def book_of(folder: Path = CHAPTERS, *, site: str = "", repository: str = "") -> Book:
    """Gather the labels and sources of a folder of chapters."""
    sources = parse_file(str(folder / "references.bib")).entries
    return Book(targets_of(folder), sources, site, repository.rstrip("/"))


def authors_of(entry: Entry) -> str:
    """One last name, two with "and", or the first with "et al."."""
    people = entry.persons.get("author") or entry.persons["editor"]
    names = [
        " ".join(part.render(Backend()) for part in (*one.rich_prelast_names, *one.rich_last_names))
        for one in people
    ]
    if len(names) > 2 or names[-1] == "others":
        return f"{names[0]} et al."
    return " and ".join(names)


@dataclass
class Page:
    """One page on its way to a reader: what it is called, and the cells made so far."""

    name: str
    book: Book
    minutes: int = 0
    exercise: str = ""
    checks: dict[str, list[str]] = field(default_factory=dict)
    coded: set[str] = field(default_factory=set)
    solution: str = ""
    cells: list[dict[str, Any]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)

    # -- cells

    def say(self, text: str) -> None:
        """Add a piece of prose; pieces that follow each other share a cell."""
        if text.strip():
            self.prose.append(text.strip("\n"))

    def close_prose(self) -> None:
        """Make a cell of the prose so far; inside a solution it is folded."""
        text = "\n\n".join(self.prose)
        self.prose = []
        if self.solution:
            text = folded(self.solution, text or "The next cell.")
            self.solution = "The solution, continued"
        if text:
            self.cells.append({"cell_type": "markdown", "metadata": {}, "source": text})

    def code(self, source: str, **others: Any) -> None:
        """Add a cell of code."""
        self.close_prose_before_code()
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
        self.cells.append(cell | others)

    def close_prose_before_code(self) -> None:
        """Close the prose if there is any, or if a solution begins with code."""
        if self.prose or self.solution.startswith("Solution"):
            self.close_prose()

    # -- text

    def inline(self, text: str) -> str:
        """A text without directives: references, values, formulas and links as plain Markdown."""
        kept: list[str] = []

        def keep(found: re.Match[str]) -> str:
            kept.append(found.group())
            return f"\0{len(kept) - 1}\0"

        text = CODE.sub(keep, text)
        text = UNSEEN.sub("", text)
        text = HEADING.sub(self.heading, text)
        text = SPAN.sub(r"\1", text)
        text = HTML_LINK.sub(r"[\2](\1)", text)
        text = DISPLAY.sub(self.display, text)
        text = ROLE.sub(self.role, text)
        text = LINK.sub(self.link, text)
        return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)

    def heading(self, found: re.Match[str]) -> str:
        """A heading with its formulas in letters: lists of contents show no formulas."""

        def letters(formula: re.Match[str]) -> str:
            text = formula[1].replace(r"\cdot", "·")
            if re.search(r"[\\{}]", text):
                raise ReaderError(
                    f"{self.name}: the heading {found.group()!r} has a formula that letters "
                    "cannot show; use words"
                )
            return f"*{text}*"

        return FORMULA.sub(letters, found.group())

    def display(self, found: re.Match[str]) -> str:
        """A displayed formula with its number, as LaTeX's own tag."""
        number = self.target(found[2]).name.strip("()")
        return f"$${found[1].rstrip()} \\tag{{{number}}}\n$$"

    def role(self, found: re.Match[str]) -> str:
        """What a role shows."""
        name, inside = found[1], found[2]
        if name == "value":
            return parse_value(inside).printed
        if name == "term":
            return inside.partition(" <")[0]
        if name in ("cite:p", "cite:t"):
            parts = [self.citation(key.strip(), name == "cite:t") for key in inside.split(",")]
            return " and ".join(parts) if name == "cite:t" else f"({'; '.join(parts)})"
        if name in ("eq", "numref", "ref", "prf:ref"):
            target = self.target(inside)
            if target.page == self.name:
                return target.name
            return self.linked(target.name, f"{target.page}.ipynb")
        raise ReaderError(f"{self.name}: no plain form is known for the role {found.group()}")

    def citation(self, key: str, in_text: bool) -> str:
        """Who wrote a source and when, with a link to it."""
        if key not in self.book.sources:
            raise ReaderError(f"{self.name}: references.bib has no source {key!r}")
        entry = self.book.sources[key]
        year, address = entry.fields.get("year", ""), entry.fields.get("url", "")
        text = authors_of(entry) + (f" ({year})" if in_text else f", {year}")
        return f"[{text}]({address})" if address else text

    def target(self, label: str) -> Target:
        """The thing that has a label, or an error that names the page."""
        try:
            return self.book.targets[label]
        except KeyError:
            raise ReaderError(f"{self.name}: nothing has the label {label!r}") from None

    def link(self, found: re.Match[str]) -> str:
        """A link of the source; relative to its page."""
        picture, text, address = found.groups()
        if picture or "://" in address:
            return found.group()
        if address.startswith("#"):
            return text  # each program makes its own anchors
        path, _, anchor = address.partition("#")
        whole = os.path.normpath(PurePosixPath(self.name).parent / path)
        return self.linked(text, PurePosixPath(whole).as_posix(), anchor)

    def linked(self, text: str, path: str, anchor: str = "") -> str:
        """A link to another page or file: on the site, or to the notebook beside this one."""
        page = PurePosixPath(path)
        if self.book.site:
            on_site = page.with_suffix(".html") if page.suffix in (".ipynb", ".md") else page
            address = posixpath.normpath(PurePosixPath("chapters") / on_site)
            return f"[{text}]({self.book.site}{address}{'#' + anchor if anchor else ''})"
        if page.suffix == ".ipynb":
            return f"[{text}]({os.path.relpath(page, PurePosixPath(self.name).parent)})"
        return text

    # -- blocks

    def markdown(self, text: str) -> None:
        """A Markdown cell of the source."""
        for block in blocks_of(text):
            if not block.kind:
                self.say(self.inline("\n".join(block.lines)))
            elif block.kind == "exercise-end":
                self.end_exercise()
            elif block.kind == "solution-start":
                self.close_prose()
                name = self.target(block.argument).name
                self.solution = f"Solution of {name[0].lower()}{name[1:]}"
            elif block.kind == "solution-end":
                self.close_prose_before_code()
                self.solution = ""
            else:
                self.say(self.block(block))

    def block(self, block: Block) -> str:
        """A directive with its text as plain Markdown."""
        options, lines = options_of(block.lines)
        text = "\n".join(lines)
        if block.kind == "exercise-start":
            self.close_prose()
            self.exercise = options["label"]
            return self.title(options["label"], block.argument)
        if block.kind == "answer":
            return quoted(f"**The answer.** {self.inline(text.strip())}\n\n{self.facts(options)}")
        if block.kind == "quiz":
            questions = enumerate(parse_quiz(text), start=1)
            return "\n\n".join(self.question(number, question) for number, question in questions)
        if block.kind == "margin":
            return quoted(self.nested(text))
        if block.kind in BOXES:
            title = self.inline(block.argument) if block.kind == "admonition" else block.kind
            return quoted(f"**{title.capitalize()}.** {self.nested(text)}")
        if block.kind == "interactive":
            return self.interactive(text.strip())
        if block.kind == "prf:proof":
            body = self.nested(text)
            return (
                folded("Proof", body)
                if "dropdown" in options.get("class", "")
                else (f"**Proof.** {body}")
            )
        if block.kind == "solution":
            name = self.target(block.argument).name
            return folded(f"Solution of {name[0].lower()}{name[1:]}", self.nested(text))
        if kind_of(block) and "label" in options:
            name = self.target(options["label"]).name
            title = f" ({self.inline(block.argument)})" if block.argument else ""
            return f"**{name}{title}.** {self.nested(text)}"
        raise ReaderError(f"{self.name}: no plain form is known for the directive {block.kind!r}")

    def nested(self, text: str) -> str:
        """The text of a directive, which may hold others."""
        pieces = []
        for block in blocks_of(text):
            inner = "\n".join(block.lines)
            pieces.append(self.block(block) if block.kind else self.inline(inner))
        return "\n\n".join(piece.strip("\n") for piece in pieces if piece.strip())

    def facts(self, options: dict[str, str]) -> str:
        """The minutes that the page takes, and what it needs."""
        name = "Reading time" if self.name.startswith(DEEPER) else "Main line"
        unit = "minute" if self.minutes == 1 else "minutes"
        needs = f" Needs {self.inline(options['needs'])}." if "needs" in options else ""
        return f"{name}: {self.minutes} {unit}.{needs}"

    def interactive(self, text: str) -> str:
        """Where the figure can be moved: on the site's page."""
        where = "On the book's page this figure can be moved."
        if self.book.site:
            where = self.linked("On the book's page this figure can be moved", self.name + ".ipynb")
            where += "."
        return quoted(f"{where} {self.inline(text)}".strip())

    def question(self, number: int, question: Question) -> str:
        """A question with its choices, and the answers in a fold."""
        lines = [f"### Question {number}", self.inline(question.text)]
        if question.wants_number:
            (answer,) = question.answers
            lines.append(folded("Answer", f"**{answer.text}.** {self.inline(answer.feedback)}"))
            return "\n\n".join(lines)
        letters = [chr(ord("A") + place) for place in range(len(question.answers))]
        pairs = list(zip(letters, question.answers, strict=True))
        lines.append("\n".join(f"- **{one}.** {self.inline(a.text)}" for one, a in pairs))
        right = next(one for one, answer in pairs if answer.right)
        whys = "\n".join(f"- **{one}.** {self.inline(a.feedback)}" for one, a in pairs)
        lines.append(folded("Answer", f"**{right}** is right.\n\n{whys}"))
        return "\n\n".join(lines)

    def title(self, label: str, title: str) -> str:
        """The heading of an exercise."""
        name = self.target(label).name
        return f"### {name}" + (f": {self.inline(title)}" if title else "")

    def end_exercise(self) -> None:
        """After an exercise that code solves, a cell to write in, and its check if it has one."""
        label = self.exercise
        self.close_prose()
        if label not in self.coded:
            return
        names = self.checks[label]
        if not names:
            self.code("# Your code. The solution is folded below.")
            return
        self.code(f"# Write {' and '.join(names)} here. Run this cell, then the next one.")
        calls = "\n".join(f'check("{name}")' for name in names)
        told = "".join(f"{name}: {NOT_THERE}\n" for name in names)
        output = {"name": "stdout", "output_type": "stream", "text": told}
        self.code(f"from bookkit.exercises import check\n\n{calls}", outputs=[output])

    def source_code(self, cell: Any) -> None:
        """A code cell of the source with its outputs; a solution's is folded."""
        metadata = {k: v for k, v in cell.metadata.items() if k in ("jupyter", "cellView", "tags")}
        if self.solution:
            metadata["jupyter"] = {"source_hidden": True, "outputs_hidden": True}
            metadata["collapsed"] = True
            metadata["cellView"] = "form"
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        name = self.target(figure["name"]).name if "name" in figure else ""
        source = cell.source
        if metadata.get("jupyter", {}).get("source_hidden"):
            # JupyterLab shows the first line of folded code: no line of a solution, nor an import.
            what = "the solution" if self.solution else name or "what comes next"
            source = f"{FOLDED} {what}\n{source}"
        self.code(source, metadata=metadata, outputs=cell.outputs)
        if figure:
            self.say(f"{f'**{name}.** ' if name else ''}{self.inline(figure.get('caption', ''))}")


def options_of(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options at the head of a directive, and the lines after them."""
    options: dict[str, str] = {}
    row = 0
    while row < len(lines) and (found := OPTION.match(lines[row])):
        options[found[1]] = found[2].strip()
        row += 1
    return options, lines[row:]


def folded(title: str, text: str) -> str:
    """A fold that needs no script; the blank lines let Markdown be read inside."""
    return f"<details>\n<summary>{title}</summary>\n\n{text.strip()}\n\n</details>"


def quoted(text: str) -> str:
    """A box that every program has."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def solutions_of(cells: list[Any]) -> Iterator[tuple[str, str]]:
    """The label of each exercise with the code of its solution, cell by cell."""
    label = ""
    for cell in cells:
        if cell.cell_type == "code" and label:
            yield label, cell.source
        elif cell.cell_type == "markdown":
            for block in blocks_of(cell.source):
                if block.kind == "solution-start":
                    label = block.argument
                elif block.kind == "solution-end":
                    label = ""


def install_cell(repository: str) -> str:
    """The code that brings the library to a machine that lacks it."""
    return INSTALL.format(repository=repository) if repository else INSTALLED


def reader_notebook(path: Path, book: Book, folder: Path = CHAPTERS) -> dict[str, Any]:
    """The reader's form of a stored notebook."""
    # Not `files.read`, which validates: the chapters' own tests do, and a reader waits here.
    cells = nbformat.from_dict(json.loads(path.read_text(encoding="utf-8"))).cells
    for cell in cells:
        cell.source = text_of(cell)
    page = Page(page_name(path, folder), book, reading_time_of(cells).minutes)
    for label, code in solutions_of(cells):
        page.coded.add(label)
        page.checks.setdefault(label, []).extend(CHECKED.findall(code))
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            page.markdown(cell.source)
        else:
            page.source_code(cell)
        if number == 0:
            hidden = {"jupyter": {"source_hidden": True}, "cellView": "form"}
            page.code(install_cell(book.repository), metadata=hidden)
    page.close_prose_before_code()
    return numbered(page.cells)


def numbered(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """A whole notebook: ids in order, and code cells counted as a run from the top does."""
    count = 0
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            for output in cell["outputs"]:
                if "execution_count" in output:
                    output["execution_count"] = count
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def reader_texts(book: Book, folder: Path = CHAPTERS) -> dict[str, str]:
    """The files of all reader's notebooks, by their names below the folder."""
    return {
        f"{page_name(path, folder)}.ipynb": json.dumps(
            reader_notebook(path, book, folder), indent=1, ensure_ascii=False, sort_keys=True
        )
        + "\n"
        for path in chapter_notebooks(folder)
    }


def addresses(config: Path = ROOT / "_config.yml") -> dict[str, str]:
    """The addresses of site and repository, as the site's build takes them."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    site = os.environ.get(SITE_VARIABLE) or settings.get("html", {}).get("baseurl", "")
    repository = os.environ.get(REPOSITORY_VARIABLE) or settings["repository"]["url"]
    return {"site": f"{site.rstrip('/')}/" if site else "", "repository": repository}


def branch_files(repository: str) -> dict[str, str]:
    """What a branch with the notebooks needs for Binder, where the repository is known."""
    if not repository:
        return {}
    library = f"attention-to-rope[pages] @ git+{repository}\n"
    about = (
        "# The notebooks of From Attention to RoPE\n\n"
        f"Made from the chapters of [the book]({repository}); changes belong there.\n"
    )
    return {"requirements.txt": library, "README.md": about}


def write(folder: Path, texts: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Write the reader's notebooks of the whole book."""
    parser = argparse.ArgumentParser(description="Write the reader's notebooks.")
    parser.add_argument("folder", type=Path, help="where they go")
    options = parser.parse_args(arguments)
    known = addresses()
    book = book_of(site=known["site"], repository=known["repository"])
    write(options.folder, reader_texts(book) | branch_files(known["repository"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
