"""The reader's notebooks: the chapters in Markdown that every program shows.

JupyterLab, GitHub, VS Code, Colab and nbconvert do not know the book's directives. Here references
have become the numbers that Sphinx gave, citations links, quizzes, proofs and solutions folds, and
each exercise that code solves has an empty cell, with a check where it asks for a function. Outputs
stay. What is not known here is refused, so that no raw directive reaches a reader.
"""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import nbformat
from docutils.nodes import make_id
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pybtex.backends.plaintext import Backend
from pybtex.database import Entry
from sphinx.environment import BuildEnvironment
from sphinx.locale import _

from bookformat.contents import book_entries, page_name
from bookformat.myst import Block, blocks_of, included_source
from bookformat.notebooks import chapter_notebooks, read
from bookformat.paths import CHAPTERS
from bookformat.values import parse_value
from booksite.quiz import Question, parse_quiz

ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
DISPLAY = re.compile(r"\$\$(.*?)\$\$[ \t]*\(([^()\s]+)\)", re.DOTALL)
LINK = re.compile(r"(!?)\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\(([^()\s]+)\)")
CODE = re.compile(r"^(`{3,})[^`{][^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
PLAINER = [
    # Comments of the source, targets of links.
    (re.compile(r"^% .*\n?|^\([\w-]+\)=\n", re.MULTILINE), ""),
    # A text with a name or class of its own, and a link that Sphinx leaves as it is.
    (re.compile(r"\[([^\[\]]*)\]\{[#.][^}\n]*\}"), r"\1"),
    (re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL), r"[\2](\1)"),
]
CHECKED = re.compile(r'^check\("(\w+)"\)', re.MULTILINE)
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}

INSTALL = """\
# The book's library: where it is missing, this installs it; elsewhere it does nothing.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("bookkit") is None:
    library = "from-attention-to-rope @ git+{repository}"
    subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", library])"""


class ReaderError(LookupError):
    """A role or directive that has no plain form here."""

    def __init__(self, page: str, what: str) -> None:
        advice = "give it one in booksite/reader.py"
        super().__init__(f"chapters/{page}.ipynb: no plain form is known for {what}; {advice}")


class Target(NamedTuple):
    """What a reference prints, and the page where the thing is."""

    name: str
    page: str


@dataclass(frozen=True)
class Book:
    """What the text of a page refers to, and the addresses of the book, if they are known."""

    targets: dict[str, Target]
    sources: dict[str, Entry]
    site: str = ""
    repository: str = ""
    # How the notebook of a page is called, with the number of its chapter: "01-attention".
    notebooks: dict[str, str] = field(default_factory=dict)


def notebook_names(folder: Path) -> dict[str, str]:
    """The names of the reader's notebooks, which lie in a folder in the order of the book."""
    return {entry.page: entry.numbered_name for entry in book_entries(folder)}


def targets_of(env: BuildEnvironment) -> dict[str, Target]:
    """The numbers that Sphinx gave to equations, figures, theorems and exercises."""
    names = {"displaymath": "({})", "figure": _("Fig.") + " {}"}
    return {
        identifier.removeprefix("equation-"): Target(
            names.get(kind, f"{_(kind.capitalize())} {{}}").format(".".join(map(str, number))),
            page.removeprefix(f"{CHAPTERS.name}/"),
        )
        for page, kinds in env.toc_fignumbers.items()
        for kind, numbers in kinds.items()
        for identifier, number in numbers.items()
    }


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
    prose: list[str] = field(default_factory=list)
    exercise: str = ""
    solution: str = ""
    cells: list[Any] = field(default_factory=list)
    # The cells in which a reader writes and checks, by the label of the exercise.
    answer_cells: dict[str, list[Any]] = field(default_factory=dict)

    def markdown(self, text: str) -> None:
        """A Markdown cell of the source; pieces that follow each other share a cell."""
        for block in blocks_of(text):
            if block.kind == "exercise-end":
                self.answer_cells[self.exercise] = [self.code(""), self.code("")]
            elif block.kind == "solution-start":
                self.end_prose()
                self.solution = block.argument
            elif block.kind == "solution-end":
                title = _("Solution of %s") % self.target(self.solution).name.lower()
                self.prose = [folded(title, "\n\n".join(self.prose))]
                self.solution = ""
            else:
                piece = self.block(block).strip("\n")
                self.prose += [piece] if piece else []

    def end_prose(self) -> None:
        """Make a cell of the prose so far."""
        if self.prose:
            self.cells.append(new_markdown_cell("\n\n".join(self.prose)))
        self.prose = []

    def code(self, source: str, **others: Any) -> Any:
        """Add a cell of code."""
        self.end_prose()
        self.cells.append(new_code_cell(source, **others))
        return self.cells[-1]

    def source_code(self, cell: Any) -> None:
        """A code cell of the source; a solution's is read and does not run."""
        if self.solution:
            self.prose.append(f"```python\n{cell.source}\n```")
            write, check = self.answer_cells[self.solution]
            names = CHECKED.findall(cell.source)
            write.source = write.source or _("# Your code. The solution is folded below.")
            if names:
                asked = _(" and ").join(names)
                write.source = _("# Write %s here, then run the next cell.") % asked
                calls = "\n".join(f'check("{name}")' for name in names)
                check.source = f"from bookkit.exercises import check\n\n{calls}"
            return
        metadata = {k: v for k, v in cell.metadata.items() if k in ("jupyter", "cellView", "tags")}
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        name = self.target(figure["name"]).name if "name" in figure else ""
        count = cell.execution_count
        self.code(cell.source, metadata=metadata, outputs=cell.outputs, execution_count=count)
        if figure:
            self.prose.append(f"**{name}{_('.')}** {self.inline(figure['caption'])}")

    # -- text

    def inline(self, text: str) -> str:
        """A text without directives: references, values, formulas and links as plain Markdown."""
        kept: list[str] = []

        def keep(found: re.Match[str]) -> str:
            kept.append(found.group())
            return f"\0{len(kept) - 1}\0"

        text = CODE.sub(keep, text)
        for pattern, plain in PLAINER:
            text = pattern.sub(plain, text)
        text = DISPLAY.sub(self.display, text)
        text = ROLE.sub(self.role, text)
        text = LINK.sub(self.link, text)
        return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)

    def display(self, found: re.Match[str]) -> str:
        """A displayed formula with its number, as LaTeX's own tag."""
        number = self.target(found[2]).name.strip("()")
        return f"$${found[1].rstrip()} \\tag{{{number}}}\n$$"

    def role(self, found: re.Match[str]) -> str:
        """What a role shows."""
        name = found[1]
        inside = found[2]
        if name == "value":
            return parse_value(inside).printed
        if name == "term":
            return inside.partition(" <")[0]
        if name == "in-english":
            return inside
        if name in ("cite:p", "cite:t"):
            parts = [self.citation(key.strip(), name == "cite:t") for key in inside.split(",")]
            return " and ".join(parts) if name == "cite:t" else f"({'; '.join(parts)})"
        if name in ("eq", "numref", "ref", "prf:ref"):
            target = self.target(inside)
            here = target.page == self.name
            return target.name if here else self.linked(target.name, f"{target.page}.ipynb")
        raise ReaderError(self.name, f"the role {found.group()}")

    def citation(self, key: str, in_text: bool) -> str:
        """Who wrote a source and when, with a link to it."""
        entry = self.book.sources[key]
        year = entry.fields.get("year", "")
        address = entry.fields.get("url", "")
        text = authors_of(entry) + (f" ({year})" if in_text else f", {year}")
        return f"[{text}]({address})" if address else text

    def target(self, label: str) -> Target:
        """The thing that has a label; of one that is missing, Sphinx says where it is used."""
        return self.book.targets[make_id(label)]

    def link(self, found: re.Match[str]) -> str:
        """A link of the source; relative to its page."""
        picture, text, address = found.groups()
        if picture or "://" in address:
            return found.group()
        if address.startswith("#"):
            return text  # each program makes its own anchors
        path = PurePosixPath(self.name).parent / address.partition("#")[0]
        return self.linked(text, posixpath.normpath(path))

    def linked(self, text: str, path: str) -> str:
        """A link to the notebook of another page, or to a file of the site where that is known."""
        if path.endswith(".ipynb"):
            page = path.removesuffix(".ipynb")
            notebook = f"{self.book.notebooks.get(page, page)}.ipynb"
            return f"[{text}]({posixpath.relpath(notebook, PurePosixPath(self.name).parent)})"
        address = posixpath.normpath(f"{CHAPTERS.name}/{path}").removesuffix(".md")
        suffix = ".html" if path.endswith(".md") else ""
        return f"[{text}]({self.book.site}{address}{suffix})" if self.book.site else text

    # -- blocks

    def block(self, block: Block) -> str:
        """A directive with its text, or the text between two of them, as plain Markdown."""
        kind, argument, options, text = block
        if not kind:
            return self.inline(text)
        title = self.inline(argument)
        name = self.target(options["label"]).name if "label" in options else ""
        if kind == "exercise-start":
            self.end_prose()
            self.exercise = options["label"]
            return f"### {name}" + (f": {title}" if title else "")
        if kind == "answer":
            needs = self.inline(options.get("needs", ""))
            line = f"{_('Needs ')}{needs}{_('.')}" if needs else ""
            return quoted(f"**{_('The answer')}{_('.')}** {self.inline(text)}\n\n{line}")
        if kind == "quiz":
            questions = enumerate(parse_quiz(text), start=1)
            return "\n\n".join(self.question(number, question) for number, question in questions)
        if kind == "literalinclude":
            return f"```python\n{included_source(block).rstrip()}\n```"
        if kind == "admonition":
            return folded(title, self.nested(text))
        if kind == "interactive":
            where = self.linked(_("On the book's page this figure can be moved"), f"{self.name}.md")
            return quoted(f"{where}{_('.')} {self.inline(text)}".strip())
        if kind == "playground":
            return quoted(self.nested(text))
        if kind == "prf:proof":
            body = self.nested(text)
            fold = "dropdown" in options.get("class", "")
            return folded(_("Proof"), body) if fold else f"**{_('Proof')}{_('.')}** {body}"
        if name:
            return f"**{name}{f' ({title})' if title else ''}{_('.')}** {self.nested(text)}"
        raise ReaderError(self.name, f"the directive {kind!r}")

    def nested(self, text: str) -> str:
        """The text of a directive, which may hold others."""
        pieces = (self.block(block).strip("\n") for block in blocks_of(text))
        return "\n\n".join(filter(None, pieces))

    def question(self, number: int, question: Question) -> str:
        """A question with its choices, and the answers in a fold."""
        lines = [f"### {_('Question')} {number}", self.inline(question.text)]
        if question.wants_number:
            answer = question.answers[0]
            told = [f"**{answer.text}{_('.')}** {self.inline(answer.feedback)}"]
            told += [f"{slip.text}: {self.inline(slip.feedback)}" for slip in question.slips]
            lines.append(folded(_("Answer"), "\n\n".join(told)))
            return "\n\n".join(lines)
        choices = []
        whys = []
        for letter, answer in zip("ABCDEFGH", question.answers, strict=False):
            choices.append(f"- **{letter}.** {self.inline(answer.text)}")
            verdict = _("Right.") if answer.right else _("Not yet.")
            whys.append(f"- **{letter}.** {verdict} {self.inline(answer.feedback)}")
        lines += ["\n".join(choices), folded(_("Answer"), "\n".join(whys))]
        return "\n\n".join(lines)


def folded(title: str, text: str) -> str:
    """A fold that needs no script; the blank lines let Markdown be read inside."""
    return f"<details>\n<summary>{title}</summary>\n\n{text.strip()}\n\n</details>"


def quoted(text: str) -> str:
    """A box that every program has."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def reader_notebook(path: Path, book: Book, folder: Path) -> Any:
    """The reader's form of a stored notebook."""
    notebook = read(path)
    page = Page(page_name(path, folder), book)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            page.markdown(cell.source)
        else:
            page.source_code(cell)
        if number == 0 and book.repository:
            page.code(INSTALL.format(repository=book.repository), metadata=FOLDED)
    page.end_prose()
    made = [cell for cell in page.cells if cell.source]
    for number, cell in enumerate(made):
        cell.id = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return new_notebook(cells=made, metadata=metadata)


def is_newer(made: Path, source: Path) -> bool:
    """Whether a file has been made after its source was last changed."""
    return made.is_file() and made.stat().st_mtime > source.stat().st_mtime


def write_notebooks(target: Path, folder: Path, book: Book, *, all_anew: bool = True) -> None:
    """Write the reader's notebooks of a folder of chapters, and what Binder needs beside them.

    Unless all are to be written, one that is newer than its chapter stays. One that the book does
    not have any more, or that has another number now, is deleted.
    """
    texts: dict[str, str] = {}
    names = notebook_names(folder)
    pages = {f"{names[page_name(path, folder)]}.ipynb": path for path in chapter_notebooks(folder)}
    for old in target.rglob("*.ipynb"):
        if old.relative_to(target).as_posix() not in pages:
            old.unlink()
    for name, path in pages.items():
        if all_anew or not is_newer(target / name, path):
            texts[name] = nbformat.writes(reader_notebook(path, book, folder))
    if book.repository:
        texts["requirements.txt"] = f"from-attention-to-rope @ git+{book.repository}"
    for name, text in texts.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(f"{text}\n", encoding="utf-8")
