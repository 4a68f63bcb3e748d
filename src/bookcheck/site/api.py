"""The reference of the library: made from its docstrings, its uses in the chapters and its tests.

A page that holds the directive ``{api}`` alone on two lines becomes the reference. Every name is an
object of Sphinx's Python domain, so that the search finds it. Links go both ways: from a name to
the sections that use it and to the tests that call it; from each chapter and each page of tests
back to the names.
"""

import ast
import functools
import html
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from bookcheck.cache import digest_of, kept
from bookcheck.notebooks.files import read
from bookcheck.paths import DEEPER, ROOT
from bookcheck.prose import headings
from bookcheck.site.generated_pages import ExtraPage, add_pages
from bookcheck.site.ledger import chapter_page, current_status, link

PACKAGE = "attention_to_rope"
PLACEHOLDER = "```{api}\n```"
TESTS = ROOT / "tests" / PACKAGE
# Not for readers: checks of arguments, and the tests' own slow copies of the formulas.
HIDDEN_MODULES = ("checks", "reference", "rope_checks")


class Method(NamedTuple):
    """A public method of a class."""

    name: str
    signature: str
    doc: str


class Entry(NamedTuple):
    """One public name: a function or a class. By its full name it is imported and linked to."""

    module: str
    name: str
    full_name: str
    kind: str
    signature: str
    doc: str
    methods: list[Method]


class Library(NamedTuple):
    """What the package offers, and what each of its modules is for."""

    entries: list[Entry]
    modules: dict[str, str]


class Use(NamedTuple):
    """A section of a chapter that uses a name."""

    chapter: str
    title: str
    heading: str
    slug: str


class Test(NamedTuple):
    """A test that names something of the library."""

    file: Path
    line: int


@functools.cache
def library() -> Library:
    """The package's public names; importing it takes seconds, so what it says is kept."""
    files = sorted((ROOT / "src" / PACKAGE).rglob("*.py"))
    digest = digest_of([*files, ROOT / "requirements.txt", Path(__file__)], sys.version)
    stored = kept("library", digest, lambda: describe()._asdict())
    entries = [
        Entry._make([*values, [Method(*method) for method in methods]])
        for *values, methods in stored["entries"]
    ]
    return Library(entries, stored["modules"])


def describe() -> Library:
    """What the package exports, module by module, then what its other modules define."""
    package = importlib.import_module(PACKAGE)
    descriptions = module_descriptions(package)
    entries = []
    modules = {}
    for module_name in _modules_in_order(package):
        module = importlib.import_module(f"{PACKAGE}.{module_name}")
        about = descriptions.get(module_name) or (module.__doc__ or "").splitlines()[0].rstrip(".")
        modules[module_name] = f"{about[0].upper()}{about[1:]}."
        names = sorted(name for name, thing in vars(module).items() if _belongs(thing, module))
        exported = [name for name in names if name in package.__all__]
        prefix = PACKAGE if exported else f"{PACKAGE}.{module_name}"
        for name in exported or names:
            thing = getattr(module, name)
            kind = "class" if inspect.isclass(thing) else "function"
            doc = inspect.getdoc(thing) or ""
            methods = [
                Method(name, signature(method), inspect.getdoc(method) or "")
                for name, method in (vars(thing).items() if kind == "class" else ())
                if inspect.isfunction(method) and method.__doc__ and not name.startswith("_")
            ]
            full_name = f"{prefix}.{name}"
            entries.append(
                Entry(module_name, name, full_name, kind, signature(thing), doc, methods)
            )
    return Library(entries, modules)


def public_entries() -> list[Entry]:
    """The names of the library, module by module."""
    return library().entries


def _modules_in_order(package: ModuleType) -> list[str]:
    prefix = f"{package.__name__}."
    found = pkgutil.walk_packages(package.__path__, prefix)
    modules = [m.name.removeprefix(prefix) for m in found if not m.ispkg]
    described = list(module_descriptions(package))
    known = [name for name in described if name in modules]
    others = [name for name in modules if name not in described]
    return [name for name in known + others if name not in HIDDEN_MODULES]


def module_descriptions(package: ModuleType) -> dict[str, str]:
    """The package's own list of its modules, from its docstring."""
    lines = (package.__doc__ or "").splitlines()[2:]
    pairs = [line.split(None, 1) for line in lines if line.strip()]
    return {name: text for name, text in pairs}


def _belongs(thing: Any, module: ModuleType) -> bool:
    if not (inspect.isfunction(thing) or inspect.isclass(thing)):
        return False
    hidden = thing.__name__.startswith("_") or thing.__name__ == "main"
    return thing.__module__ == module.__name__ and not hidden


def signature(thing: Any) -> str:
    """How to call it, with short names of types."""
    text = str(inspect.signature(thing))
    text = re.sub(r"\b(?:[a-z_0-9]+\.)+(?=[A-Za-z_])", "", text.replace("'", '"'))
    text = re.sub(r"^\(self(?:, )?", "(", text)
    text = re.sub(r'"([A-Z]\w*)"', r"\1", text) if "Literal" not in text else text
    return text.removesuffix(" -> None") if inspect.isclass(thing) else text


def docstring_as_markdown(text: str) -> str:
    """The docstring with its examples fenced: Markdown reads `>>>` as three quotations."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>>") and not inside:
            lines += ["```pycon"]
            inside = True
        elif inside and not line.strip():
            lines += ["```"]
            inside = False
        lines.append(line)
    return "\n".join([*lines, *(["```"] if inside else [])])


def names_used(tree: ast.AST, imported: Mapping[str, str]) -> dict[str, int]:
    """The names of the library that code uses, each with the line of its first use.

    An import alone is no use. A name counts under the module from which it was imported.
    """
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in imported:
            full_name = imported[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id not in imported:
                continue
            full_name = f"{imported[node.value.id]}.{node.attr}"
        else:
            continue
        found[full_name] = min(node.lineno, found.get(full_name, node.lineno))
    return found


def imports_of(tree: ast.AST) -> dict[str, str]:
    """What each local name stands for, of the names imported from the library."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == PACKAGE and (alias.asname or "." not in alias.name):
                    found[alias.asname or alias.name] = alias.name
    return found


def spellings(entry: Entry) -> tuple[str, str]:
    """The dotted names of an entry: imported from the package, or from its module."""
    return f"{PACKAGE}.{entry.name}", f"{PACKAGE}.{entry.module}.{entry.name}"


def used_in(entry: Entry, uses: Mapping[str, Use]) -> list[Use]:
    """Where a chapter uses an entry, under either of its names."""
    return [uses[name] for name in spellings(entry) if name in uses]


def name_below_chapters(path: Path) -> str:
    """ "01-attention.ipynb", or "deeper/01-attention.ipynb" for a page of depth."""
    return f"{DEEPER}/{path.name}" if path.parent.name == DEEPER else path.name


def chapter_uses(path: Path) -> dict[str, Use]:
    """The dotted names that a notebook uses, each with the section of its first use."""
    digest = digest_of([path, Path(__file__), Path(headings.__file__)])
    stored = kept(f"uses/{name_below_chapters(path)}", digest, lambda: find_uses(path))
    return {name: Use(*use) for name, use in stored.items()}


def find_uses(path: Path) -> dict[str, Use]:
    """Read a notebook for the names that it uses."""
    notebook = read(path)
    page = name_below_chapters(path)
    title = ""
    imported: dict[str, str] = {}
    found: dict[str, Use] = {}
    sections = headings.headings_before_cells(notebook.cells)
    for cell, heading in zip(notebook.cells, sections, strict=True):
        title = title or (heading.text if heading else "")
        if cell.cell_type != "code":
            continue
        try:
            tree = ast.parse(cell.source)
        except SyntaxError as error:
            raise ValueError(f"{path.name}: a cell is not plain Python ({error.msg})") from error
        imported |= imports_of(tree)
        for name in names_used(tree, imported):
            if heading is not None:
                found.setdefault(name, Use(page, title, heading.text, heading.slug))
    return found


@functools.cache
def all_tests() -> dict[str, list[Test]]:
    """The dotted names that the library's tests use, each with its tests in order."""
    exported = [e.name for e in public_entries() if e.full_name == f"{PACKAGE}.{e.name}"]
    found: dict[str, list[Test]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        digest = digest_of([file, Path(__file__)], *exported)
        tests = kept(f"tests/{file.stem}", digest, functools.partial(find_tests, file, exported))
        for line, names in tests:
            for name in names:
                found.setdefault(name, []).append(Test(file, line))
    return found


def find_tests(file: Path, exported: list[str]) -> list[tuple[int, list[str]]]:
    """The tests of a file: the line of each, and the dotted names that it uses."""
    tree = ast.parse(file.read_text(encoding="utf8"))
    imported = imports_of(tree)
    # A list of names that stands once at the top, and is tested one by one.
    lists = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def names(test: ast.AST) -> set[str]:
        named = [n.id for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in lists]
        parts = [test, *(lists[name] for name in named)]
        return {
            name
            for part in parts
            for name in (*names_used(part, imported), *names_as_text(part, exported))
        }

    return [
        (node.lineno, sorted(names(node)))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]


def names_as_text(tree: ast.AST, exported: list[str]) -> set[str]:
    """Exported names that stand as strings, such as `activation="swiglu"`."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {f"{PACKAGE}.{name}" for name in exported if name in texts}


def tests_of(entry: Entry) -> list[Test]:
    """The tests that name an entry, at most once each."""
    known = all_tests()
    return sorted({test for name in spellings(entry) for test in known.get(name, [])})


def test_page(file: Path) -> str:
    """The page of the site that shows a file of tests."""
    return f"checks/{file.stem}"


class tests_of_name(nodes.Inline, nodes.Element):  # noqa: N801
    """Stands where the links to a name's tests will be printed."""


class TestsRole(SphinxRole):
    """``{library-tests}`name` ``: links to the tests that use a name of the library."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a place for the links."""
        return [tests_of_name(name=self.text)], []


def reference_markdown(chapters: list[Path], formulas: dict[str, list[str]]) -> str:
    """The page as MyST text: an index of names, then every module with its entries."""
    entries, modules = library()
    uses = [chapter_uses(path) for path in chapters]
    index = sorted(entries, key=lambda entry: entry.name.lower())
    parts = ["## All names", ""]
    parts += [" · ".join(f"{{py:obj}}`{e.name} <{e.full_name}>`" for e in index), ""]
    module = ""
    for entry in entries:
        if entry.module != module:
            module = entry.module
            parts += [f"## {module}", "", modules[module], ""]
        parts += _entry_markdown(entry, uses, formulas)
    return "\n".join(parts)


def _entry_markdown(
    entry: Entry, uses: list[dict[str, Use]], formulas: dict[str, list[str]]
) -> list[str]:
    lines = [
        f"```{{py:currentmodule}} {entry.full_name.rpartition('.')[0]}\n```",
        f"`````{{py:{entry.kind}}} {entry.name}{entry.signature}",
        docstring_as_markdown(entry.doc),
        "",
    ]
    for method in entry.methods:
        lines += [
            f"````{{py:method}} {method.name}{method.signature}",
            docstring_as_markdown(method.doc),
            "````",
            "",
        ]
    found = [use for chapter in uses for use in used_in(entry, chapter)]
    facts = []
    if found:
        links = [
            f"[{int(Path(u.chapter).name[:2])}, {u.heading}]({u.chapter}#{u.slug})" for u in found
        ]
        facts.append("Used in chapter " + "; ".join(links) + ".")
    labels = formulas.get(f"{PACKAGE}.{entry.module}.{entry.name}", [])
    if labels:
        links = [f"{{eq}}`{label}`" for label in labels]
        facts.append("Compared with the printed formulas " + ", ".join(links) + ".")
    tests = tests_of(entry)
    if tests:
        facts.append(f"{{library-tests}}`{entry.full_name}`")
    if facts:
        lines += ["{.api-facts}", "\\\n".join(facts)]
    return [*lines, "`````", ""]


def formulas_by_function(app: Sphinx) -> dict[str, list[str]]:
    """The labels of the displayed equations that were compared with each function."""
    found: dict[str, list[str]] = {}
    status = current_status(app)
    for item in status.labelled:
        outcome = status.outcomes.get(item.label or "")
        if outcome and chapter_page(item.chapter) in app.env.found_docs:
            for function in outcome.library:
                found.setdefault(function, []).append(outcome.label)
    return found


def chapters_of(env: BuildEnvironment) -> list[Path]:
    """The notebooks of the book that is being built, in order."""
    paths = [Path(env.doc2path(name)) for name in sorted(env.found_docs)]
    return [path for path in paths if re.fullmatch(r"\d\d-.*\.ipynb", path.name)]


def current_reference(app: Sphinx) -> str:
    """The text of the reference as the library, the chapters and the tests are now."""
    return reference_markdown(chapters_of(app.env), formulas_by_function(app))


def state_of(text: str) -> str:
    """Changes with what the page shows: its text, and the lines of the tests it links to."""
    return digest_of([], text, repr(sorted(all_tests().items())))


def write_reference(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the reference in the place of its directive, before the page is read."""
    if PLACEHOLDER in source[0]:
        text = current_reference(app)
        source[0] = source[0].replace(PLACEHOLDER, text)
        app.env.metadata[docname]["api"] = state_of(text)


def outdated(
    app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]
) -> list[str]:
    """The page of the reference, when it would now say something else."""
    page = reference_page(env)
    if page is None or env.metadata[page]["api"] == state_of(current_reference(app)):
        return []
    return [page]


def reference_page(env: BuildEnvironment) -> str | None:
    """The name of the page that holds the reference, if the book has one."""
    pages = [name for name, data in env.metadata.items() if data.get("api")]
    return pages[0] if pages else None


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Print the links to tests, and below each chapter the links to the names it uses."""
    page = reference_page(app.env)
    if page is None:
        return
    for node in list(doctree.findall(tests_of_name)):
        node.replace_self(list(test_links(app, docname, node["name"])))
    path = Path(app.env.doc2path(docname))
    if path in chapters_of(app.env):
        add_names_used(app, doctree, docname, page, path)


def test_links(app: Sphinx, docname: str, name: str) -> Iterator[nodes.Node]:
    """One link to each file that tests a name, to the first of its tests there."""
    (entry,) = [entry for entry in public_entries() if entry.full_name == name]
    by_file: dict[Path, list[int]] = {}
    for test in tests_of(entry):
        by_file.setdefault(test.file, []).append(test.line)
    yield nodes.Text("Tested in ")
    for place, (file, lines) in enumerate(by_file.items()):
        yield nodes.Text(", " if place else "")
        target = app.builder.get_relative_uri(docname, test_page(file))
        yield link(file.name, f"{target}#L{min(lines)}")
        yield nodes.Text(f" ({len(lines)} {'test' if len(lines) == 1 else 'tests'})")
    yield nodes.Text(".")


def add_names_used(
    app: Sphinx, doctree: nodes.document, docname: str, page: str, path: Path
) -> None:
    """Append to a chapter the names of the library that its cells use."""
    used = chapter_uses(path)
    entries = [entry for entry in public_entries() if used_in(entry, used)]
    if not entries:
        return
    target = app.builder.get_relative_uri(docname, page)
    paragraph = nodes.paragraph("", "From the library, used here: ", classes=["api-facts"])
    for place, entry in enumerate(sorted(entries, key=lambda entry: entry.name.lower())):
        paragraph += nodes.Text(", " if place else "")
        paragraph += link(entry.name, f"{target}#{entry.full_name}")
    paragraph += nodes.Text(".")
    sections = [node for node in doctree.children if isinstance(node, nodes.section)]
    (sections[-1] if sections else doctree).append(paragraph)


def test_pages(app: Sphinx) -> Iterator[ExtraPage]:
    """One page for each file of the library's tests, with links back to what it tests."""
    page = reference_page(app.env)
    if page is None:
        return
    tested: dict[Path, dict[str, int]] = {}
    for entry in public_entries():
        for test in tests_of(entry):
            names = tested.setdefault(test.file, {})
            names[entry.full_name] = min(test.line, names.get(entry.full_name, test.line))
    for file, names in sorted(tested.items()):
        target = app.builder.get_relative_uri(test_page(file), page)
        links = ", ".join(
            f'<a href="{target}#{name}">{html.escape(name.rpartition(".")[2])}</a>'
            for name in sorted(names, key=str.lower)
        )
        about = f"<p>Tests of {links}.</p>\n"
        source = file.read_text(encoding="utf8")
        title = f"Tests: {file.name}"
        lines = set(names.values())
        body = functools.partial(source_page, app, title, source, lines, about)
        yield ExtraPage(test_page(file), title, repr((source, sorted(lines), about)), body)


def source_page(app: Sphinx, title: str, source: str, lines: set[int], about: str) -> str:
    """A file of Python as HTML, with an anchor at every wanted line."""
    builder: Any = app.builder
    block = builder.highlighter.highlight_block(source, "python", linenos=False)
    return f"<h1>{html.escape(title)}</h1>\n{about}{anchored(block, lines)}"


def anchored(block: str, lines: set[int]) -> str:
    """Give the wanted lines of highlighted code an id."""
    head, start, code = block.partition("<pre>")
    code_lines = code.split("\n")
    for number in lines:
        code_lines[number - 1] = f'<span id="L{number}"></span>{code_lines[number - 1]}'
    return head + start + "\n".join(code_lines)


def leave_types_unlinked(
    _app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.TextElement | None:
    """Types of other packages in a signature are words, not links to a page of this book."""
    own = node.get("reftarget", "").startswith(PACKAGE)
    if node.get("refdomain") == "py" and node.get("reftype") == "class" and not own:
        return text if node.get("refdoc") == reference_page(env) else None
    return None


def setup(app: Sphinx) -> None:
    """Connect all of it."""
    app.add_node(tests_of_name)
    app.add_role("library-tests", TestsRole())
    app.connect("source-read", write_reference)
    app.connect("env-get-outdated", outdated)
    app.connect("doctree-resolved", resolve)
    add_pages(app, test_pages)
    app.connect("missing-reference", leave_types_unlinked)
    app.add_css_file("api.css")
